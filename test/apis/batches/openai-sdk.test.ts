/** OpenAI's SDK creates, polls, lists, cancels and reads batches. */
import { chatCompletion } from '../../../src/testing/index.ts';
import { type BatchesApp, create, ended, line, results, startBatchesApp, until, upload } from './batches-app.ts';

let app: BatchesApp;
afterEach(() => app.close());

describe('a batch', () => {
  it('[E-10] of responses is answered line by line, and its results are in a file', async () => {
    app = await startBatchesApp();
    const client = app.client();
    const input_file_id = await upload(client, [line('one'), '', line('two')]);
    const metadata = { run: 'nightly' };
    const batch = await client.batches.create({
      ...{ input_file_id, endpoint: '/v1/responses', completion_window: '24h', metadata },
    });
    expect(batch).toMatchObject({
      ...{ object: 'batch', status: 'validating', endpoint: '/v1/responses', input_file_id, metadata },
      ...{ completion_window: '24h', request_counts: { total: 0, completed: 0, failed: 0 }, errors: null },
    });
    const over = await ended(client, batch);
    expect([over.status, over.request_counts, over.error_file_id, over.model]).toEqual([
      ...['completed', { total: 2, completed: 2, failed: 0 }, null, 'fake-model'],
    ]);
    const { created_at, in_progress_at, finalizing_at, completed_at, expires_at } = over;
    const times = [created_at, in_progress_at, finalizing_at, completed_at].map(Number);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(Number(expires_at) - created_at).toBe(24 * 3600);
    const lines = await results(client, over.output_file_id);
    expect(
      lines.map(({ custom_id, error, response }) => [custom_id, error, response.status_code, response.body.status]),
    ).toEqual([
      ['one', null, 200, 'completed'],
      ['two', null, 200, 'completed'],
    ]);
    expect(over.usage?.total_tokens).toBe(
      lines.reduce((sum, { response }) => sum + response.body.usage.total_tokens, 0),
    );
    expect(app.errors).toEqual([]);
    const file = await client.files.retrieve(String(over.output_file_id));
    expect([file.purpose, file.filename]).toEqual(['batch_output', `${batch.id}_output.jsonl`]);
  });

  it('[E-10] [G-02] has results whose type says that they are lines, by which a guard in front reads them', async () => {
    app = await startBatchesApp();
    const client = app.client();
    const over = await ended(client, await create(client, [line('one', { input: 'Hi.' })]));
    const { headers } = await client.files.content(String(over.output_file_id));
    expect(headers.get('content-type')).toBe('application/jsonl');
  });

  it('[E-10] of chat completions and of embeddings is answered by the model server', async () => {
    app = await startBatchesApp();
    const client = app.client();
    const messages = [{ role: 'user', content: 'Hi.' }];
    const chat = await create(client, [line('c', { messages }, '/v1/chat/completions')], '/v1/chat/completions');
    const [answered] = await results(client, (await ended(client, chat)).output_file_id);
    expect(answered?.response.body.choices[0].message.content).toBe('Hello!');
    app.model.reply({ status: 200, body: JSON.stringify({ object: 'list', data: [{ index: 0, embedding: [1] }] }) });
    const embeddings = await create(client, [line('e', {}, '/v1/embeddings')], '/v1/embeddings');
    const [embedded] = await results(client, (await ended(client, embeddings)).output_file_id);
    expect(embedded?.response.body).toEqual({ object: 'list', data: [{ index: 0, embedding: [1] }] });
    const last = app.model.requests.at(-1);
    expect([last?.path, last?.body]).toEqual(['/v1/embeddings', expect.objectContaining({ input: 'e' })]);
  });

  it('[E-10] whose model fails on the third line has that among its errors, and answers the others', async () => {
    app = await startBatchesApp({ batches: { quota: { lineAttempts: 2 } } });
    app.model.reply(({ body }) =>
      JSON.stringify(body).includes('l3')
        ? { status: 503, body: '{"error":{"message":"No.","type":"server_error","code":null,"param":null}}' }
        : { body: chatCompletion('Yes.') },
    );
    const client = app.client();
    const batch = await create(
      client,
      ['l1', 'l2', 'l3', 'l4'].map((id) => line(id)),
    );
    const over = await ended(client, batch);
    expect([over.status, over.request_counts]).toEqual(['completed', { total: 4, completed: 3, failed: 1 }]);
    expect((await results(client, over.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(['l1', 'l2', 'l4']);
    const errors = await results(client, over.error_file_id);
    expect(
      errors.map(({ custom_id, response }) => [custom_id, response.status_code, response.body.error.message]),
    ).toEqual([['l3', 503, expect.stringContaining('No.')]]);
    // Once more than it failed: another attempt may have had an answer.
    expect(app.model.requests.filter(({ body }) => JSON.stringify(body).includes('l3'))).toHaveLength(2);
  });

  it('[E-10] can be cancelled while its model answers; what was answered is kept', async () => {
    app = await startBatchesApp({ batches: { quota: { parallelLines: 1 } } });
    app.model.reply({ body: chatCompletion('First.') }, { hang: true });
    const client = app.client();
    const batch = await create(client, [line('a'), line('b'), line('c')]);
    await until(client, batch.id, ({ request_counts }) => request_counts?.completed === 1);
    const cancelling = await client.batches.cancel(batch.id);
    expect(['cancelling', 'cancelled']).toContain(cancelling.status);
    const over = await ended(client, batch);
    expect([over.status, over.request_counts, over.cancelling_at, over.cancelled_at]).toEqual([
      ...['cancelled', { total: 3, completed: 1, failed: 0 }, expect.any(Number), expect.any(Number)],
    ]);
    expect((await results(client, over.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(['a']);
    expect((await results(client, over.error_file_id)).map(({ custom_id, error }) => [custom_id, error.code])).toEqual([
      ['b', 'batch_cancelled'],
      ['c', 'batch_cancelled'],
    ]);
    expect((await client.batches.cancel(batch.id)).status).toBe('cancelled');
  });

  it('[E-10] is listed, newest first, in pages', async () => {
    app = await startBatchesApp();
    const client = app.client();
    const ids: string[] = [];
    for (const id of ['1', '2', '3']) ids.push((await ended(client, await create(client, [line(id)]))).id);
    const listed: string[] = [];
    for await (const { id } of client.batches.list({ limit: 2 })) listed.push(id);
    expect(listed).toEqual(ids.toReversed());
    const page = await client.batches.list({ limit: 1, after: String(ids[2]) });
    expect([page.data.map(({ id }) => id), page.has_more]).toEqual([[ids[1]], true]);
    await expect(client.batches.cancel(String(ids[0]))).rejects.toMatchObject({ status: 400, param: 'batch_id' });
  });

  it('[E-10] of another tenant is not found, nor is its file', async () => {
    app = await startBatchesApp();
    const [alice, bob] = [app.client('alice'), app.client('bob')];
    const batch = await ended(alice, await create(alice, [line('1')]));
    const { input_file_id } = batch;
    const wrong = { input_file_id, endpoint: '/v1/responses', completion_window: '24h' } as const;
    for (const refused of [
      () => bob.batches.retrieve(batch.id),
      () => bob.batches.cancel(batch.id),
      () => bob.batches.create(wrong),
      () => bob.files.content(String(batch.output_file_id)),
      () => alice.batches.retrieve('batch_unknown'),
      () => alice.responses.retrieve(batch.id),
    ])
      await expect(refused()).rejects.toMatchObject({ status: 404 });
    expect((await bob.batches.list()).data).toEqual([]);
  });
});
