/** Spans and metrics of real requests, by OpenTelemetry's own SDK. */
import { type Attributes, context, type TracerProvider, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import express from 'express';
import { balanced, withFailover } from 'express-open-responses/routing';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  responsesRouter,
  type ToolProvider,
  type Upstream,
} from '../../../src/index.ts';
import { type TraceableOptions, traced } from '../../../src/observe/otel/index.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import {
  chatChunk,
  chatCompletion,
  chatStream,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../../src/testing/index.ts';
import { type App, startApp } from '../../support/app.ts';
import { listening } from '../../support/listening.ts';
import { messagesStream, textBlock } from '../../upstreams/messages-bytes.ts';

class Reader extends MetricReader {
  protected async onShutdown() {}
  protected async onForceFlush() {}
}

const exporter = new InMemorySpanExporter();
const contexts = new AsyncLocalStorageContextManager();
let reader: Reader;
let telemetry: { readonly tracerProvider: TracerProvider; readonly meterProvider: MeterProvider };
let fake: FakeUpstream;
let app: App | undefined;

beforeEach(async () => {
  context.setGlobalContextManager(contexts.enable());
  exporter.reset();
  reader = new Reader();
  telemetry = {
    tracerProvider: new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
    meterProvider: new MeterProvider({ readers: [reader] }),
  };
  fake = await startFakeUpstream();
});

afterEach(async () => {
  await Promise.all([app?.close(), fake.close()]);
  app = undefined;
  context.disable();
});

const requested = () => chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'secret-key', retries: 0 });
const tracedModel = () => traced({ upstream: requested() }, { ...telemetry, provider: 'vllm' }).upstream;

const OF_ECHO = { parameters: {}, execute: ({ text }: { text: string }) => spanOf(text) };
const echo = () => traced({ tools: functionTools({ echo: OF_ECHO }) }, telemetry).tools;

let inside: string | undefined;

/** Notes the span in whose context a tool runs. */
function spanOf(text: string): string {
  inside = trace.getActiveSpan()?.spanContext().spanId;
  if (text === 'fail') throw new Error('secret-result');
  return text;
}

const USAGE = { usage: { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 2 } } };
const HELLO = chatStream({ content: 'Hello' });
const counts = (usage: object) => chatChunk({}, { choices: [], usage });
const MODEL: Attributes = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'vllm',
  'gen_ai.request.model': 'm',
};

async function ask(path: string, body: object) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return (await fetch(`${app?.url}/${path}`, init)).text();
}

/** Names, attributes and whether they failed, in the order of their ends. */
const spans = () =>
  exporter.getFinishedSpans().map(({ name, attributes, status }) => ({ name, attributes, failed: status.code === 2 }));

/** The points of each metric that was recorded: attributes, and how many. */
async function points() {
  const { resourceMetrics } = await reader.collect();
  const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  const listed = all.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(
      ({ attributes, value }) => [descriptor.name, attributes, value as { count: number; sum: number }] as const,
    ),
  );
  return listed;
}

