/** What a router does with the responses that its engine claims: it runs them, or goes on where another process stopped. */

import { setTimeout as pause } from 'node:timers/promises';
import { withdrawTurn } from '../../engine/history/conversation.ts';
import { endRunning, keptTurn } from '../../engine/history/keep-turn.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { ResumedResponse } from '../../engine/turn/checkpoint.ts';
import { failedEnd, storedEnd } from '../../engine/turn/late-end.ts';
import { beginTurn, type Lifetime } from '../../engine/turn/lifetime.ts';
import type { BackgroundEngine, BackgroundWorker, ClaimedRun } from '../../ports/background/background-engine.ts';
import { type EventLog, isUnreadable } from '../../ports/background/event-log.ts';
import { notify, type Reports } from '../../ports/hooks.ts';
import type { Sealer } from '../../ports/sealer.ts';
import {
  fromStore,
  isRunning,
  placeOf,
  type ResponseKey,
  replaceIn,
  type StoredResponse,
  versionOf,
} from '../../ports/store.ts';
import { ApiError, toApiError } from '../../protocol/errors.ts';
import type { IncompleteReason, TurnEnd, TurnEvent, Usage } from '../../protocol/events.ts';
import type { OutputItem } from '../../protocol/items.ts';
import { keptFields } from '../../protocol/responses/resource.ts';
import { failureIn, type StoredError } from '../../protocol/responses/response-error.ts';
import { eventText, isNumbered, readAll } from './event-text.ts';
import type { LogWatch } from './log-watch.ts';
import type { LoggedState, OpenLog } from './log-writer.ts';
import { BackgroundRun, type BackgroundTurn, type RunSettings } from './run.ts';
import { LogKeeper } from './run-keeper.ts';
import type { Runs } from './runs.ts';
import { requestIn } from './stored-request.ts';

/** How many processes may begin to run one response. */
const MOST_TRIES = 3;
/** Milliseconds before a response that could not be continued is offered again. */
const RETRY_MS = 1000;

/** Prepares a turn again, as far as it had come. */
export type PrepareResumed = (
  request: EndpointRequest,
  life: Lifetime,
  resumed: ResumedResponse,
) => Promise<BackgroundTurn>;

/** The parts of a router that its worker uses. */
interface WorkerParts {
  readonly settings: RunSettings & {
    readonly stateSealer: Sealer;
    readonly hooks: Reports;
    readonly engine: Pick<BackgroundEngine, 'takesOver'>;
  };
  /** Undefined if events are kept in this process alone. */
  readonly watch: LogWatch | undefined;
  readonly turns: Activity;
  readonly runs: Runs;
  readonly prepare: PrepareResumed;
}

/** The worker of one router. */
export class RunWorker implements BackgroundWorker {
  private readonly parts: WorkerParts;
  /** The runs that this process has prepared, until they are claimed. */
  private readonly prepared = new Map<string, BackgroundRun>();

  constructor(parts: WorkerParts) {
    this.parts = parts;
  }

  /** Offers a run of this process to the next claim of its response. */
  add(run: BackgroundRun): void {
    this.prepared.set(placeOf(run.key), run);
  }

  /** Takes the offer back; returns false if the run was claimed here. */
  takeBack(run: BackgroundRun): boolean {
    return this.prepared.delete(placeOf(run.key));
  }

