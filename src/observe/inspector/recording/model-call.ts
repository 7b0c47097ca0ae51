/** One call of a model as the inspector keeps it: its attempts, its times, and the text that went over the wire. */
import { objectIn } from '../../../protocol/json/json-text.ts';
import { type BoundedText, NO_TEXT } from './bounded-text.ts';
import type { Attempt, ModelCall, RecordedError } from './entries.ts';
import { type BlockPool, PooledBytes } from './pooled-bytes.ts';
import type { Recording } from './recording.ts';

const MAX_ATTEMPTS = 32;
const ID = /"id": ?"([^"\\]{1,128})"/;

/** What the recordings of calls share. */
interface CallSettings {
  readonly limit: number;
  readonly pool: BlockPool;
}

/** One call of a model; times in milliseconds since the client's request. */
export class ModelCallRecord implements ModelCall {
  readonly upstream: string;
  readonly start: number;
  readonly attempts: Attempt[] = [];
  /** The request as it was sent to the model server, or as the upstream received it. */
  request: BoundedText = NO_TEXT;
  /** Whether `request` and `answer` are what went over the wire. */
  isWire = false;
  /** Bytes of the answer that were not kept. */
  answerCut = 0;
  batches = 0;
  firstOutput: number | undefined = undefined;
  end: number | undefined = undefined;
  error: RecordedError | undefined = undefined;
  private readonly recording: Recording;
  private readonly limit: number;
  private readonly answerBytes: PooledBytes;

  /** `limit` is that of each text: characters of the request, bytes of the answer. */
  constructor(recording: Recording, upstream: string, { limit, pool }: CallSettings) {
    this.recording = recording;
    this.upstream = upstream;
    this.limit = limit;
    this.answerBytes = new PooledBytes(pool);
    this.start = recording.elapsed();
  }

  get answer(): string {
    return this.answerBytes.text();
  }

  get answerId(): string | undefined {
    return ID.exec(this.answerBytes.beginning())?.[1];
  }

  attempt(host: string): void {
    if (this.attempts.length < MAX_ATTEMPTS) this.attempts.push({ host, at: this.recording.elapsed() });
  }

  sent(body: string): void {
    const { recording, limit } = this;
    // The secrets in JSON that is cut could not be found by their names.
    const json = body.length > Math.min(limit, recording.room) ? objectIn(body) : undefined;
    // A second request, such as one without a refused field, replaces the first.
    this.request = json ? recording.keepJson(json, limit) : recording.keepText(body, limit);
    this.isWire = true;
  }

  /** The request of an upstream whose wire text is not recorded. */
  recordArguments(request: unknown): void {
    this.request = this.recording.keepJson(request, this.limit);
  }

  received(bytes: Buffer): void {
    const { recording, answerBytes } = this;
    const room = recording.isEvicted ? 0 : Math.min(this.limit - answerBytes.length, recording.room);
    const count = Math.max(Math.min(bytes.length, Math.floor(room)), 0);
    this.answerCut += bytes.length - count;
    const before = answerBytes.size;
    answerBytes.append(bytes, count);
    // Not for each of the many pieces that fit into a block.
    if (answerBytes.size > before) recording.countBytes(answerBytes.size - before);
  }

  /** The output of an upstream whose wire text is not recorded, as JSON. */
  recordOutput(lines: readonly string[]): void {
    if (!this.isWire && lines.length > 0) this.received(Buffer.from(`${lines.join('\n')}\n`));
  }

  forget(): void {
    this.answerBytes.clear();
  }

  receivedBatch(hasOutput: boolean): void {
    this.batches += 1;
    this.recording.changed(0);
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
