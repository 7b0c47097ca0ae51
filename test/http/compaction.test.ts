/** Compaction over HTTP: the endpoint, the items it makes, and turns that compact their own conversation. */

import OpenAI from 'openai';
import { openResponses } from '../../src/core.ts';
import { functionTools } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatCompletion, textStream, toolCallStream } from '../../src/testing/index.ts';
import { clientRequests } from '../support/client-bodies.ts';
import { expectValidCompaction } from '../support/open-responses-schema.ts';
import { eventsOf, finalOf, type RequestApp, type RequestAppSetup, requestAppPerTest } from '../support/request-app.ts';
import { describeShared } from '../support/shared.ts';
import { expectWireLaws, readWire } from '../support/wire-laws.ts';

const KEY = 'the key of these tests';
const SUMMARY = 'The code word is slate.';
const INTRO = 'This is a summary of our conversation so far, in place of its earlier messages:';
const SUMMED = { role: 'user', content: `${INTRO}\n\n${SUMMARY}` };
const TALK = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'Remember: slate.' },
  { role: 'assistant', content: 'OK.' },
  { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }] },
];
const LONG = 'word '.repeat(1200);
const MANAGED = { context_management: [{ type: 'compaction', compact_threshold: 1000 }] };
const LOOK = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };

const COMPACTION = { secret: KEY, compaction: { prompt: 'Sum up.' } };

let app: RequestApp;
const start = requestAppPerTest(
  (started) => {
    app = started;
  },
  () => COMPACTION,
);

/** Replaces the app of this test by one with these options besides. */
const restart = (options: RequestAppSetup) => start({ ...COMPACTION, ...options });

interface Answer {
  readonly status: number;
  readonly body: JsonObject & { readonly output: readonly JsonObject[]; readonly error: JsonObject };
}

async function post(path: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
  const response = await fetch(`${app.url}${path}`, init);
  return { status: response.status, body: JSON.parse(await response.text()) };
}

/** Compacts the talk, with the summary that all of these tests expect. */
async function compact(
  body: JsonObject = { input: TALK },
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  app.upstream.reply({ body: textStream(SUMMARY) });
  return post('/responses/compact', { model: 'm', ...body }, headers);
}

/** What the model received last, as role and content. */
function reported(): readonly unknown[] {
  return app.requested().messages.map(({ role, content }) => ({ role, content }));
}

function typesOf({ body }: { readonly body: { readonly output: readonly JsonObject[] } }): readonly unknown[] {
  return body.output.map(({ type }) => type);
}

function errorOf({ status, body }: Answer): readonly unknown[] {
  return [status, body.error.code, body.error.param];
}

