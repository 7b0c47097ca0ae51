/** What servers of the Responses API and of the Messages API refuse, and the request means the same without. */
import { chatCompletionsUpstream, messagesRouter, type Note, type Upstream } from '../../src/index.ts';
import type { ModelRequest } from '../../src/protocol/model-request.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatCompletion, type FakeReply, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { anthropicUpstream } from '../../src/upstreams/anthropic/anthropic-upstream.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { startApp } from '../support/app.ts';

const message = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] };
const ANSWERS = {
  chat: JSON.parse(chatCompletion('ok')),
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

const UPSTREAMS = {
  chat: chatCompletionsUpstream,
  responses: responsesUpstream,
  anthropic: anthropicUpstream,
} as const;

/** A server that refuses a body with such an error, and answers others: with `replies` first. */
async function serve(
  api: keyof typeof ANSWERS,
  fault: (body: JsonObject) => string | JsonObject | undefined,
  ...replies: (() => FakeReply)[]
) {
  const headers = { 'content-type': 'application/json' };
  fake = await startFakeUpstream({
    // The cast: requests are JSON objects.
    reply: ({ body }) => {
      const refusal = fault(body as JsonObject);
      const details = typeof refusal === 'string' ? { message: refusal } : refusal;
      const error = { type: 'error', error: { type: 'invalid_request_error', ...details } };
      return refusal === undefined
        ? (replies.shift()?.() ?? { body: JSON.stringify(ANSWERS[api]), headers })
        : { status: 400, body: JSON.stringify(error), headers };
    },
  });
  upstream = UPSTREAMS[api]({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
}

const limits = {
  firstByteTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  eventBytes: 1e6,
  outputBytes: 1e6,
  toolIterations: 5,
};

async function ask(request: Partial<ModelRequest>, { signal } = new AbortController()): Promise<readonly string[]> {
  const notes: Note[] = [];
  const call = {
    signal,
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

  it('[V-22] adds to what an earlier one has taught', async () => {
    await serve('responses', (body) =>
      ['temperature', 'top_p']
        .filter((field) => field in body)
        .map((field) => `'${field}' is unsupported`)
        .at(0),
    );
    const request = { temperature: 0.2, topP: 0.5 };
    await expect(ask(request)).rejects.toThrow('top_p');
    for (let turn = 0; turn < 2; turn += 1) await ask(request);
    expect([sent('temperature'), sent('top_p')]).toEqual([
      [true, false, false, false, false],
      [true, true, true, false, false],
    ]);
  });

  const failure = (status: number, message: string) => ({ status, body: JSON.stringify({ error: { message } }) });
  const LEFT: FakeReply = { hang: true };
  const TEMPERATURE = "Unsupported parameter: 'temperature' is not supported with this model.";

  describe.each(['chat', 'responses', 'anthropic'] as const)('of %s', (api) => {
    it.each<[string, FakeReply]>([
      ['the server is overloaded', failure(503, 'Overloaded.')],
      ['the server limits its requests', failure(429, 'Too many requests.')],
      ['the key is refused', failure(401, 'Invalid key.')],
      ['the model is unknown', failure(404, 'No such model.')],
      ['the server breaks', failure(500, 'It broke.')],
      ['the connection breaks', { reset: 'before-headers' }],
      ['the client leaves', LEFT],
    ])('[V-22] teaches nothing where %s at the second attempt', async (_, reply) => {
      const client = new AbortController();
      await serve(
        api,
        ({ temperature }) => (temperature === undefined ? undefined : TEMPERATURE),
        () => {
          if (reply === LEFT) client.abort();
          return reply;
        },
      );
      await expect(ask({ temperature: 0.2 }, client)).rejects.toThrow();
      for (let turn = 0; turn < 2; turn += 1) await ask({ temperature: 0.2 });
      expect(sent('temperature')).toEqual([true, false, true, false, false]);
    });

    it.each([400, 422])('[V-22] teaches where another refusal (%s) meets the second attempt', async (status) => {
      const isRefused = ({ temperature }: JsonObject) => (temperature === undefined ? undefined : TEMPERATURE);
      await serve(api, isRefused, () => failure(status, 'The image is too small.'));
      await expect(ask({ temperature: 0.2 })).rejects.toThrow('image');
      await ask({ temperature: 0.2 });
      expect(sent('temperature')).toEqual([true, false, false]);
    });
  });

  const ENCRYPTED = 'reasoning.encrypted_content';
  const includes = (body: unknown) => valueAt(body, 'include') as readonly string[] | undefined;
  const UNSUPPORTED = 'Encrypted content is not supported with this model.';

  it.each<[string, JsonObject]>([
    ['its words', { message: UNSUPPORTED, param: 'include', code: null }],
    ['no parameter', { message: UNSUPPORTED }],
    ['its name', { message: "'reasoning.encrypted_content' is not supported with this model.", param: null }],
    [
      'the value',
      {
        message: "Invalid value: 'reasoning.encrypted_content'. Supported values are: 'file_search_call.results'.",
        param: 'include[0]',
        code: 'invalid_value',
      },
    ],
    ['the whole list', { message: "Unsupported parameter: 'include' is not supported with this model." }],
  ])('[V-22] of encrypted reasoning is met once without it, and remembered: %s', async (_, refusal) => {
    await serve('responses', (body) => (includes(body)?.includes(ENCRYPTED) ? refusal : undefined));
    const notes = await ask({});
    expect(notes.join()).toContain(`'include.${ENCRYPTED}'`);
    await ask({ topLogprobs: 1 });
    await ask({ model: 'another' });
    const all = [ENCRYPTED];
    expect(fake.requests.map(({ body }) => includes(body))).toEqual([
      all,
      undefined,
      ['message.output_text.logprobs'],
      all,
      undefined,
    ]);
  });

  it('[V-22] of encrypted reasoning leaves the other values of the list', async () => {
    const refusal = { message: UNSUPPORTED, param: 'include' };
    await serve('responses', (body) => (includes(body)?.includes(ENCRYPTED) ? refusal : undefined));
    await ask({ topLogprobs: 1, temperature: 0.2 });
    expect(fake.requests.map(({ body }) => includes(body))).toEqual([
      [ENCRYPTED, 'message.output_text.logprobs'],
      ['message.output_text.logprobs'],
    ]);
    expect(sent('temperature')).toEqual([true, true]);
  });

  it('[V-22] of encrypted reasoning is final where that is not what is refused', async () => {
    await serve('responses', () => ({ message: 'Please include a user message; unsupported input.', param: 'input' }));
    await expect(ask({})).rejects.toThrow('user message');
    expect(fake.requests.length).toBe(1);
  });

  it.each([
    ['/responses', { input: 'Hi.' }],
    ['/responses', { input: 'Hi.', stream: true, include: [ENCRYPTED] }],
    ['/messages', { max_tokens: 50, messages: [{ role: 'user', content: 'Hi.' }] }],
  ])('[V-22] of encrypted reasoning reaches no client: %s %j', async (path, request) => {
    const refusal = { message: UNSUPPORTED, param: 'include', code: null };
    await serve('responses', (body) => (includes(body)?.includes(ENCRYPTED) ? refusal : undefined));
    const options = { upstream, hooks: { onNote() {} } };
    const app = await startApp({ options, others: [messagesRouter(options)] });
    const answer = await fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', ...request }),
    });
    expect([answer.status, (await answer.text()).includes('ok')]).toEqual([200, true]);
    await app.close();
  });
});
