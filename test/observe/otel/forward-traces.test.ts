/** Agents' traces as OpenTelemetry spans, by OpenTelemetry's own SDK. */
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { forwardTraces } from '../../../src/observe/otel/index.ts';
import type { AgentSpan } from '../../../src/ports/host/trace-receiver.ts';

const HEX = '0123456789abcdef0123456789abcdef';
const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

beforeEach(() => exporter.reset());

function span(id: string, more: Partial<AgentSpan> = {}): AgentSpan {
  const times = { startedAt: 1000, endedAt: 2500 };
  return {
    id,
    traceId: `trace_${HEX}`,
    parentId: null,
    ...times,
    data: { type: 'agent', name: 'Helper' },
    error: null,
    responseId: undefined,
    ...more,
  };
}

function named(name: string): ReadableSpan {
  const found = exporter.getFinishedSpans().find((each) => each.name === name);
  if (!found) throw new Error(`No span ${name} among ${exporter.getFinishedSpans().map((each) => each.name)}`);
  return found;
}

it('[E-17] makes spans with the trace id, the times, the parents and the facts of the steps', () => {
  forwardTraces({ tracerProvider }).receiveTraces({
    scope: 'ada',
    traces: [{ id: `trace_${HEX}`, name: 'Chat', groupId: 'chat-7' }],
    // A step arrives before what it is a part of.
    spans: [
      span('span_2', {
        parentId: 'span_1',
        data: { type: 'response', response_id: 'resp_1', usage: { input_tokens: 3, output_tokens: 4 } },
        responseId: 'resp_1',
      }),
      span('span_3', {
        parentId: 'span_1',
        data: { type: 'function', name: 'look', input: 'a prompt', output: 'an answer' },
        error: 'a prompt',
      }),
      span('span_1'),
    ],
  });
  const [agent, chat, tool] = [named('invoke_agent Helper'), named('chat'), named('execute_tool look')];
  expect([agent, chat, tool].map((each) => each.spanContext().traceId)).toEqual([HEX, HEX, HEX]);
  expect([chat, tool].map((each) => each.parentSpanContext?.spanId)).toEqual([
    agent.spanContext().spanId,
    agent.spanContext().spanId,
  ]);
  expect([agent.startTime, agent.endTime]).toEqual([
    [1, 0],
    [2, 500_000_000],
  ]);
  expect(chat.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.response.id': 'resp_1',
    'gen_ai.usage.input_tokens': 3,
    'gen_ai.usage.output_tokens': 4,
    'gen_ai.conversation.id': 'chat-7',
    'express_open_responses.scope': 'ada',
    'express_open_responses.agent.trace_id': `trace_${HEX}`,
    'express_open_responses.agent.span_id': 'span_2',
    'express_open_responses.agent.parent_id': 'span_1',
    'express_open_responses.agent.workflow': 'Chat',
  });
  expect(tool.status.code).toBe(2);
  const written = JSON.stringify(
    exporter.getFinishedSpans().map(({ attributes, status, events }) => [attributes, status, events]),
  );
  expect([written.includes('a prompt'), written.includes('an answer')]).toEqual([false, false]);
});

it('[E-17] finds the parent that has arrived in an earlier request', () => {
  const receiver = forwardTraces({ tracerProvider });
  receiver.receiveTraces({ scope: 'ada', traces: [], spans: [span('span_1')] });
  receiver.receiveTraces({
    scope: 'ada',
    traces: [],
    spans: [span('span_2', { parentId: 'span_1', data: { type: 'guardrail', name: 'polite', triggered: true } })],
  });
  expect(named('guardrail polite').parentSpanContext?.spanId).toBe(named('invoke_agent Helper').spanContext().spanId);
});

it('[E-17] puts no span of a tenant into the trace of another, nor below its spans', () => {
  const receiver = forwardTraces({ tracerProvider });
  receiver.receiveTraces({
    scope: 'ada',
    traces: [{ id: `trace_${HEX}`, name: 'Of Ada', groupId: null }],
    spans: [span('span_1')],
  });
  receiver.receiveTraces({
    scope: 'eve',
    traces: [],
    spans: [span('span_2', { parentId: 'span_1', data: { type: 'custom', name: 'theft' } })],
  });
  const [ada, theft] = [named('invoke_agent Helper'), named('theft')];
  expect(ada.spanContext().traceId).toBe(HEX);
  expect(theft.spanContext().traceId).not.toBe(HEX);
  expect(theft.parentSpanContext?.spanId).not.toBe(ada.spanContext().spanId);
  expect(JSON.stringify(theft.attributes)).not.toContain('Of Ada');
});

it('[E-17] makes a valid trace id of any other id, the same each time, and ends for parents in a circle', () => {
  const receiver = forwardTraces({ tracerProvider });
  const ids = ['my trace', 'trace_', `trace_${'0'.repeat(32)}`];
  const spans = ids.flatMap((traceId) => [
    span('a', { traceId, parentId: 'b' }),
    span('b', { traceId, parentId: 'a' }),
  ]);
  receiver.receiveTraces({ scope: 'ada', traces: [], spans });
  const made = exporter.getFinishedSpans().map((each) => each.spanContext().traceId);
  expect([made.length, new Set(made).size, made.every((id) => /^(?!0{32})[\da-f]{32}$/.test(id))]).toEqual([
    6,
    3,
    true,
  ]);
});

it('[E-17] refuses unknown options', () => {
  expect(() => forwardTraces({ tracer: 1 } as never)).toThrow(/forwardTraces: .*tracer/);
});
