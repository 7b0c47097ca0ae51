/** How large the result of a tool may be. */
import type { ToolResult } from './provider.ts';

/** Throws where the result holds more bytes than allowed; the message is for the model. */
export function assertOutputSize(content: ToolResult['content'], maxBytes: number): void {
  const bytes = Buffer.byteLength(typeof content === 'string' ? content : JSON.stringify(content));
  if (bytes > maxBytes)
    throw new Error(`The tool answered with ${bytes} bytes, more than the ${maxBytes} that are allowed.`);
}
