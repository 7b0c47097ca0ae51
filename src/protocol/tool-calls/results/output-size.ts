/** Limits the size of a tool's result. */

import type { ToolCallResult } from '../../items.ts';
import { INTERNAL_ERROR } from './call-error.ts';

class OutputTooLarge extends Error {
  override readonly name = 'OutputTooLarge';
  // The size does not show whether the tool itself succeeded.
  readonly type = 'mcp_protocol_error';
  readonly code = INTERNAL_ERROR;
}

/** Throws if the result exceeds the allowed bytes; the message is for the model. */
export function assertOutputSize(
  content: string | readonly Readonly<Record<string, unknown>>[],
  maxBytes: number,
): void {
  const bytes = Buffer.byteLength(typeof content === 'string' ? content : JSON.stringify(content));
  if (bytes > maxBytes)
    throw new OutputTooLarge(`The tool answered with ${bytes} bytes, more than the ${maxBytes} that are allowed.`);
}

const NO_ROOM: ToolCallResult = {
  output: "The image exceeds this server's limit for a response, so it was not shown.",
  failed: true,
};

/** The result, if its image fits into the room that the answer has; else a failed call: the model may make a smaller one. */
export function limitImageSize(result: ToolCallResult, roomBytes: number): ToolCallResult {
  return result.image && result.image.result.length > roomBytes ? NO_ROOM : result;
}
