/** Converts a tool's result to the parts of a `function_call_output`: those that a model can read, and placeholders. */

import type { ToolResult } from '../../../../ports/tool-provider.ts';
import { roundedValue } from '../../../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../../../protocol/record.ts';
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
  const parts = partsOf(result);
  assertOutputSize(contentOf(parts), maxBytes);
  const isError = result.isError === true;
  const fault = isError || !output ? undefined : faultOf(result.structuredContent, output);
  const whole = fault === undefined ? parts : [fault, ...parts];
  const content = contentOf(whole.map((part) => (typeof part === 'string' ? redact(part) : part)));
  return { content, ...(isError || fault !== undefined ? { isError: true } : {}) };
}

/** Characters of a fault, which may quote the schema. */
const FAULT_CHARACTERS = 1_000;

function faultOf(structured: unknown, { schema, check }: PromisedOutput): string | undefined {
  if (structured === undefined)
    return 'The tool has an output schema, but its result has no structured content. It answered:';
  const wrong = wrongWith(structured, schema, check);
  return (
    wrong && `The result does not match the tool's output schema: ${wrong.slice(0, FAULT_CHARACTERS)}. It answered:`
  );
}

function wrongWith(structured: unknown, schema: JsonObject, check: PromisedOutput['check']): string | undefined {
  try {
    const value = roundedValue(structured);
    return check(value, JSON.stringify(value), schema);
  } catch {
    return 'the value is nested too deeply';
  }
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
      return plainTextOf(block.text);
    case 'image':
      return binary('image', block.mimeType, block.data);
    case 'audio':
      return binary('audio', block.mimeType, block.data);
    case 'resource':
      return resource(isRecord(block.resource) ? block.resource : {});
    case 'resource_link':
      return described('resource link', block.name, block.mimeType, block.uri, block.description);
    default:
      return described(plainTextOf(block.type) || 'block', 'left out');
  }
}

function resource({ uri, mimeType, text, blob }: JsonObject): Part {
  if (typeof text === 'string') return `${described('resource', uri)}\n${text}`;
  return binary('resource', mimeType, blob, uri);
}

function binary(kind: string, mimeType: unknown, data: unknown, uri?: unknown): Part {
  const base64 = typeof data === 'string' ? data : '';
  const image = IMAGES.get(plainTextOf(mimeType).toLowerCase());
  const bytes = image && paddedBase64(base64);
  if (bytes) return { type: 'input_image', image_url: `data:${image};base64,${bytes}` };
  return described(kind, uri, mimeType, `${Buffer.byteLength(base64, 'base64')} bytes`);
}

/** As every decoder reads it: whole, and without the line breaks that some servers write; empty for other text. */
function paddedBase64(data: string): string {
  const text = data.replace(/\s+/g, '');
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64').toString('base64') : '';
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
function described(kind: string, ...details: readonly unknown[]): string {
  const known = details.filter((detail) => typeof detail === 'string' && detail !== '');
  return known.length === 0 ? `[${kind}]` : `[${kind} ${known.join(', ')}]`;
}
