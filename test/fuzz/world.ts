/** Everything that is mounted on HTTP, in this process: the routers of every API over every upstream, their middlewares, and a model server that obeys. */
import { createServer } from 'node:http';
import express, { type Express } from 'express';
import { filesRouter, memoryFiles } from '../../src/files.ts';
import { attachResponsesWebSocket } from '../../src/hosts/websocket/index.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  type DialectName,
  functionTools,
  guard,
  loadHistory,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  recordTurn,
  responsesRouter,
  validateMessages,
} from '../../src/index.ts';
import { createInspector } from '../../src/observe/inspector/index.ts';
import { traced } from '../../src/observe/otel/index.ts';
import { tokenBudget } from '../../src/policies/budgets/index.ts';
import { pii } from '../../src/policies/guards/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { remoteMcp } from '../../src/tools/mcp/index.ts';
import { anthropicUpstream } from '../../src/upstreams/anthropic/anthropic-upstream.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { balanced } from '../../src/upstreams/routing/index.ts';
import { databaseFile, sqliteDrivers } from '../stores/sqlite-drivers.ts';
import { listening } from '../support/listening.ts';
import { type Client, clientOf, type Received, type Sent } from './client.ts';
import { type McpServer, startMcpServer } from './mcp-server.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

/** What the targets work with. */
export interface World {
  /** The app's origin. */
  readonly origin: string;
  readonly model: ModelServer;
  readonly mcp: McpServer;
  /** What the handler behind the middlewares writes from now on. */
  behind: HandlerAnswer;
  send(sent: Sent): Promise<Received>;
  /** Ids that exist, by the name that stands for them in an input, such as `{response}`. */
  readonly ids: Readonly<Record<string, string>>;
  /** Connections of the client and of the model server, which a case must not leave behind. */
  sockets(): Promise<number>;
  close(): Promise<void>;
}

/** What a handler writes. */
export interface HandlerAnswer {
  readonly type: string;
  readonly body: Buffer;
}

/** Starts it on free ports. */
export async function startWorld(): Promise<World> {
  const [model, mcp] = [await startModelServer(), await startMcpServer()];
  const upstreams = upstreamsOf(`${model.url}/v1`);
  const { app, closing } = appOver(upstreams, mcp.url, () => world.behind);
  const server = createServer(app);
  server.keepAliveTimeout = 0;
  const socket = attachResponsesWebSocket(server, { ...QUIET, upstream: upstreams.chat });
  const { url: origin, close } = await listening(server);
  const client = clientOf(origin);

  const world: World = {
    behind: { type: 'application/json', body: Buffer.from('{}') },
    origin,
    model,
    mcp,
    send: client.send,
    ids: await idsOf(client),
    sockets: () => new Promise((resolve) => model.server.getConnections((_, count) => resolve(count + client.open))),
    async close() {
      client.close();
      await socket.close();
      await close();
      await Promise.all([model.close(), mcp.close(), ...closing.map((end) => end())]);
      await Promise.all(Object.values(upstreams).map((upstream) => upstream.close?.()));
    },
  };
  return world;
}

/** Failures of model servers are what the cases are about. */
const QUIET = { hooks: { onError: () => {} }, logger: false } as const;

function upstreamsOf(baseURL: string) {
  const options = { baseURL, apiKey: 'upstream-key', retries: 0 };
  return {
    chat: chatCompletionsUpstream(options),
    anthropic: anthropicUpstream(options),
    responses: responsesUpstream(options),
  };
}

