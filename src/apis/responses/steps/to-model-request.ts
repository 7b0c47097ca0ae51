/** The last step: the conversation, the tools and the settings as a request to a model. */
import type { Answers } from '../../../engine/approvals/read-answers.ts';
import { withNamedFiles } from '../../../engine/tools/code-files.ts';
import { containerPlace, conversationForModel } from '../../../engine/tools/toolset.ts';
import { OFFERS_ALLOWED_ONLY, toolsAfterRefusals } from '../../../engine/turn/machine/call-permission.ts';
import type { Sealer } from '../../../ports/sealer.ts';
import type { Upstream } from '../../../ports/upstream.ts';
import { SILENT_TYPES } from '../../../protocol/chat-completions/messages.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { Item } from '../../../protocol/items.ts';
import type { ModelRequest, NativeRequest, TextFormat, ToolDefinition } from '../../../protocol/model-request.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import type { CreateBody } from '../../../protocol/responses/schema.ts';
import { isNativeItem } from '../../../protocol/tool-calls/conversation/native-items.ts';
import { isClientAnsweredCall, isComputer } from '../../../protocol/tool-calls/kinds.ts';
import type { EndpointSettings } from '../../endpoint/endpoint.ts';
import { nativeTypeTest, noteReporter, type PrepareSettings } from '../../endpoint/prepare.ts';
import { providerStates } from '../../endpoint/provider-state.ts';
import type { PreparedRequest, RequestWithPrograms } from './request.ts';
import type { ToolPlan } from './tools/plan-tools.ts';

/** The sealer of opaque provider state, and the dialect of the client. */
export interface ModelRequestSettings extends Pick<EndpointSettings, 'dialectOf'> {
  readonly upstream: Upstream;
  readonly stateSealer: Sealer;
}

/** The request as the model receives it. Throws `ApiError` for a tool that this model server cannot have. */
export function toModelRequest(
  request: RequestWithPrograms,
  settings: ModelRequestSettings & Pick<PrepareSettings, 'hooks' | 'offeredTools' | 'remoteMcp'>,
): PreparedRequest {
  const { apiRequest, body, conversation, window, toolset, tools, answers, brought, programs } = request;
  const { upstream, stateSealer, remoteMcp } = settings;
  const takes = nativeTypeTest(apiRequest, settings, body.model);
  // A model that was not trained for it cannot use a computer by a function: without the tool it would only pretend to.
  const computer = brought.find(({ type }) => isComputer(type) && !takes?.(String(type)));
  if (computer) {
    const message = `Tools of type '${computer.type}' are not supported by the model server '${upstream.name}'.`;
    throw new ApiError('invalid_value', message, { param: 'tools' });
  }
  const owner = { scope: apiRequest.scope, upstream, model: body.model };
  const states = providerStates(stateSealer, owner, noteReporter(apiRequest, settings));
  const place = containerPlace(toolset);
  const withFiles = place === undefined ? window.items : withNamedFiles(window.items, conversation, place);
  const { completesOrphans } = settings.dialectOf(apiRequest.request);
  const items = completesOrphans ? withNamedOrphans(withFiles) : withFiles;

  let native: NativeRequest | undefined;
  if (tools.native && takes) {
    const { tools: sent, found, choice } = tools.native;
    const include = (body.include ?? []).filter((field) => typeof field === 'string');
    // What is served here: the types of tools that the host has, and the MCP servers, all of them where it opens any.
    const types = new Set([...(apiRequest.context?.tools?.served ?? []), ...(remoteMcp ? ['mcp_call'] : [])]);
    const labels = new Set([...toolset.values()].map(({ tool }) => tool.server));
    native = { tools: sent, found, choice, include, served: { types, labels } };
  }
  const isElsewhere = upstream.nativeTypes?.(body.model) !== undefined;
  const isNative = (item: Item) => isElsewhere && isNativeItem(item, native?.served);
  const resumed = programs?.length ? new Set(programs.map(({ callId }) => callId)) : undefined;
  const denied = withDeniedCalls(items, answers);
  const opened = states.opened(conversationForModel(denied, toolset, tools.forms, isNative, resumed));
  const offered = settings.offeredTools === 'allowed' ? { ...tools, modelTools: allowedModelTools(tools) } : tools;
  const isOffline = brought.some(({ external_web_access: access }) => access === false);
  const terms: Pick<ModelRequest, 'externalWebAccess'> = isOffline ? { externalWebAccess: false } : {};
  const sent = Object.assign(modelRequest(body, opened, offered), terms, native ? { native } : {});
  return Object.assign({}, request, { states, request: sent });
}

