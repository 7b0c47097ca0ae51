/** The structured content of a result, which servers repeat as text for older clients. */
import { isDeepStrictEqual } from 'node:util';
import { markedIn, unmarked } from '../../../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject } from '../../../../protocol/record.ts';
import { sizeText } from '../../../../protocol/tool-calls/results/output-text.ts';

/** As JSON, for the model, with all digits of marked numbers; undefined if there is none, or if the blocks have the same content. */
export function contentNotInText(structured: unknown, blocks: readonly JsonObject[]): string | undefined {
  if (structured === undefined) return undefined;
  const contents = blocks.map(({ text, data }): BlockContent => {
    if (typeof data === 'string') return { data };
    return typeof text === 'string' ? { text, value: markedIn(text) } : {};
  });
  // Servers put values that are not objects under a name (`result` in Python, `content`, …), and the bare value into the text.
  const values = isRecord(structured) ? Object.values(structured) : [];
  const bareValue = values.length === 1 ? values[0] : undefined;
  try {
    if (isContained(structured, contents) || isContained(bareValue, contents)) return undefined;
    // The bytes of an image next to it are not text for a model.
    const bytes = new Set(contents.map(({ data }) => data));
    const json = JSON.stringify(structured, (_key, value: unknown) =>
      typeof value === 'string' && bytes.has(value) ? `[${sizeText(Buffer.byteLength(value, 'base64'))}]` : value,
    );
    return unmarked(json);
  } catch {
    // Nested deeper than the stack: no model reads that.
    return '[structured content, nested too deeply]';
  }
}

/** The content of a block: the value that its text is the JSON of, or the text itself, or its bytes. */
interface BlockContent {
  readonly text?: string;
  readonly value?: unknown;
  readonly data?: string;
}

/** Whether a block contains the value, or the blocks contain its members one by one. */
function isContained(value: unknown, contents: readonly BlockContent[]): boolean {
  if (value === undefined) return false;
  if (contents.some((each) => contains(each, value))) return true;
  if (!Array.isArray(value) || value.length !== contents.length || value.length === 0) return false;
  return contents.every((each, index) => contains(each, value[index]));
}

function contains({ text, value: parsed, data }: BlockContent, value: unknown): boolean {
  if (data !== undefined) return isRecord(value) && value.data === data;
  if (text === undefined) return false;
  return text === value || (parsed !== undefined && isDeepStrictEqual(parsed, value));
}
