/** What is to be delivered to one endpoint about one response or batch: its events in order, and how far they have come. */
import {
  changeStored,
  fromStore,
  type ResponseKey,
  type ResponseStore,
  type StoredResponse,
} from '../../ports/store.ts';
import type { SentEvent } from './events.ts';

/** The events of one response or batch for one endpoint. */
export interface Outbox {
  readonly subject: string;
  readonly endpoint: string;
  readonly events: readonly SentEvent[];
  /** The event that is delivered next; as many as there are once all are over. */
  readonly next: number;
  /** Failures of that event. */
  readonly failures: number;
  /** When it may be sent, in milliseconds since the epoch. */
  readonly dueAt: number;
  /** Counts the jobs that the engine has been given: each has a name of its own. */
  readonly job: number;
}

/** More are not kept of one response: none has so many. */
const MAX_EVENTS = 16;
/** How long it is kept: longer than anything is delivered, so that an event that is published again is known. */
const KEPT_MS = 5 * 24 * 60 * 60_000;
const TRIES = 50;

/** Adds the event unless it is there already; returns the outbox as it is then. Throws `store_error`. */
export async function putEvent(
  store: ResponseStore,
  key: ResponseKey,
  { subject, endpoint }: Pick<Outbox, 'subject' | 'endpoint'>,
  event: SentEvent,
): Promise<Outbox> {
  const stored = await fromStore(() => store.get(key));
  if (!stored) {
    const outbox: Outbox = { subject, endpoint, events: [event], next: 0, failures: 0, dueAt: 0, job: 0 };
    await fromStore(() => store.put(record(key, outbox, event.at)));
    return outbox;
  }
  const changed = await changeOutbox(store, key, (outbox) => {
    const isKnown = outbox.events.some(({ id }) => id === event.id) || outbox.events.length >= MAX_EVENTS;
    return isKnown ? undefined : { ...outbox, events: [...outbox.events, event] };
  });
  return changed ?? outboxIn(stored);
}

/** The outbox; undefined if it is gone. Throws `store_error`. */
export async function findOutbox(store: ResponseStore, key: ResponseKey): Promise<Outbox | undefined> {
  const stored = await fromStore(() => store.get(key));
  return stored && outboxIn(stored);
}

/**
 * Changes the outbox in one step, and returns it as it is then; undefined if it is gone. Nothing changes where `edit` returns
 * undefined. Throws `store_error`.
 */
export async function changeOutbox(
  store: ResponseStore,
  key: ResponseKey,
  edit: (outbox: Outbox) => Outbox | undefined,
): Promise<Outbox | undefined> {
  const change = (stored: StoredResponse) => {
    const outbox = edit(outboxIn(stored));
    return outbox && record(key, outbox, stored.createdAt);
  };
  const stored = await changeStored(store, key, change, TRIES);
  return stored && outboxIn(stored);
}

function record({ scope, id }: ResponseKey, outbox: Outbox, createdAt: number): StoredResponse {
  const expiresAt = Date.now() + KEPT_MS;
  return { scope, id, createdAt, expiresAt, input: [], output: [], resource: { outbox } };
}

function outboxIn({ resource: { outbox } }: StoredResponse): Outbox {
  // The cast: only `record` writes them.
  return outbox as Outbox;
}
