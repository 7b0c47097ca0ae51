/** OpenAI's and Anthropic's batches: thousands of requests in one file, answered in the background. */
export { type BatchesApi, type BatchesOptions, batchesApi } from './apis/batches/endpoints/batches-api.ts';
export type { BatchQuota } from './apis/batches/limits.ts';
export type { Api, EndpointFinder } from './apis/endpoint/api.ts';
export type { Webhooks } from './engine/webhooks/webhooks.ts';
export { type BatchesRouter, type BatchesRouterOptions, batchesRouter } from './hosts/express/batches-router.ts';
export type { BackgroundEngine } from './ports/background/background-engine.ts';
export type { FileStore } from './ports/files/file-store.ts';
export type { Hooks } from './ports/hooks.ts';
export type { LogFields, Logger } from './ports/host/logger.ts';
export type { MaybePromise, ResponseKey, ResponseStore } from './ports/store.ts';
export type { Upstream } from './ports/upstream.ts';
