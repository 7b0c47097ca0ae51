/** The batch APIs of OpenAI and Anthropic as a value, for `openResponses` and for the router. */

import { isWebhooks, type Webhooks } from '../../../engine/webhooks/webhooks.ts';
import {
  type BackgroundEngine,
  checkTakeOver,
  isBackgroundEngine,
} from '../../../ports/background/background-engine.ts';
import { type FileStore, isFileStore } from '../../../ports/files/file-store.ts';
import { checkOptions, isObject, type OptionCheck, withMethods } from '../../../ports/host/options-check.ts';
import { checkSecret, processSecret, sealer } from '../../../ports/sealer.ts';
import type { ResponseStore } from '../../../ports/store.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import type { Api } from '../../endpoint/api.ts';
import type { BatchStore } from '../batch-records.ts';
import { type BatchQuota, batchLimits } from '../limits.ts';
import { lineApis } from '../lines/line-apis.ts';
import { batchRoutes } from './routes.ts';

/** What batches are made of; `undefined` means omitted. */
export interface BatchesOptions {
  /** Where inputs and results are kept: the same store as that of the Files API. */
  readonly files: FileStore;
  /**
   * Decides which process runs a batch: `bullmqEngine` with a `queueName` of its own, whose batches any process continues. It needs a
   * `store` that the processes share, and a `secret`. Default: this process.
   */
  readonly engine?: BackgroundEngine | undefined;
  /**
   * Where batches are kept; it needs conversations and an event log. Default: that of `openResponses`, else the bounded memory store
   * of the process.
   */
  readonly store?: ResponseStore | undefined;
  /**
   * Seals the headers of the request that created a batch, with which its lines are sent: a text or bytes, at least 16 bytes, the same
   * in every process. Default: that of `openResponses`, else a random one for this process.
   */
  readonly secret?: string | Uint8Array | undefined;
  /** Made by `createWebhooks`: tells tenants of the end of their batches. Default: those of `openResponses`, else none. */
  readonly webhooks?: Webhooks | undefined;
  /** What a tenant may have at once, and a batch may hold. Default: those of `BatchQuota`. */
  readonly quota?: BatchQuota | undefined;
}

/** The batch APIs, which also show the host the batches of a tenant: the inspector's option `batches` takes them. */
export interface BatchesApi extends Api {
  /** The tenant's last 50 batches of both APIs, newest first, as OpenAI's batch objects; none before they are served. Rejects if the store fails. */
  recent(scope: string): Promise<readonly JsonObject[]>;
}

/** The checks of the options, to which a router adds its own. */
export const batchesChecks: Readonly<Record<keyof BatchesOptions, OptionCheck>> = {
  files: isFileStore,
  engine: isBackgroundEngine,
  store: withMethods('get', 'put', 'delete'),
  // Checked separately: the message that names a bad value would show it.
  secret: () => true,
  webhooks: isWebhooks,
  quota: isObject,
};

/**
 * `/batches` of OpenAI's API and `/messages/batches` of Anthropic's, for the option `apis` of `openResponses`: the APIs of models
 * beside it answer the lines, within the same places, budgets and limits. Batches run in the background until everything is drained
 * or closed, which closes the engine. Throws a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { openResponses } from 'express-open-responses';
 * import { batchesApi } from 'express-open-responses/batches';
 * import { diskFiles, filesApi } from 'express-open-responses/files';
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const api = openResponses({ apis: [filesApi({ files }), batchesApi({ files })] });
 * express().use('/v1', api.router).listen(3000);
 * ```
 */
export function batchesApi(options: BatchesOptions): BatchesApi {
  checkOptions('batchesApi', options, batchesChecks);
  return makeBatchesApi('batchesApi', options);
}

/** The same for the function `owner`, which has checked its options. */
export function makeBatchesApi(owner: string, options: BatchesOptions): BatchesApi {
  const { files, quota } = options;
  if (files === undefined) throw new TypeError(`${owner}: files is missing, got undefined`);
  const settled = batchLimits(owner, quota);
  if (options.secret !== undefined) checkSecret(`${owner}: secret`, options.secret);
  const engines = new Set<BackgroundEngine>();
  let recent: BatchesApi['recent'] = async () => [];
  return {
    name: 'batches',
    files,
    open(host) {
      const { engine = host.processEngine(), webhooks = host.webhooks } = options;
      const { secret = host.secret } = options;
      const store = host.storeFor(options.store);
      checkTakeOver(owner, engine, 'continues batches', { store, secret });
      engines.add(engine);
      const opened = batchRoutes({
        ...host,
        ...{ files, store: requireLists(owner, store), engine, webhooks },
        apis: lineApis(host.endpointAt),
        sealer: sealer(secret ?? processSecret(), { name: 'headers of batches', prefix: 'bat1.' }),
        batchLimits: settled,
      });
      recent = opened.recent;
      return {
        routes: opened.routes,
        describe: async () => [(await import('./description.ts')).describeBatches()],
        drain: opened.drain,
      };
    },
    recent: (scope) => recent(scope),
    async close() {
      for (const engine of engines) await engine.close();
    },
  };
}

/** The store, if it has all that batches need. Throws a `TypeError` otherwise. */
function requireLists(owner: string, store: ResponseStore): BatchStore {
  // The cast: it has both, as tested.
  if (store.conversations && store.events) return store as BatchStore;
  throw new TypeError(`${owner}: store must keep conversations and event logs, got '${store.name}'`);
}