  async run({ key, signal }: ClaimedRun): Promise<'ended' | 'released'> {
    const place = placeOf(key);
    const run = this.prepared.get(place);
    this.prepared.delete(place);
    if (run) return run.start(signal);
    try {
      return await this.takeOver(key, signal);
    } catch (error) {
      if (signal.aborted) return 'released';
      this.onError(error);
      // The store failed, or this process takes nothing more: another one may succeed, but not at once.
      await pause(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
      return 'released';
    }
  }

  onError(error: unknown): void {
    const requestId = 'background';
    notify(this.parts.settings.hooks, 'onError', toApiError(error), { requestId });
  }

  private async takeOver(key: ResponseKey, signal: AbortSignal): Promise<'ended' | 'released'> {
    const { watch, settings } = this.parts;
    if (!watch) throw new Error('The store has no event log.');
    const { log } = watch;
    const stored = await fromStore(() => settings.store.get(key));
    if (!stored) {
      await log.delete(key);
      return 'ended';
    }
    if (!isRunning(stored)) return this.endLog(log, stored);
    const isOverdue = Date.now() > stored.createdAt + settings.limits.durationMs;
    const life = isOverdue ? undefined : new TakenOver(key, this.timeLeft(stored), this.parts.turns, signal);
    try {
      // Before anything is changed: a process without a free place leaves the response as it is.
      await life?.turn.place;
      const owned = await this.claim(log, stored);
      if (typeof owned === 'string') return owned;
      return await (life ? this.goOn(watch, owned, life) : this.failAll(log, owned.stored, owned, 'It took too long.'));
    } finally {
      life?.end();
    }
  }

  /** Makes the response this process's, unless it ends here or belongs to another one. */
  private async claim(log: EventLog, stored: StoredResponse): Promise<OwnedLog | 'ended' | 'released'> {
    const version = versionOf(stored);
    const owned: StoredResponse = { ...stored, version: version + 1 };
    if (!(await fromStore(() => replaceIn(this.parts.settings.store, owned, version)))) return 'released';
    // Its process may have stopped between the two writes at the end of a turn.
    await withdrawTurn(this.parts.settings.store, owned);
    const kept = await claimedIn(log, owned);
    if (typeof kept === 'string') return this.failAll(log, owned, NOTHING_KEPT, kept);
    if (kept.state.tries >= MOST_TRIES) return this.failAll(log, owned, kept, `It failed on ${MOST_TRIES} servers.`);
    const tried = { ...kept, stored: owned, state: { ...kept.state, tries: kept.state.tries + 1 } };
    return (await keepState(log, tried)) ? tried : 'released';
  }

  /** Runs what is left of the response; a request that can no longer be prepared ends it as failed. */
  private async goOn(watch: LogWatch, owned: OwnedLog, life: TakenOver): Promise<'ended' | 'released'> {
    const { stored, state, request } = owned;
    const { settings, runs, prepare } = this.parts;
    try {
      const read = requestIn(request, stored, settings.stateSealer);
      const prepared = await prepare({ ...read, ...life.request }, life.turn, owned);
      this.noteTakeOver(prepared);
      const keeper = this.logKeeper(watch, stored, owned);
      const run = new BackgroundRun({ prepared, stopping: life.stopping, keeper }, settings);
      runs.add(run);
      return await run.start(life.released);
    } catch (error) {
      if (life.released.aborted) {
        await keepState(watch.log, { ...owned, state: { ...state, tries: state.tries - 1 } });
        return 'released';
      }
      if (isElsewhere(error)) throw error;
      this.onError(error);
      const why = error instanceof ApiError ? error.message : 'Its request cannot be read.';
      return this.failAll(watch.log, stored, owned, why);
    }
  }

  /** Keeps the events of a response in its log, from this position on. */
  logKeeper(
    watch: LogWatch,
    { scope, id, createdAt, version }: BackgroundTurn['stored'],
    { next, state }: Pick<OpenLog, 'next' | 'state'>,
  ): LogKeeper {
    const { limits, engine } = this.parts.settings;
    const deadline = createdAt + limits.durationMs;
    const host = { eventsTtlMs: limits.eventsTtlMs, deadline, onError: (error: unknown) => watch.report(error) };
    const kept = { watch, key: { scope, id }, epoch: versionOf({ version }), next, state };
    return new LogKeeper(kept, host, engine.takesOver);
  }

  private timeLeft({ createdAt }: StoredResponse): number {
    return Math.max(createdAt + this.parts.settings.limits.durationMs - Date.now(), 1);
  }

  private noteTakeOver({ info }: BackgroundTurn): void {
    const message = 'The response was begun by another process, which is gone; this one goes on.';
    notify(this.parts.settings.hooks, 'onNote', { code: 'taken_over', message }, info);
  }

  /** Ends a response that cannot go on, and its log. */
  private async failAll(log: EventLog, owned: StoredResponse, kept: KeptTurn, why: string): Promise<'ended'> {
    const { store } = this.parts.settings;
    const { body } = new ApiError('server_error', `The response could not be continued. ${why}`);
    const events = failedEnd(kept, body);
    // The cast: it is the last of them.
    const last = events.at(-1) as TurnEnd;
    const { output } = last;
    const end = ({ resource, output: _, ...turn }: StoredResponse) =>
      keptTurn(turn, { resource: keptFields(resource, last), output });
    const { isEnded } = await endRunning(store, owned, end, owned.version);
    if (isEnded) await this.appendEnd(log, owned, kept, events);
    return 'ended';
  }

  /** Ends the log of a response that has ended, with the events that its process could not write. */
  private async endLog(log: EventLog, stored: StoredResponse): Promise<'ended'> {
    const [head] = await log.heads([stored]);
    // The log is ahead of the response if an earlier attempt claimed it, and failed then.
    const owned = { ...stored, version: Math.max(versionOf(stored), head?.epoch ?? 0) + 1 };
    const kept = await claimedIn(log, owned);
    if (typeof kept === 'string') await this.appendEnd(log, owned, NOTHING_KEPT, []);
    else if (!kept.ended) await this.appendEnd(log, owned, kept, endingOf(stored, kept));
    return 'ended';
  }

  private async appendEnd(
    log: EventLog,
    owned: StoredResponse,
    kept: KeptTurn,
    events: readonly TurnEvent[],
  ): Promise<void> {
    const endsUntil = Date.now() + this.parts.settings.limits.eventsTtlMs;
    const texts = events.filter(isNumbered).map(eventText);
    const epoch = versionOf(owned);
    const end = { epoch, from: kept.next, events: texts, state: JSON.stringify(kept.state), endsUntil };
    // What cannot be read takes no events, but its followers must not wait for any.
    if (kept === NOTHING_KEPT) await log.end(owned, epoch + 1, endsUntil);
    else await log.append(owned, end);
  }
}

/** The lifetime of a response that this process goes on with, until it is to let go of it. */
class TakenOver {
  readonly stopping = new AbortController();
  /** Aborted when the response is to be handed over, or belongs to another process. */
  readonly released: AbortSignal;
  readonly turn: Lifetime;

