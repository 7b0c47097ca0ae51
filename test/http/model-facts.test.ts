/** Facts about models: where they come from, and what follows from them. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import {
  type ChatCompletionsOptions,
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  type Note,
  responsesRouter,
} from '../../src/index.ts';
import { textStream } from '../../src/testing/index.ts';
import { anthropicUpstream } from '../../src/upstreams/anthropic/anthropic-upstream.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { routedUpstream } from '../../src/upstreams/routing/index.ts';
import { listening } from '../support/listening.ts';

type Json = Readonly<Record<string, unknown>>;
type Routes = Readonly<Record<string, Json | 'silence'>>;

const CODEX = '?client_version=0.171.0';
const ANTHROPIC = { 'anthropic-version': '2023-06-01' };

/** A model server with these answers by method and path; it streams "Hello!" to everything else that is posted. */
async function modelServer(routes: Routes) {
  const asked: string[] = [];
  const bodies: Json[] = [];
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const path = `${request.method} ${request.url}`;
    asked.push(path);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const route = routes[path];
    if (route === 'silence') return;
    if (route) return void response.setHeader('content-type', 'application/json').end(JSON.stringify(route));
    if (request.method !== 'POST' || !path.endsWith('/chat/completions')) return void response.writeHead(404).end('{}');
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.setHeader('content-type', 'text/event-stream').end(textStream('Hello!'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  // The cast: a server that listens on TCP has such an address.
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked, bodies, close };
}

/** The API over such a server. */
async function apiOver(routes: Routes, options: ChatCompletionsOptions = {}) {
  const server = await modelServer(routes);
  const upstream = chatCompletionsUpstream({ baseURL: server.baseURL, retries: 0, ...options });
  const notes: Note[] = [];
  const hooks = { onNote: (note: Note) => void notes.push(note) };
  const app = express()
    .use('/v1', responsesRouter({ upstream, hooks, store: memoryStore() }))
    .use('/claude/v1', messagesRouter({ upstream, store: memoryStore() }));
  const { url, close } = await listening(app);
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${url}${path}`, { headers });
    // The cast: each test reads the fields that it expects.
    return (await answer.json()) as { models: Json[]; data: Json[] };
  };
  const post = async (body: Json) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as Json;
  };
  return {
    ...{ server, notes, get, post },
    async close() {
      await close();
      await upstream.close();
      await server.close();
    },
  };
}

/** The catalogue and Anthropic's list over such a server. */
async function listsOver(routes: Routes, options: ChatCompletionsOptions = {}) {
  const api = await apiOver(routes, options);
  try {
    const { models } = await api.get(`/v1/models${CODEX}`);
    const { data } = await api.get('/v1/models', ANTHROPIC);
    const plain = (await api.get('/v1/models')).data;
    return { models, data, plain, asked: api.server.asked };
  } finally {
    await api.close();
  }
}

const listOf = (...data: readonly Json[]) => ({ object: 'list', data });
const VLLM = { 'GET /v1/models': listOf({ id: 'm', object: 'model', owned_by: 'vllm', max_model_len: 4096 }) };

/** Fields without a default in the sources of Codex 0.90 to 0.171: one that is missing makes it refuse the whole catalogue. */
const CODEX_FIELDS = [
  'slug',
  'display_name',
  'description',
  'supported_reasoning_levels',
  'shell_type',
  'visibility',
  'supported_in_api',
  'priority',
  'availability_nux',
  'upgrade',
  'base_instructions',
  'supports_reasoning_summaries',
  'support_verbosity',
  'default_verbosity',
  'apply_patch_tool_type',
  'truncation_policy',
  'supports_parallel_tool_calls',
  'experimental_supported_tools',
];

interface Expected {
  readonly contextLength?: number;
  readonly most?: number;
  readonly modalities?: readonly string[];
  readonly efforts?: readonly string[];
}

describe('lists', () => {
  it('[K-06] answers Codex with a catalogue that it can read', async () => {
    const { models } = await listsOver(VLLM);
    expect(models).toEqual([
      expect.objectContaining({
        ...{ slug: 'm', display_name: 'm', visibility: 'list', priority: 1, context_window: 4096 },
        ...{ supported_reasoning_levels: [], base_instructions: expect.stringContaining('coding agent') },
      }),
    ]);
    expect(Object.keys(models[0] ?? {})).toEqual(expect.arrayContaining(CODEX_FIELDS));
  });

  it('[K-06] knows Codex by its headers, and answers others as before', async () => {
    const api = await apiOver(VLLM);
    const byAgent = await api.get('/v1/models', { 'user-agent': 'codex_exec/0.171.0 (Debian 12.0.0; x86_64)' });
    const byOriginator = await api.get('/v1/models', { originator: 'codex_cli_rs' });
    const others = await api.get('/v1/models', { 'user-agent': 'codexample/1.0' });
    await api.close();
    expect(byAgent.models[0]).toHaveProperty('display_name', 'm');
    expect(byOriginator.models[0]).toHaveProperty('display_name', 'm');
    expect(others.data).toEqual([{ id: 'm', object: 'model', owned_by: 'vllm', max_model_len: 4096 }]);
  });

  it.each([
    ['vLLM', { max_model_len: 4096, owned_by: 'vllm' }, { contextLength: 4096 }],
    ['Groq', { context_window: 131_072, max_completion_tokens: 32_768 }, { contextLength: 131_072, most: 32_768 }],
    [
      'OpenRouter',
      {
        context_length: 200_000,
        architecture: { input_modalities: ['text', 'image', 'file'] },
        top_provider: { context_length: 200_000, max_completion_tokens: 64_000 },
        supported_parameters: ['tools', 'reasoning'],
      },
      { contextLength: 200_000, most: 64_000, modalities: ['text', 'image'] },
    ],
    [
      'Mistral',
      { max_context_length: 32_768, capabilities: { vision: false, function_calling: true } },
      { contextLength: 32_768, modalities: ['text'] },
    ],
    [
      'GitHub Copilot',
      {
        capabilities: {
          limits: { max_context_window_tokens: 128_000, max_output_tokens: 16_384 },
          supports: { vision: true, tool_calls: true, reasoning_effort: ['low', 'high'] },
        },
      },
      { contextLength: 128_000, most: 16_384, modalities: ['text', 'image'], efforts: ['low', 'high'] },
    ],
    ['Anthropic', { max_input_tokens: 200_000, max_tokens: 64_000 }, { contextLength: 200_000, most: 64_000 }],
    ['nobody', { context_length: -1, max_model_len: '4096', max_tokens: 1e300, architecture: [] }, {}],
  ] as const)('[K-06] reads what %s says in its list', async (_, fields, expected) => {
    const { models, data } = await listsOver({ 'GET /v1/models': listOf({ id: 'm', object: 'model', ...fields }) });
    const { contextLength, most, modalities, efforts = [] }: Expected = expected;
    expect(models[0]?.context_window).toBe(contextLength);
    expect(models[0]?.input_modalities).toEqual(modalities);
    expect(models[0]?.supported_reasoning_levels).toEqual(
      efforts.map((effort) => ({ effort, description: expect.any(String) })),
    );
    expect(data[0]).toMatchObject({ max_input_tokens: contextLength ?? null, max_tokens: most ?? null });
  });

  it("[K-06] asks llama.cpp for its properties, and believes them before the model's own length", async () => {
    const { models, data, plain } = await listsOver({
      'GET /v1/models': listOf({ id: 'q.gguf', owned_by: 'llamacpp', meta: { n_ctx_train: 131_072 } }),
      'GET /props': { default_generation_settings: { n_ctx: 8192 }, modalities: { vision: true, audio: false } },
    });
    expect(models[0]).toMatchObject({ context_window: 8192, input_modalities: ['text', 'image'] });
    expect(data[0]).toMatchObject({ max_input_tokens: 8192 });
    expect(plain[0]).toMatchObject({ context_length: 8192, architecture: { input_modalities: ['text', 'image'] } });
  });

  it('[K-06] asks Ollama about each model, and believes the length with which it runs', async () => {
    const { models } = await listsOver(
      {
        'GET /v1/models': listOf({ id: 'a:latest', owned_by: 'library' }, { id: 'b', owned_by: 'library' }),
        'POST /api/show': {
          parameters: 'stop "<|im_end|>"\nnum_ctx                        16384',
          capabilities: ['completion', 'tools', 'vision'],
          model_info: { 'general.architecture': 'q', 'q.context_length': 262_144 },
        },
        'GET /api/ps': { models: [{ name: 'a:latest', context_length: 32_768 }] },
      },
      {},
    );
    expect(models.map(({ context_window: length }) => length)).toEqual([32_768, 16_384]);
    expect(models[0]).toMatchObject({ input_modalities: ['text', 'image'], supported_reasoning_levels: [] });
  });

  it('[K-06] answers where the server does not say more', async () => {
    const { models } = await listsOver({ 'GET /v1/models': listOf({ id: 'q.gguf', owned_by: 'llamacpp' }) });
    expect(models).toHaveLength(1);
    expect(models[0]).not.toHaveProperty('context_window');
  });

  it('[K-06] takes from the host what the server does not say, by name or by pattern', async () => {
    const options = {
      models: {
        m: { contextLength: 2048, efforts: ['low', 'medium'] },
        'o*': { maxOutputTokens: 100, modalities: ['text'] },
        extra: { contextLength: 10_000 },
      },
    };
    const { models, data } = await listsOver(
      { 'GET /v1/models': listOf({ id: 'm', max_model_len: 4096 }, { id: 'other', max_model_len: 4096 }) },
      options,
    );
    expect(models).toMatchObject([
      { slug: 'm', context_window: 2048, default_reasoning_level: 'medium' },
      { slug: 'other', context_window: 4096, input_modalities: ['text'] },
      { slug: 'extra', context_window: 10_000 },
    ]);
    expect(data[1]).toMatchObject({ max_input_tokens: 4096, max_tokens: 100 });
  });

  it('[K-06] lists the models that the host names where the server has no list', async () => {
    const { models } = await listsOver({}, { models: { m: { contextLength: 2048 } } });
    expect(models).toMatchObject([{ slug: 'm', context_window: 2048 }]);
  });

  it('[K-06] knows a model by an alias, too', async () => {
    const server = await modelServer(VLLM);
    const upstream = routedUpstream({
      routes: { m: chatCompletionsUpstream({ baseURL: server.baseURL }) },
      aliases: { fast: 'm' },
    });
    const { url, close } = await listening(express().use('/v1', responsesRouter({ upstream })));
    const answer = await fetch(`${url}/v1/models${CODEX}`);
    const { models } = (await answer.json()) as { models: Json[] };
    await close();
    await upstream.close?.();
    await server.close();
    expect(models.map(({ slug, context_window: length }) => [slug, length])).toEqual([
      ['m', 4096],
      ['fast', 4096],
    ]);
  });
});

const talk = (turns: number) =>
  Array.from({ length: turns }, (_, index) => [
    { role: 'user', content: `Question ${index}. ${'word '.repeat(400)}` },
    { role: 'assistant', content: `Answer ${index}.` },
  ]).flat();
const LONG = [...talk(20), { role: 'user', content: 'And now?' }];

describe('what follows', () => {
  it('[K-06] shortens a conversation for a context that is known, before the server refuses it', async () => {
    const api = await apiOver(VLLM);
    await api.get('/v1/models');
    await api.post({ model: 'm', input: LONG, truncation: 'auto' });
    const { bodies } = api.server;
    await api.close();
    expect(bodies).toHaveLength(1);
    // The cast: a chat request has messages.
    const messages = bodies[0]?.messages as readonly Json[];
    expect(messages.at(-1)).toEqual({ role: 'user', content: 'And now?' });
    expect(messages.length).toBeLessThan(LONG.length / 2);
    expect(messages.length).toBeGreaterThan(6);
    expect(api.notes).toContainEqual(expect.objectContaining({ code: 'history_truncated' }));
  });

  it('[K-06] neither waits for a server that does not say anything, nor asks it twice at a time', async () => {
    const api = await apiOver({ 'GET /v1/models': 'silence' });
    const answers = await Promise.all(
      [1, 2, 3].map(() => api.post({ model: 'm', input: LONG, truncation: 'auto', max_output_tokens: 8000 })),
    );
    const { bodies, asked } = api.server;
    await api.close();
    expect(answers.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expect(bodies.map(({ messages }) => (messages as Json[]).length)).toEqual([41, 41, 41]);
    expect(asked.filter((path) => path === 'GET /v1/models')).toHaveLength(1);
  });

  it('[K-06] asks nothing for a request that no fact changes', async () => {
    const api = await apiOver(VLLM);
    await api.post({ model: 'm', input: 'Hello', max_output_tokens: 100 });
    const { asked } = api.server;
    await api.close();
    expect(asked).toEqual(['POST /v1/chat/completions']);
  });

  it("[K-06] lowers a limit to the model's, and an effort to one that it takes", async () => {
    const models = { m: { maxOutputTokens: 1000, efforts: ['low', 'medium'] }, plain: { efforts: [] } };
    const api = await apiOver(VLLM, { models });
    await api.post({ model: 'm', input: 'Hello', max_output_tokens: 32_000, reasoning: { effort: 'xhigh' } });
    await api.post({ model: 'plain', input: 'Hello', reasoning: { effort: 'high' } });
    const { bodies } = api.server;
    await api.close();
    expect(bodies[0]).toMatchObject({ max_tokens: 1000, reasoning_effort: 'medium' });
    expect(bodies[1]).not.toHaveProperty('reasoning_effort');
    expect(api.notes.filter(({ code }) => code === 'setting_dropped')).toHaveLength(3);
  });

  it('[K-06] compacts below the length that is known, whatever threshold a client has', async () => {
    const api = await apiOver(VLLM);
    await api.get('/v1/models');
    const management = [{ type: 'compaction', compact_threshold: 100_000 }];
    const answer = await api.post({ model: 'm', input: LONG.slice(-21), context_management: management });
    await api.close();
    // The cast: a response has items.
    expect((answer.output as Json[]).map(({ type }) => type)).toContain('compaction');
  });

  it.each([
    ['responsesUpstream', responsesUpstream, '/responses', 'max_output_tokens'],
    ['anthropicUpstream', anthropicUpstream, '/messages', 'max_tokens'],
  ] as const)('[K-06] lowers a limit over %s, too', async (_, upstreamOver, path, field) => {
    const sent: Json[] = [];
    const { url, close } = await listening(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      if (request.url?.endsWith(path)) sent.push(JSON.parse(Buffer.concat(chunks).toString()));
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"No."}}');
    });
    const upstream = upstreamOver({ baseURL: `${url}/v1`, models: { '*': { maxOutputTokens: 1000 } } });
    const api = await listening(express().use('/v1', responsesRouter({ upstream })));
    const body = JSON.stringify({ model: 'm', input: 'Hello', max_output_tokens: 32_000 });
    const headers = { 'content-type': 'application/json' };
    await fetch(`${api.url}/v1/responses`, { method: 'POST', headers, body });
    await api.close();
    await upstream.close?.();
    await close();
    expect(sent).toEqual([expect.objectContaining({ [field]: 1000 })]);
  });

  it('[K-06] has no note for what Codex tells its own service', async () => {
    const api = await apiOver(VLLM);
    await api.post({ model: 'm', input: 'Hello', client_metadata: { 'x-codex-installation-id': 'a' } });
    await api.close();
    expect(api.notes).toEqual([]);
  });
});

it.each([
  [{ m: { contextLength: 0 } }],
  [{ m: { context: 1000 } }],
  [{ m: { efforts: 'low' } }],
  [{ m: null }],
  [['m']],
])('[K-06] refuses the models %j', (models) => {
  const create = () => chatCompletionsUpstream({ baseURL: 'http://localhost/v1', models: models as never });
  expect(create).toThrow(/models must be an object of facts/);
});
