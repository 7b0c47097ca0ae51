/** Forwards what agents SDKs export to OpenTelemetry: each step of an agent as a span, without written content. */
import { createHash } from 'node:crypto';
import type { Attributes, SpanContext, TracerProvider } from '@opentelemetry/api';
import { checkOptions } from '../../ports/host/options-check.ts';
import type { AgentSpan, AgentTrace, TraceReceiver } from '../../ports/host/trace-receiver.ts';
import { toReportedModel } from '../../protocol/printable.ts';
import { isRecord, type JsonObject, textOrNone } from '../../protocol/record.ts';
import { ROOT_CONTEXT, SpanStatusCode, TraceFlags, trace } from './api.ts';

/** The destination of the spans; by default that which the host has registered with `@opentelemetry/api`. */
export interface ForwardTracesOptions {
  /** Makes the tracer. Default: the registered one. */
  readonly tracerProvider?: TracerProvider | undefined;
}

const NAME = 'express-open-responses';
const PREFIX = 'express_open_responses.agent';
/** Traces and spans that are remembered, so that later spans find their own. */
const MAX_KNOWN = 20_000;

/**
 * A receiver for `tracesApi` that makes a span of each step of an agent. A span has the trace id of its trace, where that is 32
 * hexadecimal digits as the SDKs make them and no other tenant has used it, and its parent, if that has arrived before or with it: OpenTelemetry
 * gives spans ids of its own, so that the client's stand in attributes. Throws a `TypeError` for an unknown option.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { forwardTraces } from 'express-open-responses/otel';
 * import { tracesRouter } from 'express-open-responses/traces';
 *
 * express().use('/v1', tracesRouter({ receivers: [forwardTraces()] })).listen(3000);
 * ```
 */
export function forwardTraces(options: ForwardTracesOptions = {}): TraceReceiver {
  const isProvider = (value: unknown) =>
    (isRecord(value) && typeof value.getTracer === 'function') || 'an object with getTracer';
  checkOptions('forwardTraces', options, { tracerProvider: isProvider });
  const { tracerProvider = trace } = options;
  const forwarded = new Map<string, SpanContext>();
  const traces = new Map<string, AgentTrace>();
  /** Who uses a trace id first has it. */
  const owners = new Map<string, string>();

  function traceIdFor(scope: string, id: string): string {
    const hex = /^(?:trace_)?([\da-f]{32})$/.exec(id)?.[1] ?? '';
    const isFree = hex !== '' && /[^0]/.test(hex) && (owners.get(hex) ?? scope) === scope;
    if (isFree) keepNewest(owners, hex, scope);
    return isFree ? hex : digest(`${scope} ${id}`, 32);
  }

  function forward(scope: string, span: AgentSpan): void {
    const { traceId: id, parentId, startedAt, endedAt, error } = span;
    const traceId = traceIdFor(scope, id);
    const known = parentId === null ? undefined : forwarded.get(`${scope} ${id} ${parentId}`);
    const remote = {
      traceId,
      spanId: digest(`${scope} ${id} ${parentId ?? ''}`, 16),
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    };
    const parent = trace.setSpanContext(ROOT_CONTEXT, known ?? remote);
    const { name, attributes } = describeSpan(span);
    const own = { ...attributes, ...identity(scope, span, traces.get(`${scope} ${id}`)) };
    const started = tracerProvider
      .getTracer(NAME)
      .startSpan(name, { startTime: new Date(startedAt), attributes: own }, parent);
    // Its message may contain anything.
    if (error !== null) started.setAttribute('error.type', 'agent_error').setStatus({ code: SpanStatusCode.ERROR });
    started.end(new Date(endedAt));
    keepNewest(forwarded, `${scope} ${id} ${span.id}`, started.spanContext());
  }

  return {
    receiveTraces({ scope, traces: named, spans }) {
      for (const each of named) keepNewest(traces, `${scope} ${each.id}`, each);
      // Parents first: a step ends before what it is a part of.
      const waiting = new Map(spans.map((span) => [`${span.traceId} ${span.id}`, span]));
      for (const span of spans) {
        const line: AgentSpan[] = [];
        let next: AgentSpan | undefined = span;
        while (next && waiting.delete(`${next.traceId} ${next.id}`)) {
          line.push(next);
          next = next.parentId === null ? undefined : waiting.get(`${next.traceId} ${next.parentId}`);
        }
        for (const each of line.reverse()) forward(scope, each);
      }
    },
  };
}

function keepNewest<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MAX_KNOWN) break;
    map.delete(oldest);
  }
}

function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}

/** By which the spans of a client are found again. */
function identity(scope: string, span: AgentSpan, named: AgentTrace | undefined): Attributes {
  return {
    'express_open_responses.scope': scope,
    [`${PREFIX}.trace_id`]: toReportedModel(span.traceId),
    [`${PREFIX}.span_id`]: toReportedModel(span.id),
    ...(span.parentId === null ? {} : { [`${PREFIX}.parent_id`]: toReportedModel(span.parentId) }),
    ...(named && named.name !== '' ? { [`${PREFIX}.workflow`]: toReportedModel(named.name) } : {}),
    ...(named?.groupId ? { 'gen_ai.conversation.id': toReportedModel(named.groupId) } : {}),
  };
}

/** Its name and its facts, by the conventions for generative AI where they have words for it. */
function describeSpan({ data, responseId }: AgentSpan): { readonly name: string; readonly attributes: Attributes } {
  const type = toReportedModel(data.type);
  const title = toReportedModel(textOrNone(data.name));
  const response = responseId === undefined ? {} : { 'gen_ai.response.id': toReportedModel(responseId) };
  const common = { [`${PREFIX}.span_type`]: type, ...response, ...usageAttributes(data.usage) };
  const named = (name: string, attributes: Attributes) => ({
    name: name.trim(),
    attributes: { ...common, ...attributes },
  });
  switch (data.type) {
    case 'agent':
      return named(`invoke_agent ${title}`, { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': title });
    case 'function':
      return named(`execute_tool ${title}`, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': title });
    case 'response':
      return named('chat', { 'gen_ai.operation.name': 'chat' });
    case 'generation': {
      const model = toReportedModel(textOrNone(data.model));
      return named(`chat ${model}`, { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model });
    }
    case 'handoff': {
      const [from, to] = [data.from_agent, data.to_agent].map((agent) => toReportedModel(textOrNone(agent)));
      return named(`handoff ${to}`, { [`${PREFIX}.from`]: from, [`${PREFIX}.to`]: to });
    }
    case 'guardrail':
      return named(`guardrail ${title}`, { [`${PREFIX}.triggered`]: data.triggered === true });
    default:
      return named(title === '' ? type : title, {});
  }
}

function usageAttributes(usage: unknown): Attributes {
  const { input_tokens: input, output_tokens: output }: JsonObject = isRecord(usage) ? usage : {};
  return {
    ...(typeof input === 'number' ? { 'gen_ai.usage.input_tokens': input } : {}),
    ...(typeof output === 'number' ? { 'gen_ai.usage.output_tokens': output } : {}),
  };
}
