/** A refused upload leaves its connection to the client's next request. */
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { BOUNDARY, type FilesApp, filePart, formOf, PURPOSE, startFilesApp } from './files-app.ts';

const FORM = `multipart/form-data; boundary=${BOUNDARY}`;
/** From sizes that arrive at once to those that arrive in many pieces. */
const SIZES = [60_000, 131_072, 300_000, 900_000];

let app: FilesApp;
let agent: Agent;

beforeAll(async () => {
  app = await startFilesApp({ quota: { fileBytes: 50_000, parts: 4, fieldBytes: 1000 } });
});
beforeEach(() => {
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
});
afterEach(() => agent.destroy());
afterAll(() => app.close());

/** The status of the answer, and whether its connection had been used before. */
async function sent(body: Buffer, type = FORM): Promise<readonly [number | undefined, boolean]> {
  const headers = { 'content-type': type, 'content-length': body.length };
  const outgoing = request(`${app.base}/files`, { agent, method: 'POST', headers });
  const answer = new Promise<readonly [number | undefined, boolean]>((resolve, reject) => {
    outgoing.once('error', reject).once('response', (incoming) => {
      const ended = [incoming.statusCode, outgoing.reusedSocket] as const;
      text(incoming).then(() => resolve(ended), reject);
    });
  });
  outgoing.end(body);
  return answer;
}

const whole = formOf([PURPOSE, filePart('Hello.')]);
const long = { name: 'note', value: 'x'.repeat(2000) };

it.each([
  ['a field twice', formOf([PURPOSE, PURPOSE], true), FORM, 400],
  ['a file of another name', formOf([PURPOSE, { ...filePart('a'), name: 'other' }], true), FORM, 400],
  ['two files', formOf([PURPOSE, filePart('a'), filePart('b')], true), FORM, 400],
  ['a file in base64', formOf([{ ...filePart('a'), extra: 'Content-Transfer-Encoding: base64\r\n' }], true), FORM, 400],
  [
    'too many parts',
    formOf(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name, value: name })),
      true,
    ),
    FORM,
    400,
  ],
  ['a long field', formOf([long], true), FORM, 400],
  ['a file that is too long', formOf([PURPOSE, filePart('a'.repeat(200_000))], true), FORM, 413],
  ['no end', Buffer.from('nothing of a form'), FORM, 400],
  ['no boundary', whole, 'multipart/form-data', 400],
  ['another type', whole, 'text/plain', 415],
])('[F-02] after a refused form with %s', async (_name, head, type, status) => {
  for (const size of SIZES) {
    const body = Buffer.concat([head, Buffer.alloc(size, 'x')]).subarray(0, Math.max(size, head.length));
    expect((await sent(body, type))[0]).toBe(status);
    expect(await sent(whole)).toEqual([200, true]);
  }
});
