/** `GET /openapi.json`: it names each route and no other, is valid, and says what clients may send and receive. */
import { validate } from '@readme/openapi-parser';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import express from 'express';
import { batchesApi, batchesRouter } from '../../src/batches.ts';
import { containersApi, containersRouter } from '../../src/containers.ts';
import { filesApi, filesRouter, memoryFiles } from '../../src/files.ts';
import { openForWeb } from '../../src/hosts/web/open-responses.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  messagesRouter,
  openResponses,
  responsesRouter,
} from '../../src/index.ts';
import { mcpApi, mcpRouter } from '../../src/mcp.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { createSkills, skillsRouter } from '../../src/skills.ts';
import {
  chatCompletion,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { tracesApi, tracesRouter } from '../../src/traces.ts';
import { createVectorStores, memoryVectors, vectorStoresRouter } from '../../src/vector-stores.ts';
import { listening } from '../support/listening.ts';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> };
}

const embeddings = {
  name: 'fake',
  embed: async (texts: readonly string[]) => texts.map(() => new Float32Array([1, 0])),
};
const key = { authorization: 'Bearer key-1', 'content-type': 'application/json' };
const receiver = { receiveTraces: () => {} };
/** Nothing runs here. */
const runtime = { name: 'none', create: () => Promise.reject(new Error('There is none.')), close: async () => {} };
let fake: FakeUpstream;

beforeAll(async () => {
  fake = await startFakeUpstream();
});

afterAll(() => fake.close());

/** All APIs over one set of stores, and their parts. */
function parts() {
  const files = memoryFiles();
  const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings, logger: false });
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key' });
  return { files, vectorStores, options: { upstream, store: memoryStore(), files, logger: false } as const };
}

function openAll(more: JsonObject = {}) {
  const { files, vectorStores, options } = parts();
  const apis = [
    ...[filesApi({ files }), vectorStores.api, batchesApi({ files }), tracesApi({ receivers: [receiver] })],
    ...[containersApi({ runtime, files }), createSkills({ files }).api],
    mcpApi({ tools: functionTools({ time: { description: 'The time.', execute: () => 'noon' } }) }),
  ];
  return openForWeb({ ...options, apis, basePath: '/v1', ...more });
}

async function documentOf(fetch: (request: Request) => Promise<Response>): Promise<Document> {
  const response = await fetch(new Request('http://host/v1/openapi.json'));
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  // The cast: its form is what the other tests check.
  return (await response.json()) as Document;
}

function operationsIn({ paths }: Document): readonly (readonly [name: string, operation: JsonObject])[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, operation] as const,
    ),
  );
}

