/** How each provider spells the reasoning of an assistant message: the one table by which it is read, written and merged. */
import { isRecord, type JsonObject, plainText } from '../record.ts';

/**
 * Where a message holds its reasoning: in a field of this name, in parts of the content (`thinking`, Mistral's form, or
 * `reasoning_parts`, Databricks' form), or between tags in its text.
 */
export type ReasoningField =
  | 'reasoning_content'
  | 'reasoning'
  | 'reasoning_text'
  | 'reasoning_details'
  | 'thinking_blocks'
  | 'thinking'
  | 'reasoning_parts'
  | 'think_tags';

/** One provider's spelling. */
interface ReasoningFormat {
  /** The reasoning in a delta or a message; empty if it has none in this form. */
  readonly read: (message: JsonObject) => string;
  /** The fields of a message with this thought; `text` is its answer, for forms that hold both in one field. */
  readonly write: (thought: string, text: string) => JsonObject;
  /** What the deltas of a stream hold: more text, more entries with a number each, more parts, or more of the answer's text. */
  readonly merge: 'text' | 'entries' | 'parts' | 'answer';
}

function textFormat(field: ReasoningField): ReasoningFormat {
  return {
    read: (message) => plainText(message[field]),
    write: (thought) => ({ [field]: thought }),
    merge: 'text',
  };
}

const THINKING_PARTS: ReasoningFormat = {
  read: ({ content }) => (Array.isArray(content) ? content.map(reasoningPartText).join('') : ''),
  write: (thought, text) => ({
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: thought }] },
      ...(text === '' ? [] : [{ type: 'text', text }]),
    ],
  }),
  merge: 'parts',
};

/** Claude accepts no thought without its signature: its state goes back, and nothing else. */
const SIGNED: Pick<ReasoningFormat, 'write'> = { write: () => ({}) };

/** The formats, in the order in which they are looked for: some servers fill two fields with the same text. */
export const REASONING_FORMATS: Readonly<Record<ReasoningField, ReasoningFormat>> = {
  reasoning_content: textFormat('reasoning_content'),
  reasoning: textFormat('reasoning'),
  reasoning_text: textFormat('reasoning_text'),
  reasoning_details: {
    read: ({ reasoning_details: details }) => entriesText(details),
    write: (thought) => ({ reasoning_details: [{ type: 'reasoning.text', text: thought }] }),
    merge: 'entries',
  },
  thinking_blocks: {
    ...SIGNED,
    read: ({ thinking_blocks: blocks }) => entriesText(blocks),
    merge: 'entries',
  },
  thinking: THINKING_PARTS,
  reasoning_parts: { ...THINKING_PARTS, ...SIGNED },
  think_tags: {
    // ThinkTags reads them, from the pieces of the text.
    read: () => '',
    write: (thought, text) => ({ content: `<think>${thought}</think>${text}` }),
    merge: 'answer',
  },
};

/** All of them. */
// The cast: the keys of the table are the names of its type.
export const REASONING_FIELDS = Object.keys(REASONING_FORMATS) as readonly ReasoningField[];

/** Those that are texts in a field of the message. */
export const REASONING_TEXT_FIELDS = REASONING_FIELDS.filter((field) => REASONING_FORMATS[field].merge === 'text');

/** Those that are lists of entries in a field of the message. */
export const REASONING_ENTRY_FIELDS = REASONING_FIELDS.filter((field) => REASONING_FORMATS[field].merge === 'entries');

/** The members of messages and parts that are lists of reasoning, whose texts are within them. */
export const REASONING_LISTS = [...REASONING_ENTRY_FIELDS, 'thinking'];

/** Those that are a field of the message. */
export const REASONING_MESSAGE_FIELDS = REASONING_FIELDS.filter((field) =>
  ['text', 'entries'].includes(REASONING_FORMATS[field].merge),
);

/** The first of these fields that the message or delta fills. */
export function reasoningFieldIn(message: JsonObject): ReasoningField | undefined {
  // A loop, since this is done for every chunk.
  for (const field of REASONING_MESSAGE_FIELDS) if (message[field]) return field;
  return undefined;
}

/** The reasoning of a whole message, whichever field it is in. */
export function readReasoning(message: JsonObject): string {
  return REASONING_FORMATS[reasoningFieldIn(message) ?? 'thinking'].read(message);
}

/** The form of a part of the content that holds reasoning; undefined for other parts. */
export function reasoningPartField({ type }: JsonObject): 'thinking' | 'reasoning_parts' | undefined {
  if (type === 'thinking') return type;
  return type === 'reasoning' ? 'reasoning_parts' : undefined;
}

/** The reasoning in one part of the content, as Mistral or Databricks writes it; empty for other parts. */
export function reasoningPartText(part: unknown): string {
  const field = isRecord(part) ? reasoningPartField(part) : undefined;
  if (!isRecord(part) || !field) return '';
  if (field === 'reasoning_parts') return entriesText(part.summary);
  return typeof part.thinking === 'string' ? part.thinking : entriesText(part.thinking);
}

function entriesText(entries: unknown): string {
  if (!Array.isArray(entries)) return '';
  return entries
    .map((entry) => (isRecord(entry) ? (entry.text ?? entry.summary ?? entry.thinking ?? '') : ''))
    .join('');
}
