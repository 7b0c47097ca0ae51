/** Anthropic's message batches over HTTP; its SDK is in test/clients. */
import { type FileStore, memoryFiles } from '../../../src/files.ts';
import { functionTools } from '../../../src/index.ts';
import { defaultScope } from '../../../src/ports/scope.ts';
import { chatCompletion, toolCallStream } from '../../../src/testing/index.ts';
import { type BatchesApp, startBatchesApp } from './batches-app.ts';

let app: BatchesApp;
afterEach(() => app.close());

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
type Json = any;

async function send(path: string, body?: object, key = 'alice', method = body ? 'POST' : 'GET') {
  const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' };
  const response = await fetch(`${app.url}/messages/batches${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  const isOne = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, json: (isOne ? JSON.parse(text) : undefined) as Json, text };
}

function order(custom_id: string, params: object = {}) {
  const messages = [{ role: 'user', content: custom_id }];
  return { custom_id, params: { model: 'fake-model', max_tokens: 16, messages, ...params } };
}

async function ended(id: string): Promise<Json> {
  for (;;) {
    const { json } = await send(`/${id}`);
    if (json.processing_status === 'ended') return json;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function resultsOf(id: string): Promise<readonly Json[]> {
  const { text } = await send(`/${id}/results`);
  const lines = text.split('\n').filter((each) => each !== '');
  return lines.map((each) => JSON.parse(each)).toSorted((one, other) => (one.custom_id < other.custom_id ? -1 : 1));
}

describe('a batch of messages', () => {
  it('[E-10] does not run a tool again where a message breaks off behind it', async () => {
    let runs = 0;
    const tools = functionTools({ now: { description: 'The time.', execute: () => String(++runs) } });
    app = await startBatchesApp({ router: { tools } });
    const busy = { status: 503, body: '{"error":{"message":"Busy."}}' };
    app.model.reply(busy, { body: toolCallStream([{ id: 'c', name: 'now', arguments: '{}' }]) }, busy);
    const { json } = await send('', { requests: [order('a')] });
    await ended(json.id);
    const [{ result }] = await resultsOf(json.id);
    expect([result.type, runs, app.model.requests.length]).toEqual(['errored', 1, 3]);
  });

  it('[E-10] is answered, with a result for each request, and deleted with its results', async () => {
    app = await startBatchesApp();
    const { status, json: batch } = await send('', { requests: [order('a'), order('b', { max_tokens: -1 })] });
    expect([status, batch]).toEqual([
      200,
      {
        ...{
          id: expect.stringMatching(/^msgbatch_[0-9a-f]{32}$/),
          type: 'message_batch',
          processing_status: 'in_progress',
        },
        request_counts: { processing: 2, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
        ...{
          created_at: expect.any(String),
          expires_at: expect.any(String),
          ended_at: null,
          cancel_initiated_at: null,
        },
        ...{ archived_at: null, results_url: null },
      },
    ]);
    const over = await ended(batch.id);
    expect([over.request_counts, over.results_url, typeof over.ended_at]).toEqual([
      { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 0 },
      `/v1/messages/batches/${batch.id}/results`,
      'string',
    ]);
    const [a, b] = await resultsOf(batch.id);
    expect([a.custom_id, a.result.type, a.result.message.type]).toEqual(['a', 'succeeded', 'message']);
    expect([b.custom_id, b.result.type, b.result.error.type, b.result.error.error.type]).toEqual([
      ...['b', 'errored', 'error', 'invalid_request_error'],
    ]);
    expect((await send('')).json).toMatchObject({ data: [{ id: batch.id }], has_more: false, first_id: batch.id });
    expect((await send(`/${batch.id}`, undefined, 'alice', 'DELETE')).json).toEqual({
      id: batch.id,
      type: 'message_batch_deleted',
    });
    expect((await send(`/${batch.id}`)).status).toBe(404);
    expect([await app.files.usage(defaultScope(new Headers({ 'x-api-key': 'alice' })))]).toEqual([
      { files: 0, bytes: 0 },
    ]);
  });

  it('[E-10] leaves no file for longer than the batch is kept, whatever becomes of its deletion', async () => {
    const files = memoryFiles();
    const expiries: (number | undefined)[] = [];
    const put: FileStore['put'] = async (upload) => {
      const stored = await files.put(upload);
      expiries.push(stored.expiresAt);
      return stored;
    };
    app = await startBatchesApp({ files: Object.assign(Object.create(files), { put }) });
    const { json } = await send('', { requests: [order('a')] });
    const { expires_at: windowEnd } = await ended(json.id);
    const keptMs = 30 * 24 * 60 * 60_000;
    const spans = expiries.map((at) => Math.round((Number(at) - Date.parse(windowEnd) - keptMs) / 60_000));
    expect(spans).toEqual([0, 0]);
  });

  it('[E-10] may have a model for each request, and fields of which only the API of messages judges', async () => {
    app = await startBatchesApp();
    app.model.reply({ body: chatCompletion('Yes.') });
    const requests = [order('a', { model: 'one' }), order('b', { model: 'two', background: true })];
    const { json: batch } = await send('', { requests });
    expect((await ended(batch.id)).request_counts).toMatchObject({ succeeded: 2, errored: 0 });
    expect((await resultsOf(batch.id)).map(({ result }) => result.message.model)).toEqual(['one', 'two']);
  });

  it('[E-10] with a request that is longer than a line may be is refused, and leaves no file', async () => {
    app = await startBatchesApp({ batches: { quota: { lineBytes: 500 } } });
    const { status, json } = await send('', { requests: [order('a'), order('b', { system: 'x'.repeat(500) })] });
    expect([status, json.error]).toEqual([
      413,
      { type: 'request_too_large', message: 'requests.1: the request has more than 500 bytes.' },
    ]);
    expect((await app.client().files.list()).data).toEqual([]);
  });

  it('[E-10] that is cancelled has a result for each request', async () => {
    app = await startBatchesApp({ batches: { quota: { parallelLines: 1 } } });
    app.model.reply({ body: chatCompletion('First.') }, { hang: true });
    const { json: batch } = await send('', { requests: ['a', 'b', 'c'].map((id) => order(id)) });
    while ((await send(`/${batch.id}`)).json.request_counts.succeeded === 0)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await send(`/${batch.id}/results`)).status).toBe(400);
    expect((await send(`/${batch.id}`, undefined, 'alice', 'DELETE')).status).toBe(400);
    const { json: cancelling } = await send(`/${batch.id}/cancel`, {});
    expect(['canceling', 'ended']).toContain(cancelling.processing_status);
    expect((await ended(batch.id)).request_counts).toEqual({
      processing: 0,
      succeeded: 1,
      errored: 0,
      canceled: 2,
      expired: 0,
    });
    expect((await resultsOf(batch.id)).map(({ custom_id, result }) => [custom_id, result.type])).toEqual([
      ['a', 'succeeded'],
      ['b', 'canceled'],
      ['c', 'canceled'],
    ]);
  });

  it('[E-10] that is cancelled before it has begun has a result for each request, too', async () => {
    app = await startBatchesApp();
    const { json: batch } = await send('', { requests: [order('a'), order('b')] });
    await send(`/${batch.id}/cancel`, {});
    const { request_counts } = await ended(batch.id);
    expect([request_counts.canceled + request_counts.succeeded, (await resultsOf(batch.id)).length]).toEqual([2, 2]);
  });

  it('[E-10] with a bad request is refused in Anthropic’s words, and that of another tenant is not found', async () => {
    app = await startBatchesApp();
    for (const requests of [
      [],
      [order('a b')],
      [order('a'), order('a')],
      [{ custom_id: 'a' }],
      [null],
      [order('a', { stream: true })],
      'x',
    ])
      expect(await send('', { requests })).toMatchObject({
        status: 400,
        json: { type: 'error', error: { type: 'invalid_request_error' } },
      });
    const { json: batch } = await send('', { requests: [order('a')] });
    for (const [path, method] of [
      ['', 'GET'],
      ['/cancel', 'POST'],
      ['/results', 'GET'],
      ['', 'DELETE'],
    ] as const)
      expect(await send(`/${batch.id}${path}`, method === 'POST' ? {} : undefined, 'bob', method)).toMatchObject({
        status: 404,
        json: { type: 'error', error: { type: 'not_found_error' } },
      });
    await ended(batch.id);
  });
});
