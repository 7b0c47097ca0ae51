/** Reads the answer of a Chat Completions server as events of a model. */
import type { ChatBatch } from '../../ports/upstream.ts';
import { ChatDecoder } from '../../protocol/chat-completions/decoder.ts';
import { ChunkMemo } from '../../protocol/chat-completions/fast-path/chunk-memo.ts';
import type { ReasoningField } from '../../protocol/chat-completions/reasoning-fields.ts';
import { rememberArguments } from '../../protocol/chat-completions/tool-calls.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { Note } from '../../protocol/note.ts';
import type { Scrub } from '../../protocol/secrets/scrub.ts';
import { BatchReader } from '../../streams/batch-reader.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { parseJson } from '../http/exchange.ts';

/** The context for reading one answer. */
interface Answer {
  readonly scrubError: Scrub;
  readonly note: (note: Note) => void;
  readonly unexpected: (text: string, cause?: unknown) => Error;
  readonly saw: (field: ReasoningField) => void;
  /** The names of tools by those that were sent for them, if any differs. */
  readonly names: () => ReadonlyMap<string, string> | undefined;
}

/** Number of characters of the first data that are kept. */
const MAX_FIRST_LENGTH = 8192;

/** Decodes batch by batch, with the `finish` at the end. */
export class AnswerDecoding extends BatchReader<ChatBatch> {
  private readonly decoder: ChatDecoder;
  private readonly memo = new ChunkMemo();
  private readonly answer: Answer;
  /** The first data, kept until it is recognised as an answer. */
  private first = '';
  private done = false;

  constructor(think: boolean | 'prompted', answer: Answer) {
    super();
    this.decoder = new ChatDecoder({ think, note: answer.note });
    this.answer = answer;
  }

  override map(batch: ChatBatch): ModelEvent[] | undefined {
    const events = super.map(batch);
    if (events) this.restoreNames(events);
    return events;
  }

  protected read({ whole, data }: ChatBatch, events: ModelEvent[]): void {
    for (const each of data) this.takeData(each, events);
    this.done = whole || isDone(data.at(-1) ?? '');
    if (this.done) this.finish(events, true);
  }

  protected override isWhole(): boolean {
    return this.done;
  }

  end(): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    try {
      this.finish(events, false);
    } catch (error) {
      throw this.visibleFailure(error);
    }
    this.restoreNames(events);
    return events;
  }

  private restoreNames(events: ModelEvent[]): void {
    const names = this.answer.names();
    if (!names) return;
    for (const [at, event] of events.entries()) {
      const name = event.type === 'tool-call-delta' ? names.get(event.name ?? '') : undefined;
      // The cast: only the name differs.
      if (name !== undefined) events[at] = { ...event, name } as ModelEvent;
    }
  }

  /** Reports to the host the beginning of data that is not an answer. */
  protected override visibleFailure(error: unknown): unknown {
    const { scrubError, unexpected } = this.answer;
    const isForeign = error instanceof ApiError && error.code === 'upstream_error' && !this.decoder.answered;
    if (!isForeign) return scrubError(error);
    return scrubError(new ApiError(error.code, error.message, { cause: unexpected(this.first, error.cause) }));
  }

  private finish(events: ModelEvent[], sawDone: boolean): void {
    this.decoder.end(events, sawDone);
    if (this.decoder.reasoningField) this.answer.saw(this.decoder.reasoningField);
  }

  private takeData(data: string, events: ModelEvent[]): void {
    const delta = this.memo.read(data);
    if (delta) this.decoder.takePlainDelta(delta, events);
    else if (data !== '' && !isDone(data)) this.takeChunk(data, events);
  }

  private takeChunk(data: string, events: ModelEvent[]): void {
    if (!this.decoder.answered) this.first ||= data.slice(0, MAX_FIRST_LENGTH);
    const chunk = parseJson(data);
    rememberArguments(chunk, data);
    const choice = this.decoder.take(chunk, events);
    // The slice references everything that was read with it.
    if (this.decoder.answered) this.first = '';
    if (choice) this.memo.learn(data, chunk);
  }
}
