/** What servers of the Responses API and of the Messages API refuse, and the request means the same without. */
import type { Note, Upstream } from '../../src/index.ts';
import type { ModelRequest } from '../../src/protocol/model-request.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { anthropicUpstream } from '../../src/upstreams/anthropic/anthropic-upstream.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';

const message = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] };
const ANSWERS = {
  responses: { object: 'response', id: 'r', status: 'completed', model: 'm', output: [message], usage: {} },
  anthropic: {
    type: 'message',
    id: 'm',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn',
    usage: {},
  },
} as const;

let fake: FakeUpstream;
let upstream: Upstream;
afterEach(async () => {
  await upstream.close?.();
  await fake.close();
});

/** A server that refuses a body with such an error, and answers others. */
async function serve(api: keyof typeof ANSWERS, fault: (body: JsonObject) => string | undefined) {
  const headers = { 'content-type': 'application/json' };
  fake = await startFakeUpstream({
    // The cast: requests are JSON objects.
    reply: ({ body }) => {
      const text = fault(body as JsonObject);
      const error = { type: 'error', error: { type: 'invalid_request_error', message: text } };
      return text === undefined
        ? { body: JSON.stringify(ANSWERS[api]), headers }
        : { status: 400, body: JSON.stringify(error), headers };
    },
  });
  const options = { baseURL: fake.baseURL, apiKey: 'k', retries: 0 };
  upstream = api === 'responses' ? responsesUpstream(options) : anthropicUpstream(options);
}

const limits = {
  firstByteTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  eventBytes: 1e6,
  outputBytes: 1e6,
  toolIterations: 5,
};

async function ask(request: Partial<ModelRequest>): Promise<readonly string[]> {
  const notes: Note[] = [];
  const call = {
    signal: new AbortController().signal,
    headers: new Headers(),
    limits,
    note: (note: Note) => void notes.push(note),
  };
  const items = [{ type: 'message', role: 'user', content: 'Hi.' }] as const;
  for await (const _ of upstream.stream({ model: 'm', items, tools: [], ...request }, call));
  return notes.map(({ message: text }) => text);
}

const valueAt = (body: unknown, path: string) =>
  path.split('.').reduce((value, name) => (value as JsonObject | undefined)?.[name] as unknown, body);
const sent = (path: string) => fake.requests.map(({ body }) => valueAt(body, path) !== undefined);

const REFUSALS = [
  [
    'responses',
    'temperature',
    "Unsupported parameter: 'temperature' is not supported with this model.",
    { temperature: 0.2 },
  ],
  [
    'responses',
    'reasoning.effort',
    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    { reasoningEffort: 'high' },
  ],
  [
    'responses',
    'prompt_cache_retention',
    'prompt_cache_retention is not supported on this model',
    { promptCacheRetention: '24h' },
  ],
  ['anthropic', 'temperature', '`temperature` is deprecated for this model.', { temperature: 0.2 }],
  ['anthropic', 'top_k', 'top_k: Extra inputs are not permitted', { topK: 3 }],
] as const satisfies readonly (readonly [keyof typeof ANSWERS, string, string, Partial<ModelRequest>])[];

describe('a refusal', () => {
  it.each(REFUSALS)('[V-22] of %s is met once without %s, and remembered', async (api, path, text, request) => {
    await serve(api, (body) => (valueAt(body, path) === undefined ? undefined : text));
    const notes = await ask(request);
    expect(notes.join()).toContain(`'${path}'`);
    await ask(request);
    await ask({ ...request, model: 'another' });
    expect(sent(path)).toEqual([true, false, false, true, false]);
  });

  it.each(['responses', 'anthropic'] as const)(
    '[V-22] of %s stands where nothing may be left out, or that does not help',
    async (api) => {
      await serve(api, () => 'tools is not supported');
      await expect(ask({ tools: [{ name: 'f', parameters: { type: 'object' } }], temperature: 0.2 })).rejects.toThrow(
        'tools',
      );
      await serve(api, () => 'temperature is not supported');
      for (let turn = 0; turn < 2; turn += 1) await expect(ask({ temperature: 0.2 })).rejects.toThrow('temperature');
      expect(sent('temperature')).toEqual([true, false, true, false]);
    },
  );
});
