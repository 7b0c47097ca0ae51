/** The checks of the options that all routers and adapters share. */

import { DIALECTS } from '../../apis/dialects/dialects.ts';
import { isLogger } from '../../ports/host/logger.ts';
import {
  anyMilliseconds,
  areHooks,
  boolean,
  isFunction,
  isObject,
  isOneOf,
  type OptionCheck,
  withMethods,
} from '../../ports/host/options-check.ts';
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import { isRecord } from '../../protocol/record.ts';
import { millisecondsOrNever } from './heartbeat-options.ts';
import type { AnyCoreOptions } from './options.ts';
import { isFileStore, isWebhooks } from './plain-api.ts';

const isProvider = (value: unknown) => withMethods('list', 'call')(value) === true;

/** The checks of the shared options, to which a router adds its own. */
export const coreChecks: Readonly<Record<string, OptionCheck>> = {
  upstream: (value) =>
    withMethods('stream')(value) === true || 'an object with stream, such as chatCompletionsUpstream({ baseURL })',
  store: withMethods('get', 'put', 'delete'),
  files: isFileStore,
  documents: withMethods('read'),
  fileFetcher: withMethods('fetch'),
  tools: (value) =>
    typeof value === 'function' ||
    (Array.isArray(value) ? value : [value]).every(isProvider) ||
    'tool providers or a function',
  remoteMcp: withMethods('open', 'close'),
  mcpLabels: (value) =>
    (Array.isArray(value) && value.every((label) => typeof label === 'string')) || 'an array of labels',
  approval: isFunction,
  // Its lists are checked where they are read.
  guards: (value) => isRecord(value) || 'an object with lists of guards',
  offeredTools: isOneOf('all', 'allowed'),
  mcpItems: isOneOf('mcp_call', 'function_call'),
  toolItems: isOneOf('hidden', 'shown'),
  reasoning: isOneOf('summary', 'text', 'spec'),
  heartbeat: (value) => value === false || isRecord(value) || 'an object or false',
  limits: isObject,
  onStoreError: isOneOf('fail', 'continue'),
  queuedEvent: boolean,
  dialect: (value) => typeof value === 'function' || isOneOf(...Object.keys(DIALECTS))(value),
  // Both are checked separately: the message that names a bad value would show the key.
  stateKey: () => true,
  engine: withMethods('start', 'submit', 'release', 'close'),
  durable: boolean,
  webhooks: isWebhooks,
  compaction: () => true,
  tokens: isObject,
  prompts: (value) =>
    ['string', 'function'].includes(typeof value) || isRecord(value) || 'an object of prompts, a folder or a function',
  // It is a function, too: the same object stands alone as a middleware.
  budget: (value) =>
    ['admit', 'resume'].every((method) => isFunction(Object(value)[method]) === true) || 'a tokenBudget()',
  hooks: areHooks,
  logger: isLogger,
};

const positive: OptionCheck = (value) => (typeof value === 'number' && value > 0) || 'a positive number';
const countOrNone: OptionCheck = (value) =>
  (Number.isSafeInteger(value) && (value as number) >= 0) || 'a whole number, or 0 for none';

/** The checks of the limits. */
export const limitChecks: Readonly<Record<string, OptionCheck>> = {
  ...Object.fromEntries(
    Object.keys(DEFAULT_LIMITS).map((name) => [name, name.endsWith('Ms') ? anyMilliseconds : positive]),
  ),
  queuedTurns: countOrNone,
  openAfterMs: millisecondsOrNever,
};

/** Throws a `TypeError` where responses could not survive their process. */
export function checkDurability(owner: string, { engine, durable, store, stateKey }: AnyCoreOptions): void {
  if (engine?.takesOver) {
    const what = `${owner}: engine '${engine.name}' continues responses in other processes`;
    if (!store?.events?.isShared || !store.replace)
      throw new TypeError(`${what}, so store must be one that they share: redisStore, postgresStore or sqliteStore`);
    if (stateKey === undefined) throw new TypeError(`${what}, so stateKey must be set, the same in all of them`);
  }
  if (durable && store !== undefined && !store.events)
    throw new TypeError(`${owner}: durable needs a store with an event log, and '${store.name}' has none`);
}
