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
import { truncateText } from '../../protocol/printable.ts';
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
  if (!args) {
    const reason = `input_validation_error: the arguments are not a JSON object: ${truncateText(text, 200)}`;
    return callFailure(protocolError(INVALID_PARAMS, reason));
  }
  const { tool, url } = entry;
  // An untrusted schema's patterns and references can make a check endless; its own server checks as well.
  const wrong = tool.parameters && url === undefined ? wrongIn(args, text, tool.parameters) : undefined;
  if (wrong) return callFailure(protocolError(INVALID_PARAMS, `input_validation_error: ${wrong}`));
  if (entry.search) return entry.search(args, context.limits.toolOutputBytes);
  if (entry.inside) return entry.inside(args, context.signal);
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

/** The call with its own deadline, which ends this call and does not affect its provider. What the tool reports after it is ignored. */
async function callProvider(
  { tool: { server, name }, provider }: ToolsetEntry,
  args: JsonObject,
  { signal, limits, onProgress, onPartialImage, ...about }: CallContext,
): Promise<ToolResult> {
  signal.throwIfAborted();
  const deadline = new CallDeadline(signal, limits);
  const report = progressReporter((progress) => onProgress?.(progress));
  const show = partialImages((image) => onPartialImage?.(image), about.settings);
  const call: ToolCall = {
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
  try {
    return await untilAborted(deadline.signal, () => provider.call(call, deadline.signal));
  } finally {
    deadline.end();
  }
}

/** The result as the item shows it; `output` is what the model receives. */
function toCallResult(result: ToolResult, tool: ProvidedTool, maxBytes: number): ToolCallResult {
  // Providers are the host's, and not all of them are type-checked.
  const {
    content,
    isError = false,
    outputs,
    commandOutputs,
    results,
    passages,
    written,
    image,
  }: Partial<ToolResult> = isRecord(result) ? result : {};
  if (!isToolContent(content))
    return callFailure(protocolError(INTERNAL_ERROR, 'The tool answered with neither text nor parts.'));
  const isImage = isRecord(image) && typeof image.result === 'string' && image.result !== '' && isRecord(image.details);
  if (image !== undefined && !isImage)
    return callFailure(protocolError(INTERNAL_ERROR, 'The tool answered with an image that is none.'));
  if (![outputs, commandOutputs, results, passages, written].every(isOptionalRecordList))
    return callFailure(protocolError(INTERNAL_ERROR, 'The tool answered with results that are no list of objects.'));
  assertOutputSize(content, maxBytes);
  // Open Responses requires the detail of an image.
  const withDetail = (part: JsonObject) => (part.type === 'input_image' ? { detail: 'auto', ...part } : part);
  const output = typeof content === 'string' ? content : content.map(withDetail);
  const shown = {
    ...(outputs ? { outputs } : {}),
    ...(commandOutputs ? { commandOutputs } : {}),
    ...(results ? { results } : {}),
    ...(passages ? { passages } : {}),
    ...(written ? { written } : {}),
  };
  // The item of an image has no other result than the image.
  if (!image || isError) return { output, failed: isError || tool.requestedBy === IMAGE_GENERATION, ...shown };
  if (typeof output !== 'string' || tool.modelSeesImages === false) return { output, failed: false, ...shown, image };
  // What the model receives of an image is the only result that may be larger than `toolOutputBytes`.
  const { result: data, details } = image;
  const imageOutput = imageResult({ result: data, output_format: details.output_format }, output);
  return { output: imageOutput, failed: false, ...shown, image };
}

/** The call took too long. */
class CallTimeout extends Error {
  override readonly name = 'CallTimeout';
}

/** Ends a call that makes no progress for a while, that takes too long altogether, or whose turn ends; not its provider. */
class CallDeadline {
  private readonly controller = new AbortController();
  private readonly turn: AbortSignal;
  private readonly untilProgress: NodeJS.Timeout;
  private readonly whole: NodeJS.Timeout;
  private hasEnded = false;

  constructor(turn: AbortSignal, { toolTimeoutMs, toolMaxMs }: Pick<Limits, 'toolTimeoutMs' | 'toolMaxMs'>) {
    this.turn = turn;
    turn.addEventListener('abort', this.follow, { once: true });
    this.untilProgress = this.expireAfter(toolTimeoutMs, `The tool did not answer within ${toolTimeoutMs} ms.`);
    // A tool may always take as long as one that makes no progress.
    const most = Math.max(toolMaxMs, toolTimeoutMs);
    this.whole = this.expireAfter(most, `The tool did not end within ${most} ms.`);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Whether the call has ended or must end. */
  get isOver(): boolean {
    return this.hasEnded || this.signal.aborted;
  }

  /** The tool goes on. */
  postpone(): void {
    if (!this.isOver) this.untilProgress.refresh();
  }

  end(): void {
    this.hasEnded = true;
    clearTimeout(this.untilProgress);
    clearTimeout(this.whole);
    this.turn.removeEventListener('abort', this.follow);
  }

  private readonly follow = () => this.controller.abort(this.turn.reason);

  private expireAfter(ms: number, message: string): NodeJS.Timeout {
    return setTimeout(() => this.controller.abort(new CallTimeout(message)), ms);
  }
}
