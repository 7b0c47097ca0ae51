/** `s3Files` over a real server, with AWS's own client. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FileStore, type S3FilesOptions, s3Files } from '../../src/files.ts';
import {
  assertBytes,
  assertMissing,
  bytes,
  listFileIds,
  makeUpload,
  putFile,
  readContent,
} from '../../src/testing/files/file-case.ts';
import { fileStoreContract } from '../../src/testing/index.ts';
import { Bucket, clientOf } from './s3-client.ts';
import { moto, type S3Server, startS3 } from './s3-server.ts';

const MB = 1_000_000;
const PART = 8 * 1024 * 1024;
const HOURS = 2 * 60 * 60 * 1000;

let s3: S3Server;
let prefixes = 0;

function freshPrefix(): string {
  prefixes += 1;
  return `p${prefixes}/`;
}

function store(options: Partial<S3FilesOptions> = {}): FileStore {
  return s3Files({ client: s3.client, bucket: Bucket, prefix: freshPrefix(), ...options });
}

/** In a process of its own. */
async function startProcess(prefix: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 's3-process.ts'), {
    execArgv: ['--expose-gc', '--import', join(import.meta.dirname, '../support/memory-hooks.mjs')],
    env: {
      ...process.env,
      ENDPOINT: s3.service.url,
      PREFIX: prefix,
      NODE_PATH: join(import.meta.dirname, 'node_modules'),
    },
  });
  await once(child, 'message');
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