describe('POST /responses/compact', () => {
  it('[S-14] asks for a summary, and answers the messages of the user and one sealed item', async () => {
    const { status, body } = await compact({ input: TALK, instructions: 'You are Ada.' });
    const { output, usage, ...rest } = body;
    const seed = String(body.id).slice('resp_'.length);
    expect([status, rest]).toEqual([
      200,
      {
        id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
        object: 'response.compaction',
        created_at: expect.any(Number),
      },
    ]);
    expect(usage).toEqual({
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 21,
    });
    const message = { type: 'message', role: 'user', status: 'completed' };
    expect(output).toEqual([
      { ...message, id: `msg_${seed}i0001`, content: [{ type: 'input_text', text: 'Remember: slate.' }] },
      {
        ...message,
        id: `msg_${seed}i0003`,
        content: [{ type: 'input_image', image_url: expect.any(String), detail: 'auto' }],
      },
      { id: `cmp_${seed}0002`, type: 'compaction', encrypted_content: expect.stringMatching(/^cmp1\.[\w-]+$/) },
    ]);
    expect([reported(), app.requested().tools]).toEqual([
      [
        { role: 'system', content: 'You are Ada.' },
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Remember: slate.' },
        { role: 'assistant', content: 'OK.' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
        { role: 'user', content: 'Sum up.' },
      ],
      undefined,
    ]);
    expectValidCompaction(body);
  });

  it('[S-14] makes a conversation to go on with: the summary, and the user’s input unchanged', async () => {
    const { body } = await compact();
    const next = await app.create({ input: [...body.output, { role: 'user', content: 'And now?' }] });
    expect([next.status, next.body.status, reported()]).toEqual([
      200,
      'completed',
      [
        { role: 'user', content: 'Remember: slate.' },
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'auto' } }],
        },
        SUMMED,
        { role: 'user', content: 'And now?' },
      ],
    ]);
  });

  it('[S-14] compacts what was compacted before, and the user keeps every word', async () => {
    const first = await compact();
    const second = await compact({ input: [...first.body.output, { role: 'user', content: 'Go on.' }] });
    const words = second.body.output.map(({ type, content }) => (content as readonly JsonObject[])?.[0]?.text ?? type);
    expect(words).toEqual(['Remember: slate.', 'message', 'Go on.', 'compaction']);
    expect(reported()).toContainEqual(SUMMED);
  });

  it('[S-14] [P-13] takes a stored response of the same scope only', async () => {
    const { body } = await app.create({ input: 'Hi' });
    const mine = await compact({ previous_response_id: body.id });
    const foreign = await compact({ previous_response_id: body.id }, { authorization: 'Bearer other' });
    expect([typesOf(mine), errorOf(foreign)]).toEqual([
      ['message', 'compaction'],
      [400, 'previous_response_not_found', 'previous_response_id'],
    ]);
  });

  it('[S-14] carries a call that nobody has answered yet', async () => {
    app.upstream.reply({ body: toolCallStream([{ id: 'c1', name: 'look', arguments: '{}' }]) });
    const called = await app.create({ input: 'Look', tools: [LOOK] });
    const { body } = await compact({ previous_response_id: called.body.id });
    const answered = await app.create({
      input: [...body.output, { type: 'function_call_output', call_id: 'c1', output: 'x' }],
    });
    expect([answered.status, app.requested().messages.map(({ role }) => role)]).toEqual([
      200,
      ['user', 'user', 'assistant', 'tool'],
    ]);
  });

  it.each<[string, JsonObject, readonly unknown[]]>([
    ['a missing model', { model: undefined, input: 'Hi' }, [400, 'missing_required_parameter', 'model']],
    ['a model of null', { model: null, input: 'Hi' }, [400, 'invalid_type', 'model']],
    ['nothing to compact', {}, [400, 'missing_required_parameter', 'input']],
    ['an item that is none', { input: [7] }, [400, 'invalid_type', 'input[0]']],
  ])('[S-14] refuses %s', async (_, body, error) => {
    expect(errorOf(await post('/responses/compact', { model: 'm', ...body }))).toEqual(error);
  });

  it('[S-14] [P-09] passes on what the model server says, and does not take silence for a summary', async () => {
    app.upstream.reply({ status: 401, body: '{"error":{"message":"No."}}' }, { body: textStream('  ') });
    const [refused, silent] = [
      await post('/responses/compact', { model: 'm', input: 'Hi' }),
      await post('/responses/compact', { model: 'm', input: 'Hi' }),
    ];
    expect([refused.status, errorOf(silent)]).toEqual([401, [502, 'upstream_error', null]]);
  });

  it('[S-14] is understood by the SDK, which continues from it', async () => {
    app.upstream.reply({ body: textStream(SUMMARY) }, { body: textStream('Slate.') });
    const client = new OpenAI({ baseURL: app.url, apiKey: 'k', maxRetries: 0 });
    const { output } = await client.responses.compact({ model: 'm', input: 'Remember: slate.' });
    // The cast: the SDK's types for output and input of the same item differ.
    const input = [...output, { role: 'user', content: 'What?' }] as OpenAI.Responses.ResponseInput;
    expect((await client.responses.create({ model: 'm', input })).output_text).toBe('Slate.');
  });

  it('[S-14] [X-03] is the same in a Web handler', async () => {
    const { body } = await compact();
    const handler = openResponses({
      secret: KEY,
      upstream: { name: 'silent', stream: async function* () {} },
    }).fetch;
    const headers = { 'content-type': 'application/json' };
    const input = [...body.output, { role: 'user', content: 'Hi' }];
    const request = new Request('http://localhost/responses/input_tokens', {
      method: 'POST',
      headers,
      body: JSON.stringify({ input }),
    });
    expect((await handler(request)).status).toBe(200);
  });
});

