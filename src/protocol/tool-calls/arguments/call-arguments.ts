/** The one rule for arguments of calls that are no JSON object: nothing of them is lost, whatever a wire can hold. */
import { objectIn } from '../../json/json-text.ts';
import { exactObjectIn, exactText } from '../../json/whole-numbers.ts';
import { type JsonObject, plainText } from '../../record.ts';

/** The field that holds what the model wrote in the place of an object. */
const UNREADABLE = 'invalid_json';

/** Whether the arguments are no JSON object, for example because the model was cut off; a call without any has an empty one. */
export function isUnreadable(text: unknown): boolean {
  return typeof text === 'string' && text.trim() !== '' && objectIn(text) === undefined;
}

/** The arguments for an API that has only objects: text that is none is in a field of its own, so that the model sees what it wrote. */
export function argumentsObject(text: unknown): JsonObject {
  if (typeof text !== 'string' || text.trim() === '') return {};
  return exactObjectIn(text) ?? { [UNREADABLE]: text };
}

/** The same as text, for servers that refuse a whole conversation for one call that is no JSON object. */
export function argumentsText(text: unknown): string {
  if (typeof text === 'string' && objectIn(text) !== undefined) return text;
  return JSON.stringify(argumentsObject(text));
}

/** The arguments as their server has written them: as text, or as the object itself. */
export function writtenArguments(written: unknown): string {
  return typeof written === 'object' && written !== null ? exactText(written) : plainText(written);
}
