/** Runs one call of a tool: arguments checked, time and output limited, every failure reported as text. */

import type { Limits } from '../../ports/limits.ts';
import {
  isOptionalRecordList,
  isToolContent,
  type ProvidedTool,
  type ToolCall,
  type ToolProgress,
  type ToolResult,
} from '../../ports/tool-provider.ts';
import type { ToolsetEntry } from '../../ports/toolset.ts';
import type { McpToolCallError, PartialImage, ToolCallResult } from '../../protocol/items.ts';
import { wrongIn } from '../../protocol/json/check-value.ts';
import { exactObjectIn } from '../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { IMAGE_GENERATION, imageResult } from '../../protocol/tool-calls/image-generation-call.ts';
import {
  callErrorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  protocolError,
  REQUEST_TIMEOUT,
  toCallError,
} from '../../protocol/tool-calls/results/call-error.ts';
import { assertOutputSize } from '../../protocol/tool-calls/results/output-size.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { CallDeadline, CallTimeout } from './call-deadline.ts';
import { partialImages, progressReporter } from './call-reports.ts';

/** The context of a call besides its arguments. */
export interface CallContext
  extends Pick<ToolCall, 'scope' | 'requestId' | 'request' | 'settings' | 'images' | 'workspace'> {
  readonly limits: Pick<Limits, 'toolTimeoutMs' | 'toolMaxMs' | 'toolOutputBytes'>;
  /** Called with the call's progress, seldom enough for a hook of the host. */
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Shows the client the unfinished images that the request wants. */
  readonly onPartialImage?: ((image: PartialImage) => void) | undefined;
  /** Aborts the call with the turn. */
  readonly signal: AbortSignal;
}

/** Never rejects, except with the signal's reason. `text` is the arguments as the model wrote them. */
export async function runCall(
  entry: ToolsetEntry | undefined,
  text: string,
  context: CallContext,
): Promise<ToolCallResult> {
  if (!entry) return callFailure(protocolError(INVALID_PARAMS, 'There is no such tool any more.'));
  const args = exactObjectIn(text);
  if (!args) return invalidArguments(`the arguments are not a JSON object: ${text.slice(0, 200)}`);
  const { tool, url } = entry;
  // An untrusted schema's patterns and references can make a check endless; its own server checks as well.
  const wrong = tool.parameters && url === undefined ? wrongIn(args, text, tool.parameters) : undefined;
  if (wrong) return invalidArguments(wrong);
  if (entry.search) return entry.search(args, context.limits.toolOutputBytes);
  try {
    return toCallResult(await callProvider(entry, args, context), tool, context.limits.toolOutputBytes);
  } catch (error) {
    context.signal.throwIfAborted();
    const isLate = error instanceof CallTimeout;
    return callFailure(isLate ? protocolError(REQUEST_TIMEOUT, error.message) : toCallError(error));
  }
}

/** The model receives what the client is shown, as text. */
function callFailure(error: McpToolCallError): ToolCallResult {
  return { output: callErrorText(error), failed: true, error };
}

function invalidArguments(reason: string): ToolCallResult {
  return callFailure(protocolError(INVALID_PARAMS, `input_validation_error: ${reason}`));
}

/** The call with its own deadline, which ends this call and does not affect its provider. */
async function callProvider(entry: ToolsetEntry, args: JsonObject, context: CallContext): Promise<ToolResult> {
  context.signal.throwIfAborted();
  const deadline = new CallDeadline(context.signal, context.limits);
  const call = buildToolCall(entry, args, context, deadline);
  try {
    return await untilAborted(deadline.signal, () => entry.provider.call(call, deadline.signal));
  } finally {
    deadline.end();
  }
}

/** The call as its provider receives it; what the tool reports after the deadline is ignored. */
function buildToolCall(
  { tool: { server, name } }: ToolsetEntry,
  args: JsonObject,
  { signal: _, limits, onProgress, onPartialImage, ...about }: CallContext,
  deadline: CallDeadline,
): ToolCall {
  const report = progressReporter((progress) => onProgress?.(progress));
  const show = partialImages((image) => onPartialImage?.(image), about.settings);
  return {
    server,
    name,
    arguments: args,
    outputBytes: limits.toolOutputBytes,
    ...about,
    onProgress(progress) {
      deadline.postpone();
      if (!deadline.isOver) report(progress);
    },
    ...(show ? { onPartialImage: (image) => (deadline.isOver ? undefined : show(image)) } : {}),
  };
}

/** The result as the item shows it; `output` is what the model receives. */
function toCallResult(result: ToolResult, tool: ProvidedTool, maxBytes: number): ToolCallResult {
  // Providers are the host's, and not all of them are type-checked.
  const {
    content,
    isError = false,
    outputs,
    results,
    passages,
    image,
  }: Partial<ToolResult> = isRecord(result) ? result : {};
  if (!isToolContent(content)) return invalidResult('neither text nor parts');
  const isImage = isRecord(image) && typeof image.result === 'string' && image.result !== '' && isRecord(image.details);
  if (image !== undefined && !isImage) return invalidResult('an image that is none');
  if (![outputs, results, passages].every(isOptionalRecordList))
    return invalidResult('results that are no list of objects');
  assertOutputSize(content, maxBytes);
  // Open Responses requires the detail of an image.
  const withDetail = (part: JsonObject) => (part.type === 'input_image' ? { detail: 'auto', ...part } : part);
  const output = typeof content === 'string' ? content : content.map(withDetail);
  const shown = {
    ...(outputs ? { outputs } : {}),
    ...(results ? { results } : {}),
    ...(passages ? { passages } : {}),
  };
  // The item of an image has no other result than the image.
  if (!image || isError) return { output, failed: isError || tool.requestedBy === IMAGE_GENERATION, ...shown };
  if (typeof output !== 'string' || tool.modelSeesImages === false) return { output, failed: false, ...shown, image };
  // What the model receives of an image is the only result that may be larger than `toolOutputBytes`.
  const { result: data, details } = image;
  const imageOutput = imageResult({ result: data, output_format: details.output_format }, output);
  return { output: imageOutput, failed: false, ...shown, image };
}

function invalidResult(what: string): ToolCallResult {
  return callFailure(protocolError(INTERNAL_ERROR, `The tool answered with ${what}.`));
}
