/** The inputs of tools in Anthropic's objects: their numbers leave with all the digits with which they came. */
import { exactTextOfAll, hasDigits, rememberDigits } from '../json/whole-numbers.ts';
import { isRecord, type JsonObject } from '../record.ts';

/** Where an object of the API holds what a model wrote as JSON. */
const INPUTS = ['input'];

/** Remembers the digits of the inputs in this value, which was parsed from the text. */
export function rememberInputs(value: unknown, text: string): void {
  // Most texts hold none.
  if (text.includes('tool_use"')) rememberDigits(value, text, INPUTS);
}

/** The JSON of a message, or of a request with messages. */
export function textWithInputs(value: JsonObject): string {
  const messages = Array.isArray(value.messages) ? value.messages : [value];
  const hasAny = messages.some(
    (message) =>
      isRecord(message) &&
      Array.isArray(message.content) &&
      message.content.some((block) => isRecord(block) && hasDigits(block.input)),
  );
  return hasAny ? exactTextOfAll(value) : JSON.stringify(value);
}
