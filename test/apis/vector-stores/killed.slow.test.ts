/** A process that is killed while it indexes: the next one goes on, with the same database and files. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI from 'openai';
import { embeddingOf, embeddingsServerOf, sendJson } from './embeddings-server.ts';
import { textFile } from './vectors-app.ts';

let folder: string;
let server: Awaited<ReturnType<typeof embeddingsServerOf>>;
let child: ChildProcess;

async function started(): Promise<OpenAI> {
  child = fork(join(import.meta.dirname, 'vectors-process.ts'), {
    execArgv: ['--import', join(import.meta.dirname, '../../support/memory-hooks.mjs')],
    env: { ...process.env, FOLDER: folder, EMBEDDINGS: server.baseURL },
  });
  const [baseURL] = (await once(child, 'message')) as [string];
  return new OpenAI({ baseURL, apiKey: 'alice', maxRetries: 0 });
}

async function kill(): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vectors-killed-'));
  mkdirSync(join(folder, 'files'));
  server = await embeddingsServerOf();
});
afterEach(async () => {
  if (child.exitCode === null && child.signalCode === null) await kill();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a killed process', () => {
  it('[X-14] leaves its files to the next one, which goes on behind the stored chunks', async () => {
    let answered = 0;
    server.answerWith(({ input }, res) => {
      answered += 1;
      // The seventh one never ends.
      if (answered <= 6) sendJson(res, { data: input.map((text) => ({ embedding: embeddingOf(text) })) });
    });
    const client = await started();
    const store = await client.vectorStores.create({});
    const text = Array.from({ length: 40_000 }, (_, at) => `word${at}`).join(' ');
    const { id } = await client.files.create({ file: await textFile(text), purpose: 'assistants' });
    const file = await client.vectorStores.files.create(store.id, { file_id: id });
    while (answered < 7) await pause(10);
    await kill();
    const before = server.asked.length;
    server.answerWith();
    const again = await started();
    let now = file;
    while (now.status === 'in_progress') {
      await pause(20);
      now = await again.vectorStores.files.retrieve(id, { vector_store_id: store.id });
    }
    const chunks = (await again.vectorStores.files.content(id, { vector_store_id: store.id })).data;
    const sentAgain = server.asked.slice(before).flatMap(({ input }) => input);
    // The chunks of each answer were stored before more were asked for.
    expect([now.status, now.last_error, sentAgain]).toEqual([
      'completed',
      null,
      chunks.slice(6 * 16).map((chunk) => chunk.text),
    ]);
    const found = await again.vectorStores.search(store.id, { query: 'word39999' });
    expect(found.data[0]?.file_id).toBe(id);
  });
});