describe('a traced upstream', () => {
  it('[X-09] [B-45] records a call of the model as a span and in the metrics of the conventions', async () => {
    fake.reply({ body: HELLO.replace('data: [DONE]', `${chatChunk({}, { choices: [], ...USAGE })}data: [DONE]`) });
    app = await startApp({ options: { upstream: tracedModel() } });
    await ask('responses', { model: 'm', input: 'secret-input', temperature: 0.5, max_output_tokens: 99 });
    expect(spans()).toEqual([
      {
        name: 'chat m',
        failed: false,
        attributes: {
          ...MODEL,
          'gen_ai.request.max_tokens': 99,
          'gen_ai.request.temperature': 0.5,
          'gen_ai.response.finish_reasons': ['stop'],
          'gen_ai.usage.input_tokens': 7,
          'gen_ai.usage.output_tokens': 3,
          'gen_ai.usage.cache_read.input_tokens': 2,
        },
      },
    ]);
    const reported = (await points()).map(([name, attributes, { count }]) => [name, attributes, count]);
    expect(reported).toEqual(
      expect.arrayContaining([
        ['gen_ai.client.operation.duration', MODEL, 1],
        ['gen_ai.client.operation.time_to_first_chunk', MODEL, 1],
        ['gen_ai.client.token.usage', { ...MODEL, 'gen_ai.token.type': 'input' }, 1],
        ['gen_ai.client.token.usage', { ...MODEL, 'gen_ai.token.type': 'output' }, 1],
      ]),
    );
    expect(reported).toHaveLength(4);
    expect(JSON.stringify([exporter.getFinishedSpans().map(({ attributes }) => attributes), reported])).not.toContain(
      'secret',
    );
  });

  it('[X-09] [X-11] names the server of several that answers, under whose span each attempt is one', async () => {
    fake.reply({ status: 503, body: '{}' }, { body: HELLO });
    const named = (name: string) => ({
      name,
      upstream: traced({ upstream: requested() }, { ...telemetry, provider: name }).upstream,
    });
    const upstream = traced(
      { upstream: withFailover([named('one'), named('two')], { name: 'eu' }) },
      telemetry,
    ).upstream;
    app = await startApp({ options: { upstream } });
    await ask('responses', { model: 'm', input: 'Hi' });
    const seen = exporter.getFinishedSpans().map(({ attributes, status, parentSpanContext }) => ({
      provider: attributes['gen_ai.provider.name'],
      server: attributes['express_open_responses.model_server'],
      failed: status.code === 2,
      parent: parentSpanContext?.spanId,
    }));
    const parent = exporter.getFinishedSpans().at(-1)?.spanContext().spanId;
    expect(seen).toEqual([
      { provider: 'one', server: undefined, failed: true, parent },
      { provider: 'two', server: undefined, failed: false, parent },
      { provider: 'eu', server: 'two', failed: false, parent: undefined },
    ]);
    expect(upstream.servers?.().map(({ name }) => name)).toEqual(['one', 'two']);
  });

  it('[X-09] [X-11] records each attempt with the server that is asked, and what failed before, for all rounds of a turn', async () => {
    fake.reply({ status: 503, body: '{"error":{"code":"overloaded"}}' }, { body: HELLO });
    const rounds = { ...balanced([requested(), requested()], { by: 'round-robin' }) };
    const upstream = traced({ upstream: withFailover([{ upstream: rounds, name: 'eu' }]) }, telemetry).upstream;
    const { signal } = new AbortController();
    const call = { signal, headers: new Headers(), limits: DEFAULT_LIMITS, note: () => {} };
    for (let round = 0; round < 2; round += 1)
      for await (const _ of upstream.stream({ model: 'm', items: [], tools: [] }, call));
    const { host } = new URL(fake.baseURL);
    const attempt = (number: number, server: string, more = {}) => ({
      'express_open_responses.attempt': number,
      'server.address': host,
      'express_open_responses.model_server': `eu/${server}`,
      ...more,
    });
    const events = exporter.getFinishedSpans().map((span) => span.events.map(({ attributes }) => attributes));
    expect(events).toEqual([
      [attempt(1, host), attempt(2, `${host}-2`, { 'express_open_responses.attempt.after': 'overloaded' })],
      // The second round stays where the first was answered.
      [attempt(1, `${host}-2`)],
    ]);
  });

  it('[X-09] [X-12] records messages that are passed through, and leaves them as they are', async () => {
    const bytes = messagesStream([textBlock(0, 'secret')], { stop: 'max_tokens' });
    fake.reply({ body: bytes, headers: { 'content-type': 'text/event-stream' } });
    const inner = anthropicUpstream({ baseURL: fake.baseURL, apiKey: 'secret-key', retries: 0 });
    const router = messagesRouter(traced({ upstream: inner }, { ...telemetry, provider: 'vllm' }));
    const { url, close } = await listening(express().use(router));
    const body = { model: 'm', max_tokens: 99, stream: true, messages: [{ role: 'user', content: 'secret-input' }] };
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    expect(await (await fetch(`${url}/messages`, init)).text()).toBe(bytes);
    await Promise.all([close(), inner.close?.()]);
    const attributes = {
      ...MODEL,
      'gen_ai.request.max_tokens': 99,
      'gen_ai.response.finish_reasons': ['max_tokens'],
      'gen_ai.usage.input_tokens': 9,
      'gen_ai.usage.output_tokens': 12,
      'gen_ai.usage.cache_read.input_tokens': 0,
    };
    expect(spans()).toEqual([{ name: 'chat m', failed: false, attributes }]);
  });

  it('[X-09] names a model by 128 characters at most, since exporters keep what clients write', async () => {
    fake.reply({ body: HELLO }, { body: HELLO });
    app = await startApp({ options: { upstream: tracedModel() } });
    const own = { upstream: tracedModel(), store: memoryStore() };
    const routers = express().use('/v1', responsesRouter(own), chatCompletionsRouter(own));
    app.server.removeAllListeners('request').on('request', routers);
    for (const api of ['responses', 'chat/completions'])
      await ask(api, {
        model: 'm'.repeat(1000),
        input: 'Hi',
        messages: [{ role: 'user', content: 'Hi' }],
        stream: true,
      });
    const names = spans().map(({ name, attributes }) => [name, attributes['gen_ai.request.model']]);
    const name = 'm'.repeat(128);
    expect(names).toEqual([`chat ${name}`, `chat ${name}`].map((span) => [span, name]));
  });

  it('[X-09] records what the model server refused, by its code', async () => {
    fake.reply({ status: 429, body: '{"error":{"message":"secret","code":"rate_limit_exceeded"}}' });
    app = await startApp({ options: { upstream: tracedModel() } });
    await ask('responses', { model: 'm', input: 'Hi' });
    const [span] = exporter.getFinishedSpans();
    expect([span?.attributes['error.type'], span?.status]).toEqual(['rate_limit_exceeded', { code: 2 }]);
    expect((await points()).map(([name, attributes]) => [name, attributes])).toEqual([
      ['gen_ai.client.operation.duration', { ...MODEL, 'error.type': 'rate_limit_exceeded' }],
    ]);
  });

  it('[X-09] ends the span where the client leaves, which is no failure', async () => {
    fake.reply({ body: chatChunk({ content: 'word ' }), stallAfterBytes: 10_000 });
    app = await startApp({ options: { upstream: tracedModel() } });
    const client = new AbortController();
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, signal: client.signal };
    const body = JSON.stringify({ model: 'm', input: 'Hi', stream: true });
    const answer = await fetch(`${app.url}/responses`, { ...init, body });
    await answer.body?.getReader().read();
    client.abort();
    await fake.closed(0);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(spans()).toEqual([{ name: 'chat m', failed: false, attributes: MODEL }]);
  });

  it.each([true, false])('[X-09] [V-06] records calls of the chat router (stream: %s)', async (stream) => {
    fake.reply({
      body: stream
        ? HELLO.replace('data: [DONE]', `${counts(USAGE.usage)}${counts({ prompt_tokens: 0 })}data: [DONE]`)
        : chatCompletion({ content: 'Hello' }),
    });
    app = await startApp({ options: { upstream: requested() } });
    app.server
      .removeAllListeners('request')
      .on('request', express().use('/v1', chatCompletionsRouter({ upstream: tracedModel(), store: memoryStore() })));
    await ask('chat/completions', { model: 'm', stream, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9 });
    const [{ name, attributes }] = spans() as [ReturnType<typeof spans>[number]];
    expect([name, attributes]).toEqual([
      'chat m',
      expect.objectContaining({
        ...MODEL,
        'gen_ai.request.max_tokens': 9,
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': stream ? 7 : 9,
        'gen_ai.usage.output_tokens': stream ? 3 : 12,
      }),
    ]);
    expect((await points()).map(([name]) => name)).toContain('gen_ai.client.operation.time_to_first_chunk');
  });

  it('[X-09] is a part of what the host is doing, and what the upstream asks is a part of it', async () => {
    const parents: (string | undefined)[] = [];
    const inner: Upstream = {
      name: 'own',
      async *stream() {
        parents.push(trace.getActiveSpan()?.spanContext().spanId);
        yield [{ type: 'finish', reason: 'stop' }];
      },
    };
    const outer = telemetry.tracerProvider.getTracer('host').startSpan('POST /v1/responses');
    const router = responsesRouter(traced({ upstream: inner, store: memoryStore() }, telemetry));
    app = await startApp({ options: { upstream: requested() } });
    const inRequest = (...args: Parameters<typeof router>) =>
      context.with(trace.setSpan(context.active(), outer), () => router(...args));
    app.server.removeAllListeners('request').on('request', express().use('/v1', inRequest));
    await ask('responses', { model: 'm', input: 'Hi' });
    const [span] = exporter.getFinishedSpans();
    expect([span?.parentSpanContext?.spanId, parents, span?.attributes['gen_ai.provider.name']]).toEqual([
      outer.spanContext().spanId,
      [span?.spanContext().spanId],
      'own',
    ]);
  });

  it('[X-09] records the first words alone, and ends where nobody reads on', async () => {
    let closed = false;
    const inner: Upstream = {
      name: 'own',
      async *stream() {
        try {
          for (;;) yield [{ type: 'text-delta', text: 'word ' }];
        } finally {
          closed = true;
        }
      },
    };
    const call = { signal: new AbortController().signal, headers: new Headers(), limits: DEFAULT_LIMITS, note() {} };
    const answer = traced({ upstream: inner }, telemetry).upstream.stream({ model: 'm', items: [], tools: [] }, call);
    let batches = 0;
    for await (const _ of answer) if (++batches === 3) break;
    expect([closed, spans().length]).toEqual([true, 1]);
    expect((await points()).map(([name, , { count }]) => [name, count])).toEqual([
      ['gen_ai.client.operation.duration', 1],
      ['gen_ai.client.operation.time_to_first_chunk', 1],
    ]);
  });

  it('[X-09] goes to what the host registers later, and nowhere without it', async () => {
    app = await startApp({
      options: traced({ upstream: requested(), tools: [functionTools({})] }),
    });
    expect(JSON.parse(await ask('responses', { model: 'm', input: 'Hi' })).status).toBe('completed');
    trace.setGlobalTracerProvider(telemetry.tracerProvider);
    await ask('responses', { model: 'm', input: 'Hi' });
    trace.disable();
    expect(spans().map(({ name }) => name)).toEqual(['chat m']);
  });

  it.each<[object, string]>([
    [{ provider: 7 }, 'traced: provider must be a name, got 7'],
    [{ tracerProvider: {} }, 'traced: tracerProvider must be an object with getTracer, got {}'],
    [{ tracer: 1 }, "traced: unknown option 'tracer'"],
  ])('[X-01] throws a TypeError for %j', (options, message) => {
    expect(() => traced({ upstream: requested() }, options)).toThrow(message);
  });
});

