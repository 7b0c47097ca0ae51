/** Records model calls as OpenTelemetry spans and metrics. */
import type { Attributes } from '@opentelemetry/api';
import { hasLeft } from '../../engine/request/endpoint-request.ts';
import type { ChatBatch, ModelAttempt, OnAttempt, Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { WrappedCalls, wrapUpstream } from '../../ports/wrap-upstream.ts';
import { usageReader } from '../../protocol/anthropic/usage.ts';
import { mergeUsage, readUsage, usageIn } from '../../protocol/chat-completions/usage.ts';
import type { ModelEvent, Usage } from '../../protocol/events.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { toReportedModel } from '../../protocol/printable.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { context, SpanKind } from './api.ts';
import type { Instruments } from './instruments.ts';
import { beginOperation, type Operation } from './operation.ts';

/** The same upstream, whose calls are recorded as those of this provider. */
export function tracedUpstream(upstream: Upstream, provider: string, instruments: () => Instruments): Upstream {
  const beginner = (facts: RequestFacts) => () => beginCall(instruments(), provider, facts);
  const calls = new WrappedCalls();
  const { chat, messages } = upstream;
  return wrapUpstream(upstream, {
    stream: (request, call) =>
      new Traced((own) => upstream.stream(request, own), call, calls, {
        begin: beginner({
          model: toReportedModel(request.model),
          settings: samplingSettings(request.maxOutputTokens, request.temperature, request.topP),
        }),
        read: readEvents,
      }),
    chat:
      chat &&
      ((body, call) =>
        new Traced((own) => chat.call(upstream, body, own), call, calls, {
          begin: beginner(bodyFacts(body)),
          read: chatReader(),
        })),
    messages:
      messages &&
      ((body, call) =>
        new Traced((own) => messages.call(upstream, body, own), call, calls, {
          begin: beginner(bodyFacts(body)),
          read: messagesReader(),
        })),
    redact: (error, call) => upstream.redact?.(error, calls.passedOn(call)) ?? error,
  });
}

/** The recorded attributes of a request. */
interface RequestFacts {
  readonly model: string;
  readonly settings: Attributes;
}

function bodyFacts({ model, max_completion_tokens, max_tokens, temperature, top_p }: JsonObject): RequestFacts {
  return {
    model: toReportedModel(String(model)),
    settings: samplingSettings(max_completion_tokens ?? max_tokens, temperature, top_p),
  };
}

function samplingSettings(maxTokens: unknown, temperature: unknown, topP: unknown): Attributes {
  const settings = {
    'gen_ai.request.max_tokens': maxTokens,
    'gen_ai.request.temperature': temperature,
    'gen_ai.request.top_p': topP,
  };
  const numbers = Object.entries(settings).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
  return Object.fromEntries(numbers);
}

/** One call of a model. */
interface ModelCall extends Operation {
  /** The first output of the model has arrived. */
  spoke(): void;
  used(usage: Usage): void;
  finished(reason: string): void;
  /** One of several servers answers. */
  answeredBy(server: string): void;
  /** A server is asked. */
  attempted(attempt: ModelAttempt): void;
}

function beginCall(
  { tracer, duration, firstChunk, tokens }: Instruments,
  provider: string,
  facts: RequestFacts,
): ModelCall {
  const attributes: Attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': facts.model,
  };
  const of = { kind: SpanKind.CLIENT, attributes: { ...attributes, ...facts.settings } };
  const operation = beginOperation(tracer.startSpan(`chat ${facts.model}`, of), duration, attributes);
  const { span } = operation;
  let isFirst = true;
  let usage: Usage | undefined;
  return {
    ...operation,
    end(error) {
      // Some servers report the usage so far with every chunk.
      if (usage) {
        const { input_tokens: input, output_tokens: output, input_tokens_details: details } = usage;
        span.setAttributes({
          'gen_ai.usage.input_tokens': input,
          'gen_ai.usage.output_tokens': output,
          'gen_ai.usage.cache_read.input_tokens': details.cached_tokens,
        });
        tokens.record(input, { ...attributes, 'gen_ai.token.type': 'input' }, operation.context);
        tokens.record(output, { ...attributes, 'gen_ai.token.type': 'output' }, operation.context);
      }
      usage = undefined;
      operation.end(error);
    },
    spoke() {
      if (isFirst) firstChunk.record(operation.elapsed(), attributes, operation.context);
      isFirst = false;
    },
    used: (reported) => {
      usage = reported;
    },
    answeredBy: (server) => void span.setAttribute('express_open_responses.model_server', server),
    attempted: ({ attempt, host, server, after }) =>
      void span.addEvent('attempt', {
        'express_open_responses.attempt': attempt,
        'server.address': host,
        ...(server === undefined ? {} : { 'express_open_responses.model_server': server }),
        ...(after === undefined ? {} : { 'express_open_responses.attempt.after': after }),
      }),
    finished: (reason) => void span.setAttribute('gen_ai.response.finish_reasons', [reason]),
  };
}

