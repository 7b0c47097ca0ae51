/** Requests of many megabytes: too large for the server, or just small enough. */
import { textStream } from '../../../src/testing/index.ts';
import { askJson, lastBody, type MessagesApp, startMessages } from './messages-app.ts';

let app: MessagesApp;
beforeAll(async () => {
  app = await startMessages();
});
afterAll(() => app.close());

const asUser = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] });

it('[X-12] [F-02] a million blocks, and 33 MiB, are too large', async () => {
  const texts = (length: number) => ({
    messages: [{ role: 'user', content: Array.from({ length }, () => ({ type: 'text', text: 'a' })) }],
  });
  const many = await askJson(app.url, texts(1_000_000));
  expect([many.status, many.body.error.type]).toEqual([413, 'request_too_large']);
  const blocks = await askJson(app.url, texts(150_000));
  expect(blocks.body.error).toEqual({
    type: 'request_too_large',
    message: 'messages: at most 100000 messages and content blocks are accepted',
  });
  const long = await askJson(app.url, asUser({ type: 'text', text: 'a'.repeat(33 * 2 ** 20) }));
  expect([long.status, long.body.error.type]).toEqual([413, 'request_too_large']);
});

it('[X-12] 31 MiB reach the model whole', async () => {
  app.fake.reply({ body: textStream('Long.') });
  const text = 'a'.repeat(31 * 2 ** 20);
  expect((await askJson(app.url, asUser({ type: 'text', text }))).status).toBe(200);
  const [message] = lastBody(app).messages as readonly { readonly content?: string }[];
  expect(message?.content?.length).toBe(text.length);
});
