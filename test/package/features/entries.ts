/** A line or two of each entry that no other file here uses. */
import express from 'express';
import {
  type ApiError,
  chatCompletionsUpstream,
  type DrainableRouter,
  type Hooks,
  heartbeat,
  type LimitOptions,
  responsesRouter,
  type Upstream,
} from 'express-open-responses';
import { type BatchesOptions, batchesApi, batchesRouter } from 'express-open-responses/batches';
import { memoryLedger, type TokenBudget, tokenBudget, type UsageLedger } from 'express-open-responses/budgets';
import {
  type CodeRuntime,
  codeInterpreter,
  containerRuntime,
  containers,
  type OutputLimits,
  pyodideRuntime,
} from 'express-open-responses/code-interpreter';
import { type Api, type ModelEvent, type OpenResponses, openResponses, type Reply } from 'express-open-responses/core';
import { type DocumentTextOptions, documentText, type TextReader } from 'express-open-responses/documents';
import { EgressError, egressGuard } from 'express-open-responses/egress';
import { diskFiles, type FileStore, filesRouter } from 'express-open-responses/files';
import { allowUrls, type Guard, moderation, type PiiKind, pii, presidio } from 'express-open-responses/guards';
import { type ImageGenerationOptions, imageGeneration } from 'express-open-responses/image-generation';
import { createInspector, type Inspector, type InspectorOptions } from 'express-open-responses/inspector';
import {
  type McpOptions,
  type McpToolsOptions,
  mcpApi,
  mcpRouter,
  mcpTools,
  remoteMcp,
} from 'express-open-responses/mcp';
import { traced } from 'express-open-responses/otel';
import { balanced, routedUpstream, type Target, withFailover, withKeys } from 'express-open-responses/routing';
import { bubblewrapRuntime, type ShellOptions, shell } from 'express-open-responses/shell';
import { createSkills, type Skills, skills, skillsRouter } from 'express-open-responses/skills';
import {
  chatChunk,
  startFakeUpstream,
  storeContract,
  textStream,
  upstreamContract,
} from 'express-open-responses/testing';
import { type TraceReceiver, tracesApi, tracesRouter } from 'express-open-responses/traces';
import { anthropicUpstream, BUDGET_THINKING } from 'express-open-responses/upstreams/anthropic';
import { responsesUpstream } from 'express-open-responses/upstreams/responses';
import {
  createVectorStores,
  fileSearch,
  memoryVectors,
  type VectorStores,
  vectorStoresRouter,
} from 'express-open-responses/vector-stores';
import { type SearchEngine, searxng, webSearch } from 'express-open-responses/web-search';
import { createWebhooks, type Webhooks } from 'express-open-responses/webhooks';
import {
  type AttachedWebSocket,
  attachResponsesWebSocket,
  type UpgradeListener,
} from 'express-open-responses/websocket';
import { z } from 'zod';

/** Commands in containers, and the skills of clients there. */
export function withShell(files: FileStore, more: ShellOptions) {
  const uploaded: Skills = createSkills({ files });
  const tools = shell({ ...more, runtime: bubblewrapRuntime(), skills: uploaded });
  return [skillsRouter({ skills: uploaded }), responsesRouter({ tools })];
}

const hooks: Hooks = {
  onResponse: ({ usage, cost }) => void [usage, cost],
  onError: (error: ApiError) => void error.status,
};
const limits: LimitOptions = { request: { bodyBytes: 1024 } };
const mcp: McpToolsOptions = { servers: { files: { command: 'npx', args: [] } } };
const images: ImageGenerationOptions = { baseURL: 'http://localhost:8080/v1' };
const runtimes: readonly CodeRuntime[] = [pyodideRuntime(), containerRuntime({ image: 'python:3.13-slim' })];
const ledger: UsageLedger = memoryLedger();
const budget: TokenBudget = tokenBudget({ limits: { tokens: { points: 1000, duration: 60 } }, ledger });
const engine: SearchEngine = searxng({ baseURL: 'http://localhost:8080' });
export const shown: OutputLimits | undefined = undefined;

