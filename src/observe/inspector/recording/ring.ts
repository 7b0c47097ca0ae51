/** The recordings of the last responses: bounded in number and in bytes, found by their number, signal or request id. */
import type { ObservedTurn, RequestInfo } from '../../../ports/hooks.ts';
import { Recording } from './recording.ts';

/** The bounds. */
interface RingLimits {
  readonly maxResponses: number;
  readonly maxBytes: number;
}

/** One response may take one part in so many of all bytes. */
const SHARE = 8;
const BYTES_PER_CHARACTER = 2;

/** Holds the newest recordings; the oldest is dropped first. */
export class Ring {
  bytes = 0;
  evicted = 0;
  /** Grows with every change, so that a page knows when to load its data again. */
  version = 0;
  private readonly limits: RingLimits;
  /** In the order of their numbers. */
  private readonly recordings = new Map<number, Recording>();
  /** Of those that are running. */
  private readonly bySignal = new WeakMap<AbortSignal, Recording>();
  /** The newest of each request id: several requests may have the same. */
  private readonly byRequest = new Map<string, Recording>();
  private last = 0;
  /** No recording of a lower number is kept. */
  private oldest = 1;

  constructor(limits: RingLimits) {
    this.limits = limits;
  }

  get size(): number {
    return this.recordings.size;
  }

  begin(info: RequestInfo, signal?: ObservedTurn['signal']): Recording {
    const recording = new Recording(++this.last, info, signal, this);
    this.recordings.set(recording.number, recording);
    if (signal) this.bySignal.set(signal, recording);
    this.byRequest.set(info.requestId, recording);
    this.account(recording, recording.bytes);
    return recording;
  }

  get(number: number): Recording | undefined {
    return this.recordings.get(number);
  }

  ofSignal(signal: AbortSignal): Recording | undefined {
    return this.bySignal.get(signal);
  }

  ofRequest(requestId: string): Recording | undefined {
    return this.byRequest.get(requestId);
  }

  /** From the newest to the oldest. */
  newestFirst(): readonly Recording[] {
    this.endAborted();
    return [...this.recordings.values()].reverse();
  }

  /** Ends the recordings of aborted turns: a turn whose client left has no last event. */
  endAborted(): void {
    for (const recording of this.recordings.values())
      if (recording.isRunning && recording.signal?.aborted) recording.end('cancelled');
  }

  clear(): void {
    for (const recording of this.recordings.values()) this.evict(recording);
  }

  /** The room for the texts of one response, in characters. */
  get room(): number {
    return Math.floor(this.limits.maxBytes / SHARE / BYTES_PER_CHARACTER);
  }

  /** Counts a change of what is shown beside the recordings. */
  noteChange(): void {
    this.version += 1;
  }

  /** Counts a change of a recording, and the bytes that it added. */
  account(recording: Recording, bytes: number): void {
    this.version += 1;
    if (recording.isEvicted) return;
    this.bytes += bytes;
    if (this.isFull) this.evictOldest(recording);
  }

  /** Keeps the recording that has just grown: its share bounds it. */
  private evictOldest(growing: Recording): void {
    // By number: iterating over a map would first skip the holes of deleted entries.
    for (let number = this.oldest; this.isFull && number <= this.last; number += 1) {
      const recording = this.recordings.get(number);
      if (recording !== growing && recording) this.evict(recording);
      if (number === this.oldest && !this.recordings.has(number)) this.oldest += 1;
    }
  }

  private get isFull(): boolean {
    return this.recordings.size > this.limits.maxResponses || this.bytes > this.limits.maxBytes;
  }

  /** Its calls are over. */
  ended(signal: AbortSignal): void {
    this.bySignal.delete(signal);
  }

  private evict(recording: Recording): void {
    if (recording.signal) this.ended(recording.signal);
    recording.evict();
    this.recordings.delete(recording.number);
    if (this.byRequest.get(recording.info.requestId) === recording) this.byRequest.delete(recording.info.requestId);
    this.bytes -= recording.bytes;
    this.evicted += 1;
  }
}
