/** Runs one call of a tool: arguments checked, time and output limited, every failure reported as text. */

import type { Limits } from '../../ports/limits.ts';
import type { ProvidedTool, ToolCall, ToolProgress, ToolResult } from '../../ports/tool-provider.ts';
import type { ToolsetEntry } from '../../ports/toolset.ts';
import type {
  GeneratedImage,
  McpToolCallError,
  PartialImage,
  ToolCallResult,
  ToolOutput,
} from '../../protocol/items.ts';
import { wrongIn } from '../../protocol/json/check-value.ts';
import { exactObjectIn } from '../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { IMAGE_GENERATION, imageResult } from '../../protocol/tool-calls/image-generation-call.ts';
import {
  callErrorOf,
  callErrorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  protocolError,
  REQUEST_TIMEOUT,
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
  if (!entry) return failure(protocolError(INVALID_PARAMS, 'There is no such tool any more.'));
  const args = exactObjectIn(text);
  if (!args) return badInput(`the arguments are not a JSON object: ${text.slice(0, 200)}`);
  const wrong = findWrong(args, text, entry);
  if (wrong) return badInput(wrong);
  if (entry.search) return entry.search(args, context.limits.toolOutputBytes);
  try {
    return outcomeOf(await bounded(entry, args, context), entry.tool, context.limits.toolOutputBytes);
  } catch (error) {
    context.signal.throwIfAborted();
    return failure(error instanceof CallTimeout ? protocolError(REQUEST_TIMEOUT, error.message) : callErrorOf(error));
  }
}

/** The model receives what the client is shown, as text. */
function failure(error: McpToolCallError): ToolCallResult {
  return { output: callErrorText(error), failed: true, error };
}

function badInput(reason: string): ToolCallResult {
  return failure(protocolError(INVALID_PARAMS, `input_validation_error: ${reason}`));
}

function findWrong(
  args: JsonObject,
  text: string,
  { tool: { parameters: schema }, url }: ToolsetEntry,
): string | undefined {
  // An untrusted schema's patterns and references can make a check endless; its own server checks as well.
  return !schema || url !== undefined ? undefined : wrongIn(args, text, schema);
}

/** The call with its own deadline, which ends this call and does not affect its provider. */
async function bounded(entry: ToolsetEntry, args: JsonObject, context: CallContext): Promise<ToolResult> {
  context.signal.throwIfAborted();
  const deadline = new CallDeadline(context.signal, context.limits);
  const call = givenCall(entry, args, context, deadline);
  try {
    return await untilAborted(deadline.signal, () => entry.provider.call(call, deadline.signal));
  } finally {
    deadline.end();
  }
}

/** The call as its provider receives it; what the tool reports after the deadline is ignored. */
function givenCall(
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
function outcomeOf(result: ToolResult, tool: ProvidedTool, maxBytes: number): ToolCallResult {
  // Providers are the host's, and not all of them are type-checked.
  const {
    content,
    isError = false,
    outputs,
    results,
    passages,
    image,
  }: Partial<ToolResult> = isRecord(result) ? result : {};
  if (typeof content !== 'string' && !isParts(content)) return badResult('neither text nor parts');
  if (image !== undefined && !isImage(image)) return badResult('an image that is none');
  if (![outputs, results, passages].every(isListOrNone)) return badResult('results that are no list of objects');
  assertOutputSize(content, maxBytes);
  const output = typeof content === 'string' ? content : content.map(wholePart);
  const shown = {
    ...(outputs ? { outputs } : {}),
    ...(results ? { results } : {}),
    ...(passages ? { passages } : {}),
  };
  if (image && !isError) return { output: imageOutput(image, output, tool), failed: false, ...shown, image };
  // The item of an image has no other result than the image.
  return { output, failed: isError || tool.requestedBy === IMAGE_GENERATION, ...shown };
}

function badResult(what: string): ToolCallResult {
  return failure(protocolError(INTERNAL_ERROR, `The tool answered with ${what}.`));
}

function isImage(image: unknown): image is GeneratedImage {
  return isRecord(image) && typeof image.result === 'string' && image.result !== '' && isRecord(image.details);
}

/** What the model receives of an image: it is the only result that may be larger than `toolOutputBytes`. */
function imageOutput({ result, details }: GeneratedImage, content: ToolOutput, tool: ProvidedTool): ToolOutput {
  if (typeof content !== 'string' || tool.modelSeesImages === false) return content;
  return imageResult({ result, output_format: details.output_format }, content);
}

/** Open Responses requires the detail of an image. */
function wholePart(part: JsonObject): JsonObject {
  return part.type === 'input_image' ? { detail: 'auto', ...part } : part;
}

/** Whether the value has the form of a result: an object of another kind may have a `content`, too. */
export function isToolResult(value: unknown): value is ToolResult {
  if (!isRecord(value)) return false;
  const { content, isError, outputs, results, passages, image } = value;
  return (
    (typeof content === 'string' || isParts(content)) &&
    (isError === undefined || typeof isError === 'boolean') &&
    (image === undefined || isRecord(image)) &&
    [outputs, results, passages].every(isListOrNone)
  );
}

function isListOrNone(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isRecord));
}

/** Whether the value is a list of parts, each of some type. */
function isParts(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) && value.every((part) => isRecord(part) && typeof part.type === 'string');
}
