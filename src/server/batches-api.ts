/** The batch APIs of OpenAI and Anthropic as a function from a request to a reply, for frameworks without a router in this package. */

import type { BatchStore } from '../apis/batches/batch-records.ts';
import { batchRoutes } from '../apis/batches/endpoints/routes.ts';
import { batchLimits, type SomeBatchLimits } from '../apis/batches/limits.ts';
import type { Webhooks } from '../engine/webhooks/webhooks.ts';
import type { BackgroundEngine } from '../ports/background/background-engine.ts';
import type { FileStore } from '../ports/files/file-store.ts';
import { checkOptions, type OptionCheck, withMethods } from '../ports/host/options-check.ts';
import { checkSecret, processSecret, sealer } from '../ports/sealer.ts';
import type { ResponseStore } from '../ports/store.ts';
import type { Upstream } from '../ports/upstream.ts';
import { isRecord } from '../protocol/record.ts';
import { inProcessEngine } from '../stores/queues/in-process/in-process-engine.ts';
import type { Api } from './api.ts';
import { lineApis } from './line-apis.ts';
import { isFileStore, isWebhooks, type PlainOptions, plainChecks, plainSettings } from './options/plain-api.ts';
import { settingsStore } from './options/settings-store.ts';
import { type ReportedRoutes, reported } from './reported-routes.ts';
import { type ServedApi, servedRoutes } from './served-routes.ts';

/** What batches are made of; `undefined` means omitted. */
export interface BatchesOptions extends PlainOptions {
  /** Where inputs and results are kept: the same store as that of the Files API. */
  readonly files: FileStore;
  /**
   * What answers the lines: routers such as `responsesRouter(options)`, whose places for turns the lines then share, or APIs such as
   * `createResponses(options)`.
   */
  readonly apis: readonly (ServedApi | { readonly api: ServedApi })[];
  /** Where batches are kept. It needs conversations and an event log. Default: the bounded memory store of the process. */
  readonly store?: ResponseStore | undefined;
  /**
   * Decides which process runs a batch: `bullmqEngine` with a `queueName` of its own, whose batches any process continues. It needs a
   * `store` that the processes share, and a `stateKey`. Default: this process.
   */
  readonly engine?: BackgroundEngine | undefined;
  /** Passes lines of `/v1/embeddings` on to its model server. Default: none, and such batches are refused. */
  readonly upstream?: Upstream | undefined;
  /**
   * Seals the headers of the request that created a batch, with which its lines are sent: a text or bytes, at least 16 bytes, the same
   * in every process. Default: a random one for this process.
   */
  readonly stateKey?: string | Uint8Array | undefined;
  /** Made by `createWebhooks`: tells tenants of the end of their batches. Default: none. */
  readonly webhooks?: Webhooks | undefined;
  /** What a tenant may have at once, and a batch may hold. Default: those of `BatchLimits`. */
  readonly limits?: SomeBatchLimits | undefined;
}

/** The checks of the options, to which a router adds its own. */
export const batchesChecks: Readonly<Record<string, OptionCheck>> = {
  files: isFileStore,
  apis: (value) =>
    (Array.isArray(value) && value.length > 0 && value.every((each) => isServed(each) || isServed(Object(each).api))) ||
    'a list of routers such as responsesRouter(), or of APIs such as createResponses()',
  store: withMethods('get', 'put', 'delete'),
  engine: withMethods('start', 'submit', 'release', 'close'),
  upstream: (value) =>
    withMethods('stream', 'pass')(value) === true ||
    'an upstream that passes requests on, such as chatCompletionsUpstream()',
  // Checked separately: the message that names a bad value would show the key.
  stateKey: () => true,
  webhooks: isWebhooks,
  ...plainChecks,
};

function isServed(value: unknown): value is ServedApi {
  return isRecord(value) && typeof value.handle === 'function' && typeof value.refuse === 'function';
}

/** The routes of batches, and the end of their work in this process. */
interface BatchesRoutes extends ReportedRoutes {
  /** Gives back what runs, for other processes or the next start, and closes the engine. May be called twice. */
  drain(): Promise<void>;
}

/** The routes of both batch APIs, which report their steps, and their settings. */
export function buildBatchesApi(owner: string, options: BatchesOptions): BatchesRoutes {
  for (const name of ['files', 'apis'] as const)
    if (options[name] === undefined) throw new TypeError(`${owner}: ${name} is missing, got undefined`);
  const { files, apis, upstream, stateKey, webhooks, limits, hooks, logger } = options;
  const settings = plainSettings(owner, { hooks, logger });
  const engine = options.engine ?? inProcessEngine();
  const what = `${owner}: engine '${engine.name}' continues batches in other processes`;
  if (engine.takesOver && !(options.store?.events?.isShared && options.store.replace))
    throw new TypeError(`${what}, so store must be one that they share: redisStore, postgresStore or sqliteStore`);
  if (engine.takesOver && stateKey === undefined)
    throw new TypeError(`${what}, so stateKey must be set, the same in all of them`);
  const store = settingsStore(options.store, settings.limits.storeTimeoutMs, settings.recorder.health.store);
  if (!hasAll(store))
    throw new TypeError(`${owner}: store must keep conversations and event logs, got '${store.name}'`);
  const key = stateKey === undefined ? processSecret() : checkSecret(`${owner}: stateKey`, stateKey);
  const served = apis.map((each) => ('api' in each ? each.api : each));
  const routes = batchRoutes({
    ...settings,
    ...{ files, store, engine, webhooks },
    apis: lineApis({ apis: served, upstream, limits: settings.limits }),
    sealer: sealer(key, { name: 'headers of batches', prefix: 'bat1.' }),
    batchLimits: batchLimits(owner, limits),
  });
  const drain = async () => {
    await engine.release();
    await engine.close();
  };
  return { routes: routes.map((route) => reported(route, settings)), settings, drain };
}

function hasAll(store: ResponseStore): store is BatchStore {
  return store.conversations !== undefined && store.events !== undefined;
}

/**
 * Both batch APIs, for `toWebHandler` and for hosts of your own. Batches run in the background until `drain` is called. Throws a
 * `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import { batchesApi } from 'express-open-responses/batches';
 * import { createResponses, toWebHandler } from 'express-open-responses/core';
 * import { createFiles, diskFiles } from 'express-open-responses/files';
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const batches = batchesApi({ files, apis: [createResponses()] });
 * const handler = toWebHandler({ basePath: '/v1', files, apis: [createFiles({ files }), batches] });
 * ```
 */
export function batchesApi<Req = unknown>(options: BatchesOptions): Api<Req> {
  checkOptions('batchesApi', options, batchesChecks);
  const { routes, settings, drain } = buildBatchesApi('batchesApi', options);
  return { ...servedRoutes(routes, settings), drain };
}
