/** What a router does with the responses that its engine claims: it runs them, or goes on where another process stopped. */

import { setTimeout as pause } from 'node:timers/promises';
import { withdrawTurn } from '../../engine/history/conversation.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { ResumedResponse } from '../../engine/turn/checkpoint.ts';
import { beginTurn, type Lifetime } from '../../engine/turn/lifetime.ts';
import type { BackgroundEngine, BackgroundWorker, ClaimedRun } from '../../ports/background/background-engine.ts';
import type { EventLog } from '../../ports/background/event-log.ts';
import { notify, type Reports } from '../../ports/hooks.ts';
import type { Sealer } from '../../ports/sealer.ts';
import {
  fromStore,
  isRunning,
  type ResponseKey,
  replaceVersion,
  type StoredResponse,
  storedVersion,
  storeFailure,
  storeKey,
} from '../../ports/store.ts';
import { ApiError, toApiError } from '../../protocol/errors.ts';
import { appendState, claimLog, endClaimedLog, failResponse, NOTHING_LOGGED, type OwnedLog } from './claimed-log.ts';
import type { LogWatch } from './log-watch.ts';
import type { OpenLog } from './log-writer.ts';
import { BackgroundRun, type BackgroundTurn, type RunSettings } from './run.ts';
import { LogKeeper } from './run-keeper.ts';
import type { Runs } from './runs.ts';
import { requestIn } from './stored-request.ts';

/** How many processes may begin to run one response. */
const MAX_TRIES = 3;
/** The errors of a process, and not of a response. */
const ELSEWHERE: ReadonlySet<string> = new Set(['too_many_streams', 'server_draining', 'store_error']);
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
    this.prepared.set(storeKey(run.key), run);
  }

  /** Takes the offer back; returns false if the run was claimed here. */
  takeBack(run: BackgroundRun): boolean {
    return this.prepared.delete(storeKey(run.key));
  }

  async run({ key, signal }: ClaimedRun): Promise<'ended' | 'released'> {
    const place = storeKey(key);
    const run = this.prepared.get(place);
    this.prepared.delete(place);
    try {
      return await (run ? this.start(run, signal) : this.takeOver(key, signal));
    } catch (error) {
      if (signal.aborted) return 'released';
      this.report(error, key);
      // The store failed, or this process takes nothing more: another one may succeed, but not at once.
      await pause(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
      return 'released';
    }
  }

  private async start(run: BackgroundRun, signal: AbortSignal): Promise<'ended' | 'released'> {
    const outcome = await run.start(signal);
    const { settings, watch } = this.parts;
    const stored = run.hasEndedUnlogged ? await fromStore(() => settings.store.get(run.key)) : undefined;
    return stored && watch ? endClaimedLog(watch.log, stored, settings) : outcome;
  }

  /** Receives what the engine's database and the event log throw. */
  onError(error: unknown): void {
    this.report(storeFailure(error));
  }

  private report(error: unknown, key?: ResponseKey): void {
    const about = { requestId: 'background', ...(key && { scope: key.scope, responseId: key.id }) };
    notify(this.parts.settings.hooks, 'onError', toApiError(error), about);
  }

  private async takeOver(key: ResponseKey, signal: AbortSignal): Promise<'ended' | 'released'> {
    const { watch, settings } = this.parts;
    if (!watch) throw new Error('The store has no event log.');
    const { log } = watch;
    const stored = await fromStore(() => settings.store.get(key));
    if (!stored) {
      await fromStore(() => log.delete(key));
      return 'ended';
    }
    if (!isRunning(stored)) return endClaimedLog(log, stored, settings);
    const endsAt = stored.createdAt + settings.limits.durationMs;
    const life =
      Date.now() > endsAt ? undefined : new TakenOver(key, Math.max(endsAt - Date.now(), 1), this.parts.turns, signal);
    try {
      // Before anything is changed: a process without a free place leaves the response as it is.
      await life?.turn.place;
      const owned = await this.claim(log, stored);
      if (typeof owned === 'string') return owned;
      return await (life
        ? this.resume(watch, owned, life)
        : failResponse(log, owned.stored, owned, { why: 'It took too long.', settings }));
    } finally {
      life?.end();
    }
  }

  /** Makes the response this process's, unless it ends here or belongs to another one. */
  private async claim(log: EventLog, stored: StoredResponse): Promise<OwnedLog | 'ended' | 'released'> {
    const { settings } = this.parts;
    const version = storedVersion(stored);
    const owned: StoredResponse = { ...stored, version: version + 1 };
    if (!(await fromStore(() => replaceVersion(settings.store, owned, version)))) return 'released';
    // Its process may have stopped between the two writes at the end of a turn.
    await withdrawTurn(settings.store, owned);
    const logged = await claimLog(log, owned);
    if (typeof logged === 'string') return failResponse(log, owned, NOTHING_LOGGED, { why: logged, settings });
    const { tries } = logged.state;
    if (tries >= MAX_TRIES)
      return failResponse(log, owned, logged, { why: `It failed on ${MAX_TRIES} servers.`, settings });
    const tried = { ...logged, stored: owned, state: { ...logged.state, tries: tries + 1 } };
    return (await appendState(log, tried)) ? tried : 'released';
  }

  /** Runs what is left of the response; a request that can no longer be prepared ends it as failed. */
  private async resume(watch: LogWatch, owned: OwnedLog, life: TakenOver): Promise<'ended' | 'released'> {
    const { stored, state, request } = owned;
    const { settings, runs, prepare } = this.parts;
    try {
      const read = requestIn(request, stored, settings.stateSealer);
      const prepared = await prepare({ ...read, ...life.request }, life.turn, owned);
      this.noteTakeOver(prepared);
      const keeper = this.logKeeper(watch, stored, owned);
      const run = new BackgroundRun({ prepared, stopping: life.stopping, keeper }, settings);
      runs.add(run);
      return await this.start(run, life.released);
    } catch (error) {
      if (life.released.aborted) {
        await appendState(watch.log, { ...owned, state: { ...state, tries: state.tries - 1 } });
        return 'released';
      }
      // Another process may do what this one could not.
      if (error instanceof ApiError && ELSEWHERE.has(error.code)) throw error;
      this.report(error, stored);
      const why = error instanceof ApiError ? error.message : 'Its request cannot be read.';
      return failResponse(watch.log, stored, owned, { why, settings });
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
    const open = { watch, key: { scope, id }, epoch: storedVersion({ version }), next, state };
    return new LogKeeper(open, host, engine.takesOver);
  }

  private noteTakeOver({ info }: BackgroundTurn): void {
    const message = 'The response was begun by another process, which is gone; this one goes on.';
    notify(this.parts.settings.hooks, 'onNote', { code: 'taken_over', message }, info);
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
