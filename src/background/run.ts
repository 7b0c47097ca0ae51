/** One response that runs in the background. */

import { keepEnd, keptTurn, TurnOverruled, untilEnded, untilForgotten } from '../history/keep-turn.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import type { KeepSettings } from '../ports/endpoints/keep.ts';
import { notify, type RequestInfo } from '../ports/hooks.ts';
import type { Limits } from '../ports/limits.ts';
import { fromStore, isRunning, type ResponseKey, type StoredResponse } from '../ports/store.ts';
import { toApiError } from '../protocol/errors.ts';
import { NO_USAGE, type TurnEvent } from '../protocol/events.ts';
import type { OutputItem } from '../protocol/items.ts';
import { endedResource } from '../protocol/responses/resource.ts';
import { runTurn, type Turn } from '../turn/run-turn.ts';
import { type EventReader, type RecordedEvent, Recording } from './recording.ts';

/** The fixed cost of an event besides its text. */
const EVENT_SIZE = 200;
/** The response holds the content of these anyway. */
const REPEATING: ReadonlySet<TurnEvent['type']> = new Set([
  'turn-start',
  'turn-queued',
  'turn-progress',
  'text-end',
  'arguments-end',
  'part-end',
  'item-end',
  'turn-end',
]);
/** How often the store is checked for a cancellation or deletion, perhaps by another node, in milliseconds. */
const CHECK_MS = 5000;

/** A running response, or one whose events are still kept. */
export interface Run {
  readonly key: ResponseKey;
  /** Undefined if the client requested no stream. */
  readonly recording: Recording<TurnEvent> | undefined;
  /** The completed items of its output. */
  readonly output: readonly OutputItem[];
  /** Creates a reader of its events for the requesting client. */
  readonly readerFor: BackgroundTurn['readerFor'];
  /** Ends it without an error event; resolves as `done`. */
  stop(): Promise<void>;
  /** Resolves when nothing is kept or emitted any more. */
  readonly done: Promise<void>;
}

/** A turn that is ready to run. */
export interface BackgroundTurn {
  readonly info: RequestInfo;
  /** The resource as in `response.created`. */
  readonly started: Readonly<Record<string, unknown>>;
  readonly turn: Turn;
  /** The turn as it is stored, except for its end. */
  readonly stored: Omit<StoredResponse, 'output' | 'resource'>;
  /** Creates a reader of its events for the requesting client; it retains nothing of the request. */
  readonly readerFor: (request: EndpointRequest) => EventReader<TurnEvent>;
}

/** The host's options that a run needs. */
export interface RunSettings extends KeepSettings {
  readonly limits: Limits;
}

/** The parts of a run: the turn, and what aborts it. */
interface RunParts {
  readonly prepared: BackgroundTurn;
  readonly stopping: AbortController;
}

/**
 * Stores the response as in progress, and starts it. Throws `store_error`, since the response could not be retrieved
 * then.
 */
export async function startRun(parts: RunParts, settings: RunSettings): Promise<Run> {
  const { stored, started } = parts.prepared;
  const kept = untilEnded(keptTurn(stored, started), settings.limits.durationMs);
  await fromStore(() => settings.store.put(kept));
  return new BackgroundRun(parts, settings);
}

class BackgroundRun implements Run {
  readonly key: ResponseKey;
  readonly recording: Recording<TurnEvent> | undefined;
  readonly output: OutputItem[] = [];
  readonly readerFor: BackgroundTurn['readerFor'];
  readonly done: Promise<void>;
  private readonly parts: RunParts;
  private readonly settings: RunSettings;
  /** The number of the last emitted event. */
  private sequence = -1;

  constructor(parts: RunParts, settings: RunSettings) {
    const { scope, id } = parts.prepared.stored;
    this.key = { scope, id };
    this.recording = parts.prepared.info.stream ? new Recording<TurnEvent>() : undefined;
    this.readerFor = parts.prepared.readerFor;
    this.parts = parts;
    this.settings = settings;
    this.done = this.run();
  }