  /** Throws and rejects as `beginTurn` does. */
  constructor({ scope }: ResponseKey, durationMs: number, turns: Activity, released: AbortSignal) {
    this.released = released;
    if (released.aborted) this.release();
    released.addEventListener('abort', this.release, { once: true });
    this.turn = beginTurn({ scope, ...this.request }, durationMs, turns);
  }

  /** What ends with this process's part in the response. */
  get request() {
    return { signal: this.stopping.signal, abort: (reason: ApiError) => this.stopping.abort(reason) };
  }

  end(): void {
    this.turn.leave();
    this.released.removeEventListener('abort', this.release);
  }

  private readonly release = (): void => this.stopping.abort(new Error('The response is handed over.'));
}

/** What a log holds of a turn. */
interface KeptTurn extends Omit<ResumedResponse, 'stored'> {
  readonly state: LoggedState;
}

/** A log that this process has claimed. */
interface ReadLog extends KeptTurn {
  readonly request: string;
  readonly ended: boolean;
}

/** The same, with the response, which is this process's too. */
type OwnedLog = ReadLog & ResumedResponse;

const NOTHING_KEPT: KeptTurn = { checkpoint: undefined, events: [], next: 0, state: { tries: 0 } };

/** Whether another process may do what this one could not. */
function isElsewhere(error: unknown): boolean {
  return error instanceof ApiError && ['too_many_streams', 'server_draining', 'store_error'].includes(error.code);
}

/** Claims the log of a response that is this process's; returns why it cannot be continued if it cannot. */
async function claimedIn(log: EventLog, owned: StoredResponse): Promise<ReadLog | string> {
  try {
    const claimed = await log.claim(owned, versionOf(owned));
    if (!claimed) return await whyUnclaimed(log, owned);
    const { request, ended, next } = claimed;
    // The cast: only this package writes these texts.
    const state: LoggedState = claimed.state === '' ? { tries: 0 } : (JSON.parse(claimed.state) as LoggedState);
    const events = ended ? [] : await readAll(log, owned);
    return { request, ended, state, checkpoint: state.checkpoint, events, next };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ApiError || isUnreadable(error)) return UNREADABLE;
    throw error;
  }
}

const UNREADABLE = 'Its events cannot be read.';

/**
 * Throws if the log is this process's after all, so that it is claimed again: a database's client repeats a command whose
 * answer was lost.
 */
async function whyUnclaimed(log: EventLog, owned: StoredResponse): Promise<string> {
  const [head] = await log.heads([owned]);
  if (head?.epoch === versionOf(owned)) throw new Error('The answer to a claim of an event log was lost.');
  return 'Its events are no longer kept.';
}

/** Writes the state alone; returns whether the log still is this process's. */
async function keepState(log: EventLog, { stored, next, state }: OwnedLog): Promise<boolean> {
  return log.append(stored, { epoch: versionOf(stored), from: next, events: [], state: JSON.stringify(state) });
}

/** The events that end a stream as the stored response has ended; a cancelled one has none. */
function endingOf({ resource, output }: StoredResponse, kept: KeptTurn): readonly TurnEvent[] {
  // The cast: the resource of a response that has ended has these fields.
  const { status, usage, error, model, service_tier: serviceTier, ...ended } = resource as unknown as Ended;
  if (status === 'cancelled') return [];
  const upstream = { ...kept.checkpoint?.facts, model, serviceTier };
  if (error) return failedEnd(kept, failureIn(error), { usage, upstream });
  // The cast: the output of a response consists of output items.
  const items = output as readonly OutputItem[];
  const reason = ended.incomplete_details?.reason ?? null;
  return storedEnd(kept, {
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