describeShared('recorded requests for compaction', () => {
  const requests = clientRequests().filter(({ path, body }) => path.endsWith('/compact') && !body.previous_response_id);

  it.each(requests.map((request) => [request.name, request] as const))(
    '[S-14] [Q-01] %s is answered',
    async (_, { body }) => {
      const { status, body: answer } = await compact(body);
      expect([status, answer.object, typesOf({ body: answer }).at(-1)]).toEqual([
        200,
        'response.compaction',
        'compaction',
      ]);
      expectValidCompaction(answer);
    },
  );
});

describe('a compaction item', () => {
  it.each<[string, (item: JsonObject) => JsonObject]>([
    ['was changed', (item) => ({ ...item, encrypted_content: `${item.encrypted_content}A` })],
    ['was never ours', (item) => ({ ...item, encrypted_content: 'gAAAAABp4W-p3Kxpz' })],
  ])('[S-14] that %s is refused by its place, however it is sent', async (_, changed) => {
    const { body } = await compact();
    const items = body.output.map((item) => (item.type === 'compaction' ? changed(item) : item));
    const requested = [{ role: 'user', content: 'Hi' }, ...items];
    const answers = [
      await post('/responses', { model: 'm', input: requested }),
      await post('/responses', { model: 'm', input: requested, stream: true }),
      await post('/responses/compact', { model: 'm', input: requested }),
      await post('/responses/input_tokens', { input: requested }),
    ];
    expect(answers.map(errorOf)).toEqual(
      Array(4).fill([400, 'invalid_encrypted_content', 'input[3].encrypted_content']),
    );
    expect(JSON.stringify(answers)).not.toContain(KEY);
  });

  it('[S-14] [P-13] of another scope is refused', async () => {
    const { body } = await compact({ input: TALK }, { authorization: 'Bearer mine' });
    const other = await post('/responses', { model: 'm', input: body.output }, { authorization: 'Bearer other' });
    const own = await post('/responses', { model: 'm', input: body.output }, { authorization: 'Bearer mine' });
    expect([errorOf(other), own.status]).toEqual([
      [400, 'invalid_encrypted_content', 'input[2].encrypted_content'],
      200,
    ]);
  });

  it('[S-14] needs its text', async () => {
    expect(errorOf(await post('/responses', { model: 'm', input: [{ type: 'compaction' }] }))).toEqual([
      400,
      'missing_required_parameter',
      'input[0].encrypted_content',
    ]);
  });

  it('[S-14] of another process is read with the same key only', async () => {
    const { body } = await compact();
    await restart({});
    const same = await app.create({ input: body.output });
    await restart({ secret: undefined });
    const other = await post('/responses', { model: 'm', input: body.output });
    expect([same.status, errorOf(other)]).toEqual([
      200,
      [400, 'invalid_encrypted_content', 'input[2].encrypted_content'],
    ]);
  });
});

