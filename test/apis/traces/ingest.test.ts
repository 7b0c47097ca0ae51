/** `POST /traces/ingest`: what it takes, what it refuses, and that a receiver hears of each span once. */
import express from 'express';
import { TenantSpans } from '../../../src/apis/traces/tenant-spans.ts';
import { openResponses } from '../../../src/core.ts';
import type { AgentSpan } from '../../../src/ports/host/trace-receiver.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import {
  type TraceBatch,
  type TraceReceiver,
  type TracesOptions,
  tracesApi,
  tracesRouter,
} from '../../../src/traces.ts';
import { listening } from '../../support/listening.ts';

const SPAN = {
  object: 'trace.span',
  id: 'span_1',
  trace_id: 'trace_1',
  parent_id: null,
  started_at: '2026-11-01T10:00:00.000Z',
  ended_at: '2026-11-01T10:00:01.500000+00:00',
  span_data: { type: 'response', response_id: 'resp_1', usage: null },
  error: null,
};
const TRACE = { object: 'trace', id: 'trace_1', workflow_name: 'Agent workflow', group_id: null, metadata: {} };

function started(more: Partial<TracesOptions> = {}) {
  const batches: TraceBatch[] = [];
  const receiver: TraceReceiver = { receiveTraces: (batch) => void batches.push(batch) };
  const upstream = { name: 'none', async *stream() {} };
  const errors: string[] = [];
  const api = openResponses({
    ...{ upstream, apis: [tracesApi({ receivers: [receiver], ...more })], logger: false },
    hooks: { onError: ({ message, cause }) => void errors.push(`${message} ${cause ?? ''}`) },
  });
  async function send(body: unknown, headers: Record<string, string> = { authorization: 'Bearer ada' }) {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    };
    const response = await api.fetch(new Request('http://host/traces/ingest', init) as never);
    // The cast: an answer is an object, whatever it says.
    return { status: response.status, json: (await response.json()) as JsonObject, headers: response.headers };
  }
  return { send, batches, errors };
}

