/** The checks of the options that all routers and adapters share. */

import { DIALECTS } from '../../apis/dialects/dialects.ts';
import { isWebhooks } from '../../engine/webhooks/webhooks.ts';
import { isFileStore } from '../../ports/files/file-store.ts';
import { isLogger } from '../../ports/host/logger.ts';
import {
  areHooks,
  boolean,
  isFunction,
  isObject,
  isOneOf,
  type OptionCheck,
  withMethods,
} from '../../ports/host/options-check.ts';
import { areTools } from '../../ports/tool-provider.ts';
import { isRecord } from '../../protocol/record.ts';

/** Where options belong that are often given to a router itself. */
export const CORE_PLACES: Readonly<Record<string, string>> = {
  baseURL: 'upstream: chatCompletionsUpstream({ baseURL })',
  apiKey: 'upstream: chatCompletionsUpstream({ apiKey })',
  engine: 'background: { engine }',
  durable: 'background: { durable }',
};

/** The checks of the shared options, to which a router adds its own. */
export const coreChecks: Readonly<Record<string, OptionCheck>> = {
  upstream: (value) =>
    withMethods('stream')(value) === true || 'an object with stream, such as chatCompletionsUpstream({ baseURL })',
  store: withMethods('get', 'put', 'delete'),
  files: isFileStore,
  documents: withMethods('read'),
  fileFetcher: withMethods('fetch'),
  tools: areTools,
  remoteMcp: withMethods('open', 'close'),
  approval: isFunction,
  // Its lists are checked where they are read.
  guards: (value) => isRecord(value) || 'an object with lists of guards',
  offeredTools: isOneOf('all', 'allowed'),
  show: isObject,
  openapi: boolean,
  heartbeat: (value) => value === false || isRecord(value) || 'an object or false',
  limits: isObject,
  onStoreError: isOneOf('fail', 'continue'),
  dialect: (value) => typeof value === 'function' || isOneOf(...Object.keys(DIALECTS))(value),
  // It is checked separately: the message that names a bad value would show it.
  secret: () => true,
  background: isObject,
  webhooks: isWebhooks,
  multiAgent: (value) => typeof value === 'boolean' || isRecord(value) || 'true, false or an object',
  compaction: isObject,
  countTokens: isFunction,
  prompts: (value) =>
    ['string', 'function'].includes(typeof value) || isRecord(value) || 'an object of prompts, a folder or a function',
  // It is a function, too: the same object stands alone as a middleware.
  budget: (value) =>
    ['admit', 'resume'].every((method) => isFunction(Object(value)[method]) === true) || 'a tokenBudget()',
  hooks: areHooks,
  logger: isLogger,
};