  stop(): Promise<void> {
    // Not with an `ApiError`, which would be emitted.
    this.parts.stopping.abort(new Error('The response was cancelled.'));
    return this.done;
  }

  private async run(): Promise<void> {
    const watch = setInterval(() => void this.stopIfUnwanted(), CHECK_MS).unref();
    try {
      await this.listen();
    } catch (error) {
      // An event that cannot be emitted must not end the process.
      if (!this.parts.stopping.signal.aborted) await this.fail(error).catch(() => {});
    } finally {
      clearInterval(watch);
      this.parts.prepared.turn.leave();
      this.recording?.end();
    }
  }

  private async listen(): Promise<void> {
    const { turn } = this.parts.prepared;
    const keep: typeof turn.keep = async (end) => {
      // Before anything is stored, since that costs less than undoing it.
      await this.stopIfUnwanted();
      this.parts.stopping.signal.throwIfAborted();
      await this.unlessOverruled(turn.keep(end));
    };
    for await (const batch of runTurn({ ...turn, keep })) {
      await this.take(batch);
      await this.recording?.readersBehind(this.parts.stopping.signal);
    }
  }

  private async take(batch: readonly TurnEvent[]): Promise<void> {
    for (const event of batch) {
      if (event.type === 'item-end') this.output[event.index] = event.item;
      // Otherwise a failed response is not stored: there its client received the error.
      if (event.type === 'turn-end' && event.status === 'failed')
        await this.unlessOverruled(this.keepEnd(endedResource(this.started, event)));
    }
    this.recording?.add(batch.map((event) => this.recorded(event)));
  }

  private recorded(event: TurnEvent): RecordedEvent<TurnEvent> {
    if ('sequence' in event) this.sequence = event.sequence;
    return { sequence: this.sequence, event, size: sizeOf(event), isRepeated: REPEATING.has(event.type) };
  }

  private get started() {
    return this.parts.prepared.started;
  }

  /** The stream ends like any other, although the turn has not. */
  private async fail(error: unknown): Promise<void> {
    const shown = toApiError(error);
    notify(this.settings.hooks, 'onError', shown, this.parts.prepared.info);
    const output = this.output.filter(Boolean);
    const failed = { status: 'failed', usage: NO_USAGE, completedAt: null, reason: null, error: shown.body } as const;
    await this.take([{ type: 'error', sequence: this.sequence + 1, error: shown.body }]);
    await this.take([{ type: 'turn-end', sequence: this.sequence + 1, output, ...failed }]);
  }

  private keepEnd(ended: Readonly<Record<string, unknown>>): Promise<void> {
    const { stored, info } = this.parts.prepared;
    return keepEnd(stored, ended, { ...this.settings, onStoreError: 'continue' }, info.requestId);
  }

  /** It was ended elsewhere in the meantime, so it ends here without an error event. */
  private async unlessOverruled(keeping: Promise<void>): Promise<void> {
    try {
      await keeping;
    } catch (error) {
      if (error instanceof TurnOverruled) void this.stop();
      throw error;
    }
  }

  private async stopIfUnwanted(): Promise<void> {
    if (!(await this.isWanted())) void this.stop();
  }

  /** If the store fails, the response counts as wanted, and the failure is reported. */
  private async isWanted(): Promise<boolean> {
    try {
      const kept = await fromStore(() => this.settings.store.get(this.key));
      return kept !== undefined && isRunning(kept);
    } catch (error) {
      notify(this.settings.hooks, 'onError', toApiError(error), this.parts.prepared.info);
      return true;
    }
  }
}

/** The response as cancelled, with the completed items of its output. */
export function cancelled(stored: StoredResponse, output: StoredResponse['output']): StoredResponse {
  return untilForgotten({ ...stored, output, resource: { ...stored.resource, status: 'cancelled' } });
}

function sizeOf(event: TurnEvent): number {
  const text = 'text' in event ? event.text.length : 0;
  return EVENT_SIZE + text + ('logprobs' in event ? event.logprobs.length : 0);
}
