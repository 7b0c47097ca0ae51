/** The events of a turn as text in a log. */
import type { EventLog } from '../../ports/background/event-log.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { isStoreError } from '../../ports/store-error.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { TurnEvent } from '../../protocol/events.ts';
import { objectIn } from '../../protocol/json/json-text.ts';

/** An event with a number: only these are kept. */
export type NumberedEvent = Extract<TurnEvent, { readonly sequence: number }>;

/** The event as JSON, without what only the host may know of an error. */
export function eventText(event: NumberedEvent): string {
  if (!('error' in event) || !event.error) return JSON.stringify(event);
  const { message, type, param, code, status } = event.error;
  return JSON.stringify({ ...event, error: { message, type, param, code, status } });
}

/** The event in the text. Throws `store_error` for another text. */
export function eventIn(text: string): NumberedEvent {
  const event = objectIn(text);
  // The cast: only `eventText` writes these texts.
  if (typeof event?.type === 'string' && typeof event.sequence === 'number') return event as never;
  throw unreadableEvents();
}

/** The error of a log with an entry that cannot be read. */
export function unreadableEvents(cause?: unknown): ApiError {
  return new ApiError('store_error', 'The events of this response cannot be read.', { cause });
}

/** Bytes of events that are read at once. */
const PAGE_BYTES = 1024 * 1024;

/** All events of a log. Throws `store_error` if one cannot be read, or is missing. */
export async function readAll(log: EventLog, key: ResponseKey): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for (;;) {
    const page = await log.read(key, events.length - 1, PAGE_BYTES);
    if (!page || page.next <= events.length) return events;
    if (page.events.length === 0) throw unreadableEvents();
    for (const text of page.events) events.push(eventIn(text));
  }
}

/** The events of a log; none if it cannot be read, which must not keep a response from being cancelled. */
export async function readAvailable(log: EventLog, key: ResponseKey): Promise<readonly NumberedEvent[]> {
  try {
    return await readAll(log, key);
  } catch (error) {
    if (error instanceof ApiError || isStoreError(error, 'unreadable_log')) return [];
    throw error;
  }
}
