/** How large the result of a tool may be. */

import { INTERNAL_ERROR } from './call-error.ts';

class OutputTooLarge extends Error {
  override readonly name = 'OutputTooLarge';
  // What was too large says nothing of the tool's own success.
  readonly type = 'mcp_protocol_error';
  readonly code = INTERNAL_ERROR;
}

/** Throws where the result holds more bytes than allowed; the message is for the model. */
export function assertOutputSize(
  content: string | readonly Readonly<Record<string, unknown>>[],
  maxBytes: number,
): void {
  const bytes = Buffer.byteLength(typeof content === 'string' ? content : JSON.stringify(content));
  if (bytes > maxBytes)
    throw new OutputTooLarge(`The tool answered with ${bytes} bytes, more than the ${maxBytes} that are allowed.`);
}
