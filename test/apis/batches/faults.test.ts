/** Inputs that are refused, bounds, and batches whose time is over. */

import type OpenAI from 'openai';
import { answerLine, retryPauseMs } from '../../../src/apis/batches/lines/answer-line.ts';
import { type FileStore, memoryFiles } from '../../../src/files.ts';
import { functionTools, memoryStore, type ResponseStore } from '../../../src/index.ts';
import type { EventLog } from '../../../src/ports/background/event-log.ts';
import { chatChunk, chatCompletion, toolCallStream } from '../../../src/testing/index.ts';
import { entry, fakeRemote, URL_A } from '../../engine/tools/remote-support.ts';
import { deferred } from '../../engine/tools/support.ts';
import { type BatchesApp, create, ended, line, results, startBatchesApp, until, upload } from './batches-app.ts';

let app: BatchesApp | undefined;
afterEach(() => app?.close());

/** A store whose logs take no event until the outage is over. */
function unwritableLogs() {
  const store = memoryStore();
  const { events } = store;
  const refused = deferred();
  const down = { isOver: false, hasRefused: refused.promise };
  const append: EventLog['append'] = (key, more) => {
    if (down.isOver || more.events.length === 0) return events.append(key, more);
    refused.resolve();
    throw new Error('The store takes nothing.');
  };
  const unwritable: ResponseStore = { ...store, events: { ...events, append } };
  return { store: unwritable, down };
}

/** The faults of a batch of these lines. */
async function faultsOf(lines: readonly string[], client: OpenAI): Promise<readonly unknown[]> {
  const over = await ended(client, await create(client, lines));
  expect([over.status, over.output_file_id, typeof over.failed_at]).toEqual(['failed', null, 'number']);
  return over.errors?.data?.map(({ code, line: number, param }) => [code, number, param]) ?? [];
}

it('[E-10] a line waits for as long as its answer asks for, up to four hours, and otherwise longer each time', () => {
  const asked = ['30', '3600', '86400', '0'].map((seconds) => retryPauseMs({ 'retry-after': seconds }, 1, 1000));
  expect(asked).toEqual([30_000, 3_600_000, 14_400_000, 1]);
  expect([1, 2, 3, 20].map((attempt) => retryPauseMs({}, attempt, 1000))).toEqual([1000, 2000, 4000, 60_000]);
});

it('[E-10] a line that waits keeps no process alive that has nothing else to do', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const leaving = new AbortController();
  const left = deferred();
  const headers = { 'retry-after': '3600' };
  const apis = { serves: () => true, answer: async () => ({ status: 429, headers, body: '{}' }) };
  const request = { path: '/', body: {}, headers: new Headers(), scope: 's', signal: leaving.signal };
  const before = timers();
  const limits = { lineAttempts: 2, retryMs: 1, answerBytes: 9 };
  const answer = answerLine(request, apis, limits, { enter: async () => {}, leave: left.resolve });
  await left.promise;
  expect(timers()).toBe(before);
  leaving.abort(new Error('Over.'));
  await expect(answer).rejects.toThrow();
});