moto.describe('s3Files', () => {
  beforeAll(async () => {
    s3 = await startS3();
  });
  afterAll(() => s3.close());

  fileStoreContract({
    it,
    describe,
    create: ({ clock }) => ({ files: store({ now: clock.now }), footprint: s3.footprint }),
  });

  it('[X-14] keeps every byte of a file in parts, and reads over their borders', async () => {
    const files = store();
    for (const length of [PART - 1, PART, PART + 1, 2 * PART]) {
      const content = bytes(length, length);
      const file = await putFile(files, content);
      assertBytes(await readContent(files, file), content);
      const range = { start: PART - 2, end: Math.min(length, PART + 2) };
      assertBytes(await readContent(files, file, range), content.subarray(range.start, range.end));
    }
  });

  it('[X-14] leaves nothing of a file in parts that breaks off', async () => {
    const [before, prefix] = [await s3.footprint(), freshPrefix()];
    const files = store({ prefix });
    async function* breaking() {
      yield bytes(3 * PART);
      throw new Error('The client has left.');
    }
    const upload = makeUpload(breaking());
    await expect(files.put(upload)).rejects.toThrow('The client has left.');
    await assertMissing(files, upload);
    expect([await s3.footprint(), await s3.keys(prefix)]).toEqual([before, []]);
  });

  it('[X-14] takes no more memory than some parts of a file of 100 MB', async () => {
    const child = await startProcess(freshPrefix());
    try {
      async function put(id: string, megabytes: number) {
        child.send({ id, megabytes, isOpen: false });
        const [answer] = await once(child, 'message');
        return answer;
      }
      const { rss } = await put('small', 30);
      const { bytes: length, peak } = await put('large', 100);
      expect(length).toBe(100 * MB);
      expect(peak - rss).toBeLessThan(60 * MB);
    } finally {
      await end(child);
    }
  });

  it('[X-14] shows nothing of an upload whose process was killed, and removes it later', async () => {
    const [before, prefix] = [await s3.footprint(), freshPrefix()];
    const child = await startProcess(prefix);
    child.send({ id: 'cut', megabytes: 20, isOpen: true });
    await once(child, 'message');
    while ((await s3.footprint()) < before + PART) await sleep(20);
    await end(child);
    let added = 0;
    const files = store({ prefix, now: () => Date.now() + added });
    await assertMissing(files, { scope: 'me', id: 'cut' });
    expect(await s3.footprint()).toBeGreaterThanOrEqual(before + PART);
    added = HOURS;
    expect(await listFileIds(files, 'anybody')).toEqual([]);
    expect([await s3.footprint(), await s3.keys(prefix)]).toEqual([before, []]);
  });

  it('[X-14] goes on with an upload that is slow, while others look for what was left over', async () => {
    const prefix = freshPrefix();
    let added = 0;
    const now = () => Date.now() + added;
    async function* slow() {
      for (let index = 0; index < 4; index += 1) {
        yield bytes(PART, index);
        added += HOURS / 3;
        yield bytes(1);
        await listFileIds(store({ prefix, now }), 'anybody');
      }
    }
    const files = store({ prefix, now });
    const file = await files.put(makeUpload(slow()));
    expect((await readContent(files, file))?.length).toBe(4 * (PART + 1));
    added += HOURS;
    await listFileIds(store({ prefix, now }), 'anybody');
    expect((await readContent(files, file))?.length).toBe(4 * (PART + 1));
  });

  it('[X-14] removes what is left of a delete later, and keeps a file whose upload was never unmarked', async () => {
    const prefix = freshPrefix();
    let added = 0;
    const options = { prefix, now: () => Date.now() + added };
    // The cast: every command names its object.
    const client = clientOf(s3.service.url);
    const send = client.send.bind(client) as (command: unknown) => Promise<unknown>;
    const failing = {
      async send(command: { readonly input: { readonly Key?: string } }) {
        if (command.constructor.name === 'DeleteObjectCommand') throw new Error('Cut off.');
        return send(command);
      },
    };
    const kept = await putFile(store({ ...options, client: failing as never }), bytes(10));
    const gone = await putFile(store(options), bytes(10));
    await expect(store({ ...options, client: failing as never }).delete(gone)).rejects.toThrow('Cut off.');
    added = HOURS;
    const files = store(options);
    await listFileIds(files, 'anybody');
    client.destroy();
    await assertMissing(files, gone);
    assertBytes(await readContent(files, kept), bytes(10));
    expect((await s3.keys(prefix)).map((key) => key.split('/')[1])).toEqual(['content', 'files']);
  });

  it('[X-14] keeps any name, and puts none of it into a key as it is', async () => {
    const prefix = freshPrefix();
    const files = store({ prefix });
    const names = [
      '..',
      '../../etc/passwd',
      '\u{1f9d1}'.repeat(127),
      'ü'.repeat(255),
      'x'.repeat(255),
      '\u0000\n"%',
      '\ud800',
    ];
    for (const [index, filename] of names.entries()) {
      const details = () => ({ filename, purpose: 'user_data', contentType: 'text/plain' });
      const upload = { ...makeUpload([bytes(1)], { scope: '../me', id: `../${index}`, createdAt: index }), details };
      expect(await files.put(upload)).toMatchObject({ filename });
      expect(await files.get(upload)).toMatchObject({ filename, contentType: 'text/plain' });
    }
    const page = await files.list('../me', { limit: 100, order: 'asc' });
    expect(page.files.map(({ filename }) => filename)).toEqual(names);
    for (const key of await s3.keys(prefix)) expect(key).toMatch(/^[\w/-]{1,700}$/);
    await expect(files.put(makeUpload([], { id: 'x'.repeat(250) }))).rejects.toThrow('too long');
  });

  it('[X-14] keeps to its prefix, one store beside the other', async () => {
    const prefix = freshPrefix();
    const [outer, inner] = [store({ prefix }), store({ prefix: `${prefix}in/` })];
    const file = await putFile(outer, bytes(5));
    await assertMissing(inner, file);
    await putFile(inner, bytes(6), { scope: file.scope, id: file.id });
    expect([(await outer.usage(file.scope)).bytes, (await inner.usage(file.scope)).bytes]).toEqual([5, 6]);
    expect(await inner.delete(file)).toBe(true);
    assertBytes(await readContent(outer, file), bytes(5));
  });

  it('[X-14] rejects when the server fails, and reports which bucket is not there', async () => {
    const files = store({ bucket: 'no-such-bucket' });
    for (const ask of [
      () => files.get({ scope: 'a', id: 'b' }),
      () => files.usage('a'),
      () => files.put(makeUpload([])),
    ])
      await expect((async () => ask())()).rejects.toThrow('bucket does not exist');
  });
});
