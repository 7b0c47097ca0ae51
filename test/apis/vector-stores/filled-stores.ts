/** Vector stores with one file each, filled without HTTP, behind the provider of `file_search`. */
import { memoryFiles } from '../../../src/files.ts';
import { createVectorStores, fileSearch, memoryVectors } from '../../../src/vector-stores.ts';
import { embeddingOf } from './embeddings-server.ts';

/** The one tenant of these stores. */
export const SCOPE = 'everyone';
/** The one file of a store. */
interface Paper {
  readonly name: string;
  readonly text: string;
}

/** The id of the vector store with this digit. */
export const storeId = (digit: string) => `vs_${digit.repeat(32)}`;
/** The id of the file in the vector store with this digit. */
export const fileId = (digit: string) => `file-a1b2c${digit}${'0'.repeat(26)}`;

/** A provider over a vector store for each digit, with one file. */
export async function storesWith(papers: Readonly<Record<string, Paper>>) {
  const files = memoryFiles();
  const index = memoryVectors();
  const embed = async (texts: readonly string[]) => texts.map((text) => Float32Array.from(embeddingOf(text)));
  const vectorStores = createVectorStores({ files, index, embeddings: { name: 'words', embed }, logger: false });
  const createdAt = Date.now();
  for (const [digit, { name, text }] of Object.entries(papers)) {
    const content = (async function* () {
      yield Buffer.from(text);
    })();
    const details = () => ({ filename: name, purpose: 'assistants' });
    await files.put({ scope: SCOPE, id: fileId(digit), createdAt, content, details });
    const store = { scope: SCOPE, id: storeId(digit) };
    await index.putStore({ ...store, name: '', metadata: {}, createdAt, lastActiveAt: createdAt }, 'create');
    const chunking = { maxTokens: 800, overlapTokens: 400 };
    const key = { scope: SCOPE, store: store.id, id: fileId(digit) };
    await index.addFiles(store, [{ ...key, filename: name, attributes: {}, chunking, autoChunking: true, createdAt }]);
    vectorStores.indexAdded();
    while ((await index.getFile(key))?.status !== 'completed') await new Promise((resolve) => setImmediate(resolve));
  }
  return { tools: fileSearch({ vectorStores }), close: () => vectorStores.close() };
}