describe('GET /openapi.json of openResponses', () => {
  it('[E-15] names each route of the table, and no other', async () => {
    const { api, apis } = openAll();
    const document = await documentOf(api.fetch);
    const table = apis.opened.flatMap(({ routes }) => routes).map(({ method, path }) => `${method} ${path}`);
    const routes = new Set(table.filter((route) => route !== 'GET /openapi.json'));
    expect(routes.size).toBeGreaterThan(50);
    expect(
      operationsIn(document)
        .map(([name]) => name)
        .toSorted(),
    ).toEqual([...routes].toSorted());
    await api.close();
  });

  it('[E-15] describes every operation with a name of its own, its answers and the error envelope of its API', async () => {
    const { api } = openAll();
    const operations = operationsIn(await documentOf(api.fetch));
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const bare = operations.filter(([, { tags, summary, responses }]) => !tags || !summary || !responses);
    expect(bare.map(([name]) => name)).toEqual([]);
    const errors = operations.map(([name, { responses }]) => [name, (responses as JsonObject)['4XX']] as const);
    const anthropic = errors.filter(([, error]) => JSON.stringify(error).includes('AnthropicError'));
    expect(anthropic.length).toBeGreaterThan(7);
    expect(anthropic.filter(([name]) => !name.includes(' /messages'))).toEqual([]);
    const rpc = errors.filter(([, error]) => JSON.stringify(error).includes('RpcError'));
    expect(rpc.map(([name]) => name)).toEqual(['DELETE /mcp', 'GET /mcp', 'POST /mcp']);
    await api.close();
  });

  it('[E-15] shows the event streams of what can be streamed', async () => {
    const { api } = openAll();
    const streamed = operationsIn(await documentOf(api.fetch)).filter(([, operation]) =>
      JSON.stringify(operation).includes('text/event-stream'),
    );
    expect(streamed.map(([name]) => name)).toEqual([
      'POST /responses',
      'GET /responses/:id',
      'POST /responses/:id/submit_tool_outputs',
      'POST /chat/completions',
      'POST /messages',
      'POST /mcp',
    ]);
    await api.close();
  });

  it('[E-15] is valid OpenAPI 3.1, and each of its schemas is valid JSON Schema', async () => {
    const { api } = openAll();
    const document = await documentOf(api.fetch);
    const result = await validate(structuredClone(document) as never);
    expect(result).toMatchObject({ valid: true, warnings: [] });
    expect(Object.keys(document.components.schemas).map((name) => typeof schemaIn(document, ref(name)))).not.toContain(
      'undefined',
    );
    await api.close();
  });

  it('[E-15] makes nothing before it is asked for, and makes it once', async () => {
    let made = 0;
    const routes = [
      { method: 'POST', path: '/things/:id/parts_of', endpoint: async () => ({ status: 200, headers: {}, body: '' }) },
    ] as const;
    const own = {
      name: 'own',
      open: () => ({
        routes,
        async describe() {
          made += 1;
          return [{ tag: 'Own', summary: 'Own.', operations: {}, schemas: {} }];
        },
      }),
    };
    const { api } = openForWeb({ ...parts().options, apis: [own], basePath: '/v1' });
    expect(made).toBe(0);
    const [first, second] = await Promise.all([documentOf(api.fetch), documentOf(api.fetch)]);
    expect([made, second]).toEqual([1, first]);
    const told = first.paths['/things/{id}/parts_of']?.post;
    expect(told).toMatchObject({ operationId: 'postThingsIdPartsOf', parameters: [{ name: 'id', in: 'path' }] });
    await api.close();
  });

  it('[E-15] is not there with `openapi: false`', async () => {
    const { api } = openAll({ openapi: false });
    const response = await api.fetch(new Request('http://host/v1/openapi.json'));
    expect(response.status).toBe(404);
    await api.close();
  });

  it('[E-15] stands behind what the host puts in front of it, and leaves other paths to what stands behind it', async () => {
    const api = openResponses(parts().options);
    const app = express();
    app.use('/v1', (req, res, next) => (req.get('x-user') ? next() : res.sendStatus(401)), api.router);
    app.get('/v1/openapi.yaml', (_, res) => void res.send('of the host'));
    const { url, close } = await listening(app);
    const get = async (path: string, headers = {}) => fetch(`${url}${path}`, { headers });
    const open = await get('/v1/openapi.json');
    const admitted = await get('/v1/openapi.json', { 'x-user': 'ada' });
    const other = await get('/v1/openapi.yaml', { 'x-user': 'ada' });
    expect([open.status, admitted.status, await other.text()]).toEqual([401, 200, 'of the host']);
    await Promise.all([close(), api.close()]);
  });

  it('[E-15] is the same for every tenant', async () => {
    const { api } = openAll();
    const read = async (headers: Record<string, string>) =>
      (await api.fetch(new Request('http://host/v1/openapi.json', { headers }))).text();
    await api.fetch(
      new Request('http://host/v1/conversations', {
        method: 'POST',
        headers: key,
        body: '{"metadata":{"secret":"s3cret"}}',
      }),
    );
    const [one, two] = [await read(key), await read({ authorization: 'Bearer key-2' })];
    expect([one === two, one.includes('s3cret')]).toEqual([true, false]);
    await api.close();
  });
});

