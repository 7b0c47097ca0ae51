/** One call of a model as the inspector keeps it: its attempts, its times, and the text that went over the wire. */
import type { ModelEvent } from '../../protocol/events.ts';
import type { Attempt, ModelCall, RecordedError } from './entries.ts';
import { type Kept, NOTHING_KEPT } from './kept.ts';
import type { Recording } from './recording.ts';

const MOST_ATTEMPTS = 32;

/** One call of a model; times in milliseconds since the client's request. */
export class ModelCallRecord implements ModelCall {
  readonly upstream: string;
  readonly start: number;
  readonly attempts: Attempt[] = [];
  /** The request as it was sent to the model server, or as the upstream received it. */
  request: Kept = NOTHING_KEPT;
  /** Whether `request` and `answer` are what went over the wire. */
  isWire = false;
  /** The batches of the answer as bytes: garbage collection copies strings that outlive their batch, and most are never viewed. */
  private readonly batchBytes: Buffer[] = [];
  private answerCharacters = 0;
  /** Characters of the answer that were not kept. */
  answerCut = 0;
  batches = 0;
  firstOutput: number | undefined = undefined;
  end: number | undefined = undefined;
  error: RecordedError | undefined = undefined;
  private readonly recording: Recording;
  private readonly limit: number;

  constructor(recording: Recording, upstream: string, limit: number) {
    this.recording = recording;
    this.upstream = upstream;
    this.limit = limit;
    this.start = recording.elapsed();
  }

  get answer(): string {
    return this.batchBytes.join('\n');
  }

  attempt(host: string): void {
    if (this.attempts.length < MOST_ATTEMPTS) this.attempts.push({ host, at: this.recording.elapsed() });
  }

  sent(body: string): void {
    // A second request, such as one without a refused field, replaces the first.
    this.request = this.recording.keepText(body, this.limit);
    this.isWire = true;
  }

  /** The request of an upstream whose wire text is not recorded. */
  given(request: unknown): void {
    this.request = this.recording.keepJson(request, this.limit);
  }

  received(data: readonly string[]): void {
    const { recording } = this;
    let characters = 0;
    for (const text of data) characters += text.length;
    this.answerCharacters += characters;
    if (recording.isEvicted || this.answerCharacters > this.limit || recording.room < characters) {
      this.answerCut += characters;
      return;
    }
    if (data.length > 0) this.batchBytes.push(Buffer.from(data.join('\n')));
    recording.count(characters);
  }

  /** The output of an upstream whose wire text is not recorded. */
  spoke(events: readonly ModelEvent[]): void {
    if (!this.isWire) this.received(events.map((event) => JSON.stringify(event)));
  }

  heard(hasOutput: boolean): void {
    this.batches += 1;
    if (!hasOutput || this.firstOutput !== undefined) return;
    this.firstOutput = this.recording.elapsed();
    this.recording.firstOutput ??= this.firstOutput;
  }

  ended(error?: RecordedError): void {
    if (this.end !== undefined) return;
    this.end = this.recording.elapsed();
    this.error = error;
    this.recording.changed(0);
  }
}
