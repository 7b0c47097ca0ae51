/** One answer from the first of several servers that begins it. */

import type { UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { type Consumer, NULL_CONSUMER, type PullStream, pullStreamOf, Stage } from '../../streams/pull-stream.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { FailoverRule } from './failover-rules.ts';
import type { Outcome } from './policies.ts';
import type { Reading } from './readings.ts';

/** How the answer is requested and read. */
export interface RoutedRequest<Batch> {
  readonly call: UpstreamCall;
  readonly reading: Reading<Batch>;
  readonly failsOver: FailoverRule;
  /** Called once, at the first pull. Throws `ApiError` for a model that no server has. */
  readonly attempts: () => Attempts;
  readonly open: (attempt: Attempt) => AsyncIterable<Batch>;
}

/**
 * The answer as a stream. Until something of it is handed on, a failure of a server leads to the next one; an empty
 * batch, which only says that a request was accepted, counts as nothing. From then on each batch is passed by one plain
 * call, and the request is released.
 */
export class RoutedStream<Batch> extends Stage<Batch> implements Consumer<Batch> {
  private request: RoutedRequest<Batch> | undefined;
  private readonly reading: Reading<Batch>;
  private readonly failsOver: FailoverRule;
  private readonly signal: AbortSignal;
  private consumer: Consumer<Batch> = NULL_CONSUMER;
  private attempts: Attempts | undefined = undefined;
  private attempt: Attempt | undefined = undefined;
  private source: PullStream<Batch> | undefined = undefined;
  private isAnswering = false;
  private over = false;

  constructor(request: RoutedRequest<Batch>) {
    super();
    this.request = request;
    this.reading = request.reading;
    this.failsOver = request.failsOver;
    this.signal = request.call.signal;
  }

  pull(consumer: Consumer<Batch>): void {
    this.consumer = consumer;
    if (this.over) consumer.onEnd();
    else if (this.source) this.source.pull(this);
    else this.begin(undefined);
  }

  onChunk(batch: Batch): void {
    if (this.isAnswering) this.consumer.onChunk(this.reading.passed(batch, this.attempt?.owner));
    else this.takeEarly(batch);
  }

  onEnd(): void {
    this.over = true;
    this.attempt?.lease.end('done');
    this.consumer.onEnd();
  }

  onError(error: unknown): void {
    const outcome = this.outcomeOf(error);
    this.attempt?.lease.end(outcome, error);
    this.source = undefined;
    if (outcome === 'failed' && !this.isAnswering) return this.begin(error);
    this.over = true;
    this.consumer.onError(error);
  }

  async close(): Promise<void> {
    this.over = true;
    this.attempt?.lease.end('left');
    await this.source?.return();
  }

  /** `failure` is the error of the attempt before. */
  private begin(failure: unknown): void {
    this.advance(failure).catch((error) => {
      this.over = true;
      this.consumer.onError(error);
    });
  }

  private async advance(failure: unknown): Promise<void> {
    const { request, signal } = this;
    signal.throwIfAborted();
    this.attempts ??= request?.attempts();
    const attempt = await this.attempts?.next(failure);
    if (!attempt) throw failure ?? this.attempts?.unavailable();
    // The client left meanwhile.
    if (this.over) return attempt.lease.end('left');
    this.attempt = attempt;
    this.open(attempt);
  }

  private open(attempt: Attempt): void {
    try {
      // The cast: the request is there until an answer begins.
      this.source = pullStreamOf((this.request as RoutedRequest<Batch>).open(attempt));
    } catch (error) {
      return this.onError(error);
    }
    this.source.pull(this);
  }

  private takeEarly(batch: Batch): void {
    const { reading, attempt } = this;
    const refusal = reading.refusal(batch);
    if (refusal && this.failsOver(refusal)) return this.breakOff(refusal);
    if (!attempt || !reading.isOutput(batch)) return this.consumer.onChunk(batch);
    this.isAnswering = true;
    this.request = undefined;
    this.attempts = undefined;
    attempt.lease.answered();
    this.consumer.onChunk(reading.named(reading.passed(batch, attempt.owner), attempt.lease.server.name));
  }

  private breakOff(error: unknown): void {
    const fail = () => this.onError(error);
    this.source?.return().then(fail, fail);
  }

  /** An error of the request says that the server works; one of the host's own functions says nothing. */
  private outcomeOf(error: unknown): Outcome {
    if (this.over || this.signal.aborted) return 'left';
    if (this.failsOver(error)) return 'failed';
    return error instanceof ApiError ? 'done' : 'left';
  }
}
