/** The result of a tool in the words of MCP. */
import type { ToolCallResult } from '../../protocol/items.ts';
import { toWellFormed } from '../../protocol/printable.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { toolOutputText } from '../../protocol/tool-calls/results/output-text.ts';

/** A result of `tools/call`. */
interface McpToolResult {
  // Not readonly, as the SDK's own type.
  content: McpContent[];
  isError?: boolean;
  [key: string]: unknown;
}

type McpContent =
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; blob: string; mimeType: string } };

/** A call that has failed, in words for the model. */
export function failedResult(text: string): McpToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/** Texts, images and files; of anything else a description. */
export function toMcpResult({ output, failed }: ToolCallResult): McpToolResult {
  const content: McpContent[] = typeof output === 'string' ? [{ type: 'text', text: output }] : output.map(toContent);
  return { content, ...(failed ? { isError: true } : {}) };
}

const MAX_MIME_TYPE = 127;

function toContent(part: JsonObject): McpContent {
  const { text, image_url: image, file_data: file, filename } = part;
  if (typeof text === 'string') return { type: 'text', text };
  const url = image ?? file;
  const comma = typeof url === 'string' ? url.slice(0, MAX_MIME_TYPE + 'data:;base64,'.length).indexOf(';base64,') : -1;
  // An image that is elsewhere is named, since nothing is fetched here.
  if (typeof url !== 'string' || !url.startsWith('data:') || comma < 0)
    return { type: 'text', text: typeof image === 'string' ? image : toolOutputText([part]) };
  const mimeType = url.slice('data:'.length, comma);
  const data = url.slice(comma + ';base64,'.length);
  if (image !== undefined) return { type: 'image', data, mimeType };
  const name = typeof filename === 'string' && filename !== '' ? filename : 'file';
  return {
    type: 'resource',
    resource: { uri: `file:///${encodeURIComponent(toWellFormed(name))}`, blob: data, mimeType },
  };
}
