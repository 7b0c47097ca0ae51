/** Documents in requests: their text reaches model servers that take no files. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import express from 'express';
import { documentText } from 'express-open-responses/documents';
import OpenAI, { toFile } from 'openai';
import { filesRouter, memoryFiles } from '../../../src/files.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  responsesRouter,
} from '../../../src/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { chatBody, says } from '../../engine/tools/support.ts';
import { type Listening, listening } from '../../support/listening.ts';
import { describeWhere } from '../../support/skipping.ts';
import { docxOf, paragraph, pdfOf } from './documents.ts';

const WORKER = join(import.meta.dirname, '../../../dist/cjs/tools/documents/reading/document-worker.js');
const DOCX = docxOf(paragraph('The report.'));
const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex');

let fake: FakeUpstream;
let app: Listening;
let client: OpenAI;

async function start(options: RouterOptions = {}): Promise<void> {
  fake = await startFakeUpstream();
  const files = memoryFiles();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
  const documents = documentText({ maxCharacters: 1000 });
  const shared = { upstream, store: memoryStore(), files, documents, logger: false as const, ...options };
  const routers = [responsesRouter(shared), chatCompletionsRouter(shared), messagesRouter(shared)];
  app = await listening(express().use('/v1', filesRouter({ files }), ...routers));
  client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'alice', maxRetries: 0 });
}

afterEach(() => Promise.all([app.close(), fake.close()]));

const dataOf = (bytes: Buffer, type = 'application/octet-stream') => `data:${type};base64,${bytes.toString('base64')}`;
const inline = (bytes: Buffer, filename: string) => ({ type: 'input_file', filename, file_data: dataOf(bytes) });

function ask(part: object, more: object = {}) {
  fake.reply(says('Fine.'));
  // The cast: some parts are wrong.
  const input = [{ role: 'user', content: [part] }] as OpenAI.Responses.ResponseInput;
  return client.responses.create({ model: 'm', input, ...more });
}

function received(): readonly unknown[] {
  const [{ messages } = { messages: [] }] = fake.requests.slice(-1).map(chatBody);
  return messages.filter(({ role }) => role === 'user').map(({ content }) => content);
}

const TEXT = "[The file 'a.docx':]\n\nThe report.";
const refusal = (error: unknown) => {
  const { status, code, param } = error as InstanceType<typeof OpenAI.APIError>;
  return [status, code, param];
};

describeWhere(existsSync(WORKER), 'needs `npm run build`')('a document', () => {
  it('[X-14] is text for the model, uploaded or in the request, in each turn', async () => {
    await start();
    const { id } = await client.files.create({ file: await toFile(DOCX, 'a.docx'), purpose: 'user_data' });
    const first = await ask({ type: 'input_file', file_id: id });
    expect(received()).toEqual([TEXT]);
    await ask(inline(DOCX, 'a.docx'), { previous_response_id: first.id });
    expect(received()).toEqual([TEXT, TEXT]);
  });

  it('[X-14] is text in a chat and in the Messages API, too', async () => {
    await start();
    const { id } = await client.files.create({ file: await toFile(DOCX, 'a.docx'), purpose: 'user_data' });
    for (const file of [{ file_id: id }, { filename: 'a.docx', file_data: dataOf(DOCX) }]) {
      fake.reply(says('Fine.'));
      await client.chat.completions.create({
        model: 'm',
        messages: [{ role: 'user', content: [{ type: 'file', file }] }],
      });
      expect(received()).toEqual([[{ type: 'text', text: TEXT }]]);
    }
    fake.reply(says('Fine.'));
    const source = { type: 'base64', media_type: 'application/pdf', data: pdfOf(['The page.']).toString('base64') };
    const messages = [{ role: 'user', content: [{ type: 'document', title: 'a.pdf', source }] }];
    const body = JSON.stringify({ model: 'm', max_tokens: 9, messages });
    const headers = { 'content-type': 'application/json', 'x-api-key': 'alice' };
    expect((await fetch(`${app.url}/v1/messages`, { method: 'POST', headers, body })).status).toBe(200);
    expect(received()).toEqual(["[The file 'a.pdf':]\n\nThe page."]);
  });

  it('[X-14] goes as it is where its type is not known, and where there is no reader', async () => {
    await start();
    const odd = inline(PNG, 'a.docx');
    await ask(odd);
    expect(received()).toEqual([[{ type: 'file', file: { filename: 'a.docx', file_data: odd.file_data } }]]);
    await Promise.all([app.close(), fake.close()]);
    await start({ documents: undefined });
    const part = inline(DOCX, 'a.docx');
    await ask(part);
    expect(received()).toEqual([[{ type: 'file', file: { filename: 'a.docx', file_data: part.file_data } }]]);
  });

  it('[X-14] reports that it has no text', async () => {
    await start();
    await ask(inline(docxOf(''), 'a.docx'));
    expect(received()).toEqual(["[The file 'a.docx':]\n\n(The file has no text.)"]);
  });

  it('[X-14] is a clear error if it is broken, too long, or too much with the others', async () => {
    await start({ limits: { request: { fileBytes: 900 } } });
    const broken = ask(inline(DOCX.subarray(0, -30), 'a.docx')).catch(refusal);
    expect(await broken).toEqual([400, 'invalid_file', 'input[0].content[0].file_data']);
    const long = ask(inline(docxOf(paragraph('x'.repeat(1001))), 'a.docx')).catch(refusal);
    expect(await long).toEqual([413, 'file_too_large', 'input[0].content[0].file_data']);
    const much = ask(inline(docxOf(paragraph('x'.repeat(950))), 'a.docx')).catch(refusal);
    expect(await much).toEqual([413, 'request_too_large', 'input[0].content[0].file_data']);
  });

  it('[X-14] of an earlier turn that can be read no more is named, and the conversation goes on', async () => {
    let isBroken = false;
    const documents = documentText();
    const read: typeof documents.read = (document, signal) =>
      documents.read(isBroken ? { ...document, bytes: 1e9 } : document, signal);
    await start({ documents: { name: 'breaks', read } });
    const first = await ask(inline(DOCX, 'a.docx'));
    isBroken = true;
    await ask({ type: 'input_text', text: 'And now?' }, { previous_response_id: first.id });
    expect(received()).toEqual(["[The file 'a.docx' has more than 33554432 bytes.]", 'And now?']);
  });
});

it('[X-14] a router refuses what cannot read', async () => {
  await start();
  // The cast: a wrong option.
  const documents = {} as never;
  expect(() => responsesRouter({ documents })).toThrow('documents must be an object with read');
});