const own: Upstream = {
  name: 'own',
  async *stream({ model }) {
    const events: readonly ModelEvent[] = [
      { type: 'text-delta', text: model },
      { type: 'finish', reason: 'stop' },
    ];
    yield events;
  },
};
const kinds: readonly PiiKind[] = ['email'];
const urls: Guard = allowUrls({ allow: [{ suffix: '.example.com' }] });
const files: FileStore = diskFiles({ folder: 'files' });
const vectorStores: VectorStores = createVectorStores({
  files,
  index: memoryVectors(),
  embeddings: { baseURL: 'http://localhost:8080/v1', model: 'bge-m3' },
});
const router: DrainableRouter = responsesRouter(
  traced(
    {
      guards: {
        input: [pii({ kinds, restore: true }), presidio({ baseURL: 'http://localhost:5002' })],
        output: [moderation({ upstream: own, model: 'guard' }), urls],
        tools: [urls],
      },
      upstream: own,
      tools: [
        mcpTools(mcp),
        webSearch({ engine, pages: false }),
        ...runtimes.map((runtime) => codeInterpreter({ runtime })),
        imageGeneration(images),
        fileSearch({ vectorStores }),
        skills({ folder: '/srv/skills' }),
      ],
      remoteMcp: remoteMcp({ egress: { allow: [{ host: 'mcp.example.com' }] } }),
      hooks,
      limits,
      budget,
    },
    { provider: 'own' },
  ),
);
const watching: InspectorOptions = { maxResponses: 10, redact: ({ type }) => ({ type }) };
const inspector: Inspector = createInspector(watching);
const inspected = responsesRouter(inspector.observe({ upstream: own, tools: mcpTools(mcp) }));
const app = express()
  .use('/v1', filesRouter({ files }), vectorStoresRouter({ vectorStores }))
  .use('/v1', budget, heartbeat({ intervalMs: 1000 }), router, inspected)
  .use('/inspect', inspector.router);
const webSocket: AttachedWebSocket = attachResponsesWebSocket(app.listen(0), { upstream: own });
export const listener: UpgradeListener = () => {};
export const all: readonly Upstream[] = [
  anthropicUpstream({ thinking: BUDGET_THINKING }),
  responsesUpstream({ baseURL: 'http://localhost:8000/v1' }),
  chatCompletionsUpstream(),
];
const targets: readonly Target[] = [own, { upstream: own, weight: 2, model: (name) => name.toLowerCase() }];
export const routed: Upstream = routedUpstream({
  routes: { 'own-*': withFailover(targets, { breaker: false }), '*': balanced(targets, { by: 'sticky' }) },
  aliases: { fast: 'own-small' },
});
export const keyed: Upstream = withKeys((apiKey) => chatCompletionsUpstream({ apiKey }), ['sk-one', 'sk-two']);
export const api: OpenResponses<Request> = openResponses({ upstream: own, apis: [vectorStores.api] });
export const apis: readonly Api[] = [vectorStores.api];
export const answered = (signal: AbortSignal): Promise<Reply> | undefined =>
  openResponses().handle({ method: 'GET', path: '/models', headers: {}, signal });
export const guard = egressGuard({ allow: [{ cidr: '10.0.0.0/8' }] });
export const refused = (error: unknown): string | undefined => (error instanceof EgressError ? error.code : undefined);
export const suites = [containers, chatChunk, startFakeUpstream, storeContract, textStream, upstreamContract, z.object];
export const closed: Promise<void> = webSocket.close();

const batchOptions: BatchesOptions = { files, quota: { lines: 1000 } };
export const webhooks: Webhooks = createWebhooks({ endpoints: () => [] });
export const batches = [
  batchesRouter({ ...batchOptions, apis: [router], scope: () => 'one' }),
  batchesApi({ ...batchOptions, webhooks }),
];

const documentOptions: DocumentTextOptions = { maxPages: 100 };
export const documents: TextReader = documentText(documentOptions);
export const withDocuments = responsesRouter({ documents });

const mcpOptions: McpOptions = { tools: mcpTools(), hostedTools: [{ type: 'web_search' }] };
export const toolServers = () => [mcpApi(mcpOptions), mcpRouter({ ...mcpOptions, scope: () => 'one' })];
const receiver: TraceReceiver = { receiveTraces: ({ spans }) => void spans.length };
export const traces = [tracesApi({ receivers: [receiver] }), tracesRouter({ receivers: [receiver] })];
