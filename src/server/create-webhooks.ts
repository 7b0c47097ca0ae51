/** Makes the webhooks of a host out of an engine, a store and a guard for outgoing requests. */

import type { EndpointSource, WebhookFetcher } from '../engine/webhooks/endpoints.ts';
import { openWebhooks, type Webhooks } from '../engine/webhooks/webhooks.ts';
import { type BackgroundEngine, checkTakeOver, isBackgroundEngine } from '../ports/background/background-engine.ts';
import type { Hooks } from '../ports/hooks.ts';
import { isLogger, type Logger } from '../ports/host/logger.ts';
import {
  areHooks,
  checkOptions,
  isFunction,
  milliseconds,
  type OptionCheck,
  positiveInteger,
  withMethods,
} from '../ports/host/options-check.ts';
import { checkSecret, processSecret, sealer } from '../ports/sealer.ts';
import type { ResponseStore } from '../ports/store.ts';
import { inProcessEngine } from '../stores/queues/in-process/in-process-engine.ts';
import { egressGuard } from '../tools/egress/egress-guard.ts';
import { plainSettings } from './options/plain-api.ts';
import { settingsStore } from './options/settings-store.ts';

/** What webhooks are made of; `undefined` means omitted. */
export interface WebhooksOptions {
  /** The endpoints of a tenant, as the host keeps them; asked before each delivery. */
  readonly endpoints: EndpointSource;
  /** Where events wait. It should be that of the routers. Default: the bounded memory store of the process. */
  readonly store?: ResponseStore | undefined;
  /**
   * Decides which process delivers, and when: `bullmqEngine` with a `queueName` of its own, whose deliveries survive their process. It
   * needs a `store` that the processes share, and a `secret`. Default: this process, with which its deliveries end.
   */
  readonly engine?: BackgroundEngine | undefined;
  /** The only way to endpoints. Default: an `egressGuard` that reaches public hosts by `https`, and follows no redirect. */
  readonly guard?: WebhookFetcher | undefined;
  /**
   * Signs verifications of endpoints: a text or bytes, at least 16 bytes, the same in every process. Default: a random one for this
   * process, so that after a restart endpoints must be verified again.
   */
  readonly secret?: string | Uint8Array | undefined;
  /** One delivery, in milliseconds. Default: 15,000. */
  readonly timeoutMs?: number | undefined;
  /** Deliveries at the same time in this process; of several a tenant leaves one to the others. Default: 16. */
  readonly parallelDeliveries?: number | undefined;
  /** Receives failures of the store and the engine in `onError`, whose `requestId` is `webhooks`. Default: none. */
  readonly hooks?: Pick<Hooks, 'onError'> | undefined;
  /** Receives the lines for the host's log. Default: failures are process warnings. */
  readonly logger?: Logger | false | undefined;
}

const CHECKS: Readonly<Record<keyof WebhooksOptions, OptionCheck>> = {
  endpoints: isFunction,
  store: withMethods('get', 'put', 'delete'),
  engine: isBackgroundEngine,
  guard: withMethods('check', 'fetch'),
  // Checked separately: the message that names a bad value would show the key.
  secret: () => true,
  timeoutMs: milliseconds,
  parallelDeliveries: positiveInteger,
  hooks: areHooks,
  logger: isLogger,
};

/**
 * The webhooks for the option `webhooks` of routers and of `openResponses`. They deliver in the background until they are closed.
 * Throws a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { createWebhooks, type WebhookEndpoint } from 'express-open-responses/webhooks';
 *
 * const endpoints = new Map<string, readonly WebhookEndpoint[]>();
 * const webhooks = createWebhooks({ endpoints: (scope) => endpoints.get(scope) ?? [], secret: process.env.SECRET });
 * const router = responsesRouter({ webhooks });
 * ```
 */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const owner = 'createWebhooks';
  checkOptions(owner, options, CHECKS);
  if (options.endpoints === undefined) throw new TypeError(`${owner}: endpoints is missing, got undefined`);
  const { endpoints, secret, timeoutMs = 15_000, parallelDeliveries = 16, hooks, logger } = options;
  const engine = options.engine ?? inProcessEngine();
  checkTakeOver(owner, engine, 'delivers', { store: options.store, secret });
  const settings = plainSettings(owner, { hooks, logger });
  const key = secret === undefined ? processSecret() : checkSecret(`${owner}: secret`, secret);
  return openWebhooks({
    ...{ engine, timeoutMs, parallelDeliveries, hooks: settings.hooks },
    endpoints,
    store: settingsStore(options.store, settings.limits.storeTimeoutMs, settings.recorder.health.store),
    fetcher: options.guard ?? egressGuard({ timeoutMs, maxBytes: 64 * 1024 }),
    sealer: sealer(key, { name: 'webhook endpoint', prefix: 'whv1.' }),
  });
}
