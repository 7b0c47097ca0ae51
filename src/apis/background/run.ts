/** One response that outlives its request. */

import { withdrawTurn } from '../../engine/history/conversation.ts';
import { storeTurnEnd, TurnOverruled } from '../../engine/history/keep-turn.ts';
import { type EndpointRequest, hasLeft } from '../../engine/request/endpoint-request.ts';
import type { StoreWriteSettings } from '../../engine/request/keep.ts';
import type { TurnState } from '../../engine/turn/machine/state.ts';
import { runTurn, type Turn } from '../../engine/turn/run-turn.ts';
import { notify, type RequestInfo } from '../../ports/hooks.ts';
import type { Limits } from '../../ports/limits.ts';
import type { ResponseKey, StoredResponse } from '../../ports/store.ts';
import type { Preparation } from '../../ports/turn-context.ts';
import { ApiError, type ErrorBody, toApiError } from '../../protocol/errors.ts';
import { NO_USAGE, type TurnEnd, type TurnEvent } from '../../protocol/events.ts';
import type { OutputItem } from '../../protocol/items.ts';
import { leastBytes } from '../../protocol/json/json-size.ts';
import { endedFields } from '../../protocol/responses/resource.ts';
import type { EventReader, Recording } from './recording.ts';
import type { RunKeeper } from './run-keeper.ts';

/** A running response, or one whose events are still stored. */
export interface Run {
  readonly key: ResponseKey;
  /** Undefined if the client requested no stream. */
  readonly recording: Recording<TurnEvent> | undefined;
  /** Whether its events are in the store's log. */
  readonly isLogged: boolean;
  /** The completed items of its output. */
  readonly output: readonly OutputItem[];
  /** Creates a reader of its events for the requesting client. */
  readonly readerFor: BackgroundTurn['readerFor'];
  /** The characters of what it retains once it has ended: its events, the response at its start, and its output. */
  readonly size: number;
  /** Ends it without an error event; resolves as `done`. */
  stop(): Promise<void>;
  /** Resolves when nothing is stored or emitted any more. */
  readonly done: Promise<void>;
}

/** A turn that is ready to run. */
export interface BackgroundTurn {
  readonly info: RequestInfo;
  /** The resource as in `response.created`. */
  readonly started: Readonly<Record<string, unknown>>;
  /** The same as it is stored. */
  readonly storedStart: Readonly<Record<string, unknown>>;
  readonly turn: Turn;
  /** The turn as it is stored, except for its end. */
  readonly stored: Omit<StoredResponse, 'output' | 'resource'>;
  /** For a process that goes on with it. */
  readonly preparation: Preparation;
  /** The headers of the answer that show the client what is left of its budget. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Creates a reader of its events for the requesting client; it retains nothing of the request. */
  readonly readerFor: (request: EndpointRequest) => EventReader<TurnEvent>;
}

/** The host's options that a run needs. */
export interface RunSettings extends StoreWriteSettings {
  readonly limits: Limits;
}

/** The parts of a run: the turn, what aborts it, and where its events go. */
interface RunParts {
  readonly prepared: BackgroundTurn;
  readonly stopping: AbortController;
  readonly keeper: RunKeeper;
  /** Removes what is stored, if the model refuses a request whose client still waits for the status. */
  readonly forget?: (() => Promise<void>) | undefined;
}

/** A run of this process. */
export class BackgroundRun implements Run {
  readonly key: ResponseKey;
  readonly recording: Recording<TurnEvent> | undefined;
  readonly isLogged: boolean;
  readonly output: OutputItem[] = [];
  readonly readerFor: BackgroundTurn['readerFor'];
  readonly done: Promise<void>;
  /** Resolves with the first batch; rejects if the model refuses a turn that has not begun. */
  readonly begun: Promise<void>;
  private readonly parts: RunParts;
  private readonly settings: RunSettings;
  /** The number of the last event. */
  private sequence: number;
  private state: TurnState | undefined;
  private isReleased = false;
  /** Whether the store failed, so that another process has to do what this one could not. */
  private hasStoreFailed = false;
  /** Whether its log is no longer this process's. */
  private isLost = false;
  /** Whether it has ended as failed since its log alone was lost: those who follow the log do not know. */
  hasEndedUnlogged = false;
  private hasStarted = false;
  private onBegun: (failure?: unknown) => void = () => {};
  private onDone = () => {};

