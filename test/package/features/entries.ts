/** A line or two of each entry that no other file here uses. */
import express from 'express';
import {
  type ApiError,
  chatCompletionsUpstream,
  type DrainableRouter,
  type Hooks,
  heartbeat,
  type Limits,
  responsesRouter,
  type Upstream,
} from 'express-open-responses';
import {
  type CodeRuntime,
  codeInterpreter,
  containerRuntime,
  containers,
  type OutputLimits,
  pyodideRuntime,
} from 'express-open-responses/code-interpreter';
import {
  type Api,
  createChatCompletions,
  createResponses,
  type ModelEvent,
  type Reply,
} from 'express-open-responses/core';
import { EgressError, egressGuard } from 'express-open-responses/egress';
import { type ImageGenerationOptions, imageGeneration } from 'express-open-responses/image-generation';
import { type McpToolsOptions, mcpTools, remoteMcp } from 'express-open-responses/mcp';
import { tracedTools, tracedUpstream } from 'express-open-responses/otel';
import {
  chatChunk,
  startFakeUpstream,
  storeContract,
  textStream,
  upstreamContract,
} from 'express-open-responses/testing';
import { anthropicUpstream, BUDGET_THINKING } from 'express-open-responses/upstreams/anthropic';
import { responsesUpstream } from 'express-open-responses/upstreams/responses';
import { type SearchEngine, searxng, webSearch } from 'express-open-responses/web-search';
import {
  type AttachedWebSocket,
  attachResponsesWebSocket,
  type UpgradeListener,
} from 'express-open-responses/websocket';
import { z } from 'zod';

const hooks: Hooks = {
  onResponse: ({ usage, cost }) => void [usage, cost],
  onError: (error: ApiError) => void error.status,
};
const limits: Partial<Limits> = { bodyBytes: 1024 };
const mcp: McpToolsOptions = { servers: { files: { command: 'npx', args: [] } } };
const images: ImageGenerationOptions = { baseURL: 'http://localhost:8080/v1' };
const runtimes: readonly CodeRuntime[] = [pyodideRuntime(), containerRuntime({ image: 'python:3.13-slim' })];
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
const router: DrainableRouter = responsesRouter({
  upstream: tracedUpstream(own, { provider: 'own' }),
  tools: [
    tracedTools(mcpTools(mcp)),
    webSearch({ engine, pages: false }),
    ...runtimes.map((runtime) => codeInterpreter({ runtime })),
    imageGeneration(images),
  ],
  remoteMcp: remoteMcp({ egress: { allow: [{ host: 'mcp.example.com' }] } }),
  hooks,
  limits,
});
const app = express().use('/v1', heartbeat({ intervalMs: 1000 }), router);
const webSocket: AttachedWebSocket = attachResponsesWebSocket(app.listen(0), { upstream: own });
export const listener: UpgradeListener = () => {};
export const all: readonly Upstream[] = [
  anthropicUpstream({ thinking: BUDGET_THINKING }),
  responsesUpstream({ baseURL: 'http://localhost:8000/v1' }),
  chatCompletionsUpstream(),
];
export const api: Api = createResponses({ upstream: own });
export const answered = (signal: AbortSignal): Promise<Reply> | undefined =>
  createChatCompletions().handle({ method: 'GET', path: '/models', headers: {}, signal });
export const guard = egressGuard({ allow: [{ cidr: '10.0.0.0/8' }] });
export const refused = (error: unknown): string | undefined => (error instanceof EgressError ? error.code : undefined);
export const suites = [containers, chatChunk, startFakeUpstream, storeContract, textStream, upstreamContract, z.object];
export const closed: Promise<void> = webSocket.close();
