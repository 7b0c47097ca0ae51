/** Reads chunks of Chat Completions that differ only in their delta, without parsing them. */

import { type DeltaFormat, DeltaMemo } from '../../json/delta-memo.ts';
import { isEmptyField, isRecord } from '../../record.ts';
import { isForeignRole, type PlainDelta } from '../chunk.ts';
import { readLogProbs } from '../log-probs.ts';

/** The memo of one answer's chunks; it learns from those of the choice that is read alone, which have its number. */
export class ChunkMemo extends DeltaMemo<PlainDelta> {
  constructor() {
    super(FORMAT);
  }
}

const FORMAT: DeltaFormat<PlainDelta> = {
  deltaIn: plainDeltaIn,
  textKey: ({ call }) => (call === undefined ? /"content": ?"/ : /"arguments": ?"/),
  withText: ({ call }, text, logprobs) => ({ text, call, logprobs }),
  fields: new Set(['id', 'object', 'created', 'model', 'service_tier', 'choices', 'usage', 'x_groq', 'error', 'type']),
};

/** The chunk's delta, if it is the only thing in the chunk that is read. */
function plainDeltaIn(chunk: unknown): PlainDelta | undefined {
  if (!isRecord(chunk) || chunk.usage || chunk.error || chunk.x_groq || chunk.type === 'error') return undefined;
  if (chunk.object === 'error' || !Array.isArray(chunk.choices) || chunk.choices.length !== 1) return undefined;
  const [choice] = chunk.choices;
  if (!isRecord(choice) || choice.finish_reason || choice.message || choice.usage) return undefined;
  if (!isRecord(choice.delta)) return undefined;
  const { role, content, tool_calls: calls, ...others } = choice.delta;
  if (isForeignRole(role) || !Object.values(others).every(isEmptyField)) return undefined;
  if (isEmptyField(calls)) {
    if (typeof content !== 'string') return undefined;
    return { text: content, call: undefined, logprobs: readLogProbs(choice.logprobs) };
  }
  if (!isEmptyField(content) || choice.logprobs) return undefined;
  // More arguments of one call that has a number, and whose id and name have already arrived.
  const [entry, ...more] = Array.isArray(calls) ? calls : [];
  if (!isRecord(entry) || more.length > 0 || entry.id || entry.custom || !isRecord(entry.function)) return undefined;
  const { name, arguments: text } = entry.function;
  if (!isEmptyField(entry.extra_content)) return undefined;
  if (typeof text !== 'string' || name || typeof entry.index !== 'number') return undefined;
  return { text, call: entry.index, logprobs: '' };
}