  constructor(parts: RunParts, settings: RunSettings) {
    const { stored, readerFor, turn } = parts.prepared;
    this.key = { scope: stored.scope, id: stored.id };
    this.recording = parts.keeper.recording;
    this.isLogged = parts.keeper.isShared;
    this.readerFor = readerFor;
    this.parts = parts;
    this.settings = settings;
    this.sequence = (turn.resumed?.state.sequence ?? 0) - 1;
    this.begun = new Promise((resolve, reject) => {
      this.onBegun = (failure) => (failure === undefined ? resolve() : reject(failure));
    });
    // Most runs have nobody who waits for it.
    this.begun.catch(() => {});
    this.done = new Promise((resolve) => {
      this.onDone = resolve;
    });
  }

  get size(): number {
    return (this.recording?.size ?? 0) + leastBytes(this.parts.prepared.started) + leastBytes(this.output);
  }

  /** Runs it to its end, or until the signal: it is then released. Resolves with what remains to be done. */
  async start(signal: AbortSignal): Promise<'ended' | 'released'> {
    this.hasStarted = true;
    const release = () => this.release();
    signal.addEventListener('abort', release, { once: true });
    if (signal.aborted) release();
    await this.run();
    signal.removeEventListener('abort', release);
    return this.isReleased || this.hasStoreFailed ? 'released' : 'ended';
  }

  /** Lets go of a run that another process has claimed. */
  abandon(): void {
    if (this.hasStarted) return;
    this.parts.prepared.turn.leave();
    this.onBegun();
    this.recording?.end();
    this.onDone();
  }

  stop(): Promise<void> {
    this.halt('The response was cancelled.');
    if (!this.hasStarted) this.abandon();
    return this.done;
  }

  private release(): void {
    this.isReleased = true;
    this.halt('The response is handed over.');
  }

  private halt(why: string): void {
    // Not with an `ApiError`, which would be emitted.
    this.parts.stopping.abort(new Error(why));
    this.parts.keeper.shortenDeadline();
  }

  private async run(): Promise<void> {
    const { keeper, prepared, stopping } = this.parts;
    const unwatch = keeper.watch(() => this.lose());
    try {
      await this.listen();
    } catch (error) {
      // An event that cannot be emitted must not end the process.
      if (!stopping.signal.aborted) await this.fail(error).catch(() => {});
    } finally {
      unwatch();
      prepared.turn.leave();
      await keeper.end(this.isReleased).catch((error) => this.releaseUnstored(error));
      if (this.isLost && keeper.isShared) await this.endLost();
      this.onBegun();
      this.onDone();
    }
  }

  private async listen(): Promise<void> {
    const { turn } = this.parts.prepared;
    const keep: Turn['keep'] = async (end) => {
      // Before anything is stored, since that costs less than undoing it.
      await this.confirm();
      await this.awaitStored(turn.keep(end));
    };
    const beforeCalls = this.parts.keeper.isShared ? (state: TurnState) => this.confirm(state) : undefined;
    const onEvents: Turn['onEvents'] = (events, state) => {
      this.state = state;
      turn.onEvents(events, state);
    };
    for await (const batch of runTurn({ ...turn, keep, onEvents, beforeCalls })) await this.take(batch);
  }

  /** Otherwise a failed response is not stored: there its client received the error. */
  private async storeFailure(end: TurnEnd): Promise<void> {
    // What is stored must be in the log, where another process may have to end it.
    if (this.parts.keeper.isShared) await this.confirmOwned();
    await this.awaitStored(this.storeEnd(end));
  }