function appOver(upstreams: ReturnType<typeof upstreamsOf>, mcpUrl: string, behind: () => HandlerAnswer) {
  const app = express();
  const database = databaseFile();
  const [libsql] = sqliteDrivers;
  if (!libsql?.open) throw new Error('There is no SQLite.');
  const opened = libsql.open(database.file);
  const remote = remoteMcp({
    egress: { allow: [{ cidr: '127.0.0.0/8' }], schemes: ['http'], ports: [Number(new URL(mcpUrl).port)] },
    idleMs: 200,
    connectTimeoutMs: 300,
  });
  const tools = functionTools({ clock: { description: 'Tells the time.', execute: () => 'noon' } });
  const options = { ...QUIET, tools, remoteMcp: remote, limits: { tools: { timeoutMs: 300 } } };
  mount(app, '/v1', { ...options, upstream: upstreams.chat, dialect: dialectOf });
  mount(app, '/anthropic', { ...options, upstream: upstreams.anthropic });
  mount(app, '/responses', { ...options, upstream: upstreams.responses });
  mount(app, '/sqlite', { ...QUIET, upstream: upstreams.chat, store: sqliteStore({ database: opened }) });
  app.use('/v1', filesRouter({ files: memoryFiles(), logger: false, scope: () => 'everyone' }));
  const inspector = createInspector({ maxResponses: 50 });
  const budget = tokenBudget({ limits: { cost: { dollars: 1e6, duration: 60 } }, cost: () => 1 });
  const pooled = balanced([traced({ upstream: upstreams.chat }).upstream]);
  mount(
    app,
    '/inspected',
    inspector.observe({ ...QUIET, upstream: pooled, budget, guards: { input: [pii()], output: [pii()] } }),
  );
  app.use('/inspect', inspector.router);
  mountMiddlewares(app, behind);
  const closeDatabase = () => {
    opened.close();
    database.remove();
  };
  return { app, closing: [() => inspector.close(), () => remote.close(), closeDatabase] };
}

function mount(app: Express, path: string, given: RouterOptions): void {
  const options = { store: memoryStore({ maxResponses: 300 }), ...given };
  app.use(path, responsesRouter(options), messagesRouter(options));
  if (given.upstream?.chat) app.use(path, chatCompletionsRouter(options));
}

/** A request says in a header how its client spells the API. */
function dialectOf(request: { readonly headers: Readonly<Record<string, unknown>> }): DialectName {
  return (request.headers['x-dialect'] ?? 'openai') as DialectName;
}

/** Each middleware alone, and some together, in front of a handler. */
function mountMiddlewares(app: Express, behind: () => HandlerAnswer): void {
  const options = { ...QUIET, store: memoryStore({ maxResponses: 300 }) };
  const budget = tokenBudget({
    limits: { tokens: { points: 1e12, duration: 60 } },
    countTokens: (text) => text.length,
  });
  const guarding = guard({ ...QUIET, guards: { input: [pii({ restore: true })], output: [pii()] } });
  const steps = { guarded: [guarding], budgeted: [budget], validated: [validateMessages(options)] };
  const kept = [loadHistory(options), recordTurn(options)];
  const rows = { ...steps, kept, all: [budget, validateMessages(options), guarding] };
  const handler: express.RequestHandler = (_req, res) => {
    const { type, body } = behind();
    res.writeHead(200, { 'content-type': type }).end(body);
  };
  const isOfJson = (error: unknown) => String((error as { readonly type?: unknown }).type).startsWith('entity.');
  const failing: express.ErrorRequestHandler = (error, _req, res, _next) => {
    if (res.headersSent) return void res.destroy();
    res.status(isOfJson(error) ? 400 : 500).json({ error: { message: String(error?.stack ?? error) } });
  };
  for (const [name, row] of Object.entries(rows)) {
    const each = row as unknown as readonly express.RequestHandler[];
    app.post(`/${name}/*path`, express.json({ limit: '1mb' }), ...each, handler);
  }
  app.use(failing);
}

/** Stores of each kind hold a response, a conversation, events of one in the background, and files. */
async function idsOf(client: Client): Promise<Readonly<Record<string, string>>> {
  const ids: Record<string, string> = {};
  for (const mounted of ['v1', 'sqlite']) {
    const create = async (path: string, body: object) => {
      const { status, text } = await client.send({
        path: `/${mounted}${path}`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (status !== 200) throw new Error(`${path} answers ${status}: ${text}`);
      return JSON.parse(text);
    };
    const items = Array.from({ length: 20 }, (_, index) => ({ role: 'user', content: `Say ${index}.` }));
    const response = await create('/responses', { model: 'm', input: items });
    ids[`${mounted}.response`] = response.id;
    ids[`${mounted}.item`] = response.output[0].id;
    const conversation = await create('/conversations', { items });
    ids[`${mounted}.conversation`] = conversation.id;
    const behind = await create('/responses', { model: 'm', input: 'Hi', background: true });
    ids[`${mounted}.background`] = behind.id;
  }
  return ids;
}
