/** Webhooks: tells tenants of the end of their responses in the background and of their batches, in the form of Standard Webhooks. */
export type { WebhookDelivery } from './engine/webhooks/deliveries.ts';
export type { EndpointSource, WebhookEndpoint, WebhookFetcher } from './engine/webhooks/endpoints.ts';
export { WEBHOOK_EVENTS, type WebhookEvent, type WebhookEventType } from './engine/webhooks/events.ts';
export type { WebhookSecrets } from './engine/webhooks/sign.ts';
export type { Webhooks } from './engine/webhooks/webhooks.ts';
export type { BackgroundEngine } from './ports/background/background-engine.ts';
export type { Hooks } from './ports/hooks.ts';
export type { LogFields, Logger } from './ports/host/logger.ts';
export type { MaybePromise, ResponseKey, ResponseStore } from './ports/store.ts';
export { createWebhooks, type WebhooksOptions } from './server/create-webhooks.ts';
