/** Guards a line of a batch's results, in which a whole answer of an API stands. */
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { AnyAnswer } from './any-answer.ts';

/** Where a line holds the answer: in OpenAI's words, and in Anthropic's. */
const ANSWERS = [
  ['response', 'body'],
  ['result', 'message'],
] as const;

/**
 * The line with the answer in it guarded as an answer, and everything else as text. A line of another form is guarded as a whole.
 * Rejects with `guard_failed`.
 */
export async function guardLine(line: JsonObject, newReader: () => AnyAnswer): Promise<unknown> {
  for (const [member, name] of ANSWERS) {
    const owner = line[member];
    if (!isRecord(owner) || !isRecord(owner[name])) continue;
    const [answer, rest] = await Promise.all([
      newReader().wholeBody(owner[name]),
      newReader().wholeBody({ ...line, [member]: { ...owner, [name]: null } }),
    ]);
    // What is left of a line that is blocked has no place for an answer.
    if (!isRecord(rest) || !isRecord(rest[member])) return rest;
    return { ...rest, [member]: { ...rest[member], [name]: answer } };
  }
  return newReader().wholeBody(line);
}
