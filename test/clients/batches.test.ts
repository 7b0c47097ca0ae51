/** Anthropic's SDK runs message batches, and OpenAI's in two languages batches and webhooks. */
import Anthropic, { NotFoundError } from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai7';
import { defaultScope } from '../../src/ports/scope.ts';
import { chatCompletion } from '../../src/testing/index.ts';
import { type BatchesApp, line, startBatchesApp } from '../apis/batches/batches-app.ts';
import { Receiver, startWebhooks } from '../engine/webhooks/webhooks-world.ts';
import { pythonPackage } from '../support/python-package.ts';
import { startPythonClient } from './python-client.ts';

const openaiPython = await pythonPackage('openai', '3.54.0');

let app: BatchesApp;
afterEach(() => app.close());

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('@anthropic-ai/sdk', () => {
  function client(apiKey = 'alice'): Anthropic {
    return new Anthropic({ baseURL: app.url.replace(/\/v1$/, ''), apiKey, maxRetries: 0 });
  }

  function requests(...ids: readonly string[]): Anthropic.Messages.BatchCreateParams['requests'] {
    return ids.map((custom_id) => ({
      custom_id,
      params: { model: 'fake-model', max_tokens: 16, messages: [{ role: 'user' as const, content: custom_id }] },
    }));
  }

  it('[E-10] creates, polls, lists, reads and deletes a batch of messages', async () => {
    app = await startBatchesApp();
    const { batches } = client().messages;
    let batch = await batches.create({ requests: requests('a', 'b') });
    while (batch.processing_status !== 'ended') {
      await pause();
      batch = await batches.retrieve(batch.id);
    }
    expect(batch.request_counts).toEqual({ processing: 0, succeeded: 2, errored: 0, canceled: 0, expired: 0 });
    const found: unknown[] = [];
    for await (const { custom_id, result } of await batches.results(batch.id))
      found.push([custom_id, result.type === 'succeeded' && result.message.content]);
    expect(found.toSorted()).toEqual(
      ['a', 'b'].map((id) => [id, [expect.objectContaining({ type: 'text', text: 'Hello!' })]]),
    );
    const listed: string[] = [];
    for await (const { id } of batches.list()) listed.push(id);
    expect(listed).toEqual([batch.id]);
    await expect(client('bob').messages.batches.retrieve(batch.id)).rejects.toBeInstanceOf(NotFoundError);
    expect(await batches.delete(batch.id)).toEqual({ id: batch.id, type: 'message_batch_deleted' });
    await expect(batches.retrieve(batch.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it('[E-10] cancels a batch of messages, and reads what was answered', async () => {
    app = await startBatchesApp({ batches: { quota: { parallelLines: 1 } } });
    app.model.reply({ body: chatCompletion('First.') }, { hang: true });
    const { batches } = client().messages;
    let batch = await batches.create({ requests: requests('a', 'b') });
    while ((await batches.retrieve(batch.id)).request_counts.succeeded === 0) await pause();
    batch = await batches.cancel(batch.id);
    while (batch.processing_status !== 'ended') {
      await pause();
      batch = await batches.retrieve(batch.id);
    }
    const types: string[] = [];
    for await (const { result } of await batches.results(batch.id)) types.push(result.type);
    expect([types.toSorted(), typeof batch.cancel_initiated_at]).toEqual([['canceled', 'succeeded'], 'string']);
  });
});

describe('openai of the newest version', () => {
  it('[E-10] [E-11] runs a batch, and unwraps the webhook of its end', async () => {
    const receiver = await Receiver.start();
    const scope = defaultScope(new Headers({ authorization: 'Bearer alice' }));
    const { webhooks, secret } = await startWebhooks(receiver, { tenants: [scope] });
    app = await startBatchesApp({ batches: { webhooks } });
    const client = new OpenAI({ baseURL: app.url, apiKey: 'alice', maxRetries: 0, webhookSecret: secret });
    const file = await client.files.create({
      file: await toFile(Buffer.from(line('one')), 'in.jsonl'),
      purpose: 'batch',
    });
    const { id } = await client.batches.create({
      input_file_id: file.id,
      endpoint: '/v1/responses',
      completion_window: '24h',
    });
    while (receiver.events.length === 0) await pause();
    const [delivery] = receiver.events;
    const event = await client.webhooks.unwrap(String(delivery?.body), { ...delivery?.headers });
    expect([event.type, (event.data as { id: string }).id]).toEqual(['batch.completed', id]);
    const batch = await client.batches.retrieve(id);
    const text = await (await client.files.content(String(batch.output_file_id))).text();
    expect(JSON.parse(text)).toMatchObject({ custom_id: 'one', response: { status_code: 200 }, error: null });
    await webhooks.close();
    await receiver.close();
  });
});

openaiPython.describe('openai-python', () => {
  it('[E-10] [E-11] creates, polls, lists, cancels and reads batches, and unwraps the webhook of their end', async () => {
    const receiver = await Receiver.start();
    const scope = defaultScope(new Headers({ authorization: 'Bearer alice' }));
    const { webhooks, secret } = await startWebhooks(receiver, { tenants: [scope] });
    app = await startBatchesApp({ batches: { webhooks } });
    const client = startPythonClient(openaiPython.python, 'batches_client.py');
    try {
      const { id, ...done } = await client.run({ url: app.url, do: 'run', ids: ['one', 'two'] });
      expect(done).toEqual({
        status: 'completed',
        counts: { total: 2, completed: 2, failed: 0 },
        answers: [
          ['one', 200],
          ['two', 200],
        ],
        listed: true,
      });
      while (receiver.events.length === 0) await pause();
      const [{ body, headers } = { body: '', headers: {} }] = receiver.events;
      const event = await client.run({ url: app.url, do: 'unwrap', body, headers, secret });
      expect(event).toEqual({ event: 'BatchCompletedWebhookEvent', id });

      app.model.reply({ hang: true });
      expect(await client.run({ url: app.url, do: 'cancel', ids: ['three'] })).toEqual({
        first: 'cancelling',
        last: 'cancelled',
      });
    } finally {
      await client.close();
      await webhooks.close();
      await receiver.close();
    }
  });
});
