/** One response as the inspector keeps it: times, counts and bounded text. */
import type { ObservedTurn, RequestInfo } from '../../../ports/hooks.ts';
import type { Usage } from '../../../protocol/events.ts';
import { toReportedModel, truncateText } from '../../../protocol/printable.ts';
import { type BoundedText, boundedValue, NO_TEXT } from './bounded-text.ts';
import type { LiveItem, Mark, ModelCall, RecordedError, RecordedStatus, ToolRun } from './entries.ts';
import { preview } from './request-text.ts';

/** What keeps recordings within bounds. */
interface RecordingHolder {
  /** The room for the texts of one recording, in characters. */
  readonly room: number;
  /** Receives each change, with the bytes that it added. */
  account(recording: Recording, bytes: number): void;
  /** Receives the signal of a recording that has ended. */
  ended(signal: AbortSignal): void;
}

/** Characters of an error or a note. */
const MAX_TEXT = 2000;
/** The most marks, tool runs and model calls that are kept of one response. */
const MAX_ENTRIES = 1000;
/** The bytes that a recording takes besides its texts, and those of an entry in it. */
const OWN_BYTES = 2048;
const ENTRY_BYTES = 160;
const BYTES_PER_CHARACTER = 2;

/** The record of one response. The pages read its lists; only its methods add to them. */
export class Recording {
  readonly number: number;
  readonly info: RequestInfo;
  readonly startedAt = Date.now();
  readonly items: LiveItem[] = [];
  readonly calls: ModelCall[] = [];
  readonly tools: ToolRun[] = [];
  readonly marks: Mark[] = [];
  /** Removed at the end: signals retain their listeners. */
  signal: AbortSignal | undefined;
  status: RecordedStatus = 'running';
  body: BoundedText = NO_TEXT;
  previousId: string | undefined = undefined;
  conversation: string | undefined = undefined;
  api: ObservedTurn['api'] = 'responses';
  events = 0;
  firstOutput: number | undefined = undefined;
  duration: number | undefined = undefined;
  usage: Usage | undefined = undefined;
  cost: number | undefined = undefined;
  upstreamModel: string | undefined = undefined;
  error: RecordedError | undefined = undefined;
  /** Entries that were not kept. */
  dropped = 0;
  bytes = OWN_BYTES;
  /** Characters of growing texts that are not counted yet. */
  growth = 0;
  /** Room for texts, in characters. */
  room: number;
  /** Set once the ring has dropped it: nothing more is kept. */
  isEvicted = false;
  private askedText = '';
  private askedLine: string | undefined = undefined;
  private readonly began = performance.now();
  private readonly holder: RecordingHolder;

  constructor(number: number, info: RequestInfo, signal: AbortSignal | undefined, holder: RecordingHolder) {
    const { requestId, responseId, scope, model, stream, background } = info;
    this.number = number;
    // Without the other fields of a turn, of which the body is large.
    this.info = { requestId, responseId, scope, model: toReportedModel(model), stream, background };
    this.signal = signal;
    this.room = holder.room;
    this.holder = holder;
  }

  /** The beginning of what the user wrote last, on one line. */
  get asked(): string {
    this.askedLine ??= preview(this.askedText);
    return this.askedLine;
  }

  /** Kept as it is, and shortened to a line only when it is viewed. */
  set asked(text: string) {
    this.askedText = truncateText(text, MAX_TEXT);
    this.askedLine = undefined;
  }

  /** The id by which the client knows the answer: that of a chat completion is the model server's. Undefined if it is not known. */
  get clientId(): string | undefined {
    return this.api === 'chat-completions' ? this.calls[0]?.answerId : this.info.responseId || undefined;
  }

  get isRunning(): boolean {
    return this.status === 'running';
  }

  /** Milliseconds since the request. */
  elapsed(): number {
    return Math.round((performance.now() - this.began) * 10) / 10;
  }

  /** Bounds the text by the remaining room of this response, and counts it. */
  keepText(text: string, limit: number): BoundedText {
    const kept = truncateText(text, Math.min(limit, this.room));
    this.count(kept.length);
    return { text: kept, cut: text.length - kept.length };
  }

  /** The same for a value that is never changed, as JSON. */
  keepJson(value: unknown, limit: number): BoundedText {
    const { bounded, characters } = boundedValue(value, Math.min(limit, this.room));
    this.count(characters);
    return bounded;
  }

  /** Counts how the texts of items have grown, or that they are complete. */
  countGrowth(): void {
    this.changed(this.growth * BYTES_PER_CHARACTER);
    this.growth = 0;
  }

  /** Counts bytes that were kept elsewhere. */
  countBytes(bytes: number): void {
    this.room = Math.max(this.room - bytes / BYTES_PER_CHARACTER, 0);
    this.changed(bytes);
  }

  /** Counts text that was kept elsewhere, in characters. */
  count(characters: number): void {
    this.room = Math.max(this.room - characters, 0);
    this.changed(characters * BYTES_PER_CHARACTER);
  }

  mark(kind: Mark['kind'], text = ''): void {
    this.add(this.marks, { kind, at: this.elapsed(), text: truncateText(text, MAX_TEXT) });
  }

  /** Whether the call is kept. */
  addCall(call: ModelCall): boolean {
    return this.add(this.calls, call);
  }

  addTool({ server, name, durationMs, error }: Omit<ToolRun, 'start' | 'end'> & { readonly durationMs: number }): void {
    const end = this.elapsed();
    const message = error && truncateText(error, MAX_TEXT);
    this.add(this.tools, { server, name, start: Math.max(end - durationMs, 0), end, error: message });
  }

  fail(error: RecordedError): void {
    this.error = { ...error, message: truncateText(error.message, MAX_TEXT) };
    this.changed(this.error.message.length * BYTES_PER_CHARACTER);
  }

  end(status: Exclude<RecordedStatus, 'running'>): void {
    if (!this.isRunning) return;
    this.status = status;
    if (this.signal) this.holder.ended(this.signal);
    this.signal = undefined;
    this.duration = this.elapsed();
    this.changed(0);
  }

  changed(bytes: number): void {
    this.bytes += bytes;
    this.holder.account(this, bytes);
  }

  /** Nothing is kept of it from now on. */
  evict(): void {
    this.isEvicted = true;
    for (const call of this.calls) call.forget();
  }

  private add<Entry>(list: Entry[], entry: Entry): boolean {
    if (this.isEvicted || list.length >= MAX_ENTRIES) {
      this.dropped += 1;
      return false;
    }
    list.push(entry);
    this.changed(ENTRY_BYTES);
    return true;
  }
}
