/** Prepares a Messages request: checks it, resolves its tools, and rewrites it as a request in items. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { readApprovalRules } from '../../engine/tools/approval-rules.ts';
import { NO_TOOLS, type Toolset } from '../../ports/toolset.ts';
import { readStateOwner, speaksMessages, type Upstream } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { noteReporter, type PrepareSettings } from '../endpoint/prepare.ts';
import { requestLimits } from '../endpoint/request-limits.ts';
import { openHidden, SEALED } from './hidden-items.ts';
import { goesBack, type InputContext, messageItems } from './input.ts';
import { permittedUpstream } from './permitted-messages.ts';
import { guardSealed } from './request/guard-sealed.ts';
import { itemsSettings } from './request/sampling.ts';
import { type Block, checkContent, checkMessages, type MessagesBody } from './request/schema.ts';
import { isOwnUse } from './server-calls.ts';
import type { MessagesSettings } from './settings.ts';
import { noteUnknownTools, requestedTools, serverTools, toolChoiceFields } from './tools.ts';
import { onWebTerms } from './web-terms.ts';

/** A request whose tools are known. */
export interface RequestWithTools {
  readonly body: MessagesBody;
  /** With the server-run tools in its context. */
  readonly request: EndpointRequest;
  /** The tools that the client asks for, as the Responses API has them. */
  readonly tools: readonly JsonObject[];
  readonly toolset: Toolset;
  /** Whether a middleware in front has put server-run tools into the body. */
  readonly isRewritten: boolean;
}

/** The first half: enough to decide who answers. Throws `ApiError` for an invalid request. */
export async function prepareMessages(
  request: EndpointRequest,
  settings: MessagesSettings,
  needsMaxTokens = true,
): Promise<RequestWithTools> {
  const { limits, remoteMcp, pipeline } = settings;
  const body = checkMessages(request.body, requestLimits(request, limits), needsMaxTokens);
  const injected = request.context?.tools;
  // A middleware in front has added tools to the body, and left the servers that it names to this router.
  const left = remoteMcp && injected?.leavesServers ? serverTools(body) : [];
  const tools = injected ? [...(injected.client ?? []), ...left] : requestedTools(body, remoteMcp !== undefined);
  const asSent = { api: 'messages', body } as const;
  const known = injected ? { ...request.context, tools: { ...injected, client: tools } } : request.context;
  const itemsRequest = { ...request, context: known, asSent, body: { model: body.model, input: [], tools } };
  const offered = await pipeline.injectTools(itemsRequest, settings);
  // What a middleware has added to the body is no tool of the client, whatever becomes of it here.
  const isRewritten = (injected?.toolset.size ?? 0) > 0;
  const callable = withCallableTools(offered, tools, settings);
  const { toolset = NO_TOOLS } = callable.context?.tools ?? {};
  return { body, request: callable, tools, toolset, isRewritten };
}

/**
 * The request with only those server-run tools in its context that this API can offer: none that needs approval, and those
 * of the web on the client's terms.
 */
export function withCallableTools(
  request: EndpointRequest,
  tools: readonly JsonObject[],
  settings: PrepareSettings,
): EndpointRequest {
  const { context } = request;
  if (!context?.tools) return request;
  // This API has no way to request an approval.
  const rules = readApprovalRules(context.tools.toolset, request, settings.approval);
  const note = noteReporter(request, settings);
  for (const name of rules.keys()) {
    const message = `The tool '${name}' needs approval, which cannot be requested in the Messages API; the model is not offered it.`;
    note({ code: 'tool_dropped', message });
  }
  const callable = new Map([...context.tools.toolset].filter(([name]) => !rules.has(name)));
  const toolset = onWebTerms(callable, tools);
  return { ...request, context: { ...context, tools: { ...context.tools, toolset } } };
}

/** A request as this API has it, its stop sequences guarded, and in items. */
interface RequestInItems {
  readonly body: MessagesBody;
  readonly itemsRequest: EndpointRequest;
}

/** The second half: the request in items. Throws `ApiError` for an invalid request, and for a thread. */
export async function toItemsRequest(
  { body: sent, request: apiRequest, tools, toolset }: RequestWithTools,
  settings: MessagesSettings,
): Promise<RequestInItems> {
  const { thread } = sent;
  if (thread !== undefined && thread !== null)
    throw new ApiError('unsupported_parameter', NO_THREADS, { param: 'thread' });
  checkContent(sent);
  const speaksBlocks = speaksMessages(settings.upstream, sent.model);
  const isSealed = (block: Block) => speaksBlocks && goesBack(block);
  const { body, request, blocks } = await guardSealed(sent, apiRequest, settings, isSealed);
  const { system } = body;
  const choice = toolChoiceFields(body, { tools, toolset });
  noteUnknownTools(body, settings.remoteMcp !== undefined, noteReporter(request, settings));
  const guarded = new Set<unknown>();
  const context = inputContext(body, request, settings);
  const input = messageItems(body, { ...context, guardedBlocks: blocks, guardedItems: guarded });
  const fields = {
    model: body.model,
    instructions: typeof system === 'string' ? system : system?.map(({ text }) => String(text)).join('\n\n'),
    input,
    tools,
    ...choice,
    ...itemsSettings(body),
    stream: body.stream === true,
    store: false,
  };
  const present = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const known = guarded.size > 0 ? { ...request.context, guarded } : request.context;
  const asSent = { api: 'messages', body: sent } as const;
  return { body, itemsRequest: { ...request, context: known, asSent, body: Object.fromEntries(present) } };
}

const NO_THREADS = 'thread: this server holds no conversations; send all messages with each request';

const FOREIGN =
  'Thoughts with signatures of another server cannot be verified here; the model server receives at most their text.';

function inputContext(
  body: MessagesBody,
  request: EndpointRequest,
  settings: MessagesSettings,
): Omit<InputContext, 'guardedBlocks' | 'guardedItems'> {
  const { stateSealer, upstream } = settings;
  const { scope } = request;
  const owner = readStateOwner(upstream, body.model);
  const note = noteReporter(request, settings);
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
export function withMessagesSettings(request: ModelRequest, body: MessagesBody): ModelRequest {
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

/** Anthropic's own server, where it may have the request as it is, and the client its answer; else undefined. */
export function passingUpstream(
  { toolset, body, request, isRewritten }: RequestWithTools,
  { upstream, guards }: MessagesSettings,
): Upstream | undefined {
  if (!speaksMessages(upstream, body.model) || guards || request.context?.guards) return undefined;
  if (toolset.size > 0 || isRewritten) return undefined;
  // That server could not read parts that were made here.
  const holdsLocal = body.messages.some((message) => {
    const { role, content } = isRecord(message) ? message : {};
    return role === 'assistant' && Array.isArray(content) && content.some(isLocalBlock);
  });
  return holdsLocal ? undefined : permittedUpstream(upstream, body);
}

function isLocalBlock(block: unknown): boolean {
  const { type, signature, data, id, citations } = isRecord(block) ? block : {};
  const isSealed = (text: unknown) => typeof text === 'string' && text.startsWith(SEALED);
  if (type === 'thinking') return signature === '' || isSealed(signature);
  if (type === 'redacted_thinking') return isSealed(data);
  if (type === 'text')
    return Array.isArray(citations) && citations.some((each) => isRecord(each) && each.encrypted_index === '');
  return isOwnUse(id);
}
