/** One response that is made while nobody waits for it. */

import { encodeBatch } from '../apis/responses/encoding/fast-path.ts';
import type { EncodeOptions } from '../apis/responses/encoding/wire-events.ts';
import type { PreparedTurn } from '../apis/responses/prepare-turn.ts';
import { keepTurn, keptTurn } from '../history/keep-turn.ts';
import { tell } from '../ports/hooks.ts';
import { fromStore, isRunning, type ResponseKey, type StoredResponse } from '../ports/store.ts';
import { toApiError } from '../protocol/errors.ts';
import type { TurnEvent } from '../protocol/events.ts';
import type { OutputItem } from '../protocol/items.ts';
import { endedResource } from '../protocol/responses/resource.ts';
import type { CoreSettings } from '../server/options.ts';
import { DONE_FRAME } from '../streams/sse-frames.ts';
import { runTurn } from '../turn/run-turn.ts';
import { type RecordedFrame, Recording } from './recording.ts';

/** How often it is looked whether somebody, perhaps on another node, has cancelled or deleted the response. */
const CHECK_MS = 5000;

/** A running response, or one whose events are still kept. */
export interface Run {
  readonly key: ResponseKey;
  /** Undefined where the client wanted no stream. */
  readonly recording: Recording | undefined;
  /** What is whole of its output. */
  readonly output: readonly OutputItem[];
  readonly ownedTools: { has(name: string): boolean };
  /** Ends it without a word; resolves as `done`. */
  stop(): Promise<void>;
  /** Resolves when nothing is kept or told any more. */
  readonly done: Promise<void>;
}

/** What a run is made of: the turn, how it is spelled where it is streamed, and what aborts it. */
export interface RunParts {
  readonly prepared: PreparedTurn;
  readonly encoding: EncodeOptions;
  readonly stopping: AbortController;
}

/** Keeps the response as one in progress, and starts it. Throws `store_error`, since nobody could ask for it then. */
export async function startRun(parts: RunParts, settings: CoreSettings): Promise<Run> {
  const { stored, started } = parts.prepared;
  await fromStore(() => settings.store.put(keptTurn(stored, started)));
  return new BackgroundRun(parts, settings);
}

class BackgroundRun implements Run {
  readonly key: ResponseKey;
  readonly recording: Recording | undefined;
  readonly output: OutputItem[] = [];
  readonly ownedTools: { has(name: string): boolean };
  readonly done: Promise<void>;
  private readonly parts: RunParts;
  private readonly settings: CoreSettings;
  /** Of the last event that was told. */
  private sequence = -1;

  constructor(parts: RunParts, settings: CoreSettings) {
    const { scope, id } = parts.prepared.stored;
    this.key = { scope, id };
    this.recording = parts.prepared.info.stream ? new Recording() : undefined;
    this.ownedTools = parts.prepared.turn.plan.owners;
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
      if (!this.parts.stopping.signal.aborted) await this.keepFailure(error);
    } finally {
      clearInterval(watch);
      this.parts.prepared.turn.leave();
      this.recording?.end(DONE_FRAME);
    }
  }

  private async listen(): Promise<void> {
    const { turn } = this.parts.prepared;
    const keep: typeof turn.keep = async (end) => {
      await this.stopIfUnwanted();
      this.parts.stopping.signal.throwIfAborted();
      await turn.keep(end);
    };
    for await (const batch of runTurn({ ...turn, keep })) await this.take(batch);
  }

  private async take(batch: readonly TurnEvent[]): Promise<void> {
    for (const event of batch) {
      if (event.type === 'item-end') this.output[event.index] = event.item;
      // Elsewhere a response that failed is not kept: there its client was told.
      if (event.type === 'turn-end' && event.status === 'failed')
        await this.keepEnd(endedResource(this.started, event));
    }
    this.recording?.add(batch.flatMap((event) => this.framesOf(event)));
  }

  /** One by one, so that any of them can be the first that a client has not seen. */
  private framesOf(event: TurnEvent): readonly RecordedFrame[] {
    if ('sequence' in event) this.sequence = event.sequence;
    const text = encodeBatch([event], this.parts.encoding);
    const frame = event.type === 'turn-end' ? text.slice(0, -DONE_FRAME.length) : text;
    return frame === '' ? [] : [{ sequence: this.sequence, frame }];
  }

  private get started() {
    return this.parts.prepared.started;
  }

  private async keepFailure(error: unknown): Promise<void> {
    const shown = toApiError(error);
    const { code, message } = shown;
    tell(this.settings.hooks, 'onError', shown, this.parts.prepared.info);
    await this.keepEnd({ ...this.started, status: 'failed', error: { code, message } });
  }

  private async keepEnd(ended: Readonly<Record<string, unknown>>): Promise<void> {
    const { stored, info } = this.parts.prepared;
    if (!(await this.isWanted())) return;
    await keepTurn(stored, ended, { ...this.settings, onStoreError: 'continue' }, info.requestId);
  }

  private async stopIfUnwanted(): Promise<void> {
    if (!(await this.isWanted())) void this.stop();
  }

  /** A store that fails says nothing of it. */
  private async isWanted(): Promise<boolean> {
    try {
      const kept = await this.settings.store.get(this.key);
      return kept !== undefined && isRunning(kept);
    } catch {
      return true;
    }
  }
}

/** The response as cancelled, with what was whole of it. */
export function cancelled(stored: StoredResponse, output: StoredResponse['output']): StoredResponse {
  return { ...stored, output, resource: { ...stored.resource, status: 'cancelled' } };
}
