/** Prepares a Messages request: checks it, resolves its tools, and rewrites it as a request in items. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { approvalRulesOf } from '../../engine/tools/approval-rules.ts';
import { NO_TOOLS, type Toolset } from '../../ports/toolset.ts';
import { speaksMessages, stateOwnerOf } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { bringLimits } from '../endpoint/request-limits.ts';
import { noteOf } from '../endpoint/prepare.ts';
import { openHidden, SEALED } from './hidden-items.ts';
import { type InputContext, inputOf } from './input.ts';
import { itemsSettings } from './request/sampling.ts';
import { checkContent, checkMessages, type MessagesBody } from './request/schema.ts';
import type { MessagesSettings } from './settings.ts';
import { choiceOf, noteUnknownTools, requestedTools } from './tools.ts';
import { onOwnTerms } from './web-terms.ts';

/** A request whose tools are known. */
export interface RequestWithTools {
  readonly body: MessagesBody;
  /** With the server-run tools in its context. */
  readonly request: EndpointRequest;
  /** The tools that the client asks for, as the Responses API has them. */
  readonly tools: readonly JsonObject[];
  readonly toolset: Toolset;
}

/** The first half: enough to decide who answers. Throws `ApiError` for an invalid request. */
export async function withTools(
  given: EndpointRequest,
  settings: MessagesSettings,
  needsMaxTokens = true,
): Promise<RequestWithTools> {
  const { limits } = settings;
  const body = checkMessages(given.body, bringLimits(given, limits), needsMaxTokens);
  // A middleware in front may have added tools to the body.
  const tools = given.context?.tools?.client ?? requestedTools(body, settings.remoteMcp !== undefined);
  const asSent = { api: 'messages', body } as const;
  const asked = { ...given, asSent, body: { model: body.model, input: [], tools } };
  const offered = withoutApprovals(await settings.pipeline.injectTools(asked, settings), settings);
  const request = withToolset(offered, (toolset) => onOwnTerms(toolset, tools));
  return { body, request, tools, toolset: request.context?.tools?.toolset ?? NO_TOOLS };
}

function withToolset(request: EndpointRequest, change: (toolset: Toolset) => Toolset): EndpointRequest {
  const { context } = request;
  if (!context?.tools) return request;
  return { ...request, context: { ...context, tools: { ...context.tools, toolset: change(context.tools.toolset) } } };
}

/** Leaves out the tools that need approval: this API has no way to request it. */
function withoutApprovals(request: EndpointRequest, settings: MessagesSettings): EndpointRequest {
  const { context } = request;
  if (!context?.tools) return request;
  const rules = approvalRulesOf(context.tools.toolset, request, settings.approval);
  if (rules.size === 0) return request;
  const note = noteOf(request, settings);
  for (const name of rules.keys()) note({ code: 'tool_dropped', message: needsApproval(name) });
  return withToolset(request, (toolset) => new Map([...toolset].filter(([name]) => !rules.has(name))));
}

function needsApproval(name: string): string {
  return `The tool '${name}' needs approval, which the Messages API has no words for; the model is not offered it.`;
}

/** The second half: the request in items. Throws `ApiError` for an invalid request, and for a thread. */
export function inItems({ body, request, tools }: RequestWithTools, settings: MessagesSettings): EndpointRequest {
  const { thread } = body;
  if (thread !== undefined && thread !== null)
    throw new ApiError('unsupported_parameter', NO_THREADS, { param: 'thread' });
  checkContent(body);
  const choice = choiceOf(body);
  noteUnknownTools(body, settings.remoteMcp !== undefined, noteOf(request, settings));
  const input = inputOf(body, inputContext(body, request, settings));
  const rewritten = {
    model: body.model,
    instructions: systemText(body),
    input,
    tools,
    ...choice,
    ...itemsSettings(body),
    stream: body.stream === true,
    store: false,
  };
  return { ...request, asSent: { api: 'messages', body }, body: present(rewritten) };
}

const NO_THREADS = 'thread: this server holds no conversations; send all messages with each request';

const FOREIGN =
  'Thoughts with signatures of another server cannot be verified here; the model server receives at most their text.';

function inputContext(body: MessagesBody, request: EndpointRequest, settings: MessagesSettings): InputContext {
  const { stateSealer, upstream } = settings;
  const { scope } = request;
  const owner = stateOwnerOf(upstream, body.model);
  const note = noteOf(request, settings);
  let isNoted = false;
  return {
    openHidden: (data) => openHidden(data, stateSealer, scope),
    sealForeign: (state) =>
      speaksMessages(upstream, body.model) ? stateSealer.seal(state, [scope, owner]) : undefined,
    note,
    noteForeign: () => {
      if (!isNoted) note({ code: 'state_unreadable', message: FOREIGN });
      isNoted = true;
    },
  };
}

function systemText({ system }: MessagesBody): string | undefined {
  if (typeof system === 'string') return system;
  return system?.map(({ text }) => String(text)).join('\n\n');
}

function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

/** How thoughts are shown, if the client says it. */
export function thinkingDisplay({ thinking }: MessagesBody): ModelRequest['thinkingDisplay'] {
  const { display } = isRecord(thinking) ? thinking : {};
  if (!display) return undefined;
  return display === 'summarized' ? display : 'omitted';
}

/**
 * Settings that the Responses API lacks: fewer tokens than it allows, the sequences that end the answer, `top_k`, and
 * how thoughts are shown.
 */
export function withOwnSettings(request: ModelRequest, body: MessagesBody): ModelRequest {
  const { max_tokens: maxOutputTokens, stop_sequences: stop, top_k: topK } = body;
  return {
    ...request,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    // The casts: both have been checked.
    ...(Array.isArray(stop) && stop.length > 0 ? { stopSequences: stop as readonly string[] } : {}),
    ...(typeof topK === 'number' ? { topK } : {}),
    thinkingDisplay: thinkingDisplay(body),
  };
}

/** Whether Anthropic's own server could not read the request as it is: parts of it were made here. */
export function holdsOwnBlocks({ messages }: MessagesBody): boolean {
  return messages.some((message) => {
    const { role, content } = isRecord(message) ? message : {};
    return role === 'assistant' && Array.isArray(content) && content.some(isOwn);
  });
}

function isOwn(block: unknown): boolean {
  const { type, signature, data, id, citations } = isRecord(block) ? block : {};
  if (type === 'thinking') return signature === '' || isSealed(signature);
  if (type === 'redacted_thinking') return isSealed(data);
  if (type === 'text')
    return Array.isArray(citations) && citations.some((each) => isRecord(each) && each.encrypted_index === '');
  return typeof id === 'string' && /^(srvtoolu|mcptoolu)_(ws|mcp|ci)_/.test(id);
}

function isSealed(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith(SEALED);
}