describe('a batch', () => {
  it('[E-10] with bad lines fails, and names each of them as OpenAI does; no model is asked', async () => {
    app = await startBatchesApp();
    const lines = [
      line('good'),
      '{"custom_id": "cut',
      '[]',
      line('good'),
      '',
      line('url', {}, '/v1/chat/completions'),
      line('method').replace('"POST"', '"GET"'),
      line('model', { model: 'other-model' }),
      '{"method":"POST","url":"/v1/responses","body":{}}',
      line('body').replace(/"body":.*/, '"body":[]}'),
      line('x'.repeat(513)),
      line('stream', { stream: true }),
      line('background', { background: true }),
    ];
    expect(await faultsOf(lines, app.client())).toEqual([
      ['invalid_json_line', 2, null],
      ['invalid_json_line', 3, null],
      ['duplicate_custom_id', 4, 'custom_id'],
      ['invalid_url', 6, 'url'],
      ['invalid_method', 7, 'method'],
      ['mismatched_model', 8, 'body.model'],
      ['missing_required_parameter', 9, 'custom_id'],
      ['invalid_request', 10, 'body'],
      ['invalid_custom_id', 11, 'custom_id'],
      ['invalid_request', 12, 'body.stream'],
      ['invalid_request', 13, 'body.background'],
    ]);
    expect(app.model.requests).toEqual([]);
  });

  it('[E-10] names a hundred faults at most', async () => {
    app = await startBatchesApp();
    const faults = await faultsOf(
      Array.from({ length: 300 }, () => 'not JSON'),
      app.client(),
    );
    expect([faults.length, faults[99]]).toEqual([100, ['invalid_json_line', 100, null]]);
  });

  it('[E-10] with too many lines, a line that is too long, or none at all fails', async () => {
    app = await startBatchesApp({ batches: { quota: { lines: 2, lineBytes: 200 } } });
    const client = app.client();
    expect(
      await faultsOf(
        ['1', '2', '3'].map((id) => line(id)),
        client,
      ),
    ).toEqual([['maximum_requests_exceeded', null, null]]);
    expect(await faultsOf([line('1'), line('2', { input: 'x'.repeat(200) })], client)).toEqual([
      ['line_too_long', 2, null],
    ]);
    expect(await faultsOf([' ', ''], client)).toEqual([['empty_file', null, null]]);
  });

  it('[E-10] is refused for a file of another purpose, for too long a file, for an endpoint that is not served, and for other terms', async () => {
    app = await startBatchesApp({ batches: { quota: { inputBytes: 300 } } });
    const client = app.client();
    const ok = {
      input_file_id: await upload(client, [line('1')]),
      endpoint: '/v1/responses',
      completion_window: '24h',
    } as const;
    const file = await client.files.create({ file: new File(['x'], 'x.txt'), purpose: 'user_data' });
    const long = await upload(client, [line('1', { input: 'x'.repeat(300) })]);
    const refusals: readonly (readonly [body: object, status: number, param: string])[] = [
      [{ ...ok, input_file_id: file.id }, 400, 'input_file_id'],
      [{ ...ok, input_file_id: long }, 413, 'input_file_id'],
      [{ ...ok, input_file_id: 'file-0' }, 404, 'input_file_id'],
      [{ ...ok, endpoint: '/v1/images/generations' }, 400, 'endpoint'],
      [{ ...ok, completion_window: '1h' }, 400, 'completion_window'],
      [{ ...ok, metadata: { a: 1 } }, 400, 'metadata'],
      [{ ...ok, output_expires_after: { anchor: 'created_at', seconds: 1 } }, 400, 'output_expires_after.seconds'],
    ];
    for (const [body, status, param] of refusals)
      await expect(client.batches.create(body as never)).rejects.toMatchObject({
        status,
        param: expect.stringContaining(param.split('.')[0] ?? ''),
      });
    const answer = await fetch(`${app.url}/batches`, {
      method: 'POST',
      headers: { cookie: 'a=b', 'content-type': 'application/json' },
      body: JSON.stringify(ok),
    });
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      400,
      'tenant_unknown',
    ]);
  });

  it('[E-10] has an answer with an error for a line that its API refuses', async () => {
    app = await startBatchesApp();
    const client = app.client();
    const over = await ended(client, await create(client, [line('bad', { temperature: 'hot' }), line('good')]));
    const [refused] = await results(client, over.error_file_id);
    expect([over.status, over.request_counts?.failed, refused?.custom_id, refused?.response.status_code]).toEqual([
      ...['completed', 1, 'bad', 400],
    ]);
    expect(refused?.response.body.error.param).toBe('temperature');
  });

  it('[E-10] has an answer that breaks off made again, unless a tool has run for it', async () => {
    const tools = functionTools({ now: { description: 'The time.', execute: () => 'noon' } });
    app = await startBatchesApp({ router: { tools } });
    const client = app.client();
    const cut = { body: [chatChunk({ content: 'Half' }), ' '], cutAfterBytes: 1e6 };
    app.model.reply(cut, { body: chatCompletion('Whole.') });
    const made = await ended(client, await create(client, [line('text')]));
    const [text] = await results(client, made.output_file_id);
    expect([text?.response.body.status, app.model.requests.length]).toEqual(['completed', 2]);
    app.model.reply({ body: toolCallStream([{ id: 'c', name: 'now', arguments: '{}' }]) }, cut);
    const broken = await ended(client, await create(client, [line('tool')]));
    const [tool] = await results(client, broken.output_file_id);
    const { status, error } = tool?.response.body ?? {};
    expect([status, error.reason, app.model.requests.length]).toEqual(['failed', 'upstream_truncated', 4]);
  });

  it('[E-10] does not run a tool again where a chat completion breaks off behind it', async () => {
    let runs = 0;
    const tools = functionTools({ now: { description: 'The time.', execute: () => String(++runs) } });
    app = await startBatchesApp({ router: { tools } });
    const client = app.client();
    const busy = { status: 503, body: '{"error":{"message":"Busy."}}' };
    app.model.reply(busy, { body: toolCallStream([{ id: 'c', name: 'now', arguments: '{}' }]) }, busy);
    const body = { input: undefined, messages: [{ role: 'user', content: 'Hi.' }] };
    const endpoint = '/v1/chat/completions';
    const made = await ended(client, await create(client, [line('tool', body, endpoint)], endpoint));
    const [failed] = await results(client, made.error_file_id);
    expect([failed?.response.status_code, runs, app.model.requests.length]).toEqual([503, 1, 3]);
  });

  it('[E-10] has an answer made again that has only listed the tools of a server', async () => {
    app = await startBatchesApp({ router: { remoteMcp: fakeRemote().remoteMcp } });
    const client = app.client();
    const cut = { body: [chatChunk({ content: 'Half' }), ' '], cutAfterBytes: 1e6 };
    app.model.reply(cut, { body: chatCompletion('Whole.') });
    const tools = [entry('a', URL_A, { require_approval: 'never' })];
    const made = await ended(client, await create(client, [line('text', { tools })]));
    const [{ response: { body = {} } = {} } = {}] = await results(client, made.output_file_id);
    expect([body.status, app.model.requests.length]).toEqual(['completed', 2]);
    expect(body.output.map(({ type }: { type: string }) => type)).toEqual(['mcp_list_tools', 'message']);
  });

  it("[E-10] has an answer made again that a provider's own limit of rates has broken off", async () => {
    app = await startBatchesApp({ batches: { quota: { retryMs: 1 } } });
    const client = app.client();
    const error = { type: 'rate_limit_error', code: 'tokens_per_minute', message: 'Slow down.' };
    const broken = [chatChunk({ content: 'Half' }), `data: ${JSON.stringify({ error })}\n\n`];
    app.model.reply({ body: broken }, { body: chatCompletion('Whole.') });
    const made = await ended(client, await create(client, [line('text')]));
    const [text] = await results(client, made.output_file_id);
    expect([text?.response.body.status, app.model.requests.length]).toEqual(['completed', 2]);
  });

  it('[E-10] beyond as many as a tenant may have at once is refused, until one has ended', async () => {
    app = await startBatchesApp({ batches: { quota: { batches: 2 } } });
    app.model.reply({ hang: true });
    const [alice, bob] = [app.client('alice'), app.client('bob')];
    const first = await create(alice, [line('1')]);
    await create(alice, [line('2')]);
    await expect(create(alice, [line('3')])).rejects.toMatchObject({ status: 429, code: 'too_many_batches' });
    expect((await alice.batches.list()).data).toHaveLength(2);
    await create(bob, [line('4')]);
    await alice.batches.cancel(first.id);
    await ended(alice, first);
    await create(alice, [line('5')]);
  });

  it('[E-10] whose window is over expires: what was answered is kept, the rest is among the errors', async () => {
    app = await startBatchesApp({ batches: { quota: { parallelLines: 1, windowMs: 1500 } } });
    app.model.reply({ body: chatCompletion('First.') }, { hang: true });
    const client = app.client();
    const over = await ended(client, await create(client, [line('a'), line('b')]));
    expect([over.status, over.request_counts, typeof over.expired_at]).toEqual([
      ...['expired', { total: 2, completed: 1, failed: 0 }, 'number'],
    ]);
    expect((await results(client, over.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(['a']);
    expect(
      (await results(client, over.error_file_id)).map(({ custom_id, response, error }) => [
        custom_id,
        response,
        error.code,
      ]),
    ).toEqual([['b', null, 'batch_expired']]);
  });

  it('[E-10] whose answers are larger than allowed has errors for the lines beyond', async () => {
    app = await startBatchesApp({ batches: { quota: { parallelLines: 1, outputBytes: 2000 } } });
    app.model.reply({ body: chatCompletion('x'.repeat(2000)) });
    const client = app.client();
    const over = await ended(client, await create(client, [line('a'), line('b')]));
    const [beyond] = await results(client, over.error_file_id);
    expect([over.request_counts, beyond?.custom_id, beyond?.response.body.error.code]).toEqual([
      ...[{ total: 2, completed: 1, failed: 1 }, 'b', 'output_too_large'],
    ]);
    expect(app.model.requests).toHaveLength(1);
  });

  it('[E-10] whose input is deleted while it runs ends with what was answered', async () => {
    app = await startBatchesApp({ batches: { quota: { parallelLines: 1 } } });
    const client = app.client();
    const lines = Array.from({ length: 2100 }, (_, index) => line(`${index}`));
    app.model.reply({ hang: true });
    const batch = await create(client, lines);
    await until(client, batch.id, ({ status }) => status === 'in_progress');
    await client.files.delete(batch.input_file_id);
    await client.batches.cancel(batch.id);
    const over = await ended(client, batch);
    expect([over.request_counts?.total, over.error_file_id]).toEqual([2100, expect.any(String)]);
    expect(app.errors).toEqual([]);
  });

  it('[E-10] whose input is gone fails, also where the store could not note that at once', async () => {
    const store = memoryStore();
    const { events } = store;
    let fails = 0;
    const append: EventLog['append'] = (key, more) => {
      if (more.endsUntil !== undefined) fails += 1;
      return events.append(key, more);
    };
    const replace: ResponseStore['replace'] = (record, version) => {
      if (fails !== 1) return store.replace(record, version);
      fails += 1;
      throw new Error('The connection was lost.');
    };
    const files = memoryFiles();
    // The first reading is that of the validation.
    let reads = 0;
    const read: FileStore['read'] = (key, range) => {
      reads += 1;
      return reads === 1 ? files.read(key, range) : undefined;
    };
    const own = Object.assign(Object.create(files), { read });
    app = await startBatchesApp({ store: { ...store, events: { ...events, append }, replace }, files: own });
    const client = app.client();
    const { status, errors } = await ended(client, await create(client, [line('a')]));
    expect([fails, status, errors?.data?.length]).toEqual([2, 'failed', 1]);
  });

  it('[E-10] is given back when its server is drained, though the store takes no results, and goes on later', async () => {
    const { store, down } = unwritableLogs();
    const [files, batches] = [memoryFiles(), { secret: 'a key of sixteen bytes' }];
    const first = await startBatchesApp({ store, files, batches });
    first.model.reply({ body: chatCompletion('Yes.') });
    const batch = await create(first.client(), [line('a')]);
    await down.hasRefused;
    await first.close();
    down.isOver = true;
    app = await startBatchesApp({ store, files, batches });
    app.model.reply({ body: chatCompletion('Yes.') });
    const over = await ended(app.client(), batch);
    expect([over.status, over.request_counts]).toEqual(['completed', { total: 1, completed: 1, failed: 0 }]);
  });

  it('[E-10] expires at the end of its window, though the store has taken no results', async () => {
    const { store } = unwritableLogs();
    app = await startBatchesApp({ store, batches: { quota: { windowMs: 2000 } } });
    app.model.reply({ body: chatCompletion('Yes.') });
    const client = app.client();
    const over = await ended(client, await create(client, [line('a')]));
    const [failed] = await results(client, over.error_file_id);
    expect([over.status, over.output_file_id, over.request_counts, failed?.error.code]).toEqual([
      ...['expired', null, { total: 1, completed: 0, failed: 0 }, 'batch_expired'],
    ]);
  });

  it('[E-10] is cancelled and not failed, though its server has another secret after its restart', async () => {
    const [store, files] = [memoryStore(), memoryFiles()];
    const first = await startBatchesApp({ store, files, batches: { secret: 'a key of sixteen bytes' } });
    first.model.reply({ body: chatCompletion('Yes.') }, { hang: true });
    const { id } = await create(first.client(), [line('a'), line('b')]);
    await until(first.client(), id, ({ request_counts: counts }) => counts?.completed === 1);
    await first.close();
    app = await startBatchesApp({ store, files, batches: { secret: 'other key of sixteen bytes' } });
    await app.client().batches.cancel(id);
    const over = await ended(app.client(), await app.client().batches.retrieve(id));
    expect([over.status, over.errors?.data ?? [], over.request_counts?.completed]).toEqual(['cancelled', [], 1]);
  });

  it('[E-10] whose server has another secret after its restart fails, with what was answered before', async () => {
    const [store, files] = [memoryStore(), memoryFiles()];
    const first = await startBatchesApp({ store, files, batches: { secret: 'a key of sixteen bytes' } });
    first.model.reply({ body: chatCompletion('Yes.') }, { hang: true });
    const batch = await create(first.client(), [line('a'), line('b')]);
    await until(first.client(), batch.id, ({ request_counts: counts }) => counts?.completed === 1);
    await first.close();
    app = await startBatchesApp({ store, files, batches: { secret: 'other key of sixteen bytes' } });
    const over = await ended(app.client(), batch);
    const found = await results(app.client(), over.output_file_id);
    expect([over.status, over.errors?.data?.map(({ code }) => code), found.length]).toEqual([
      ...['failed', ['server_error'], 1],
    ]);
    expect([app.model.requests, app.errors.every((error) => error.includes('secret'))]).toEqual([[], true]);
  });

  it('[E-10] keeps its results for as long as its request wants', async () => {
    app = await startBatchesApp();
    const client = app.client();
    const input_file_id = await upload(client, [line('1')]);
    const output_expires_after = { anchor: 'created_at', seconds: 3600 } as const;
    const batch = await client.batches.create({
      input_file_id,
      endpoint: '/v1/responses',
      completion_window: '24h',
      output_expires_after,
    });
    const file = await client.files.retrieve(String((await ended(client, batch)).output_file_id));
    expect(Number(file.expires_at) - file.created_at).toBe(3600);
  });
});
