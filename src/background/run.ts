/** One response that is made while nobody waits for it. */

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

/** What an event takes besides its text. */
const EVENT_SIZE = 200;
/** What these hold, the response holds anyway. */
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
/** How often it is looked whether somebody, perhaps on another node, has cancelled or deleted the response. */
const CHECK_MS = 5000;

/** A running response, or one whose events are still kept. */
export interface Run {
  readonly key: ResponseKey;
  /** Undefined where the client wanted no stream. */
  readonly recording: Recording<TurnEvent> | undefined;
  /** What is whole of its output. */
  readonly output: readonly OutputItem[];
  /** Makes a reader of its events for the one who asks. */
  readonly readerFor: BackgroundTurn['readerFor'];
  /** Ends it without a word; resolves as `done`. */
  stop(): Promise<void>;
  /** Resolves when nothing is kept or told any more. */
  readonly done: Promise<void>;
}

/** A turn that is ready to run. */
export interface BackgroundTurn {
  readonly info: RequestInfo;
  /** The resource as in `response.created`. */
  readonly started: Readonly<Record<string, unknown>>;
  readonly turn: Turn;
  /** The turn as it is kept, but for how it ends. */
  readonly stored: Omit<StoredResponse, 'output' | 'resource'>;
  /** Makes a reader of its events for the one who asks; it holds nothing of the request. */
  readonly readerFor: (request: EndpointRequest) => EventReader<TurnEvent>;
}

/** What a run needs of the host's options. */
export interface RunSettings extends KeepSettings {
  readonly limits: Limits;
}

/** What a run is made of: the turn, and what aborts it. */
interface RunParts {
  readonly prepared: BackgroundTurn;
  readonly stopping: AbortController;
}

/** Keeps the response as one in progress, and starts it. Throws `store_error`, since nobody could ask for it then. */
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
  /** Of the last event that was told. */
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
    // Not with an `ApiError`, which would be told.
    this.parts.stopping.abort(new Error('The response was cancelled.'));
    return this.done;
  }

  private async run(): Promise<void> {
    const watch = setInterval(() => void this.stopIfUnwanted(), CHECK_MS).unref();
    try {
      await this.listen();
    } catch (error) {
      // What cannot be told must not end the process.
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
      // Before anything is kept, since it costs less than to take it back.
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
      // Elsewhere a response that failed is not kept: there its client was told.
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

  /** The stream has an end like any other, though the turn has not. */
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

  /** Somebody else has ended it in the meantime, so it ends here without a word. */
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

  /** A store that fails says nothing of it, and is told of. */
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

/** The response as cancelled, with what was whole of it. */
export function cancelled(stored: StoredResponse, output: StoredResponse['output']): StoredResponse {
  return untilForgotten({ ...stored, output, resource: { ...stored.resource, status: 'cancelled' } });
}

function sizeOf(event: TurnEvent): number {
  const text = 'text' in event ? event.text.length : 0;
  return EVENT_SIZE + text + ('logprobs' in event ? event.logprobs.length : 0);
}
