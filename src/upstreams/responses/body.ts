/** Writes a model request as the body of `POST /responses` of another server. */

import type { Item } from '../../protocol/items.ts';
import type { ModelRequest, NativeTool, ToolDefinition } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { requestedType } from '../../protocol/tool-calls/kinds.ts';
import { sharedFields } from '../http/passed-on.ts';
import { functionTool } from '../responses-input/count-body.ts';
import { toInput } from '../responses-input/input.ts';
import { inNamespace } from '../responses-input/native-input.ts';
import type { HostedTool, ResponsesSettings } from './options.ts';

/** How the body is written. */
type BodySettings = Pick<
  ResponsesSettings,
  'reasoningSummary' | 'reasoningReplay' | 'serverTools' | 'knowsAllowedTools'
>;

/** Writes the body, always requesting a stream and no storage. Fields without a value are undefined. */
export function toResponsesBody(
  request: ModelRequest,
  settings: BodySettings,
  skipped: (item: Item) => void,
  isNative = true,
): JsonObject {
  const own = hostedTools(request, settings);
  const native = isNative ? nativeTools(request, own, settings) : [];
  const runsTools = own.length > 0 || native.some(({ names }) => names.length === 0);
  const tools = [...own, ...native.map(({ tool }) => tool), ...functions(request, native).map(functionTool)];
  return {
    model: request.model,
    instructions: request.instructions,
    input: toInput(request, skipped, isNative),
    stream: true,
    store: false,
    include: includes(request, settings, [...own, ...native.map(({ tool }) => tool)]),
    ...(tools.length > 0
      ? {
          tools,
          tool_choice: toolChoice(request, settings, native),
          parallel_tool_calls: request.parallelToolCalls,
          max_tool_calls: runsTools ? request.maxToolCalls : undefined,
        }
      : {}),
    max_output_tokens: request.maxOutputTokens && Math.max(request.maxOutputTokens, MIN_TOKENS),
    temperature: request.temperature,
    top_p: request.topP,
    // OpenAI's own API lacks these fields, and refuses even the default.
    presence_penalty: request.presencePenalty || undefined,
    frequency_penalty: request.frequencyPenalty || undefined,
    top_logprobs: request.topLogprobs || undefined,
    text: fieldsIfAny({
      format: request.textFormat?.type === 'text' ? undefined : request.textFormat,
      verbosity: request.verbosity,
    }),
    reasoning: fieldsIfAny({
      effort: request.reasoningEffort,
      summary: request.reasoningSummary ?? settings.reasoningSummary,
    }),
    ...sharedFields(request),
  };
}

/** The API refuses a lower limit. */
const MIN_TOKENS = 16;

/** Of the client's wishes those about items of tools that the server runs. */
function includes(
  { topLogprobs, native }: ModelRequest,
  { reasoningReplay }: BodySettings,
  tools: readonly JsonObject[],
): readonly string[] | undefined {
  const prefixes = [...new Set(tools.map(({ type }) => `${requestedType(type)}_call`))];
  const wishes = native?.include.filter((field) => prefixes.some((prefix) => field.startsWith(prefix))) ?? [];
  const include = [
    ...(reasoningReplay ? ['reasoning.encrypted_content'] : []),
    ...(topLogprobs === undefined ? [] : ['message.output_text.logprobs']),
    ...new Set(wishes),
  ];
  return include.length > 0 ? include : undefined;
}

/** The client's own tools that go as they are, but for those that the model may not be offered any more. */
function nativeTools(
  { native, tools, maxToolCalls }: ModelRequest,
  own: readonly HostedTool[],
  settings: BodySettings,
): readonly NativeTool[] {
  if (!native || native.tools.length === 0) return [];
  const offered = new Set(tools.map(({ name }) => name));
  const hosted = new Set(own.map(({ type }) => requestedType(type)));
  return native.tools.filter(({ tool, names }) => {
    if (names.length > 0) return names.some((name) => offered.has(name));
    if (maxToolCalls === 0 || mayReachWeb(tool, settings)) return false;
    // The host's own settings of a tool come first.
    return tool.type === 'mcp' || !hosted.has(requestedType(tool.type));
  });
}

/** Whether the tool may search the live web, which its client forbids: only OpenAI itself is known to obey. */
export function mayReachWeb(
  { external_web_access: access }: JsonObject,
  { knowsAllowedTools: isOpenAI }: Pick<BodySettings, 'knowsAllowedTools'>,
): boolean {
  return access === false && !isOpenAI;
}

/** The functions that neither such a tool nor the conversation stands for. */
function functions({ tools, native }: ModelRequest, sent: readonly NativeTool[]): readonly ToolDefinition[] {
  if (sent.length === 0) return tools;
  const covered = new Set([...sent.flatMap(({ names }) => names), ...(native?.found ?? [])]);
  return tools.filter(({ name }) => !covered.has(name));
}

function toolChoice(
  { toolChoice: choice, allowedTools: allowed, native }: ModelRequest,
  { knowsAllowedTools }: BodySettings,
  sent: readonly NativeTool[],
): unknown {
  const hosted = sent.length > 0 ? (native?.choice ?? []) : [];
  if (typeof choice === 'object') return namedTool(choice.name, sent);
  if (allowed && allowed.length + hosted.length === 0) return 'none';
  if (!allowed || choice === 'none') return choice;
  if (allowed.length === 0 && hosted.length === 1 && choice === 'required') return hosted[0];
  if (!knowsAllowedTools) return choice;
  return {
    type: 'allowed_tools',
    mode: choice ?? 'auto',
    tools: [...allowed.map((name) => namedTool(name, sent)), ...hosted],
  };
}

/** The tool as the server knows it. */
function namedTool(name: string, sent: readonly NativeTool[]): JsonObject {
  const { tool } = sent.find(({ names }) => names.includes(name)) ?? {};
  if (tool === undefined) return { type: 'function', name };
  if (tool.type === 'function' || tool.type === 'custom') return { type: tool.type, name: tool.name };
  if (tool.type !== 'namespace') return { type: tool.type };
  return { type: 'function', ...inNamespace(tool, name) };
}

/** Without those that the request does not allow, or allows no more. */
function hostedTools(
  { allowedTools, externalWebAccess, maxToolCalls }: ModelRequest,
  { serverTools: own }: BodySettings,
) {
  if (allowedTools || maxToolCalls === 0) return [];
  if (externalWebAccess !== false) return own;
  return own.flatMap((tool) => {
    if (!tool.type.startsWith('web_search')) return [tool];
    return tool.type.includes('preview') ? [] : [{ ...tool, external_web_access: false }];
  });
}

/** The fields, if any is given. */
function fieldsIfAny(fields: JsonObject): JsonObject | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}
