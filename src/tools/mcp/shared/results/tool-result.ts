/** Converts a tool's result to the parts of a `function_call_output`: those that a model can read, and placeholders. */

import type { ToolResult } from '../../../../ports/tool-provider.ts';
import { roundedValue } from '../../../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../../../protocol/record.ts';
import { assertOutputSize } from '../../../../protocol/tool-calls/results/output-size.ts';
import { contentNotInText } from './structured-content.ts';

/** Text that stands for a part, or an image. */
type Part = string | { readonly type: 'input_image'; readonly image_url: string };

/** What a tool promises of its structured content, and the check of it. */
interface PromisedOutput {
  readonly schema: JsonObject;
  readonly check: (value: unknown, text: string, schema: JsonObject) => string | undefined;
}

/** The conversion of a result's texts, its maximum size in bytes, and what the tool promises of it. */
interface ResultRules {
  readonly redact: (text: string) => string;
  /** Default: any number. */
  readonly maxBytes?: number | undefined;
  /** Default: nothing. */
  readonly output?: PromisedOutput | undefined;
}

/**
 * Converts the result of `tools/call`; one that breaks the tool's promise is a failed call, whose text begins with the
 * fault. Throws if it is too large, before it is processed.
 */
export function toToolResult(
  result: JsonObject,
  { redact, maxBytes = Number.POSITIVE_INFINITY, output }: ResultRules,
): ToolResult {
  const blocks = recordsIn(result.content);
  const parts = blocks.map(blockPart);
  // A resource's text and bytes stand in the block's resource.
  const holders = blocks.map((block) => {
    const { type, resource } = block;
    return type === 'resource' && isRecord(resource) ? { ...resource, data: resource.blob } : block;
  });
  const structured = contentNotInText(result.structuredContent, holders);
  if (structured !== undefined) parts.push(structured);
  assertOutputSize(outputContent(parts), maxBytes);
  const isError = result.isError === true;
  const fault = isError || !output ? undefined : promiseFault(result.structuredContent, output);
  const allParts = fault === undefined ? parts : [fault, ...parts];
  const content = outputContent(allParts.map((part) => (typeof part === 'string' ? redact(part) : part)));
  return { content, ...(isError || fault !== undefined ? { isError: true } : {}) };
}

/** Characters of a fault, which may quote the schema. */
const MAX_FAULT_CHARACTERS = 1_000;

/** Undefined for structured content that keeps the promise. */
function promiseFault(structured: unknown, { schema, check }: PromisedOutput): string | undefined {
  if (structured === undefined)
    return 'The tool has an output schema, but its result has no structured content. It answered:';
  let mismatch: string | undefined;
  try {
    const value = roundedValue(structured);
    mismatch = check(value, JSON.stringify(value), schema);
  } catch {
    mismatch = 'the value is nested too deeply';
  }
  if (!mismatch) return undefined;
  const reason = mismatch.slice(0, MAX_FAULT_CHARACTERS);
  return `The result does not match the tool's output schema: ${reason}. It answered:`;
}

function outputContent(parts: readonly Part[]): ToolResult['content'] {
  const texts = parts.filter((part) => typeof part === 'string');
  if (texts.length === parts.length) return texts.join('\n');
  return parts.map((part) => (typeof part === 'string' ? { type: 'input_text', text: part } : part));
}

function blockPart(block: JsonObject): Part {
  switch (block.type) {
    case 'text':
      return plainText(block.text);
    case 'image':
      return binaryPart('image', block.mimeType, block.data);
    case 'audio':
      return binaryPart('audio', block.mimeType, block.data);
    case 'resource': {
      const { uri, mimeType, text, blob } = isRecord(block.resource) ? block.resource : ({} as JsonObject);
      if (typeof text === 'string') return `${placeholder('resource', uri)}\n${text}`;
      return binaryPart('resource', mimeType, blob, uri);
    }
    case 'resource_link':
      return placeholder('resource link', block.name, block.mimeType, block.uri, block.description);
    default:
      return placeholder(plainText(block.type) || 'block', 'left out');
  }
}

/** An image that models can read, as a part, its bytes as every decoder reads them: padded, and without line breaks. */
function binaryPart(kind: string, mimeType: unknown, data: unknown, uri?: unknown): Part {
  const base64 = typeof data === 'string' ? data : '';
  const image = IMAGES.get(plainText(mimeType).toLowerCase());
  const digits = image ? base64.replace(/\s+/g, '') : '';
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(digits)) {
    const bytes = Buffer.from(digits, 'base64').toString('base64');
    if (bytes) return { type: 'input_image', image_url: `data:${image};base64,${bytes}` };
  }
  return placeholder(kind, uri, mimeType, `${Buffer.byteLength(base64, 'base64')} bytes`);
}

/** The images that all models which see can read; because of another format, they refuse the whole request. */
const IMAGES: ReadonlyMap<string, string> = new Map([
  ['image/png', 'image/png'],
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
]);

/** Such as `[audio audio/wav, 512 bytes]`. */
function placeholder(kind: string, ...details: readonly unknown[]): string {
  const texts = details.filter((detail) => typeof detail === 'string' && detail !== '');
  return texts.length === 0 ? `[${kind}]` : `[${kind} ${texts.join(', ')}]`;
}
