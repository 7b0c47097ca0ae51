/** What a router does with the responses that its engine claims: it runs them, or goes on where another process stopped. */

import { setTimeout as pause } from 'node:timers/promises';
import { endRunning, keptTurn } from '../history/keep-turn.ts';
import type { BackgroundWorker, ClaimedRun } from '../ports/background/background-engine.ts';
import type { ClaimedLog, EventLog } from '../ports/background/event-log.ts';
import type { Activity } from '../ports/endpoints/activity.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import { notify, type Reports } from '../ports/hooks.ts';
import type { Sealer } from '../ports/sealer.ts';
import {
  fromStore,
  isRunning,
  placeOf,
  type ResponseKey,
  replaceIn,
  type StoredResponse,
  versionOf,
} from '../ports/store.ts';
import { ApiError, toApiError } from '../protocol/errors.ts';
import type { IncompleteReason, TurnEnd, TurnEvent, Usage } from '../protocol/events.ts';
import type { OutputItem } from '../protocol/items.ts';
import { keptResource } from '../protocol/responses/resource.ts';
import { failureIn, type StoredError } from '../protocol/responses/response-error.ts';
import type { ResumedResponse } from '../turn/checkpoint.ts';
import { failedEnd, storedEnd } from '../turn/late-end.ts';
import { beginTurn, type Lifetime } from '../turn/lifetime.ts';
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
  readonly settings: RunSettings & { readonly stateSealer: Sealer; readonly hooks: Reports };
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
    const { store, limits } = settings;
    const stored = await fromStore(() => store.get(key));
    if (!stored) {
      await log.delete(key);
      return 'ended';
    }
    const epoch = versionOf(stored) + 1;
    if (!isRunning(stored)) return this.endLog(log, stored, epoch);
    const owned: StoredResponse = { ...stored, version: epoch };
    if (!(await fromStore(() => replaceIn(store, owned, epoch - 1)))) return 'released';
    const claimed = await log.claim(key, epoch);
    const kept = claimed && (await keptIn(log, key, claimed));
    if (!kept)
      return this.failAll(log, owned, NOTHING_KEPT, `Its events ${claimed ? 'cannot be read' : 'are no longer kept'}.`);
    if (kept.state.tries >= MOST_TRIES) return this.failAll(log, owned, kept, `It failed on ${MOST_TRIES} servers.`);
    if (Date.now() > stored.createdAt + limits.durationMs) return this.failAll(log, owned, kept, 'It took too long.');
    const state: LoggedState = { ...kept.state, tries: kept.state.tries + 1 };
    const isOurs = await log.append(key, { epoch, from: kept.next, events: [], state: JSON.stringify(state) });
    if (!isOurs) return 'released';
    return this.goOn(watch, { ...kept, stored: owned, state }, claimed.request, signal);
  }

  /** Runs what is left of the response; a request that can no longer be prepared ends it as failed. */
  private async goOn(
    watch: LogWatch,
    resumed: OwnedLog,
    request: string,
    signal: AbortSignal,
  ): Promise<'ended' | 'released'> {
    const { stored } = resumed;
    const stopping = new AbortController();
    let life: Lifetime | undefined;
    try {
      const read = requestIn(request, stored, this.parts.settings.stateSealer);
      const own = { ...read, signal: stopping.signal, abort: (reason: ApiError) => stopping.abort(reason) };
      life = beginTurn(own, this.timeLeft(stored), this.parts.turns);
      if (life.place) await life.place;
      const prepared = await this.parts.prepare(own, life, resumed);
      this.noteTakeOver(prepared);
      const keeper = this.logKeeper(watch, stored, resumed);
      const run = new BackgroundRun({ prepared, stopping, keeper }, this.parts.settings);
      this.parts.runs.add(run);
      return await run.start(signal);
    } catch (error) {
      life?.leave();
      if (isElsewhere(error)) throw error;
      this.onError(error);
      return this.failAll(
        watch.log,
        stored,
        resumed,
        error instanceof ApiError ? error.message : 'Its request cannot be read.',
      );
    }
  }

  /** Keeps the events of a response in its log, from this position on. */
  logKeeper(
    watch: LogWatch,
    { scope, id, createdAt, version }: BackgroundTurn['stored'],
    { next, state }: Pick<OpenLog, 'next' | 'state'>,
  ): LogKeeper {
    const { eventsTtlMs, durationMs } = this.parts.settings.limits;
    const host = { eventsTtlMs, deadline: createdAt + durationMs, onError: (error: unknown) => this.onError(error) };
    return new LogKeeper({ watch, key: { scope, id }, epoch: versionOf({ version }), next, state }, host);
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
    const end = ({ resource, output: _, ...turn }: StoredResponse) => keptTurn(turn, keptResource(resource, last));
    const { isEnded } = await endRunning(store, owned, end, owned.version);
    if (isEnded) await this.appendEnd(log, owned, kept, events);
    return 'ended';
  }

  /** Ends the log of a response that has ended, with the events that its process could not write. */
  private async endLog(log: EventLog, stored: StoredResponse, epoch: number): Promise<'ended'> {
    const claimed = await log.claim(stored, epoch);
    if (!claimed || claimed.ended) return 'ended';
    const kept = await keptIn(log, stored, claimed);
    const owned = { ...stored, version: epoch };
    await this.appendEnd(log, owned, kept ?? NOTHING_KEPT, kept ? endingOf(stored, kept) : []);
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

/** What a log holds of a turn. */
interface KeptTurn extends Omit<ResumedResponse, 'stored'> {
  readonly state: LoggedState;
}

/** The same, owned by this process. */
type OwnedLog = KeptTurn & ResumedResponse;

const NOTHING_KEPT: KeptTurn = { checkpoint: undefined, events: [], next: 0, state: { tries: 0 } };

/** Whether another process may do what this one could not. */
function isElsewhere(error: unknown): boolean {
  return error instanceof ApiError && ['too_many_streams', 'server_draining', 'store_error'].includes(error.code);
}

/** Undefined where it cannot be read. */
async function keptIn(log: EventLog, key: ResponseKey, claimed: ClaimedLog): Promise<KeptTurn | undefined> {
  try {
    // The cast: only this package writes these texts.
    const state: LoggedState = claimed.state === '' ? { tries: 0 } : (JSON.parse(claimed.state) as LoggedState);
    const events = await readAll(log, key);
    return { state, checkpoint: state.checkpoint, events, next: claimed.next };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ApiError) return undefined;
    throw error;
  }
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