describe('context_management', () => {
  beforeEach(() =>
    app.upstream.reply({ body: textStream('Noted.') }, { body: textStream(SUMMARY) }, { body: textStream('Slate.') }),
  );

  it('[S-14] compacts a long conversation behind its answer, and continuing begins with the summary', async () => {
    const first = await app.create({
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: LONG },
      ],
      ...MANAGED,
    });
    const requested = reported();
    await app.create({ previous_response_id: first.body.id, input: 'What?' });
    const kept = await app.get(`/responses/${first.body.id}/input_items?order=asc`);
    expect([typesOf(first), (first.body.usage as JsonObject).total_tokens, requested.at(-2), requested.at(-1)]).toEqual(
      [['message', 'compaction'], 42, { role: 'assistant', content: 'Noted.' }, { role: 'user', content: 'Sum up.' }],
    );
    expect(reported()).toEqual([{ role: 'system', content: 'Be brief.' }, SUMMED, { role: 'user', content: 'What?' }]);
    expect((kept.body.data as readonly JsonObject[]).length).toBe(2);
  });

  it('[S-14] is shown on a stream that keeps every law, and the same in JSON', async () => {
    const text = await app.streamed({ input: LONG, ...MANAGED });
    const response = expectWireLaws(readWire(text));
    const reported = eventsOf(text).filter(({ item }) => (item as JsonObject | undefined)?.type === 'compaction');
    expect([
      reported.map(({ type, output_index }) => [type, output_index]),
      response.output.map(({ type }) => type),
    ]).toEqual([
      [
        ['response.output_item.added', 1],
        ['response.output_item.done', 1],
      ],
      ['message', 'compaction'],
    ]);
  });

  it('[S-14] leaves a short conversation as it is, and a threshold of null means a high one', async () => {
    const short = await app.create({ input: 'Hi', ...MANAGED });
    const high = await app.create({
      input: LONG,
      context_management: [{ type: 'compaction', compact_threshold: null }],
    });
    expect([typesOf(short), typesOf(high), app.upstream.requests.length]).toEqual([['message'], ['message'], 2]);
  });

  it('[S-14] works without the store: what comes before the item may be dropped', async () => {
    const { body } = await app.create({ input: LONG, store: false, ...MANAGED });
    await app.create({ input: [{ role: 'user', content: LONG }, ...body.output, { role: 'user', content: 'What?' }] });
    expect(reported()).toEqual([SUMMED, { role: 'user', content: 'What?' }]);
  });

  it('[S-14] [S-17] works in a conversation', async () => {
    const { body } = await post('/conversations', {});
    await app.create({ input: LONG, conversation: body.id, ...MANAGED });
    await app.create({ input: 'What?', conversation: body.id });
    expect(reported()).toEqual([SUMMED, { role: 'user', content: 'What?' }]);
  });

  it.each<[JsonObject, readonly unknown[]]>([
    [{ type: 'other' }, [400, 'invalid_value', 'context_management[0].type']],
    [
      { type: 'compaction', compact_threshold: 999 },
      [400, 'integer_below_min_value', 'context_management[0].compact_threshold'],
    ],
  ])('[S-14] refuses %j', async (entry, error) => {
    expect(errorOf(await post('/responses', { model: 'm', input: 'Hi', context_management: [entry] }))).toEqual(error);
  });
});

