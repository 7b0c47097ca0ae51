/** Wraps an upstream so that its calls are recorded. */
import { hasLeft } from '../../../engine/request/endpoint-request.ts';
import type { ChatBatch, OnAttempt, Upstream, UpstreamCall } from '../../../ports/upstream.ts';
import { WrappedCalls, wrapUpstream } from '../../../ports/wrap-upstream.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { ModelEvent } from '../../../protocol/events.ts';
import { type Mapping, mapStream } from '../../../streams/pull-stream.ts';
import type { RecordedError } from '../recording/entries.ts';
import type { ModelCallRecord } from '../recording/model-call.ts';

/** Where calls are recorded. */
export interface CallSink {
  /** Undefined if the call's request is not recorded. */
  begin(upstream: string, signal: AbortSignal): ModelCallRecord | undefined;
  /** The end of any call, recorded or not. */
  ended(upstream: Upstream, call: EndedCall): void;
  /** Whether the text of calls may be kept. */
  readonly keepsText: boolean;
}

/** How a call ended; milliseconds. */
export interface EndedCall {
  readonly duration: number;
  readonly firstOutput: number | undefined;
  readonly attempts: number;
  /** That of each attempt. */
  readonly hosts: readonly string[];
  readonly error: RecordedError | undefined;
}

/** Wraps `stream`, `chat` and `messages`, and `redact` for their calls. */
export function observedUpstream(upstream: Upstream, sink: CallSink): Upstream {
  const calls = new WrappedCalls();
  const passing =
    (name: 'chat' | 'messages'): Pass =>
    (body, call) => {
      const watch = new ChatWatch(upstream, { call, calls }, sink, body);
      // The cast: this is called only if the upstream has the function.
      return mapStream((upstream[name] as Pass).call(upstream, body, watch.call), watch);
    };
  return wrapUpstream(upstream, {
    stream(request, call) {
      const watch = new EventWatch(upstream, { call, calls }, sink, request);
      return mapStream(upstream.stream(request, watch.call), watch);
    },
    chat: passing('chat'),
    messages: passing('messages'),
    redact: (error, call) => upstream.redact?.(error, calls.passedOn(call)) ?? error,
  });
}

/** A call as the upstream's user made it, and those that are passed on. */
interface ObservedCall {
  readonly call: UpstreamCall;
  readonly calls: WrappedCalls;
}

/** Posts a body unchanged, and yields the answer unchanged. */
type Pass = NonNullable<Upstream['chat']>;

/** The most attempts of one call that are counted by their host. */
const MAX_HOSTS = 32;

/** Follows one call, whose batches pass unchanged. */
abstract class CallWatch<Batch> implements Mapping<Batch, Batch> {
  readonly call: UpstreamCall;
  private readonly upstream: Upstream;
  private readonly sink: CallSink;
  private readonly record: ModelCallRecord | undefined;
  /** The arguments of the call, until its text is seen on the wire. */
  private args: unknown;
  private readonly began = performance.now();
  private first: number | undefined = undefined;
  private attempts = 0;
  private readonly hosts: string[] = [];
  private isOver = false;

  constructor(upstream: Upstream, { call, calls }: ObservedCall, sink: CallSink, args: unknown) {
    this.upstream = upstream;
    this.sink = sink;
    this.record = sink.begin(upstream.name, call.signal);
    this.args = this.record && sink.keepsText ? args : undefined;
    const onAttempt: OnAttempt = (made) => {
      this.attempts = made.attempt;
      if (this.hosts.length < MAX_HOSTS) this.hosts.push(made.host);
      this.record?.attempt(made.host);
      call.onAttempt?.(made);
    };
    this.call = calls.changed(call, { onAttempt, ...this.tap(call) });
  }

  protected abstract hasOutput(batch: Batch): boolean;

  /** The batch as lines of JSON. */
  protected abstract toLines(batch: Batch): readonly string[];

  map(batch: Batch): Batch {
    this.receivedBatch(this.hasOutput(batch));
    if (this.args !== undefined) this.record?.recordOutput(this.toLines(batch));
    return batch;
  }

  end(): undefined {
    this.finish(undefined);
    return undefined;
  }

  failed(error: unknown): never {
    this.finish(hasLeft(this.call.signal) ? undefined : recordedError(error));
    throw error;
  }

  closed(): void {
    this.finish(undefined);
  }

  private tap({ wire }: UpstreamCall): Pick<UpstreamCall, 'wire'> {
    const { record, sink } = this;
    if (!record || !sink.keepsText) return {};
    const sent = (body: string) => {
      this.args = undefined;
      record.sent(body);
      wire?.sent(body);
    };
    const received = (bytes: Buffer) => {
      record.received(bytes);
      wire?.received(bytes);
    };
    return { wire: { sent, received } };
  }

  private receivedBatch(hasOutput: boolean): void {
    if (hasOutput) this.first ??= performance.now() - this.began;
    this.record?.receivedBatch(hasOutput);
  }

  private finish(error: RecordedError | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.args !== undefined) this.record?.recordArguments(this.args);
    this.args = undefined;
    this.record?.ended(error);
    const { first: firstOutput, attempts, hosts } = this;
    this.sink.ended(this.upstream, { duration: performance.now() - this.began, firstOutput, attempts, hosts, error });
  }
}

class EventWatch extends CallWatch<readonly ModelEvent[]> {
  protected hasOutput(events: readonly ModelEvent[]): boolean {
    return events.length > 0;
  }

  protected toLines(events: readonly ModelEvent[]): readonly string[] {
    return events.map((event) => JSON.stringify(event));
  }
}

class ChatWatch extends CallWatch<ChatBatch> {
  protected hasOutput(batch: ChatBatch): boolean {
    return batch.data.length > 0;
  }

  protected toLines(batch: ChatBatch): readonly string[] {
    return batch.data;
  }
}

/** Only the message of an `ApiError` is kept: upstreams mask secrets in theirs, other errors may contain any text. */
export function recordedError(error: unknown): RecordedError {
  if (error instanceof ApiError) return { code: error.code, message: error.message, status: error.status };
  return { code: 'server_error', message: 'An error of unknown origin.', status: 500 };
}