function readEvents(events: readonly ModelEvent[], call: ModelCall): void {
  for (const event of events) {
    if (event.type === 'usage') call.used(event.usage);
    else if (event.type === 'finish') call.finished(event.reason);
    else if (event.type !== 'model-info') call.spoke();
    else if (event.server !== undefined) call.answeredBy(event.server);
  }
}

/** Reads one answer of Chat Completions, whose counts may come in pieces. */
function chatReader(): (batch: ChatBatch, call: ModelCall) => void {
  let reported: JsonObject | undefined;
  return ({ data, server }, call) => {
    if (server !== undefined) call.answeredBy(server);
    if (data.length > 0) call.spoke();
    // Most chunks contain neither, and are not parsed for it.
    for (const text of data) {
      const chunk = REPORTED.test(text) ? jsonIn(text) : undefined;
      if (!isRecord(chunk)) continue;
      const report = usageIn(chunk);
      if (report) reported = mergeUsage(reported, report);
      const usage = report && readUsage(reported);
      if (usage) call.used(usage);
      const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
      if (isRecord(choice) && typeof choice.finish_reason === 'string') call.finished(choice.finish_reason);
    }
  };
}

const REPORTED = /"(?:usage": ?\{|finish_reason": ?")/;

/** Reads one answer of Anthropic's API: its counts come at its start and at its end. */
function messagesReader(): (batch: ChatBatch, call: ModelCall) => void {
  const usage = usageReader();
  return ({ data, server }, call) => {
    if (server !== undefined) call.answeredBy(server);
    if (data.length > 0) call.spoke();
    for (const text of data) {
      const event = COUNTED.test(text) ? jsonIn(text) : undefined;
      if (!isRecord(event)) continue;
      const { message, delta } = event;
      const counted: ModelEvent[] = [];
      usage.take(isRecord(message) ? message.usage : event.usage, counted);
      readEvents(counted, call);
      const { stop_reason: reason } = isRecord(delta) ? delta : event;
      if (typeof reason === 'string') call.finished(reason);
    }
  };
}

const COUNTED = /"(?:usage": ?\{|stop_reason": ?")/;

/** How a stream is recorded. */
interface Reporting<Piece> {
  begin(): ModelCall;
  read(piece: Piece, call: ModelCall): void;
}

/** A stream that runs in the context of its call, so that its own requests are children of that span. */
class Traced<Piece> implements AsyncIterableIterator<Piece> {
  private readonly open: (call: UpstreamCall) => AsyncIterable<Piece>;
  private readonly callerCall: UpstreamCall;
  private readonly calls: WrappedCalls;
  private readonly reporting: Reporting<Piece>;
  private call: ModelCall | undefined = undefined;
  private iterator: AsyncIterator<Piece> | undefined = undefined;

  constructor(
    open: (call: UpstreamCall) => AsyncIterable<Piece>,
    callerCall: UpstreamCall,
    calls: WrappedCalls,
    reporting: Reporting<Piece>,
  ) {
    this.open = open;
    this.callerCall = callerCall;
    this.calls = calls;
    this.reporting = reporting;
  }

  async next(): Promise<IteratorResult<Piece, undefined>> {
    this.call ??= this.reporting.begin();
    const { call } = this;
    try {
      const result = await context.with(call.context, () => this.source().next());
      if (!result.done) this.reporting.read(result.value, call);
      else call.end();
      return result.done ? { done: true, value: undefined } : result;
    } catch (error) {
      call.end(hasLeft(this.callerCall.signal) ? undefined : error);
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Piece, undefined>> {
    this.call?.end();
    await this.iterator?.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private source(): AsyncIterator<Piece> {
    this.iterator ??= this.open(this.ownCall())[Symbol.asyncIterator]();
    return this.iterator;
  }

  private ownCall(): UpstreamCall {
    const { callerCall } = this;
    const onAttempt: OnAttempt = (attempt) => {
      this.call?.attempted(attempt);
      callerCall.onAttempt?.(attempt);
    };
    return this.calls.changed(callerCall, { onAttempt });
  }
}