describe('context_management, where something comes between', () => {
  it('[S-14] carries the calls of the client, whose outputs then find them', async () => {
    const calls = toolCallStream([{ id: 'c1', name: 'look', arguments: '{}' }]);
    app.upstream.reply({ body: calls }, { body: textStream(SUMMARY) }, { body: textStream('Seen.') });
    const first = await app.create({ input: LONG, tools: [LOOK], ...MANAGED });
    const input = [{ type: 'function_call_output', call_id: 'c1', output: 'x' }];
    const next = await app.create({ previous_response_id: first.body.id, input });
    expect([typesOf(first), next.status, app.requested().messages.map(({ role }) => role)]).toEqual([
      ['function_call', 'compaction'],
      200,
      ['user', 'assistant', 'tool'],
    ]);
  });

  it('[S-14] an answer is not failed for a count that fails: the host is informed', async () => {
    const count = () => Promise.reject(new Error('No tokenizer.'));
    await restart({ countTokens: count });
    app.upstream.reply({ body: textStream('Noted.') });
    const { body } = await app.create({ input: LONG, ...MANAGED });
    expect([body.status, app.notes]).toEqual([
      'completed',
      [{ code: 'compaction_skipped', message: 'The conversation could not be compacted: No tokenizer.' }],
    ]);
  });

  it('[S-14] an answer is not failed for a summary that fails: the host is informed', async () => {
    app.upstream.reply({ body: textStream('Noted.') }, { status: 400, body: '{"error":{"message":"Too long."}}' });
    const { status, body } = await app.create({ input: LONG, ...MANAGED });
    expect([status, body.status, typesOf({ body }), app.notes]).toEqual([
      200,
      'completed',
      ['message'],
      [{ code: 'compaction_skipped', message: 'The conversation could not be compacted: Too long.' }],
    ]);
  });

  it('[S-14] [S-11] nothing comes behind an answer that was cut off', async () => {
    app.upstream.reply({ body: chatCompletion('Not', { finish_reason: 'length' }) }, { body: textStream(SUMMARY) });
    const { body } = await app.create({ input: LONG, ...MANAGED });
    expect([body.status, typesOf({ body }), app.upstream.requests.length]).toEqual(['incomplete', ['message'], 1]);
  });

  it('[S-14] [T-02] nothing comes behind a turn that the server stopped', async () => {
    await restart({ tools: functionTools({ spin: { execute: () => 'again' } }), limits: { tools: { iterations: 1 } } });
    const call = { body: toolCallStream([{ id: 'c1', name: 'spin', arguments: '{}' }]) };
    app.upstream.reply(call, call, { body: textStream(SUMMARY) });
    const { body } = await app.create({ input: LONG, ...MANAGED });
    expect([body.status, typesOf({ body })]).toEqual(['incomplete', ['mcp_list_tools', 'mcp_call', 'mcp_call']]);
  });

  it('[S-14] [P-10] a client that leaves during the summary ends it', async () => {
    app.upstream.reply({ body: textStream('Noted.') }, { hang: true });
    const leaving = new AbortController();
    const body = JSON.stringify({ model: 'm', input: LONG, ...MANAGED });
    const asking = fetch(`${app.url}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: leaving.signal,
    });
    asking.catch(() => {});
    await app.upstream.nextRequest();
    await app.upstream.nextRequest();
    leaving.abort();
    expect([await app.upstream.closed(1), app.notes]).toEqual([expect.any(Number), []]);
  });
});

describe('compaction_trigger', () => {
  const TRIGGER = { type: 'compaction_trigger' };

  it('[S-14] compacts at once, in one call of the model, and is continued as any turn', async () => {
    const { body: first } = await app.create({ input: 'Remember: slate.' });
    app.upstream.reply({ body: textStream(SUMMARY) });
    const text = await app.streamed({ previous_response_id: first.id, input: [TRIGGER] });
    const requested = app.upstream.requests.length;
    const compacted = finalOf(text);
    app.upstream.reply({ body: textStream('Slate.') });
    await app.create({ previous_response_id: compacted.id, input: 'What?' });
    expect([requested, expectWireLaws(readWire(text)).output.map(({ type }) => type), reported()]).toEqual([
      2,
      ['compaction'],
      [SUMMED, { role: 'user', content: 'What?' }],
    ]);
  });

  it('[S-14] is announced when the summary begins, in an item that is whole at its end', async () => {
    const { body: first } = await app.create({ input: 'Remember: slate.' });
    app.upstream.reply({ body: textStream(SUMMARY) });
    const text = await app.streamed({ previous_response_id: first.id, input: [TRIGGER] });
    const { output } = expectWireLaws(readWire(text));
    const reported = eventsOf(text).filter(({ output_index: index }) => index === 0);
    expect(reported.map(({ sequence_number: _, ...event }) => event)).toEqual([
      { type: 'response.output_item.added', output_index: 0, item: { ...output[0], encrypted_content: '' } },
      { type: 'response.compaction.compacting', output_index: 0, item_id: output[0]?.id },
      { type: 'response.output_item.done', output_index: 0, item: output[0] },
    ]);
  });

  it('[S-14] [P-02] keeps every law where the model server breaks off its summary', async () => {
    const body = textStream(SUMMARY);
    app.upstream.reply({ body, split: [300], paceMs: 50, cutAfterBytes: body.indexOf('[DONE]') - 300 });
    const text = await app.streamed({ input: [{ role: 'user', content: 'Hi' }, TRIGGER] });
    const { status, output } = expectWireLaws(readWire(text));
    expect([status, output.map(({ type }) => type)]).toEqual(['failed', ['compaction']]);
  });

  it('[S-14] must be the last item', async () => {
    const answer = await post('/responses', { model: 'm', input: [TRIGGER, { role: 'user', content: 'Hi' }] });
    expect(errorOf(answer)).toEqual([400, 'invalid_value', 'input[0]']);
  });

  it('[S-14] [P-09] fails with the status of the model server where that refuses', async () => {
    app.upstream.reply({ status: 429, body: '{"error":{"message":"Slow down."}}' });
    expect((await post('/responses', { model: 'm', input: [TRIGGER] })).status).toBe(429);
  });
});
