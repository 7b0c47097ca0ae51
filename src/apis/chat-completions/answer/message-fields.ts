/** The fields of an assistant message besides its text and calls: they are sent back unchanged, even if unknown here. */
import { moveCitations } from '../../../protocol/annotations.ts';
import { jsonWeight, mergeInto, type OwnFields } from '../../../protocol/chat-completions/own-fields.ts';
import { ReasoningDetails } from '../../../protocol/chat-completions/reasoning-details.ts';
import { REASONING_ENTRY_FIELDS, REASONING_TEXT_FIELDS } from '../../../protocol/chat-completions/reasoning-fields.ts';
import { isEmptyField, isRecord, type JsonObject, plainText, recordsIn } from '../../../protocol/record.ts';

/** The fields that are rewritten. */
const OWN: ReadonlySet<string> = new Set(['role', 'tool_calls', 'function_call']);

/** The fields whose texts are pieces of one text. */
export const TEXT_FIELDS: ReadonlySet<string> = new Set(['content', 'refusal', ...REASONING_TEXT_FIELDS]);

/** The fields whose lists hold entries in pieces. */
const ENTRY_FIELDS: ReadonlySet<string> = new Set(REASONING_ENTRY_FIELDS);

/** The fields of one message, whose deltas come one after another. */
export class MessageFields {
  private readonly fields: OwnFields = {};
  private readonly entries = new Map<string, ReasoningDetails>();
  /** The summaries of the last parts of the content that hold reasoning. */
  private readonly summaries = new ReasoningDetails();

  /** Takes a delta, or the whole message; returns the approximate number of characters that are not text. */
  take(message: JsonObject, isWhole: boolean): number {
    let weight = 0;
    // The limit on output counts the first text of a delta already, as it does a refusal.
    const thought = REASONING_TEXT_FIELDS.find((name) => message[name]);
    for (const name in message) {
      const value = message[name];
      const isContent = name === 'content' && !Array.isArray(value);
      if (OWN.has(name) || isContent || name === '__proto__' || (!isWhole && isEmptyField(value))) continue;
      const more = jsonWeight(value);
      if (more === undefined) continue;
      const isCounted = typeof value === 'string' && (name === thought || name === 'refusal');
      if (!isCounted) weight += more;
      this.add(name, value, isWhole);
    }
    return weight;
  }

  /** All of them. */
  all(): JsonObject {
    return this.fields;
  }

  private add(name: string, value: unknown, isWhole: boolean): void {
    const { fields } = this;
    if (isWhole) fields[name] = value;
    else if (name === 'content') fields.content = withParts(fields.content, value, this.summaries);
    else if (ENTRY_FIELDS.has(name) && Array.isArray(value)) {
      const details = this.entries.get(name) ?? new ReasoningDetails();
      this.entries.set(name, details);
      details.take(value, false);
      fields[name] = details.entries;
    } else if (TEXT_FIELDS.has(name) && typeof value === 'string') fields[name] = plainText(fields[name]) + value;
    else mergeInto(fields, { [name]: value }, 'append');
  }
}

/** Continues the fields of earlier answers with those of the next: texts and lists go on, and of others the last one counts. */
export function continueFields(earlier: OwnFields, more: JsonObject): void {
  for (const [name, value] of Object.entries(more)) {
    const before = earlier[name];
    if (typeof value === 'string' && TEXT_FIELDS.has(name)) earlier[name] = plainText(before) + value;
    else if (Array.isArray(value) && Array.isArray(before)) earlier[name] = [...before, ...value];
    else if (value !== null || before === undefined) earlier[name] = value;
  }
}

/**
 * The fields with their citations placed in a text that has `length` characters in front of theirs: model servers count from the
 * beginning of each answer.
 */
export function withLaterCitations(fields: JsonObject, length: number): JsonObject {
  const { annotations } = fields;
  return Array.isArray(annotations)
    ? { ...fields, annotations: moveCitations(annotations, (place) => place + length) }
    : fields;
}

/**
 * Mistral and Databricks stream their content as parts, each of which continues while the next has the same type, and, in a
 * part with a `summary`, until its signature.
 */
function withParts(known: unknown, more: unknown, summaries?: ReasoningDetails): readonly unknown[] {
  const parts: unknown[] = Array.isArray(known) ? known : [];
  for (const part of recordsIn(more)) {
    if (summaries && part.type === 'reasoning') {
      const summary = summaries.take(recordsIn(part.summary), false);
      if (summary.length > 0) parts.push({ ...part, summary });
      continue;
    }
    summaries?.taken();
    const last = parts.at(-1);
    if (isRecord(last) && last.type === part.type) continuePart(last, part);
    // A copy: the chunk may be sent on.
    else parts.push(continuePart({ ...part, ...(Array.isArray(part.thinking) ? { thinking: [] } : {}) }, part, true));
  }
  return parts;
}

function continuePart(last: OwnFields, part: JsonObject, isFirst = false): OwnFields {
  if (typeof part.text === 'string' && !isFirst) last.text = `${last.text ?? ''}${part.text}`;
  if (Array.isArray(part.thinking)) last.thinking = withParts(last.thinking, part.thinking);
  return last;
}

/** The fields of a call that are rewritten; its number belongs to the stream alone. */
const OF_CALLS: ReadonlySet<string> = new Set(['id', 'index', 'type', 'function', 'custom']);

/** The other fields of a piece of a call; undefined if there are none. */
export function callFields(piece: JsonObject): JsonObject | undefined {
  let found: Record<string, unknown> | undefined;
  for (const name of Object.keys(piece)) {
    if (OF_CALLS.has(name) || name === '__proto__' || isEmptyField(piece[name])) continue;
    if (jsonWeight(piece[name]) === undefined) continue;
    found ??= {};
    found[name] = piece[name];
  }
  return found;
}
