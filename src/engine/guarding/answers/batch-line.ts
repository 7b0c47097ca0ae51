/** Guards a line of a batch's results, in which a whole answer of an API stands. */
import { objectIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { AnyAnswer } from './any-answer.ts';

/** Where a line holds the answer: in OpenAI's words, and in Anthropic's. */
const ANSWERS = [
  ['response', 'body'],
  ['result', 'message'],
] as const;

/**
 * The line of JSON with the answer in it guarded as an answer, and everything else as text. A line of another form is guarded as a
 * whole. Rejects with `guard_failed`.
 */
export async function guardLine(text: string, newReader: () => AnyAnswer): Promise<string> {
  const line = objectIn(text) ?? {};
  for (const [member, name] of ANSWERS) {
    const owner = line[member];
    if (!isRecord(owner) || !isRecord(owner[name])) continue;
    const [answer, rest] = await Promise.all([
      newReader().whole(JSON.stringify(owner[name])),
      newReader().whole(JSON.stringify({ ...line, [member]: { ...owner, [name]: null } })),
    ]);
    const guarded: JsonObject = objectIn(rest) ?? {};
    const shown = guarded[member];
    // What is left of a line that is blocked has no place for an answer.
    return isRecord(shown) ? JSON.stringify({ ...guarded, [member]: { ...shown, [name]: objectIn(answer) } }) : rest;
  }
  return newReader().whole(text);
}
