/** One answer from the first of several servers that begins it, of either kind of call; as little of it is read as can be. */
import type { ChatBatch, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import { errorInBody } from '../../protocol/upstream-errors/upstream-error.ts';
import {
  type Consumer,
  closeThen,
  NULL_CONSUMER,
  type PullStream,
  Stage,
  toPullStream,
} from '../../streams/pull-stream.ts';
import type { Attempt, Attempts, FailoverRule } from './attempts.ts';
import type { Outcome } from './policies.ts';
import { withOwner } from './state-tags.ts';

/** How the answer is requested and read. */
interface RoutedRequest<Batch> {
  readonly call: UpstreamCall;
  readonly reading: Reading<Batch>;
  readonly failsOver: FailoverRule;
  /** Called once, at the first pull. Throws `ApiError` for a model that no server has. */
  readonly attempts: () => Attempts;
  readonly open: (attempt: Attempt) => AsyncIterable<Batch>;
}

/**
 * The answer as a stream. Until something of it is handed on, a failure of a server leads to the next one; an empty
 * batch, which only acknowledges the request, counts as nothing. From then on each batch is passed by one plain
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

  close() {
    this.over = true;
    this.attempt?.lease.end('left');
    return this.source?.close();
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
      this.source = toPullStream((this.request as RoutedRequest<Batch>).open(attempt));
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
    if (this.source) closeThen(this.source, fail, fail);
  }

  /** An error of the request shows that the server works; one of the host's own functions shows nothing. */
  private outcomeOf(error: unknown): Outcome {
    if (this.over || this.signal.aborted) return 'left';
    if (this.failsOver(error)) return 'failed';
    return error instanceof ApiError ? 'done' : 'left';
  }
}

/** One kind of answer. */
interface Reading<Batch> {
  /** Whether the batch holds anything of the answer; from then on no other server can give it. */
  isOutput(batch: Batch): boolean;
  /** The error that the first data of an answer is, where it is one. */
  refusal(batch: Batch): unknown;
  /** The batch as it is handed on; `owner` is that of the state in it, if it is to be tagged. */
  passed(batch: Batch, owner: string | undefined): Batch;
  /** The first batch with output, with the name of the server. */
  named(batch: Batch, server: string): Batch;
}

/** The events of `stream`. The name stands right before the first output, however the bytes of the answer are split. */
export const EVENTS: Reading<readonly ModelEvent[]> = {
  isOutput: (batch) => batch.some(isOutputEvent),
  // The upstream has thrown it.
  refusal: () => undefined,
  passed: (batch, owner) => (owner === undefined ? batch : withOwner(batch, owner)),
  named(batch, server) {
    const place = batch.findIndex(isOutputEvent);
    const before = batch[place - 1];
    const behind = before?.type === 'model-info' ? before.server : undefined;
    const info: ModelEvent = { type: 'model-info', server: serverPath(server, behind) };
    return [...batch.slice(0, behind === undefined ? place : place - 1), info, ...batch.slice(place)];
  },
};

function isOutputEvent({ type }: ModelEvent): boolean {
  return type !== 'model-info' && type !== 'usage';
}

/** The data of `chat`. */
export const CHAT: Reading<ChatBatch> = {
  isOutput: ({ data }) => data.length > 0,
  refusal({ data: [first] }) {
    const mayBe = first !== undefined && (first.includes('"error"') || !first.includes('"choices"'));
    const body = mayBe ? objectIn(first) : undefined;
    return body && errorInBody(body);
  },
  passed: (batch) => batch,
  named: (batch, server) => ({ ...batch, server: serverPath(server, batch.server) }),
};

function serverPath(server: string, behind: string | undefined): string {
  return behind === undefined ? server : `${server}/${behind}`;
}
