/** The log of a response that this process claims: what it holds of the turn, and what it lacks. */

import { endRunning, toStoredTurn } from '../../engine/history/keep-turn.ts';
import { failedEnd, type ResumedResponse, storedEnd } from '../../engine/turn/checkpoint.ts';
import type { EventLog } from '../../ports/background/event-log.ts';
import type { Limits } from '../../ports/limits.ts';
import { fromStore, type ResponseStore, type StoredResponse, storedVersion, storeFailure } from '../../ports/store.ts';
import { isStoreError } from '../../ports/store-error.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { IncompleteReason, TurnEnd, TurnEvent, Usage } from '../../protocol/events.ts';
import type { OutputItem } from '../../protocol/items.ts';
import { storedFields } from '../../protocol/responses/resource.ts';
import { type StoredError, storedFailure } from '../../protocol/responses/response-error.ts';
import { eventText, readAll } from './event-text.ts';
import type { LoggedState } from './log-writer.ts';

/** What a log holds of a turn. */
interface LoggedTurn extends Omit<ResumedResponse, 'stored'> {
  readonly state: LoggedState;
}

/** A log that this process has claimed. */
interface ClaimedLog extends LoggedTurn {
  readonly request: string;
  readonly ended: boolean;
}

/** The same, with the response, which is this process's too. */
export type OwnedLog = ClaimedLog & ResumedResponse;

export const NOTHING_LOGGED: LoggedTurn = { checkpoint: undefined, events: [], next: 0, state: { tries: 0 } };

/** Claims the log of a response that is this process's; returns why it cannot be continued if it cannot. */
export async function claimLog(log: EventLog, owned: StoredResponse): Promise<ClaimedLog | string> {
  try {
    const claimed = await log.claim(owned, storedVersion(owned));
    if (!claimed) {
      const [head] = await log.heads([owned]);
      if (head?.epoch !== storedVersion(owned)) return 'Its events are no longer kept.';
      // The log is this process's after all, and is claimed again: a database's client repeats a command whose answer was lost.
      throw new Error('The answer to a claim of an event log was lost.');
    }
    const { request, ended, next } = claimed;
    // The cast: only this package writes these texts.
    const state: LoggedState = claimed.state === '' ? { tries: 0 } : (JSON.parse(claimed.state) as LoggedState);
    const events = ended ? [] : await readAll(log, owned);
    return { request, ended, state, checkpoint: state.checkpoint, events, next };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ApiError || isStoreError(error, 'unreadable_log'))
      return UNREADABLE;
    throw storeFailure(error);
  }
}

const UNREADABLE = 'Its events cannot be read.';

/** Writes the state alone; returns whether the log still is this process's. */
export async function appendState(log: EventLog, { stored, next, state }: OwnedLog): Promise<boolean> {
  const append = { epoch: storedVersion(stored), from: next, events: [], state: JSON.stringify(state) };
  return fromStore(() => log.append(stored, append));
}

/** What ending a log needs of the host's options. */
interface LogEndSettings {
  readonly store: ResponseStore;
  readonly limits: Pick<Limits, 'eventsTtlMs'>;
}

/** Ends a response that cannot go on, and its log. */
export async function failResponse(
  log: EventLog,
  owned: StoredResponse,
  logged: LoggedTurn,
  { why, settings }: { readonly why: string; readonly settings: LogEndSettings },
): Promise<'ended'> {
  const { body } = new ApiError('server_error', `The response could not be continued. ${why}`);
  const events = failedEnd(logged, body);
  // The cast: it is the last of them.
  const last = events.at(-1) as TurnEnd;
  const { output } = last;
  const end = ({ resource, output: _, ...turn }: StoredResponse) =>
    toStoredTurn(turn, { resource: storedFields(resource, last), output });
  const { isEnded } = await endRunning(settings.store, owned, end, owned.version);
  if (isEnded) await appendEnd(log, owned, logged, { events, settings });
  return 'ended';
}

/** Ends the log of a response that has ended, with the events that its process could not write. */
export async function endClaimedLog(log: EventLog, stored: StoredResponse, settings: LogEndSettings): Promise<'ended'> {
  const [head] = await fromStore(() => log.heads([stored]));
  // The log is ahead of the response if an earlier attempt claimed it, and failed then.
  const owned = { ...stored, version: Math.max(storedVersion(stored), head?.epoch ?? 0) + 1 };
  const logged = await claimLog(log, owned);
  if (typeof logged === 'string') await appendEnd(log, owned, NOTHING_LOGGED, { events: [], settings });
  else if (!logged.ended) await appendEnd(log, owned, logged, { events: missingEvents(stored, logged), settings });
  return 'ended';
}

async function appendEnd(
  log: EventLog,
  owned: StoredResponse,
  logged: LoggedTurn,
  { events, settings }: { readonly events: readonly TurnEvent[]; readonly settings: LogEndSettings },
): Promise<void> {
  const endsUntil = Date.now() + settings.limits.eventsTtlMs;
  const texts = events.filter((event) => 'sequence' in event).map(eventText);
  const epoch = storedVersion(owned);
  const end = { epoch, from: logged.next, events: texts, state: JSON.stringify(logged.state), endsUntil };
  // What cannot be read takes no events, but its followers must not wait for any.
  if (logged === NOTHING_LOGGED) await fromStore(() => log.end(owned, epoch + 1, endsUntil));
  else await fromStore(() => log.append(owned, end));
}

/** The events that end a stream as the stored response has ended; a cancelled one has none. */
function missingEvents({ resource, output }: StoredResponse, logged: LoggedTurn): readonly TurnEvent[] {
  // The cast: the resource of a response that has ended has these fields.
  const { status, usage, error, model, service_tier: serviceTier, ...ended } = resource as unknown as Ended;
  if (status === 'cancelled') return [];
  const upstream = { ...logged.checkpoint?.facts, model, serviceTier };
  if (error) return failedEnd(logged, storedFailure(error), { usage, upstream });
  // The cast: the output of a response consists of output items.
  const items = output as readonly OutputItem[];
  const reason = ended.incomplete_details?.reason ?? null;
  return storedEnd(logged, {
    status,
    output: items,
    usage,
    completedAt: ended.completed_at,
    reason,
    error: null,
    upstream,
  });
}

/** What a stored resource records of its end. */
interface Ended {
  readonly status: TurnEnd['status'] | 'cancelled';
  readonly usage: Usage;
  readonly model: string;
  readonly service_tier: string;
  readonly error: StoredError | null;
  readonly incomplete_details: { readonly reason: IncompleteReason } | null;
  readonly completed_at: number | null;
}
