/** The texts of a large file, which are sent as they are read. */
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { memoryVectors, type VectorIndex } from '../../../src/vector-stores.ts';
import { refusalOf, startVectorsApp, textFile, type VectorsApp } from './vectors-app.ts';

let app: VectorsApp;
let reads: number[];
let beforeRead: (from: number) => unknown;
let path: { readonly store: string; readonly id: string };

const TEXTS = Array.from({ length: 30_000 }, (_, at) => `“word” ${at}\n`).join(' ');
const SMALL = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } as const;

/** An index that says where its texts are read. */
function watched(): VectorIndex {
  const index = memoryVectors();
  const chunkTexts: VectorIndex['chunkTexts'] = async (key, from, limit) => {
    reads.push(from);
    await beforeRead(from);
    return index.chunkTexts(key, from, limit);
  };
  return Object.assign(Object.create(index), { chunkTexts });
}

beforeEach(async () => {
  reads = [];
  beforeRead = () => {};
  app = await startVectorsApp({ stores: { index: watched() } });
  const { id: store } = await app.client.vectorStores.create({});
  const { id } = await app.client.files.create({ file: await textFile(TEXTS), purpose: 'assistants' });
  const file = await app.client.vectorStores.files.createAndPoll(store, { file_id: id, chunking_strategy: SMALL });
  expect(file.status).toBe('completed');
  path = { store, id };
});
afterEach(() => app.close());

const asked = () => app.client.vectorStores.files.content(path.id, { vector_store_id: path.store });

describe('the content of a file in a vector store', () => {
  it('[X-14] is whole, whatever its length', async () => {
    const { data } = await asked();
    expect(data.map(({ text }) => text).join('')).toBe(TEXTS);
    expect(new Set(data.map(({ type }) => type))).toEqual(new Set(['text']));
    expect(reads.length).toBeGreaterThan(10);
  });

  it('[X-14] is not read further than its client reads', async () => {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname).pause();
    const target = `/v1/vector_stores/${path.store}/files/${path.id}/content`;
    // Large texts, so that few of them fill the socket.
    const index = app.vectorStores.index as { chunkTexts: VectorIndex['chunkTexts'] };
    index.chunkTexts = async (_, from, limit) => {
      reads.push(from);
      return Array.from({ length: limit }, () => 'x'.repeat(16_384));
    };
    socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer alice\r\n\r\n`);
    let seen = -1;
    // Once it stands still.
    for (let still = 0; still < 10; still = reads.length === seen ? still + 1 : 0) {
      seen = reads.length;
      await pause(50);
    }
    socket.destroy();
    expect([reads.length > 0, reads.length < 40]).toEqual([true, true]);
  });

  it('[X-14] is cut off if the file is deleted meanwhile, so that no client takes it for whole', async () => {
    beforeRead = (from) =>
      from === 128 && app.client.vectorStores.files.delete(path.id, { vector_store_id: path.store });
    await expect(asked()).rejects.toThrow();
  });

  it('[X-14] is an error if the index fails', async () => {
    beforeRead = () => {
      throw new Error('no disk');
    };
    expect(await refusalOf(asked())).toEqual([500, 'store_error', null]);
  });
});
