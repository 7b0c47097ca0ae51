/** Large uploads in a process of their own: flat memory, and nothing half-written where the process is killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { diskFiles } from '../../../src/files.ts';
import { listFileIds } from '../../../src/testing/files/file-case.ts';
import { bytesBelow, diskFolder, filesBelow } from './disk-folder.ts';
import { ALICE, BOUNDARY, filePart, formOf, PURPOSE, send } from './files-app.ts';

const MB = 1_000_000;
const HEAD = formOf([PURPOSE, { ...filePart(''), value: '' }], true).subarray(0, -2);
const TAIL = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
const FORM = { ...ALICE, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

let folder: string;
let remove: () => void;
let child: ChildProcess;
let base: string;

async function start(store: string, fileBytes = 512 * 1024 * 1024): Promise<void> {
  ({ folder, remove } = diskFolder());
  child = fork(join(import.meta.dirname, 'files-process.ts'), {
    execArgv: ['--expose-gc', '--import', join(import.meta.dirname, '../../support/memory-hooks.mjs')],
    env: { ...process.env, FOLDER: folder, STORE: store, FILE_BYTES: String(fileBytes) },
  });
  [base] = (await once(child, 'message')) as [string];
}

afterEach(async () => {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  remove();
});

/** Sends a file of this length, and resolves with its description. */
async function upload(length: number): Promise<{ readonly id: string; readonly bytes: number }> {
  const sending = request(`${base}/files`, { method: 'POST', headers: FORM });
  const answered = once(sending, 'response');
  sending.write(HEAD);
  for (let left = length; left > 0; left -= MB) {
    if (!sending.write(Buffer.alloc(Math.min(left, MB), left % 251))) await once(sending, 'drain');
  }
  sending.end(TAIL);
  const [response] = await answered;
  let text = '';
  for await (const piece of response) text += piece;
  return JSON.parse(text);
}

async function memory(): Promise<{ readonly peak: number; readonly rss: number }> {
  const answer = once(child, 'message');
  child.send('report');
  const [report] = await answer;
  return report;
}

describe.each(['disk', 'sqlite'])('a file of 200 MB in %s', (store) => {
  it('[X-14] takes no more memory than a part of it, to be stored and to be read', async () => {
    await start(store);
    await upload(20 * MB);
    const { rss } = await memory();
    const { id, bytes } = await upload(200 * MB);
    const stored = await memory();
    const answer = await fetch(`${base}/files/${id}/content`, { headers: ALICE });
    let read = 0;
    for await (const piece of answer.body ?? []) read += piece.byteLength;
    const sent = await memory();
    expect([bytes, read]).toEqual([200 * MB, 200 * MB]);
    expect(Math.max(stored.peak, sent.peak) - rss).toBeLessThan(80 * MB);
  });
});

describe('a process that is killed in the middle of an upload', () => {
  it('[X-14] leaves nothing that anybody sees, and nothing at all later', async () => {
    await start('disk');
    const whole = await upload(MB);
    const sending = request(`${base}/files`, { method: 'POST', headers: FORM });
    sending.on('error', () => {});
    sending.write(Buffer.concat([HEAD, Buffer.alloc(3 * MB)]));
    while (bytesBelow(folder) < 3 * MB) await sleep(10);
    child.kill('SIGKILL');
    await once(child, 'exit');
    let added = 0;
    const files = diskFiles({ folder, now: () => Date.now() + added });
    const [tenant = ''] = filesBelow(folder).flatMap((path) => /tenants\/(\w+)/.exec(path)?.[1] ?? []);
    expect(filesBelow(join(folder, 'tenants', tenant))).toHaveLength(2);
    expect(filesBelow(join(folder, 'drafts'))).toHaveLength(1);
    added = 2 * 60 * 60 * 1000;
    await listFileIds(files, 'anybody');
    expect([filesBelow(join(folder, 'drafts')), whole.bytes]).toEqual([[], MB]);
  });
});

describe('an upload of 2 GB that is cut half-way', () => {
  it('[X-14] leaves nothing, has its room given back, and takes no memory for it', async () => {
    await start('disk', 4e9);
    const { id } = await upload(MB);
    const { rss } = await memory();
    const sending = request(`${base}/files`, { method: 'POST', headers: { ...FORM, 'content-length': 2e9 } });
    sending.on('error', () => {});
    sending.write(HEAD);
    const piece = Buffer.alloc(MB, 7);
    for (let sent = 0; sent < 1e9; sent += MB) if (!sending.write(piece)) await once(sending, 'drain');
    while (bytesBelow(folder) < 900 * MB) await sleep(10);
    const { peak } = await memory();
    sending.destroy();
    while (bytesBelow(folder) > 2 * MB) await sleep(10);
    const { json } = await send(base, '/files');
    expect(json.data.map((file: { id: string }) => file.id)).toEqual([id]);
    expect(peak - rss).toBeLessThan(80 * MB);
  });
});

describe('a client that goes on sending after its refusal', () => {
  it('[X-14] reads the refusal, and is cut off', async () => {
    await start('disk');
    const socket = connect(Number(new URL(base).port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    const lines = Object.entries({ ...FORM, host: 'x', 'content-length': 2 ** 31 }).map((each) => each.join(': '));
    socket.write(`POST /v1/files HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1.1 413 /);
    const closed = once(socket, 'close');
    const sending = setInterval(() => socket.write('x'), 100);
    await closed;
    clearInterval(sending);
    expect((await send(base, '/files')).json.data).toEqual([]);
  });
});