describe('POST /traces/ingest', () => {
  it('[E-17] hands traces and spans to the receivers, with times, response and tenant', async () => {
    const { send, batches } = started();
    const { status, json } = await send({ data: [TRACE, SPAN] });
    expect([status, json]).toEqual([200, { object: 'traces.ingest', received: 1, repeated: 0 }]);
    const [batch] = batches;
    expect(batch).toEqual({
      scope: expect.any(String),
      traces: [{ id: 'trace_1', name: 'Agent workflow', groupId: null }],
      spans: [
        {
          ...{ id: 'span_1', traceId: 'trace_1', parentId: null, error: null, responseId: 'resp_1' },
          ...{ startedAt: Date.parse(SPAN.started_at), endedAt: Date.parse(SPAN.started_at) + 1500 },
          data: SPAN.span_data,
        },
      ],
    });
  });

  it('[E-17] takes a span once, however often it is sent, and the same ids of another tenant as its own', async () => {
    const { send, batches } = started();
    await send({ data: [SPAN, SPAN] });
    const again = await send({ data: [SPAN, { ...SPAN, id: 'span_2' }] });
    const other = await send({ data: [SPAN] }, { authorization: 'Bearer eve' });
    expect(batches.map(({ spans }) => spans.map(({ id }) => id))).toEqual([['span_1'], ['span_2'], ['span_1']]);
    expect([again.json.repeated, other.json.repeated]).toEqual([1, 0]);
    expect(new Set(batches.map(({ scope }) => scope)).size).toBe(2);
  });

  it.each([
    [{}, 'data'],
    [{ data: 'x' }, 'data'],
    [{ data: [TRACE, 3] }, 'data[1]'],
    [{ data: [{ ...SPAN, object: 'other' }] }, 'data[0].object'],
    [{ data: [{ ...SPAN, id: '' }] }, 'data[0].id'],
    [{ data: [{ ...SPAN, id: 'x'.repeat(129) }] }, 'data[0].id'],
    [{ data: [{ ...SPAN, trace_id: 5 }] }, 'data[0].trace_id'],
    [{ data: [{ ...SPAN, started_at: 'soon' }] }, 'data[0].started_at'],
    [{ data: [{ ...SPAN, span_data: null }] }, 'data[0].span_data'],
    [{ data: [{ ...SPAN, span_data: { type: 7 } }] }, 'data[0].span_data.type'],
    [{ data: [{ ...SPAN, error: 'no' }] }, 'data[0].error'],
    [{ data: [{ ...TRACE, metadata: [] }] }, 'data[0].metadata'],
  ])('[E-17] refuses %j as a whole, naming %s', async (body, param) => {
    const { send, batches } = started();
    const { status, json } = await send(body);
    expect([status, (json.error as JsonObject).param, batches]).toEqual([400, param, []]);
  });

  it('[E-17] refuses a million spans, and takes none of them', async () => {
    const { send, batches } = started();
    const { status } = await send({ data: Array.from({ length: 1_000_000 }, () => 0) });
    const listed = await send({ data: Array.from({ length: 10_001 }, (_, at) => ({ ...SPAN, id: `span_${at}` })) });
    expect([status, listed.status, batches]).toEqual([400, 400, []]);
  });

  it('[E-17] bounds the spans of a tenant in a minute, and of no other', async () => {
    const { send, batches } = started({ quota: { spansPerMinute: 2 } });
    const data = (...ids: readonly string[]) => ({ data: ids.map((id) => ({ ...SPAN, id })) });
    await send(data('a', 'b'));
    const more = await send(data('c'));
    const repeated = await send(data('a', 'b'));
    const other = await send(data('c'), { authorization: 'Bearer eve' });
    expect([more.status, repeated.status, other.status, batches.length]).toEqual([429, 200, 200, 3]);
    expect(Number(more.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('[E-17] refuses a client that nobody can tell from others', async () => {
    const { send, batches } = started();
    const { status, json } = await send({ data: [SPAN] }, { cookie: 'session=1' });
    expect([status, (json.error as JsonObject).code, batches]).toEqual([400, 'tenant_unknown', []]);
  });

  it('[E-17] answers, and tells the host, where a receiver throws; the others receive all the same', async () => {
    const seen: number[] = [];
    const broken: TraceReceiver = {
      receiveTraces() {
        throw new Error('no room');
      },
    };
    const { send, errors } = started({
      receivers: [broken, { receiveTraces: ({ spans }) => void seen.push(spans.length) }],
    });
    const { status } = await send({ data: [SPAN] });
    expect([status, seen, errors.length, errors[0]?.includes('no room')]).toEqual([200, [1], 1, true]);
  });

  it('[E-17] finds the chat completion that a generation holds', async () => {
    const { send, batches } = started();
    const generation = { type: 'generation', output: [{ id: 'chatcmpl-1', choices: [] }], model: 'm' };
    const bare = { type: 'generation', output: [{ id: 'x', role: 'assistant' }] };
    await send({
      data: [
        { ...SPAN, span_data: generation },
        { ...SPAN, id: 'span_2', span_data: bare },
      ],
    });
    expect(batches[0]?.spans.map(({ responseId }) => responseId)).toEqual(['chatcmpl-1', undefined]);
  });
});

describe('tracesRouter', () => {
  it('[E-17] serves the same by itself, with tenants by the host', async () => {
    const scopes: string[] = [];
    const receivers = [{ receiveTraces: ({ scope }: TraceBatch) => void scopes.push(scope) }];
    const { url, close } = await listening(
      express().use('/v1', tracesRouter({ receivers, scope: (req) => String(req.get('x-user')) })),
    );
    const headers = { 'content-type': 'application/json', 'x-user': 'ada' };
    const response = await fetch(`${url}/v1/traces/ingest`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ data: [SPAN] }),
    });
    expect([response.status, scopes]).toEqual([200, ['ada']]);
    await close();
  });

  it.each([
    [{}, /tracesRouter: receivers is missing/],
    [{ receivers: [] }, /receivers must be a list of receivers/],
    [{ receivers: [{}] }, /receivers must be a list of receivers/],
    [{ receivers: [{ receiveTraces() {} }], quota: { spansPerMinute: 0 } }, /spansPerMinute/],
    [{ receivers: [{ receiveTraces() {} }], other: 1 }, /other/],
  ])('[E-17] refuses the options %j', (options, message) => {
    expect(() => tracesRouter(options as never)).toThrow(message);
  });
});

describe('TenantSpans', () => {
  const SPAN: AgentSpan = {
    ...{ id: '', traceId: 'trace_1', parentId: null, startedAt: 1, endedAt: 2 },
    ...{ data: { type: 'agent' }, error: null, responseId: undefined },
  };
  /** Spans of these numbers. */
  const numbered = (first: number, count: number): readonly AgentSpan[] =>
    Array.from({ length: count }, (_, index) => ({ ...SPAN, id: String(first + index) }));

  it('[E-17] knows the last 10,000 spans of a tenant, and 200,000 of all', () => {
    const spans = new TenantSpans(Number.MAX_SAFE_INTEGER);
    const isKnown = (tenant: string, number: number) => spans.take(tenant, numbered(number, 1)).length === 0;
    spans.take('ada', numbered(0, 10_001));
    expect([isKnown('ada', 10_000), isKnown('ada', 0)]).toEqual([true, false]);
    for (let tenant = 0; tenant < 20; tenant += 1) spans.take(`tenant ${tenant}`, numbered(0, 10_000));
    expect([isKnown('tenant 19', 0), isKnown('ada', 10_000)]).toEqual([true, false]);
  });
});