describe('GET /openapi.json of a router', () => {
  const { files, vectorStores, options } = idleParts();
  const responses = responsesRouter(options);
  const routers = {
    responsesRouter: [responses, '/responses'],
    chatCompletionsRouter: [chatCompletionsRouter(options), '/chat/completions'],
    messagesRouter: [messagesRouter(options), '/messages'],
    filesRouter: [filesRouter({ files }), '/files'],
    vectorStoresRouter: [vectorStoresRouter({ vectorStores }), '/vector_stores'],
    batchesRouter: [batchesRouter({ files, apis: [responses] }), '/batches'],
    tracesRouter: [tracesRouter({ receivers: [receiver] }), '/traces/ingest'],
    containersRouter: [containersRouter({ runtime }), '/containers'],
    skillsRouter: [skillsRouter({ skills: createSkills({ files }) }), '/skills'],
    mcpRouter: [mcpRouter({ tools: [] }), '/mcp'],
  } as const;

  it.each(Object.entries(routers))('[E-15] has the paths of %s alone', async (_, [router, path]) => {
    const { url, close } = await listening(express().use('/v1', router));
    const document = (await (await fetch(`${url}/v1/openapi.json`)).json()) as Document;
    expect(await validate(structuredClone(document) as never)).toMatchObject({ valid: true, warnings: [] });
    const firsts = Object.values(routers).map(([, each]) => each);
    expect(firsts.filter((each) => each in document.paths)).toEqual([path]);
    await close();
  });

  it('[E-15] is left out by `openapi: false` of each', async () => {
    const off = { openapi: false } as const;
    const all = [
      responsesRouter({ ...options, ...off }),
      filesRouter({ files, ...off }),
      vectorStoresRouter({ vectorStores, ...off }),
      batchesRouter({ files, apis: [responses], ...off }),
      tracesRouter({ receivers: [receiver], ...off }),
      containersRouter({ runtime, ...off }),
      skillsRouter({ skills: createSkills({ files }), ...off }),
      mcpRouter({ tools: [], ...off }),
    ];
    const { url, close } = await listening(express().use('/v1', ...all));
    expect((await fetch(`${url}/v1/openapi.json`)).status).toBe(404);
    await close();
  });

  afterAll(() => Promise.all([vectorStores.close(), routers.batchesRouter[0].drain()]));
});

/** The same parts for routers that nobody asks a model. */
function idleParts() {
  const files = memoryFiles();
  const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings, logger: false });
  const upstream = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'none' });
  return { files, vectorStores, options: { upstream, store: memoryStore(), logger: false } as const };
}

function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** A validator of the schema within the document. */
const DOCUMENT_URL = 'http://host/openapi.json';
/** What each document's schemas have been compiled to: all of them refer to each other. */
const compilers = new WeakMap<Document, Ajv2020>();

function schemaIn(document: Document, schema: JsonObject): ValidateFunction {
  let ajv = compilers.get(document);
  if (!ajv) {
    ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false, code: { optimize: false } });
    ajv.addSchema({ $id: DOCUMENT_URL, components: document.components });
    compilers.set(document, ajv);
  }
  return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', `"${DOCUMENT_URL}#/`)));
}

describe('the schemas of requests', () => {
  const bodies = [
    ['CreateResponse', { model: 'm', input: 'Hi' }, true],
    ['CreateResponse', { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }] }, true],
    [
      'CreateResponse',
      {
        model: 'm',
        input: [
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: 'x' },
        ],
        tools: [{ type: 'function', name: 'f', parameters: null }],
      },
      true,
    ],
    [
      'CreateResponse',
      {
        model: 'm',
        input: 'Hi',
        text: { format: { type: 'json_schema', name: 'a', schema: {} } },
        metadata: { a: 'b' },
        temperature: null,
      },
      true,
    ],
    ['CreateResponse', { input: 'Hi' }, false],
    ['CreateResponse', { model: 'm', input: 'Hi', temperature: 3 }, false],
    ['CreateResponse', { model: 'm', input: 'Hi', metadata: { a: 1 } }, false],
    ['CreateResponse', { model: 'm', input: 'Hi', include: 'all' }, false],
    ['CreateResponse', { model: 'm', input: [3] }, false],
    ['CreateChatCompletion', { model: 'm', messages: [{ role: 'user', content: 'Hi' }], other: 1 }, true],
    ['CreateChatCompletion', { model: 'm', messages: 'Hi' }, false],
    ['CreateChatCompletion', { model: 'm', messages: [{}] }, false],
    [
      'CreateMessage',
      { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], system: [{ type: 'text', text: 'S' }] },
      true,
    ],
    ['CreateMessage', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }, false],
    [
      'CreateMessage',
      { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'nothing' }] }] },
      false,
    ],
    [
      'CreateMessage',
      {
        model: 'm',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'Hi' }],
        thinking: { type: 'enabled', budget_tokens: 3 },
      },
      false,
    ],
  ] as const;
  const PATHS: Readonly<Record<string, string>> = {
    CreateResponse: '/responses',
    CreateChatCompletion: '/chat/completions',
    CreateMessage: '/messages',
  };

  it.each(bodies)('[E-15] accept what the server does: %s %j %s', async (name, body, isAccepted) => {
    const { api } = openAll();
    const isValid = schemaIn(await documentOf(api.fetch), ref(name));
    const response = await api.fetch(
      new Request(`http://host/v1${PATHS[name]}`, { method: 'POST', headers: key, body: JSON.stringify(body) }),
    );
    await response.text();
    expect([isValid(body), response.status === 200]).toEqual([isAccepted, isAccepted]);
    await api.close();
  });
});

