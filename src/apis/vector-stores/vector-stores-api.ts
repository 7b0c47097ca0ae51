/** The API of vector stores as a value, for `openResponses` and for the router. */
import type { VectorStores } from '../../engine/indexing/vector-stores.ts';
import { DRAIN_MS, type DrainOptions } from '../../engine/request/activity.ts';
import { answersInTime } from '../../ports/host/answers-in-time.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import type { Api } from '../endpoint/api.ts';
import { vectorStoreRoutes } from './endpoints.ts';
import type { VectorStoreLimits } from './limits.ts';

/** A vector store that nobody has. */
const ABSENT = { scope: 'express-open-responses:status', id: 'vs_status' };

/** The API over these vector stores, which it closes. */
export function vectorStoresApi(vectorStores: VectorStores, storeLimits: VectorStoreLimits): Api {
  const { index } = vectorStores;
  const isAlive = answersInTime(() => index.getStore(ABSENT));
  return {
    name: 'vector stores',
    files: vectorStores.files,
    open: (host) => ({
      routes: vectorStoreRoutes({ ...host, vectorStores, storeLimits }),
      describe: async () => [(await import('./description.ts')).describeVectorStores()],
      forgetFile: (key) => vectorStores.forgetFile(key),
      drain: (options) => drainIndexing(vectorStores, options),
      status: async () => ({ ok: await isAlive(), kind: index.name }),
    }),
    close: () => vectorStores.close(),
  };
}

/** Files that take longer are indexed by the next process: they belong to no request that would wait for them. */
async function drainIndexing(vectorStores: VectorStores, { timeoutMs = DRAIN_MS }: DrainOptions = {}): Promise<void> {
  const signal = AbortSignal.timeout(Math.max(timeoutMs, 1));
  await untilAborted(signal, () => vectorStores.drain()).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
