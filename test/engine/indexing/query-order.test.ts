/** Queries go before documents at one embedder: a simulated server that answers one request after the other. */

import { embedDocuments, embedQueries } from '../../../src/engine/indexing/embed-texts.ts';
import type { Embedder } from '../../../src/ports/vectors/embedder.ts';

/** Answers when it is told to; `begun` is the first text of each request, in the order in which they came. */
function heldEmbedder() {
  const begun: string[] = [];
  const sizes: number[] = [];
  const held: (() => void)[] = [];
  const embedder: Embedder = {
    name: 'held',
    embed: async (texts) => {
      begun.push(texts[0] ?? '');
      sizes.push(texts.length);
      await new Promise<void>((resolve) => held.push(resolve));
      return texts.map(() => new Float32Array([1]));
    },
  };
  /** Answers the oldest request, and lets everything that follows from it happen. */
  async function answer() {
    held.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { embedder, begun, sizes, answer };
}

const texts = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name} ${index}`);
const { signal } = new AbortController();

async function until(answer: () => Promise<void>, done: Promise<unknown>) {
  let isDone = false;
  const ended = done.finally(() => {
    isDone = true;
  });
  while (!isDone) await answer();
  await ended;
}

it('[V-33] answers a query before the texts that wait, behind no more than 32 that have begun', async () => {
  const { embedder, begun, sizes, answer } = heldEmbedder();
  const files = Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => embedDocuments(texts(name, 64), embedder, 'alice', signal)),
  );
  await new Promise((resolve) => setImmediate(resolve));
  const query = embedQueries(['query'], embedder, signal);
  await answer();
  await answer();
  await answer();
  await query;
  expect(begun.slice(0, 3)).toEqual(['a 0', 'b 0', 'query']);
  expect(sizes.slice(0, 2).reduce((sum, size) => sum + size)).toBe(32);
  await until(answer, files);
  expect((await files).map(({ length }) => length)).toEqual([64, 64, 64, 64]);
});

it('[V-33] goes on with indexing however many queries there are', async () => {
  const { embedder, begun, answer } = heldEmbedder();
  const first = embedQueries(['query'], embedder, signal);
  const file = embedDocuments(texts('a', 1), embedder, 'alice', signal);
  const queries = [first];
  for (let count = 0; count < 100; count += 1) {
    // There is always one that is not answered yet.
    queries.push(embedQueries(['query'], embedder, signal));
    await answer();
  }
  await until(answer, Promise.all([...queries, file]));
  expect(begun.indexOf('a 0')).toBeGreaterThan(30);
  expect(begun.indexOf('a 0')).toBeLessThan(40);
});

it('[G-07] embeds another tenant’s texts while a greedy one’s wait for all the places that it gets', async () => {
  const { embedder, begun, answer } = heldEmbedder();
  const files = ['a', 'b', 'c', 'd', 'e'].map((name) => embedDocuments(texts(name, 1), embedder, 'greedy', signal));
  const other = embedDocuments(texts('other', 1), embedder, 'modest', signal);
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['a 0', 'b 0', 'other 0']);
  await until(answer, Promise.all([...files, other]));
});

it('[V-33] forgets files whose indexing is stopped while they wait, and keeps no place for them', async () => {
  const { embedder, begun, answer } = heldEmbedder();
  const controller = new AbortController();
  const query = embedQueries(['query'], embedder, signal);
  const stopped = ['a', 'b', 'c'].map((name) => embedDocuments(texts(name, 1), embedder, name, controller.signal));
  const refused = Promise.all(stopped.map((file) => expect(file).rejects.toThrow('stopped')));
  controller.abort(new Error('stopped'));
  await refused;
  const next = embedDocuments(texts('next', 1), embedder, 'next', signal);
  await answer();
  await query;
  expect(begun).toEqual(['query', 'next 0']);
  await answer();
  await next;
});
