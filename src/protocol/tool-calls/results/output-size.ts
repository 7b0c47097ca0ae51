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

/** What replaces a result whose image exceeds the room that the answer has: the model may make a smaller one. */
export const NO_ROOM: ToolCallResult = {
  output: "The image exceeds this server's limit for a response, so it was not shown.",
  failed: true,
};
