/** Signs deliveries in the form of Standard Webhooks, which `openai.webhooks.unwrap` verifies. */

import { createHmac } from 'node:crypto';
import { unixSeconds } from '../../protocol/reply.ts';

/** What a delivery is signed with: several secrets while one is being replaced. */
export type WebhookSecrets = string | readonly string[];

const PREFIX = 'whsec_';
const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;
const BYTES = { least: 24, most: 64 };

/** Whether the value is a secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
export function isWebhookSecret(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 100 || !SECRET.test(value)) return false;
  const { length } = Buffer.from(value.slice(PREFIX.length), 'base64');
  return length >= BYTES.least && length <= BYTES.most;
}

/** The headers of a delivery; `at` is in milliseconds since the epoch. */
export function signedHeaders(
  id: string,
  at: number,
  payload: string,
  secrets: WebhookSecrets,
): Record<string, string> {
  const timestamp = String(unixSeconds(at));
  const signatures = [secrets].flat().map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${payload}`).digest('base64')}`;
  });
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