describe('the schemas of answers', () => {
  it('[E-15] describe what clients receive, of every API', async () => {
    const { api } = openAll();
    const document = await documentOf(api.fetch);
    const operations = new Map(operationsIn(document));
    const wrong: string[] = [];
    const covered = new Set<string>();

    async function call(
      name: string,
      params: readonly string[],
      { body, query = '', headers = {} }: { body?: unknown; query?: string; headers?: Record<string, string> } = {},
    ) {
      const [method = '', path = ''] = name.split(' ');
      let at = 0;
      const url = `http://host/v1${path.replaceAll(/:\w+/g, () => params[at++] ?? '')}${query}`;
      const isForm = body instanceof FormData;
      const init = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) };
      const { 'content-type': _, ...form } = key;
      const response = await api.fetch(
        new Request(url, { method, headers: { ...(isForm ? form : key), ...headers }, ...init }),
      );
      const text = await response.text();
      covered.add(name);
      const { responses } = operations.get(name) as { responses: Record<string, JsonObject> };
      const shown = (responses[response.status === 200 ? '200' : '4XX'] ?? {}) as JsonObject;
      const answer = (
        shown.$ref
          ? (document.components as unknown as { responses: Record<string, JsonObject> }).responses[
              String(shown.$ref).split('/').at(-1) ?? ''
            ]
          : shown
      ) as { content: Record<string, { schema: JsonObject }> };
      const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
      const schema = answer.content[type]?.schema;
      if (!schema) {
        if (!answer.content['*/*']) wrong.push(`${name}: ${type} is not described`);
        return {} as JsonObject;
      }
      const isValid = schemaIn(document, schema);
      const values =
        type === 'text/event-stream'
          ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
          : type === 'application/json'
            ? [JSON.parse(text)]
            : [text];
      expect([name, values.length > 0]).toEqual([name, true]);
      for (const value of values)
        if (!isValid(value))
          wrong.push(
            `${name} ${response.status}: ${JSON.stringify(isValid.errors?.slice(0, 2))} ${JSON.stringify(value).slice(0, 400)}`,
          );
      return values.at(-1) as JsonObject;
    }
    const id = (value: JsonObject) => String(value.id);

    const response = await call('POST /responses', [], { body: { model: 'fake-model', input: 'Hi' } });
    await call('POST /responses', [], { body: { model: 'fake-model', input: 'Hi', stream: true } });
    fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'f', arguments: '{}' }]) });
    await call('POST /responses', [], {
      body: { model: 'fake-model', input: 'Hi', stream: true, tools: [{ type: 'function', name: 'f' }] },
    });
    fake.reply(({ body }) => ({ body: Object(body).stream ? textStream('Hello!') : chatCompletion('Hello!') }));
    await call('GET /responses/:id', [id(response)]);
    await call('GET /responses/:id/input_items', [id(response)]);
    await call('POST /responses/compact', [], { body: { model: 'fake-model', input: 'Hi' } });
    await call('POST /responses/input_tokens', [], { body: { model: 'fake-model', input: 'Hi' } });
    await call('POST /responses/:id/cancel', [id(response)]);
    await call('POST /responses/:id/submit_tool_outputs', [id(response)], { body: {} });
    await call('DELETE /responses/:id', [id(response)]);
    const conversation = id(await call('POST /conversations', [], { body: { metadata: { a: 'b' } } }));
    await call('GET /conversations/:id', [conversation]);
    await call('POST /conversations/:id', [conversation], { body: { metadata: {} } });
    const items = await call('POST /conversations/:id/items', [conversation], {
      body: { items: [{ role: 'user', content: 'Hi' }] },
    });
    await call('GET /conversations/:id/items', [conversation]);
    await call('GET /conversations/:id/items/:item', [conversation, String(items.first_id)]);
    await call('DELETE /conversations/:id/items/:item', [conversation, String(items.first_id)]);
    await call('DELETE /conversations/:id', [conversation]);
    await call('GET /models', []);
    await call('GET /models', [], { headers: { 'anthropic-version': '2023-06-01' } });
    await call('GET /models', [], { query: '?client_version=1', headers: { originator: 'codex_cli_rs' } });
    await call('GET /models/:id', ['fake-model']);
    await call('GET /models/:owner/:id', ['org', 'none']);
    await call('GET /models/:account/:owner/:id', ['a', 'org', 'none']);
    await call('GET /models/:accounts/:account/:owner/:id', ['all', 'a', 'org', 'none']);
    const chat = { model: 'fake-model', messages: [{ role: 'user', content: 'Hi' }] };
    const stored = id(await call('POST /chat/completions', [], { body: { ...chat, store: true } }));
    await call('POST /chat/completions', [], { body: { ...chat, stream: true } });
    await call('GET /chat/completions', []);
    await call('GET /chat/completions/:id', [stored]);
    await call('POST /chat/completions/:id', [stored], { body: { metadata: { a: 'b' } } });
    await call('GET /chat/completions/:id/messages', [stored]);
    await call('DELETE /chat/completions/:id', [stored]);
    await call('POST /messages', [], { body: { ...chat, max_tokens: 9 } });
    await call('POST /messages', [], { body: { ...chat, max_tokens: 9, stream: true } });
    await call('POST /messages', [], { body: chat });
    await call('POST /messages/count_tokens', [], { body: chat });
    const form = (name: string, text: string, fields: Record<string, string>) => {
      const made = new FormData();
      for (const [field, value] of Object.entries(fields)) made.append(field, value);
      made.append(name, new Blob([text], { type: 'text/plain' }), 'a.txt');
      return made;
    };
    const file = id(await call('POST /files', [], { body: form('file', 'A text.', { purpose: 'user_data' }) }));
    await call('GET /files', []);
    await call('GET /files/:id', [file]);
    await call('GET /files/:id/content', [file]);
    const begin = { bytes: 1, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' };
    const upload = id(await call('POST /uploads', [], { body: begin }));
    const part = id(await call('POST /uploads/:id/parts', [upload], { body: form('data', 'a', {}) }));
    await call('POST /uploads/:id/complete', [upload], { body: { part_ids: [part] } });
    await call('POST /uploads/:id/cancel', [id(await call('POST /uploads', [], { body: begin }))]);
    const store = id(await call('POST /vector_stores', [], { body: { name: 'a' } }));
    await call('GET /vector_stores', []);
    await call('GET /vector_stores/:id', [store]);
    await call('POST /vector_stores/:id', [store], { body: { expires_after: { anchor: 'last_active_at', days: 1 } } });
    await call('POST /vector_stores/:id/files', [store], { body: { file_id: file } });
    await call('GET /vector_stores/:id/files', [store]);
    await call('GET /vector_stores/:id/files/:file', [store, file]);
    await call('POST /vector_stores/:id/files/:file', [store, file], { body: { attributes: { a: 1 } } });
    await call('GET /vector_stores/:id/files/:file/content', [store, file]);
    await call('POST /vector_stores/:id/search', [store], { body: { query: 'text' } });
    const batch = id(await call('POST /vector_stores/:id/file_batches', [store], { body: { file_ids: [file] } }));
    await call('GET /vector_stores/:id/file_batches/:batch', [store, batch]);
    await call('GET /vector_stores/:id/file_batches/:batch/files', [store, batch]);
    await call('POST /vector_stores/:id/file_batches/:batch/cancel', [store, batch]);
    await call('DELETE /vector_stores/:id/files/:file', [store, file]);
    await call('DELETE /vector_stores/:id', [store]);
    const line = { custom_id: 'a', method: 'POST', url: '/v1/responses', body: { model: 'fake-model', input: 'Hi' } };
    const input = id(await call('POST /files', [], { body: form('file', JSON.stringify(line), { purpose: 'batch' }) }));
    const jobs = id(
      await call('POST /batches', [], {
        body: { input_file_id: input, endpoint: '/v1/responses', completion_window: '24h' },
      }),
    );
    await call('GET /batches', []);
    await call('GET /batches/:id', [jobs]);
    await call('POST /batches/:id/cancel', [jobs]);
    const orders = id(
      await call('POST /messages/batches', [], {
        body: { requests: [{ custom_id: 'a', params: { ...chat, max_tokens: 9 } }] },
      }),
    );
    await call('GET /messages/batches', []);
    await call('GET /messages/batches/:id', [orders]);
    await call('POST /messages/batches/:id/cancel', [orders]);
    await call('GET /messages/batches/:id/results', [orders]);
    await call('DELETE /messages/batches/:id', [orders]);
    await call('POST /traces/ingest', [], { body: { data: [{ object: 'trace', id: 'trace_1' }] } });
    const container = id(
      await call('POST /containers', [], {
        body: { name: 'a', memory_limit: '1g', network_policy: { type: 'disabled' } },
      }),
    );
    await call('POST /containers', [], { body: {} });
    await call('GET /containers', [], { query: '?name=a' });
    await call('GET /containers/:id', [container]);
    const put = id(await call('POST /containers/:id/files', [container], { body: form('file', 'A text.', {}) }));
    await call('POST /containers/:id/files', [container], { body: { file_id: file } });
    await call('GET /containers/:id/files', [container]);
    await call('GET /containers/:id/files/:file', [container, put]);
    await call('GET /containers/:id/files/:file/content', [container, put]);
    await call('DELETE /containers/:id/files/:file', [container, put]);
    await call('DELETE /containers/:id', [container]);
    const skillForm = (fields: Record<string, string> = {}) => {
      const made = new FormData();
      for (const [field, value] of Object.entries(fields)) made.append(field, value);
      made.append('files', new Blob(['---\nname: owls\ndescription: Owls.\n---\nOwls fly.']), 'owls/SKILL.md');
      return made;
    };
    const skill = id(await call('POST /skills', [], { body: skillForm() }));
    await call('GET /skills', []);
    await call('GET /skills/:id', [skill]);
    await call('POST /skills/:id/versions', [skill], { body: skillForm({ default: 'false' }) });
    await call('GET /skills/:id/versions', [skill]);
    await call('POST /skills/:id', [skill], { body: { default_version: '2' } });
    await call('POST /skills/:id', [skill], { body: { default_version: 2 } });
    await call('GET /skills/:id/content', [skill]);
    await call('GET /skills/:id/versions/:version', [skill, 'latest']);
    await call('GET /skills/:id/versions/:version/content', [skill, '1']);
    await call('DELETE /skills/:id/versions/:version', [skill, '1']);
    await call('DELETE /skills/:id', [skill]);
    const accept = { accept: 'application/json, text/event-stream' };
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
    const begun = await api.fetch(
      new Request('http://host/v1/mcp', {
        method: 'POST',
        headers: { ...key, ...accept },
        body: JSON.stringify(initialize),
      }),
    );
    await begun.text();
    const session = { ...accept, 'mcp-session-id': String(begun.headers.get('mcp-session-id')) };
    await call('POST /mcp', [], { body: initialize, headers: accept });
    await call('POST /mcp', [], { body: { jsonrpc: '2.0', id: 2, method: 'tools/list' }, headers: session });
    await call('POST /mcp', [], { body: { jsonrpc: '2.0', id: 3, method: 'nothing' }, headers: session });
    await call('POST /mcp', [], { body: [] });
    await call('GET /mcp', []);
    await call('DELETE /mcp', [], { headers: session });
    await call('DELETE /mcp', [], { headers: session });
    await call('DELETE /files/:id', [file]);
    expect(wrong).toEqual([]);
    expect([...operations.keys()].filter((name) => !covered.has(name))).toEqual([]);
    await api.close();
  });
});