/** Throws `invalid_value` for a request without anything that a model could answer. */
export function refuseEmpty({ request, answers, input }: PreparedRequest): void {
  const isEmpty = request.items.every(({ type }) => SILENT_TYPES.has(type));
  // A request for a compaction asks no model to answer, and approved calls run before one is asked.
  if (!isEmpty || answers.approved.length > 0 || input.at(-1)?.type === 'compaction_trigger') return;
  const message = "Invalid 'input': it holds nothing that a model could answer.";
  throw new ApiError('invalid_value', message, { param: 'input' });
}

/** The name of a tool that nobody has said the name of. */
const ORPHANS_TOOL = 'unknown_tool';

/** Outputs without a call with the name of a tool: such an output brings its call along. */
function withNamedOrphans(items: readonly Item[]): readonly Item[] {
  const callIds = new Set<unknown>();
  return items.map((item) => {
    if (isClientAnsweredCall(item)) callIds.add(item.call_id);
    const isOrphan = item.type === 'function_call_output' && !callIds.has(item.call_id);
    return isOrphan && typeof item.name !== 'string' ? { ...item, name: ORPHANS_TOOL } : item;
  });
}

/** The items with the calls that the user denies now: some clients send the answer alone. */
function withDeniedCalls(items: readonly Item[], { denied }: Answers): readonly Item[] {
  const missing = denied.flatMap(({ request }) =>
    request && !items.some(({ id }) => id === request.id) ? [request] : [],
  );
  if (missing.length === 0) return items;
  const requests = new Map(missing.map((request) => [request.id, request]));
  return items.flatMap((item) => {
    const request = item.type === 'mcp_approval_response' ? requests.get(String(item.approval_request_id)) : undefined;
    return request ? [request, item] : [item];
  });
}

const LOGPROBS = 'message.output_text.logprobs';

/** The request to the model: the conversation so far, and every setting that a model server may support. */
export function modelRequest(body: CreateBody, items: readonly Item[], plan: ToolPlan): ModelRequest {
  const isLimited = plan.allowed !== undefined && plan.toolChoice !== 'none';
  const settings = {
    instructions: body.instructions,
    toolChoice: plan.toolChoice,
    allowedTools: isLimited ? allowedModelTools(plan).map(({ name }) => name) : undefined,
    parallelToolCalls: body.parallel_tool_calls,
    maxToolCalls: body.max_tool_calls,
    textFormat: textFormat(body.text?.format),
    verbosity: body.text?.verbosity,
    reasoningEffort: body.reasoning?.effort,
    reasoningSummary: body.reasoning?.summary,
    maxOutputTokens: body.max_output_tokens,
    temperature: body.temperature,
    topP: body.top_p,
    presencePenalty: body.presence_penalty,
    frequencyPenalty: body.frequency_penalty,
    topLogprobs: body.top_logprobs || (body.include?.includes(LOGPROBS) ? 0 : undefined),
    metadata: body.metadata,
    serviceTier: body.service_tier,
    safetyIdentifier: body.safety_identifier,
    promptCacheKey: body.prompt_cache_key,
    promptCacheOptions: definedFields(body.prompt_cache_options),
    promptCacheRetention: body.prompt_cache_retention,
    moderation: definedFields(body.moderation),
    user: body.user,
  };
  // The cast: null means omitted, and the remaining values have the right types.
  return { model: body.model, items, tools: plan.modelTools, ...definedFields(settings) } as ModelRequest;
}

/** The offered tools that the model may call. */
function allowedModelTools({ modelTools, allowed }: ToolPlan): readonly ToolDefinition[] {
  return toolsAfterRefusals(OFFERS_ALLOWED_ONLY, modelTools, { allowedTools: allowed }, ({ name }) => name);
}

/** The fields that have a value; undefined if none has. */
function definedFields(fields: Readonly<Record<string, unknown>> | null | undefined): JsonObject | undefined {
  const defined: Record<string, unknown> = {};
  let isEmpty = true;
  // A loop: `Object.entries` makes 1.6 KB of pairs for each request.
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    defined[name] = value;
    isEmpty = false;
  }
  return isEmpty ? undefined : defined;
}

type Format = NonNullable<NonNullable<CreateBody['text']>['format']>;

function textFormat(format: Format | null | undefined): TextFormat | undefined {
  if (format?.type !== 'json_schema') return format?.type === 'json_object' ? { type: 'json_object' } : undefined;
  const { type, name, description, schema, strict } = format;
  return {
    type,
    name,
    ...(description ? { description } : {}),
    ...(schema ? { schema } : {}),
    ...(typeof strict === 'boolean' ? { strict } : {}),
  };
}
