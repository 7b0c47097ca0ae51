/** The inputs of tools in Anthropic's objects: their numbers leave with all the digits with which they came. */
import { exactTextOfAll, hasDigits, holdsLongNumber, rememberDigits } from '../json/whole-numbers.ts';
import { isRecord, type JsonObject } from '../record.ts';

/** Where an object of the API holds what a model wrote as JSON. */
const INPUTS = ['input'];

/** Remembers the digits of the inputs in this value, which was parsed from the text. */
export function rememberInputs(value: unknown, text: string): void {
  // Most texts hold none.
  if (text.includes('tool_use"')) rememberDigits(value, text, INPUTS);
}

/** The same of a request, which may be long: its inputs are looked at, not all of its text. */
export function rememberRequestInputs(body: unknown, text: string): void {
  if (isRecord(body) && someBlock(body, ({ input }) => isRecord(input) && holdsLongNumber(input)))
    rememberDigits(body, text, INPUTS);
}

/** The JSON of a message, or of a request with messages. */
export function textWithInputs(value: JsonObject): string {
  return someBlock(value, ({ input }) => hasDigits(input)) ? exactTextOfAll(value) : JSON.stringify(value);
}

/** Whether a block of the message, or of the messages of a request, matches. */
function someBlock(value: JsonObject, matches: (block: JsonObject) => boolean): boolean {
  const messages = Array.isArray(value.messages) ? value.messages : [value];
  return messages.some(
    (message) =>
      isRecord(message) &&
      Array.isArray(message.content) &&
      message.content.some((block) => isRecord(block) && matches(block)),
  );
}
