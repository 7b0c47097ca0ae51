/** The server of the SDK for one session, or for one request of the newer era: it lists the tools and runs them. */
import type { CallToolResult, InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server';
import { guardedCalls } from '../../engine/guarding/guarded-calls.ts';
import { collectGuards } from '../../engine/guarding/request/guards-of.ts';
import { toolRunner } from '../../engine/tools/tool-runner.ts';
import { findWorkspaces } from '../../engine/tools/workspace.ts';
import type { Reports } from '../../ports/hooks.ts';
import { ownError } from '../../ports/host/host-error.ts';
import { containerId, randomSeed } from '../../protocol/ids.ts';
import { CODE_INTERPRETER, codeInterpreterCall } from '../../protocol/tool-calls/code-interpreter-call.ts';
import { VERSION } from '../../protocol/version.ts';
import { reportError } from '../endpoint/endpoint.ts';
import { canAsk, QUESTION_MS, readApproval } from './approval.ts';
import type { Exchange } from './exchange.ts';
import { type OfferedTools, offeredTools, toMcpTool } from './offered-tools.ts';
import type { Session } from './sessions.ts';
import type { McpSettings } from './settings.ts';
import { failedResult, toMcpResult } from './tool-content.ts';

/** What the SDK hands through from a request to the handlers. */
export interface Handed {
  readonly exchange: Exchange;
  /** Undefined in the newer era. */
  readonly session: Session | undefined;
}

/** A server that is not connected yet. */
export function toolsServer(settings: McpSettings): Server {
  const { sdk, name, instructions } = settings;
  // The class below McpServer, whose tools are fixed: these depend on the request, and come with JSON Schemas of their own.
  const server = new sdk.Server(
    { name, version: VERSION },
    {
      capabilities: { tools: {} },
      inputRequired: { maxRounds: 1, roundTimeoutMs: QUESTION_MS },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  server.setRequestHandler('tools/list', (_request, context) =>
    answered(context, settings, async ({ exchange }) => {
      const { toolset, approvalRules } = await offeredTools(exchange.request, settings, context.mcpReq.signal);
      // A tool whose call could only fail is not listed.
      const usable = [...toolset].filter(([tool]) => !approvalRules.has(tool) || canAsk(server));
      return { tools: usable.map(([tool, entry]) => toMcpTool(tool, entry)) };
    }),
  );
  server.setRequestHandler('tools/call', ({ params }, context) =>
    answered(context, settings, async (handed) => {
      const offered = await offeredTools(handed.exchange.request, settings, context.mcpReq.signal);
      const entry = offered.toolset.get(params.name);
      if (!entry)
        throw new sdk.ProtocolError(
          sdk.ProtocolErrorCode.InvalidParams,
          `There is no tool '${params.name.slice(0, 64)}'.`,
        );
      const call = { name: params.name, entry, text: JSON.stringify(params.arguments ?? {}) };
      const most = settings.host.limits.argumentBytes;
      if (Buffer.byteLength(call.text) > most) return failedResult(`The arguments have more than ${most} bytes.`);
      if (offered.approvalRules.has(call.name)) {
        if (!canAsk(server)) return failedResult(CANNOT_ASK);
        const approval = readApproval(call, context, handed.exchange, settings);
        if (approval === 'denied') return failedResult('The user did not approve this call, so it was not run.');
        if (approval !== 'approved') return approval;
      }
      return runTool(call, offered, handed, context, settings);
    }),
  );
  return server;
}

const CANNOT_ASK =
  "This tool needs the user's approval, and this client cannot ask for it: it does not support elicitation. The call was not run.";

/** An error is reported as that of any endpoint; the client receives what it may see of it. */
async function answered<Result>(
  { mcpReq, http }: ServerContext,
  { sdk, host }: McpSettings,
  run: (handed: Handed) => Promise<Result>,
): Promise<Result> {
  // The cast: `McpEndpoints` hands it in with every request.
  const handed = http?.authInfo?.extra as unknown as Handed;
  try {
    return await run(handed);
  } catch (error) {
    mcpReq.signal.throwIfAborted();
    if (error instanceof sdk.ProtocolError) throw error;
    const { status, message } = reportError(ownError(error), handed.exchange.request, host);
    const { InvalidParams, InternalError } = sdk.ProtocolErrorCode;
    throw new sdk.ProtocolError(status < 500 ? InvalidParams : InternalError, message);
  }
}

interface NamedCall {
  readonly name: string;
  readonly text: string;
}

/** As a turn runs it: arguments checked, time and output limited, guarded, and reported to the hooks. */
async function runTool(
  { name, text }: NamedCall,
  { toolset }: OfferedTools,
  { exchange: { request }, session }: Handed,
  { mcpReq }: ServerContext,
  { host, store, hostedTools: tools }: McpSettings,
): Promise<CallToolResult | InputRequiredResult> {
  const { signal } = mcpReq;
  const token = mcpReq._meta?.progressToken;
  const guards = collectGuards(request, host);
  let told: Promise<unknown> = Promise.resolve();
  const hooks: Reports = {
    ...host.hooks,
    onToolProgress(info) {
      const { progress, total, message } = info;
      const params = { progressToken: token, progress, total };
      const tell = (shown: string | undefined) =>
        mcpReq.notify({ method: 'notifications/progress', params: { ...params, message: shown } });
      const isGuarded = guards?.guardsTools === true && message !== undefined;
      // A client that has left receives nothing; nor does any what a guard blocks.
      if (token !== undefined && isGuarded)
        told = told.then(() => guards.tool(message, 'tool-result', name).then(tell)).catch(() => {});
      else if (token !== undefined) tell(message).catch(() => {});
      host.hooks.onToolProgress?.(info);
    },
  };
  // The container of the session, whose code an earlier call has run, or a new one.
  const seed = session?.seed ?? randomSeed();
  const conversation = session?.hasContainer
    ? [{ type: codeInterpreterCall.type, container_id: containerId(seed) }]
    : [];
  const { scope } = request;
  const workspaces = await findWorkspaces({ toolset, tools, conversation, seed, scope, hasUploads: false }, store);
  const images = () => [];
  const run = toolRunner({ toolset, workspaces, images, tools }, request, { ...host, hooks }, signal);
  const result = await (guards ? guardedCalls(run, guards, signal) : run)({ name, arguments: text });
  // What comes behind the result is lost.
  await told;
  if (session && toolset.get(name)?.tool.requestedBy === CODE_INTERPRETER) session.hasContainer = true;
  return toMcpResult(result);
}
