/** What a tool answered, in the parts of a `function_call_output`: kept where a model can take it, else described. */

import type { ToolResult } from '../../ports/tool-provider.ts';
import { isRecord } from '../../protocol/record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Text that stands for a part, or an image. */
type Part = string | { readonly type: 'input_image'; readonly image_url: string };

/** Translates the result of `tools/call`; `redact` is applied to all text. */
export function toToolResult(result: Fields, redact: (text: string) => string): ToolResult {
  const parts = partsOf(result).map((part) => (typeof part === 'string' ? redact(part) : part));
  const texts = parts.filter((part) => typeof part === 'string');
  const content = texts.length === parts.length ? texts.join('\n') : parts.map(contentPart);
  return { content, ...(result.isError === true ? { isError: true } : {}) };
}

function contentPart(part: Part): Fields {
  return typeof part === 'string' ? { type: 'input_text', text: part } : part;
}

function partsOf({ content, structuredContent }: Fields): readonly Part[] {
  const blocks = Array.isArray(content) ? content.filter(isRecord) : [];
  const parts = blocks.map(partOf);
  // Servers repeat structured content as text, for clients that know no better: it is needed only where they did not.
  if (structuredContent === undefined || blocks.some(({ type }) => type === 'text')) return parts;
  return [...parts, JSON.stringify(structuredContent)];
}

function partOf(block: Fields): Part {
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

function resource({ uri, mimeType, text, blob }: Fields): Part {
  if (typeof text === 'string') return `${described('resource', uri)}\n${text}`;
  return binary('resource', mimeType, blob, uri);
}

function binary(kind: string, mimeType: unknown, data: unknown, uri?: unknown): Part {
  const base64 = typeof data === 'string' ? data : '';
  if (isImage(mimeType) && /^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    return { type: 'input_image', image_url: `data:${mimeType};base64,${base64}` };
  return described(kind, uri, mimeType, `${Buffer.byteLength(base64, 'base64')} bytes`);
}

/** Of a form that models can look at; an SVG is a text to them, and they refuse the whole request over it. */
function isImage(mimeType: unknown): mimeType is string {
  return typeof mimeType === 'string' && /^image\/(?!svg)[\w.+-]+$/.test(mimeType);
}

/** Such as `[audio audio/wav, 512 bytes]`. */
function described(kind: string, ...details: readonly unknown[]): string {
  const known = details.filter((detail) => typeof detail === 'string' && detail !== '');
  return known.length === 0 ? `[${kind}]` : `[${kind} ${known.join(', ')}]`;
}