  /** Resolves when everything so far is stored. Throws if the response is no longer this process's. */
  private async confirm(state?: TurnState): Promise<void> {
    await this.confirmOwned(state);
    this.parts.stopping.signal.throwIfAborted();
  }

  /** The same, also once the response may go on no longer: its failure has to be stored. */
  private async confirmOwned(state?: TurnState): Promise<void> {
    const { signal } = this.parts.stopping;
    const isOwned = await this.parts.keeper.confirm(state);
    if (!isOwned) void this.stop();
    if (!isOwned || hasLeft(signal)) signal.throwIfAborted();
  }

  private async take(batch: readonly TurnEvent[]): Promise<void> {
    for (const event of batch) {
      if ('sequence' in event) this.sequence = event.sequence;
      if (event.type === 'item-end') this.output[event.index] = event.item;
      if (event.type === 'turn-end' && event.status === 'failed') await this.storeFailure(event);
    }
    await this.parts.keeper.take(batch, this.state);
    this.onBegun();
  }

  /** The stream ends like any other, although the turn has not. */
  private async fail(error: unknown): Promise<void> {
    if (this.parts.forget && this.sequence < 0) {
      await this.parts.forget();
      return this.onBegun(error);
    }
    const shown = toApiError(error);
    this.report(shown);
    await this.take([{ type: 'error', sequence: this.sequence + 1, error: shown.body }]);
    await this.take([this.failedEnd(shown.body)]);
  }

  private lose(): void {
    this.isLost = true;
    void this.stop();
  }

  /** Ends it as failed unless it was ended, deleted or taken over elsewhere: its log alone was lost, which nobody else would see. */
  private async endLost(): Promise<void> {
    const { body: error } = new ApiError('server_error', 'The response was stopped, because its events were lost.');
    try {
      await this.storeEnd(this.failedEnd(error));
      this.hasEndedUnlogged = true;
    } catch (failure) {
      if (!(failure instanceof TurnOverruled)) this.releaseUnstored(failure);
    }
  }

  private failedEnd(error: ErrorBody): TurnEnd {
    const output = this.output.filter(Boolean);
    const failed = { status: 'failed', usage: NO_USAGE, completedAt: null, reason: null, error } as const;
    return { type: 'turn-end', sequence: this.sequence + 1, output, ...failed };
  }

  /** Another process can do what this one could not; the try counts, since each of them may fail at it. */
  private releaseUnstored(error: unknown): void {
    this.hasStoreFailed = true;
    this.report(error);
    void this.stop();
  }

  private report(error: unknown): void {
    notify(this.settings.hooks, 'onError', toApiError(error), this.parts.prepared.info);
  }

  private async storeEnd(end: TurnEnd): Promise<void> {
    const { prepared, keeper } = this.parts;
    const { stored, storedStart, info } = prepared;
    const onStoreError = keeper.continuesElsewhere ? 'fail' : 'continue';
    const ended = { resource: endedFields(storedStart, end), output: end.output };
    if (!(await storeTurnEnd(stored, ended, { ...this.settings, onStoreError }, info))) return;
    // An end that could not be stored before may have added its items to the conversation.
    await withdrawTurn(this.settings.store, { ...stored, resource: storedStart }).catch((error) => this.report(error));
  }

  /** Where it was ended elsewhere in the meantime, or will be, it ends here without an error event. */
  private async awaitStored(write: Promise<void>): Promise<void> {
    const { continuesElsewhere } = this.parts.keeper;
    try {
      await write;
    } catch (error) {
      // Nobody else ends it well: a database's client repeated the command, because its first answer was lost.
      if (error instanceof TurnOverruled && error.isTakenOver && !continuesElsewhere) return;
      if (error instanceof TurnOverruled) {
        // It may be this process itself that has ended it, as above: the next one to claim it sees to the end of the log.
        this.hasStoreFailed = true;
        void this.stop();
      } else if (continuesElsewhere && error instanceof ApiError && error.code === 'store_error')
        this.releaseUnstored(error);
      throw error;
    }
  }
}
