/** A search over vector stores: what an embedder of the host's own may answer, and one file in several of them. */

import { searchChunks } from '../../../src/engine/indexing/search.ts';
import { searchTerms } from '../../../src/engine/indexing/search-terms.ts';
import { memoryFiles } from '../../../src/stores/memory/memory-files.ts';
import { memoryVectors } from '../../../src/stores/memory/memory-vectors.ts';
import { putFile } from '../../../src/testing/files/file-case.ts';
import { claimNext, fillStore, makeFile, makeStore, vector } from '../../../src/testing/vectors/vector-case.ts';

const never = new AbortController().signal;

/** One uploaded file in two vector stores, with one chunk in each. */
async function searched() {
  const [index, files] = [memoryVectors(), memoryFiles()];
  const { scope, id } = await putFile(files, Buffer.from('Cats purr. Dogs bark.'));
  const stores = [makeStore({ scope }), makeStore({ scope })];
  for (const [at, store] of stores.entries()) {
    await fillStore(index, store, [makeFile(store, { id })]);
    const claim = await claimNext(index);
    index.addChunks(claim, 0, [{ text: ['Cats purr.', 'Cats purr. Dogs bark.'][at] ?? '', embedding: vector(1, 2) }]);
    index.endClaim(claim, { status: 'completed' });
  }
  const search = {
    scope,
    stores: stores.map((store) => store.id),
    queries: ['cats'],
    terms: searchTerms({}),
    limit: 10,
  };
  return (embeddings: unknown) => {
    // The cast: an embedder of the host's own may return anything.
    const embedder = { name: 'own', embed: async () => embeddings as readonly Float32Array[] };
    return searchChunks(search, { index, files, embedder }, never);
  };
}

describe('searchChunks', () => {
  it('[X-14] finds the chunks of a file that two vector stores cut differently', async () => {
    const search = await searched();
    const found = await search([vector(1, 2)]);
    expect(found.map(({ text }) => text).toSorted()).toEqual(['Cats purr.', 'Cats purr. Dogs bark.']);
  });

  it.each([
    ['no list', undefined, 'undefined'],
    ['too few', [], '[]'],
    ['no numbers', [vector(Number.NaN, 1)], '[ Float32Array(2) [ NaN, 1 ] ]'],
    ['an empty one', [vector()], '[ Float32Array(0) [] ]'],
    ['another type', [[1, 2, 3, 4]], '[ [ 1, 2, 3, ... 1 more item ] ]'],
  ])(
    '[X-14] fails with an embedder that answers with %s, and names the type to the host',
    async (_, embeddings, got) => {
      const search = await searched();
      await expect(search(embeddings)).rejects.toMatchObject({
        code: 'upstream_unavailable',
        message: 'The embedder did not answer with an embedding for each text.',
        cause: {
          cause: { message: `embed must resolve with a Float32Array of finite numbers for each text, got ${got}` },
        },
      });
    },
  );
});
