/** Traces in the inspector: beside their responses, of their tenant alone, and bounded. */
import { createServer } from 'node:http';
import { batchesApi } from '../../../src/batches.ts';
import { chatCompletionsUpstream, memoryStore, openResponses } from '../../../src/core.ts';
import { memoryFiles } from '../../../src/files.ts';
import { createInspector } from '../../../src/observe/inspector/index.ts';
import type { AgentSpan } from '../../../src/ports/host/trace-receiver.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { startInspected } from './inspected-app.ts';

interface Shown {
  readonly found: number;
  readonly traces: readonly {
    readonly id: string;
    readonly tenant: string;
    readonly dropped: number;
    readonly spans: readonly (JsonObject & { readonly id: string; readonly depth: number })[];
  }[];
}

function span(id: string, more: Partial<AgentSpan> = {}): AgentSpan {
  const times = { startedAt: 1000, endedAt: 2000 };
  return {
    id,
    traceId: 'trace_1',
    parentId: null,
    ...times,
    data: { type: 'agent' },
    error: null,
    responseId: undefined,
    ...more,
  };
}

const tenantOf = ({ headers }: { readonly headers: JsonObject }) => String(headers['x-tenant'] ?? 'ada');

async function inspected(options = {}) {
  const app = await startInspected(options, { scope: tenantOf as never });
  // The casts: its form is that of `traceView`.
  const traces = async (query = '') => (await app.seen(`traces${query}`)) as never as Shown;
  return { ...app, traces };
}

it('[E-17] shows a trace beside the response that one of its spans names, each step behind what it is a part of', async () => {
  const { post, inspector, traces, close } = await inspected();
  const { id } = JSON.parse(await post({ model: 'fake-model', input: 'Hi' }));
  await post({ model: 'fake-model', input: 'Another' });
  inspector.receiveTraces({
    scope: 'ada',
    traces: [{ id: 'trace_1', name: 'Chat', groupId: null }],
    spans: [
      span('c', {
        parentId: 'b',
        startedAt: 1400,
        data: { type: 'response', response_id: id, api_key: 'sk-secret-1234567890' },
        responseId: id,
      }),
      span('b', { parentId: 'a', startedAt: 1200, data: { type: 'custom', name: 'turn' } }),
      span('a'),
    ],
  });
  const { traces: found } = await traces('?response=1');
  expect(
    found.map((trace) => [trace.id, trace.spans.map((each) => [each.id, each.depth, each.start, each.response])]),
  ).toEqual([
    [
      'trace_1',
      [
        ['a', 0, 0, null],
        ['b', 1, 200, null],
        ['c', 2, 400, 1],
      ],
    ],
  ]);
  expect(JSON.stringify(found)).not.toContain('sk-secret');
  expect((await traces('?response=2')).traces).toEqual([]);
  await close();
});

it('[E-17] never shows the trace of a tenant beside the response of another', async () => {
  const { post, inspector, traces, close } = await inspected();
  const { id } = JSON.parse(await post({ model: 'fake-model', input: 'Hi' }));
  inspector.receiveTraces({ scope: 'eve', traces: [], spans: [span('a', { responseId: id })] });
  const [all, beside] = [await traces(), await traces('?response=1')];
  expect([beside.traces, all.traces.map(({ tenant, spans }) => [tenant, spans[0]?.response])]).toEqual([
    [],
    [['eve', null]],
  ]);
  await close();
});

it('[E-17] lists every span once, in circles of parents too', async () => {
  const { inspector, traces, close } = await inspected();
  const spans = [
    span('a', { parentId: 'c' }),
    span('b', { parentId: 'a' }),
    span('c', { parentId: 'b' }),
    span('d', { parentId: 'd' }),
  ];
  const deep = Array.from({ length: 150 }, (_, at) =>
    span(`e${at}`, { parentId: at === 0 ? null : `e${at - 1}`, startedAt: 5000 + at, endedAt: 9000 }),
  );
  inspector.receiveTraces({ scope: 'ada', traces: [], spans: [...spans, ...deep] });
  const [trace] = (await traces()).traces;
  expect([trace?.spans.length, new Set(trace?.spans.map(({ id }) => id)).size]).toEqual([154, 154]);
  expect(Math.max(...(trace?.spans.map(({ depth }) => depth) ?? []))).toBe(32);
  await close();
});

