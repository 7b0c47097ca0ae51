/** Converts a tool's result to the parts of a `function_call_output`: those that a model can read, and placeholders. */

import type { ToolResult } from '../../ports/tool-provider.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { assertOutputSize } from '../../protocol/tool-calls/output-size.ts';
import { contentNotInText } from './structured-content.ts';

/** Text that stands for a part, or an image. */
type Part = string | { readonly type: 'input_image'; readonly image_url: string };

/** The conversion of a result's texts, and its maximum size in bytes. */
interface ResultRules {
  readonly redact: (text: string) => string;
  /** Default: any number. */
  readonly maxBytes?: number | undefined;
}

/** Converts the result of `tools/call`. Throws if it is too large, before it is processed. */
export function toToolResult(
  result: JsonObject,
  { redact, maxBytes = Number.POSITIVE_INFINITY }: ResultRules,
): ToolResult {
  const parts = partsOf(result);
  assertOutputSize(contentOf(parts), maxBytes);
  const content = contentOf(parts.map((part) => (typeof part === 'string' ? redact(part) : part)));
  return { content, ...(result.isError === true ? { isError: true } : {}) };
}

function contentOf(parts: readonly Part[]): ToolResult['content'] {
  const texts = parts.filter((part) => typeof part === 'string');
  return texts.length === parts.length ? texts.join('\n') : parts.map(contentPart);
}

function contentPart(part: Part): JsonObject {
  return typeof part === 'string' ? { type: 'input_text', text: part } : part;
}

function partsOf({ content, structuredContent }: JsonObject): readonly Part[] {
  const blocks = Array.isArray(content) ? content.filter(isRecord) : [];
  const structured = contentNotInText(structuredContent, blocks.map(innerOf));
  return [...blocks.map(partOf), ...(structured === undefined ? [] : [structured])];
}

/** The block, or the resource in it: the object that holds text or bytes. */
function innerOf(block: JsonObject): JsonObject {
  const { resource } = block;
  return block.type === 'resource' && isRecord(resource) ? { ...resource, data: resource.blob } : block;
}

function partOf(block: JsonObject): Part {
  switch (block.type) {
    case 'text':
      return String(block.text);
    case 'image':
      return binary('image', block.mimeType, block.data);
    case 'audio':
      return binary('audio', block.mimeType, block.data);
    case 'resource':
      return resource(isRecord(block.resource) ? block.resource : {});
    case 'resource_link':
      return described('resource link', block.name, block.mimeType, block.uri, block.description);
    default:
      return described(String(block.type), 'left out');
  }
}

function resource({ uri, mimeType, text, blob }: JsonObject): Part {
  if (typeof text === 'string') return `${described('resource', uri)}\n${text}`;
  return binary('resource', mimeType, blob, uri);
}

function binary(kind: string, mimeType: unknown, data: unknown, uri?: unknown): Part {
  const base64 = typeof data === 'string' ? data : '';
  if (isImage(mimeType) && /^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    return { type: 'input_image', image_url: `data:${mimeType};base64,${base64}` };
  return described(kind, uri, mimeType, `${Buffer.byteLength(base64, 'base64')} bytes`);
}

/** An image format that models can read; they treat an SVG as text, and refuse the whole request because of it. */
function isImage(mimeType: unknown): mimeType is string {
  return typeof mimeType === 'string' && /^image\/(?!svg)[\w.+-]+$/.test(mimeType);
}

/** Such as `[audio audio/wav, 512 bytes]`. */
function described(kind: string, ...details: readonly unknown[]): string {
  const known = details.filter((detail) => typeof detail === 'string' && detail !== '');
  return known.length === 0 ? `[${kind}]` : `[${kind} ${known.join(', ')}]`;
}