describe('traced tools', () => {
  const calls = (text: string) => [
    {
      body: chatStream({
        tool_calls: [{ index: 0, id: 'c', function: { name: 'echo', arguments: JSON.stringify({ text }) } }],
      }),
    },
    { body: textStream('Done') },
  ];

  it('[X-09] records a call as a span, in which the tool runs', async () => {
    fake.reply(...calls('secret-text'));
    app = await startApp({ options: { upstream: requested(), tools: [echo()] } });
    await ask('responses', { model: 'm', input: 'Hi' });
    const of = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'echo' };
    expect(spans()).toEqual([
      { name: 'execute_tool echo', failed: false, attributes: { ...of, 'gen_ai.tool.type': 'extension' } },
    ]);
    expect(exporter.getFinishedSpans()[0]?.spanContext().spanId).toBe(inside);
    expect((await points()).map(([name, attributes, { count }]) => [name, attributes, count])).toEqual([
      ['gen_ai.execute_tool.duration', of, 1],
    ]);
  });

  it('[X-09] records that one failed, and not its message', async () => {
    fake.reply(...calls('fail'));
    app = await startApp({ options: { upstream: requested(), tools: [echo()] } });
    await ask('responses', { model: 'm', input: 'Hi' });
    expect(spans()).toEqual([
      { name: 'execute_tool echo', failed: true, attributes: expect.objectContaining({ 'error.type': 'Error' }) },
    ]);
    expect(JSON.stringify(exporter.getFinishedSpans().map(({ status, events }) => [status, events]))).not.toContain(
      'secret',
    );
  });

  it.each<[string, (tools: ToolProvider) => TraceableOptions['tools']]>([
    ['a provider', (tools) => tools],
    ['a list', (tools) => [functionTools({}), tools]],
    ['a function', (tools) => () => [tools]],
  ])('are those of the options of a router, as %s', async (_, choose) => {
    fake.reply(...calls('secret-text'));
    const options = { upstream: requested(), tools: choose(functionTools({ echo: OF_ECHO })) };
    // The cast: the tools are those of any host.
    app = await startApp({ options: traced(options, telemetry) as RouterOptions });
    await ask('responses', { model: 'm', input: 'Hi' });
    expect(spans().map(({ name }) => name)).toEqual(['chat m', 'execute_tool echo', 'chat m']);
  });

  it('check the entries of requests as they do themselves', () => {
    const provider: ToolProvider = {
      ...functionTools({}),
      check: (settings) => void checked.push(settings),
      objection: () => 'no',
    };
    const checked: object[] = [];
    const { tools } = traced({ tools: provider }, telemetry);
    void tools.check?.({ type: 'web_search' }, { scope: 's', requestId: 'r', request: undefined }, 'tools[0]');
    const tool = { server: 's', name: 't' };
    expect([checked, tools.objection?.({}, tool)]).toEqual([[{ type: 'web_search' }], 'no']);
  });

  it.each([[{}], [null], [() => {}]])('and upstreams are wanted: %j is a TypeError', (options) => {
    expect(() => traced(options as TraceableOptions)).toThrow(
      'traced: the options must be those of a router, with an upstream or tools, got',
    );
  });
});
