/** The events that webhooks tell of, and their payload in OpenAI's words. */

import type { JsonObject } from '../../protocol/record.ts';
import { unixSeconds } from '../../protocol/reply.ts';

/** The events there are. */
export const WEBHOOK_EVENTS = [
  'response.completed',
  'response.failed',
  'response.incomplete',
  'response.cancelled',
  'batch.completed',
  'batch.failed',
  'batch.expired',
  'batch.cancelled',
] as const;

/** The name of an event. */
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

/** Something that has happened to a response or a batch. */
export interface WebhookEvent {
  /** The tenant, as the `scope` option returns it. */
  readonly scope: string;
  /** The id of the response or batch. */
  readonly subject: string;
  /** What has happened. */
  readonly type: string;
}

/** An event as it is delivered. */
export interface SentEvent {
  readonly id: string;
  readonly type: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The body that is sent. */
export function webhookPayload({ id, type, at }: SentEvent, data: JsonObject): string {
  return JSON.stringify({ id, object: 'event', created_at: unixSeconds(at), type, data });
}
