/** Writes a model request as the body of `POST /responses` of another server. */

import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { passedOn } from '../http/passed-on.ts';
import { functionTool } from '../responses-input/count-body.ts';
import { toInput } from '../responses-input/input.ts';
import type { ResponsesSettings } from './options.ts';

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
): JsonObject {
  const tools = [...serverTools(request, settings), ...request.tools.map(functionTool)];
  return {
    model: request.model,
    instructions: request.instructions,
    input: toInput(request, skipped),
    stream: true,
    store: false,
    include: includes(request, settings),
    ...(tools.length > 0
      ? { tools, tool_choice: choiceOf(request, settings), parallel_tool_calls: request.parallelToolCalls }
      : {}),
    max_output_tokens: request.maxOutputTokens && Math.max(request.maxOutputTokens, LEAST_TOKENS),
    temperature: request.temperature,
    top_p: request.topP,
    // OpenAI's own API lacks these fields, and refuses even the default.
    presence_penalty: request.presencePenalty || undefined,
    frequency_penalty: request.frequencyPenalty || undefined,
    top_logprobs: request.topLogprobs || undefined,
    text: some({ format: formatOf(request), verbosity: request.verbosity }),
    reasoning: some({
      effort: request.reasoningEffort,
      summary: request.reasoningSummary ?? settings.reasoningSummary,
    }),
    ...passedOn(request),
  };
}

/** The API refuses a lower limit. */
const LEAST_TOKENS = 16;

function includes({ topLogprobs }: ModelRequest, { reasoningReplay }: BodySettings): readonly string[] | undefined {
  const include = [
    ...(reasoningReplay ? ['reasoning.encrypted_content'] : []),
    ...(topLogprobs === undefined ? [] : ['message.output_text.logprobs']),
  ];
  return include.length > 0 ? include : undefined;
}

function choiceOf(
  { toolChoice: choice, allowedTools: allowed }: ModelRequest,
  { knowsAllowedTools }: BodySettings,
): unknown {
  if (typeof choice === 'object') return { type: 'function', name: choice.name };
  if (allowed?.length === 0) return 'none';
  if (!allowed || choice === 'none' || !knowsAllowedTools) return choice;
  return { type: 'allowed_tools', mode: choice ?? 'auto', tools: allowed.map((name) => ({ type: 'function', name })) };
}

/** Without those that the request does not allow. */
function serverTools({ allowedTools, externalWebAccess }: ModelRequest, { serverTools: own }: BodySettings) {
  if (allowedTools) return [];
  if (externalWebAccess !== false) return own;
  return own.flatMap((tool) => {
    if (!tool.type.startsWith('web_search')) return [tool];
    return tool.type.includes('preview') ? [] : [{ ...tool, external_web_access: false }];
  });
}

function formatOf({ textFormat }: ModelRequest): unknown {
  return textFormat?.type === 'text' ? undefined : textFormat;
}

/** The fields, if any is given. */
function some(fields: JsonObject): JsonObject | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}
