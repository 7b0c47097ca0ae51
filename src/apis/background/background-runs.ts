/** The responses of one router that outlive their requests: how they begin, and how clients follow them. */

import { toStoredTurn, withLatestExpiry } from '../../engine/history/keep-turn.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { BackgroundEngine } from '../../ports/background/background-engine.ts';
import type { EventLog } from '../../ports/background/event-log.ts';
import { notify, type Reports } from '../../ports/hooks.ts';
import type { Sealer } from '../../ports/sealer.ts';
import { fromStore, type ResponseKey, type StoredResponse, storedVersion } from '../../ports/store.ts';
import { ApiError, toApiError } from '../../protocol/errors.ts';
import type { OutputItem } from '../../protocol/items.ts';
import type { PullStream } from '../../streams/pull-stream.ts';
import { readAvailable } from './event-text.ts';
import { type Following, LogFollower } from './log-follower.ts';
import { LogWatch } from './log-watch.ts';
import { BackgroundRun, type BackgroundTurn, type RunSettings } from './run.ts';
import { MemoryKeeper, type RunKeeper } from './run-keeper.ts';
import { newRuns, type Runs } from './runs.ts';
import { SharedClock } from './shared-clock.ts';
import { requestText } from './stored-request.ts';
import { type PrepareResumed, RunWorker } from './worker.ts';

/** The host's options that these need. */
interface BackgroundSettings extends RunSettings {
  readonly hooks: Reports;
  readonly stateSealer: Sealer;
  readonly engine: BackgroundEngine;
  /** Whether streams in the foreground outlive their connections too. */
  readonly durable: boolean;
}

/** A request to begin a run with. */
interface NewRun {
  readonly request: EndpointRequest;
  readonly prepared: BackgroundTurn;
  readonly stopping: AbortController;
  /** Whether the model's refusal is answered with its status, and nothing is kept then. */
  readonly isForeground: boolean;
}

/** A run that has begun, here or elsewhere. */
interface BegunRun {
  readonly run: BackgroundRun;
  /** Whether it runs in this process. */
  readonly isHere: boolean;
}

/** The runs of one router. */
export class BackgroundRuns {
  readonly runs: Runs;
  private readonly settings: BackgroundSettings;
  private readonly clock: SharedClock;
  private readonly worker: RunWorker;
  /** Set if the events are kept in the store. */
  private readonly watch: LogWatch | undefined;

  constructor(settings: BackgroundSettings, turns: Activity, prepare: PrepareResumed) {
    this.settings = settings;
    const { engine, durable, store, limits } = settings;
    this.clock = new SharedClock(store);
    this.runs = newRuns(limits.eventsTtlMs);
    const log = engine.takesOver || durable ? store.events : undefined;
    this.watch = log && new LogWatch(log, (error) => this.worker.onError(error));
    this.worker = new RunWorker({ settings, watch: this.watch, turns, runs: this.runs, prepare });
    engine.start(this.worker);
  }

  /** The store's event log, if the events are kept there. */
  get log(): EventLog | undefined {
    return this.watch?.log;
  }

  /** Stores the response as in progress, and hands it to the engine. Throws `store_error`: it could not be retrieved. */
  async begin({ request, prepared, stopping, isForeground }: NewRun): Promise<BegunRun> {
    const { stored } = prepared;
    // Such an engine compares the clocks itself.
    if (!this.settings.engine.takesOver) await this.clock.check();
    if (this.log) await this.beginLog(this.log, request, prepared);
    const started = withLatestExpiry(
      toStoredTurn(stored, { resource: prepared.storedStart, output: [] }),
      this.settings.limits.durationMs,
    );
    await fromStore(() => this.settings.store.put(started));
    const forget = isForeground ? () => this.forget(stored) : undefined;
    const run = new BackgroundRun(
      { prepared, stopping, keeper: this.createKeeper(prepared, stopping), forget },
      this.settings,
    );
    this.runs.add(run);
    this.worker.add(run);
    await this.submit(run);
    const isHere = !this.worker.takeBack(run);
    if (!isHere) run.abandon();
    return { run, isHere };
  }

  /** Deletes what is kept of the events of a response. */
  async forgetEvents(key: ResponseKey): Promise<void> {
    if (this.log) await fromStore(() => this.log?.delete(key));
  }

  /** Ends the log of a response that was cancelled; whoever writes it stops. */
  async endEvents({ version = 0, ...key }: StoredResponse): Promise<void> {
    const until = Date.now() + this.settings.limits.eventsTtlMs;
    if (this.log) await fromStore(() => this.log?.end(key, version, until));
  }

  /** The completed items of a response that runs elsewhere, as far as its log holds them. */
  async readOutput({ scope, id }: ResponseKey): Promise<readonly OutputItem[]> {
    const { log } = this;
    const output: OutputItem[] = [];
    if (!log) return output;
    for (const event of await fromStore(() => readAvailable(log, { scope, id })))
      if (event.type === 'item-end') output[event.index] = event.item;
    return output;
  }

  /** The events of the log after a number, those to come included; undefined if they are not kept there. */
  follow(key: ResponseKey, following: Following): PullStream<string> | undefined {
    const { runs, watch } = this;
    if (!watch) return undefined;
    const recent = (after: number) => runs.find(key)?.recording?.eventsAfter(after);
    const onWritten = (wake: () => void) => runs.find(key)?.recording?.onAdded(wake) ?? (() => {});
    const isStored = async () => (await fromStore(() => this.settings.store.get(key))) !== undefined;
    return new LogFollower({ watch, key, recent, onWritten, isStored }, following);
  }

  private async beginLog(
    log: EventLog,
    request: EndpointRequest,
    { stored, preparation }: BackgroundTurn,
  ): Promise<void> {
    const { limits, stateSealer } = this.settings;
    const { scope, id, createdAt, version } = stored;
    const expiresAt = createdAt + limits.durationMs + limits.eventsTtlMs;
    const text = requestText(request, { id, ...preparation }, stateSealer);
    await fromStore(() => log.begin({ scope, id }, { epoch: storedVersion({ version }), request: text, expiresAt }));
  }

  private createKeeper({ stored, info }: BackgroundTurn, { signal }: AbortController): RunKeeper {
    const { watch, worker, settings } = this;
    const { scope, id } = stored;
    if (watch) return worker.logKeeper(watch, stored, { next: 0, state: { tries: 1 } });
    const onError = (error: unknown) => notify(settings.hooks, 'onError', toApiError(error), info);
    return new MemoryKeeper(settings.store, { scope, id }, { isRead: info.stream, signal, onError });
  }

  private async submit(run: BackgroundRun): Promise<void> {
    try {
      await this.settings.engine.submit(run.key);
    } catch (cause) {
      // The engine has handed it to this process all the same: it runs.
      if (!this.worker.takeBack(run)) return;
      run.abandon();
      await this.forget(run.key).catch((error) => this.worker.onError(error));
      throw new ApiError('store_error', 'The response could not be handed to the background engine.', { cause });
    }
  }

  private async forget({ scope, id }: ResponseKey): Promise<void> {
    await fromStore(() => this.settings.store.delete({ scope, id }));
    await this.forgetEvents({ scope, id });
  }
}