it('[E-17] keeps only so many spans of a trace, and bytes of all, and drops those of a greedy tenant first', async () => {
  const { inspector, traces, close } = await inspected({ maxBytes: 1024 * 1024 });
  inspector.receiveTraces({ scope: 'ada', traces: [], spans: [span('a', { traceId: 'of ada' })] });
  const many = Array.from({ length: 2000 }, (_, at) => span(`s${at}`, { traceId: 'long' }));
  inspector.receiveTraces({ scope: 'bob', traces: [], spans: many.slice(0, 100) });
  expect((await traces()).traces[0]?.spans.length).toBe(100);
  const text = 'x'.repeat(20_000);
  for (let at = 0; at < 500; at += 1)
    inspector.receiveTraces({
      scope: 'bob',
      traces: [],
      spans: [span('a', { traceId: `t${at}`, data: { type: 'custom', text } })],
    });
  const found = await traces();
  expect(found.found).toBeLessThan(10);
  inspector.receiveTraces({ scope: 'bob', traces: [], spans: many });
  // The oldest one that is kept, though much has come since.
  const rest = await traces();
  expect([rest.traces.some(({ id }) => id === 'of ada'), Number(rest.traces[0]?.dropped) > 1000]).toEqual([true, true]);
  await close();
});

it('[E-17] keeps no data of spans with `redact`', async () => {
  const { post, inspector, traces, close } = await inspected({ redact: () => ({}) });
  const { id } = JSON.parse(await post({ model: 'fake-model', input: 'Hi' }));
  const data = { type: 'function', name: 'look', input: 'a prompt', output: 'an answer' };
  inspector.receiveTraces({
    scope: 'ada',
    traces: [],
    spans: [span('a', { data, responseId: id, error: 'a prompt' })],
  });
  const shown = JSON.stringify(await traces('?response=1'));
  expect([shown.includes('look'), shown.includes('a prompt'), shown.includes('an answer')]).toEqual([
    true,
    false,
    false,
  ]);
  await close();
});

it('[E-17] tells open pages that something has come, and forgets all when it is closed', async () => {
  const { inspector, traces, seen, close } = await inspected();
  const before = (await seen('responses')).version;
  inspector.receiveTraces({ scope: 'ada', traces: [], spans: [span('a')] });
  const after = (await seen('responses')).version;
  inspector.close();
  expect([Number(after) > Number(before), (await traces()).found]).toEqual([true, 0]);
  await close();
});

it('[E-11] shows the last batches of a tenant beside its deliveries, and those of no other', async () => {
  const batch = {
    id: 'batch_1',
    endpoint: '/v1/responses',
    status: 'completed',
    created_at: 5,
    request_counts: { total: 2, completed: 1, failed: 1 },
  };
  const batches = { recent: async (scope: string) => (scope === 'ada' ? [batch] : []) };
  const deliveries = async (scope: string) => (scope === 'ada' ? [{ id: 'evt_1' } as never] : []);
  const page = await listening(createServer(createInspector({ batches, webhooks: { deliveries } }).router));
  const read = async (query: string) => (await fetch(`${page.url}/api/jobs${query}`)).json();
  const entry = {
    id: 'batch_1',
    endpoint: '/v1/responses',
    status: 'completed',
    total: 2,
    completed: 1,
    failed: 1,
    at: 5000,
  };
  expect(await read('?tenant=ada')).toMatchObject({ batches: [entry], deliveries: [{ id: 'evt_1' }] });
  expect(await read('?tenant=eve')).toMatchObject({ batches: [], deliveries: [] });
  expect(await read('')).toMatchObject({ batches: null, deliveries: null, hasBatches: true, hasWebhooks: true });
  await page.close();
});

it('[E-11] takes the batches of both APIs from what batchesApi returns', async () => {
  const fake = await startFakeUpstream();
  const files = memoryFiles();
  const batches = batchesApi({ files });
  expect(await batches.recent('ada')).toEqual([]);
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'none' });
  const scope = ({ headers }: Request) => headers.get('x-tenant') ?? '';
  const api = openResponses({ upstream, store: memoryStore(), apis: [batches], scope, logger: false });
  const params = { model: 'fake-model', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
  const body = JSON.stringify({ requests: [{ custom_id: 'a', params }] });
  const headers = { 'content-type': 'application/json', 'x-tenant': 'ada' };
  const made = await api.fetch(new Request('http://host/messages/batches', { method: 'POST', headers, body }));
  const { id } = (await made.json()) as JsonObject;
  expect(await batches.recent('ada')).toMatchObject([{ id, object: 'batch', endpoint: '/v1/messages' }]);
  expect(await batches.recent('eve')).toEqual([]);
  await Promise.all([api.close(), fake.close()]);
});
