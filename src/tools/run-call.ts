/** Runs one call of a tool: arguments checked, time and output bounded, every failure told in words. */

import { Validator } from '@cfworker/json-schema';
import type { Limits } from '../ports/limits.ts';
import type { ToolCall, ToolResult } from '../ports/tool-provider.ts';
import type { OfferedTool } from '../ports/toolset.ts';
import type { CallOutcome } from '../protocol/events.ts';
import { isRecord } from '../protocol/record.ts';
import { untilAborted } from '../streams/until-aborted.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Everything a call needs besides its arguments. */
export interface CallContext extends Pick<ToolCall, 'scope' | 'requestId' | 'request' | 'workspace'> {
  readonly limits: Pick<Limits, 'toolTimeoutMs' | 'toolOutputBytes'>;
  /** Ends the call with the turn. */
  readonly signal: AbortSignal;
}

/** Never rejects, except with the signal's reason. `text` is the arguments as the model wrote them. */
export async function runCall(
  offered: OfferedTool | undefined,
  text: string,
  context: CallContext,
): Promise<CallOutcome> {
  if (!offered) return failure('There is no such tool any more.');
  const args = parseArguments(text);
  if (!args) return failure(`input_validation_error: the arguments are not a JSON object: ${text.slice(0, 200)}`);
  const wrong = findWrong(args, offered);
  if (wrong) return failure(`input_validation_error: ${wrong}`);
  try {
    return outcome(await bounded(offered, args, context), context.limits.toolOutputBytes);
  } catch (error) {
    context.signal.throwIfAborted();
    return failure(error instanceof Error ? error.message : String(error));
  }
}

function failure(output: string): CallOutcome {
  return { output, failed: true };
}

function parseArguments(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Interpreted, not compiled: the schema may come from somebody else's server, and must not become code here. */
function findWrong(args: Fields, { tool: { parameters: schema }, url }: OfferedTool): string | undefined {
  // A stranger's patterns and references can be such that checking never ends; its own server checks as well.
  if (!schema || url !== undefined) return undefined;
  const { valid, errors } = validate(args, schema);
  const error = errors.at(-1);
  return valid || !error ? undefined : `${error.error} (path=${error.instanceLocation})`;
}

function validate(args: Fields, schema: Fields) {
  try {
    return new Validator(schema, '2020-12', true).validate(args);
  } catch {
    // A schema that cannot be read checks nothing; the tool itself will.
    return { valid: true, errors: [] };
  }
}

/** The call under its own deadline, which ends this call and leaves its provider alone. */
async function bounded({ provider, tool }: OfferedTool, args: Fields, context: CallContext): Promise<ToolResult> {
  const { signal, limits, ...about } = context;
  const deadline = new AbortController();
  const follow = () => deadline.abort(signal.reason);
  const expire = () => deadline.abort(new Error(`The tool did not answer within ${limits.toolTimeoutMs} ms.`));
  signal.throwIfAborted();
  signal.addEventListener('abort', follow, { once: true });
  const timer = setTimeout(expire, limits.toolTimeoutMs);
  try {
    const call = { server: tool.server, name: tool.name, arguments: args, ...about };
    return await untilAborted(deadline.signal, () => provider.call(call, deadline.signal));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', follow);
  }
}

function outcome({ content, isError = false, outputs }: ToolResult, maxBytes: number): CallOutcome {
  if (typeof content !== 'string' && !isParts(content))
    return failure('The tool answered with neither text nor parts.');
  const bytes = Buffer.byteLength(typeof content === 'string' ? content : JSON.stringify(content));
  if (bytes > maxBytes)
    return failure(`The tool answered with ${bytes} bytes, more than the ${maxBytes} that are allowed.`);
  const output = typeof content === 'string' ? content : content.map(wholePart);
  return { output, failed: isError, ...(outputs ? { outputs } : {}) };
}

/** Open Responses wants the detail of an image. */
function wholePart(part: Fields): Fields {
  return part.type === 'input_image' ? { detail: 'auto', ...part } : part;
}

/** Whether the value is a list of parts, each of some type. */
export function isParts(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.every((part) => isRecord(part) && typeof part.type === 'string');
}
