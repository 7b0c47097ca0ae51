/** The last deliveries of each tenant, for the host to look at. */
import {
  fromStore,
  type ResponseStore,
  replaceVersion,
  type StoredResponse,
  storedVersion,
} from '../../ports/store.ts';
import { recordKey } from '../../protocol/ids.ts';

/** The store key of a tenant's last deliveries. */
const DELIVERIES_ID = recordKey('webhook', 'deliveries');

/** One attempt to deliver an event. */
export interface WebhookDelivery {
  /** The `webhook-id` of the event. */
  readonly id: string;
  /** The event, such as `response.completed`. */
  readonly type: string;
  /** The response or batch. */
  readonly subject: string;
  /** Scheme, host and port of the endpoint: its path may hold a secret. */
  readonly endpoint: string;
  /** When it was sent, in milliseconds since the epoch. */
  readonly at: number;
  /** Counted from 1. */
  readonly attempt: number;
  /** `delivered`; `failed`, and tried again; `given_up` after three days or a 410; `refused` for an endpoint that is gone or not verified. */
  readonly outcome: 'delivered' | 'failed' | 'given_up' | 'refused';
  /** The status of the answer; null if there was none. */
  readonly status: number | null;
  /** Why it was not delivered; null if it was. */
  readonly error: string | null;
  /** When the next attempt is due, in milliseconds since the epoch; null if there is none. */
  readonly nextAt: number | null;
}

/** How many are kept of each tenant. */
const MAX_DELIVERIES = 50;
/** How long after the last one they are kept. */
const KEPT_MS = 7 * 24 * 60 * 60_000;
const TRIES = 5;

/** Adds one, in the place of the oldest. It is for people to look at: one may be missing where many are added at once. */
export async function addDelivery(store: ResponseStore, scope: string, delivery: WebhookDelivery): Promise<void> {
  const key = { scope, id: DELIVERIES_ID };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const stored = await fromStore(() => store.get(key));
    const deliveries = [delivery, ...(stored ? deliveriesIn(stored) : [])].slice(0, MAX_DELIVERIES);
    const record: StoredResponse = {
      ...key,
      createdAt: stored?.createdAt ?? delivery.at,
      expiresAt: delivery.at + KEPT_MS,
      version: stored ? storedVersion(stored) + 1 : 0,
      input: [],
      output: [],
      resource: { deliveries },
    };
    if (!stored) return fromStore(() => store.put(record));
    if (await fromStore(() => replaceVersion(store, record, storedVersion(stored)))) return;
  }
}

/** The tenant's last deliveries, newest first. Throws `store_error`. */
export async function readDeliveries(store: ResponseStore, scope: string): Promise<readonly WebhookDelivery[]> {
  const stored = await fromStore(() => store.get({ scope, id: DELIVERIES_ID }));
  return stored ? deliveriesIn(stored) : [];
}

function deliveriesIn({ resource: { deliveries } }: StoredResponse): readonly WebhookDelivery[] {
  // The cast: only `addDelivery` writes them.
  return (deliveries ?? []) as readonly WebhookDelivery[];
}
