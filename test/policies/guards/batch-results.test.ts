/** `guard` over the results of batches: lines of JSON, each with a whole answer. */

import type { RequestHandler } from 'express';
import { type Guard, guard } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { type JsonObject, recordsIn } from '../../../src/protocol/record.ts';
import { chatCompletion } from '../../../src/testing/index.ts';
import { startBatchesApp } from '../../apis/batches/batches-app.ts';
import { responseOf, type Step, withHost } from '../../hosts/middleware/host.ts';

const SECRET = 'Write to bob@example.com now.';
const SAFE = 'Write to [EMAIL] now.';
const RESULTS = '/v1/messages/batches/msgbatch_1/results';
const CONTENT = '/v1/files/file-1/content';

const noPoison: Guard = {
  name: 'no-poison',
  inspect: ({ text }) =>
    text.includes('poison') ? { action: 'block', reason: 'It is about poison.' } : { action: 'pass' },
};

function messageOf(text: string): JsonObject {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
  };
}

function answered(body: unknown, id = 'one'): string {
  const response = { status_code: 200, request_id: `req_${id}`, body };
  return JSON.stringify({ id: `batch_req_${id}`, custom_id: id, response, error: null });
}

function succeeded(message: unknown, id = 'one'): string {
  return JSON.stringify({ custom_id: id, result: { type: 'succeeded', message } });
}

/** What a client reads of a file that the handler shows in pieces; undefined where it is broken off. */
function shown(text: string | Uint8Array, type: string, path = CONTENT, size = 7, guards: readonly Guard[] = [pii()]) {
  const bytes = Buffer.from(text);
  const handler: Step = (_req, res) => {
    res.writeHead(200, { 'content-type': type, 'content-length': String(bytes.length) });
    for (let at = 0; at < bytes.length; at += size) res.write(bytes.subarray(at, at + size));
    res.end();
  };
  return withHost([guard({ guards: { output: guards } }) as Step, handler], ({ url }) =>
    fetch(url + path).then(
      (answer) => answer.text().catch(() => undefined),
      () => undefined,
    ),
  );
}

describe.each([
  ['a response', CONTENT, 'application/jsonl', (text: string, id?: string) => answered(responseOf(text), id)],
  [
    'a completion',
    CONTENT,
    'application/octet-stream',
    (text: string, id?: string) => answered(JSON.parse(chatCompletion(text)), id),
  ],
  ['a message', RESULTS, 'application/x-jsonl', (text: string, id?: string) => succeeded(messageOf(text), id)],
  [
    'a message of unknown type',
    RESULTS,
    'application/binary',
    (text: string, id?: string) => succeeded(messageOf(text), id),
  ],
] as const)('the results of a batch, each of them %s,', (_, path, type, line) => {
  it.each([1, 1000])('[G-02] are guarded line by line, in pieces of %d bytes', async (size) => {
    const text = `${line(SECRET)}\n\n${line('Fine.', 'two')}\n`;
    const lines = (await shown(text, type, path, size))?.split('\n') ?? [];
    expect(lines.map((each) => each && JSON.parse(each))).toEqual([
      JSON.parse(line(SAFE)),
      '',
      JSON.parse(line('Fine.', 'two')),
      '',
    ]);
  });

  it('[G-02] keep their other lines and their names where one is blocked', async () => {
    const text = `${line('Take poison.')}\n${line('Fine.', 'two')}`;
    const [blocked = '', fine] = (await shown(text, type, path, 99, [noPoison]))?.split('\n') ?? [];
    expect([JSON.parse(blocked).custom_id, blocked.includes('poison'), /content_filter|refusal/.test(blocked)]).toEqual(
      ['one', false, true],
    );
    expect(JSON.parse(fine ?? '')).toEqual(JSON.parse(line('Fine.', 'two')));
  });
});

it.each([
  ['an error', answered({ error: { message: SECRET } })],
  [
    'an error of the API of messages',
    JSON.stringify({ custom_id: 'one', result: { type: 'errored', error: { message: SECRET } } }),
  ],
  ['an input', JSON.stringify({ custom_id: 'one', method: 'POST', url: '/v1/responses', body: { input: SECRET } })],
])('[G-02] no line passes unread: %s', async (_, line) => {
  const text = await shown(line, 'application/jsonl');
  expect([text?.includes('bob@'), text?.includes('[EMAIL]')]).toEqual([false, true]);
});

it.each([
  ['a text', SECRET, 'text/plain'],
  ['a number of a line that was cut', '4111111111111111', 'application/jsonl'],
  ['a text of a line that was cut', JSON.stringify(SECRET), 'application/jsonl'],
  ['a half line', answered(responseOf(SECRET)).slice(0, -20), 'application/jsonl'],
  ['bytes', Buffer.from([0x89, 0x50, 0x0a, 0x00]), 'application/octet-stream'],
  ['lines in another character set', answered(responseOf(SECRET)), 'application/jsonl; charset=utf-16'],
])('[G-02] a file that is not lines of JSON is broken off: %s', async (_, text, type) => {
  expect(await shown(text, type)).toBeUndefined();
});

it('[G-02] a batch of this package is read as it is shown; its input file does not pass', async () => {
  const app = await startBatchesApp({ inFront: guard({ guards: { output: [pii()] } }) as RequestHandler });
  app.model.reply({ body: chatCompletion(SECRET) });
  const headers = { 'content-type': 'application/json' };
  const params = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Go.' }] };
  const body = JSON.stringify({ requests: [{ custom_id: 'one', params }] });
  const json = async (path: string, init?: RequestInit) =>
    (await (await fetch(app.url + path, init)).json()) as JsonObject;
  const { id } = await json('/messages/batches', { method: 'POST', headers, body });
  const batch = `/messages/batches/${id}`;
  let status: unknown;
  while (status !== 'ended') status = (await json(batch)).processing_status;
  const text = await (await fetch(`${app.url}${batch}/results`)).text();
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob(['{}']), 'input.jsonl');
  const upload = await fetch(`${app.url}/files`, { method: 'POST', body: form });
  await app.close();
  expect([recordsIn(JSON.parse(text).result.message.content), upload.status]).toEqual([
    [{ type: 'text', text: SAFE }],
    415,
  ]);
});
