/** Merges a list of one answer whose entries may arrive in pieces: `reasoning_details`, `thinking_blocks`, or the summaries of content parts. */
import { isFilledText, isRecord, type JsonObject } from '../record.ts';
import { jsonWeight } from './own-fields.ts';

/** The fields that a piece continues; of all others the last non-empty value counts. */
const GROWING: ReadonlySet<string> = new Set(['text', 'summary', 'thinking', 'data']);
/** The types of Claude's thoughts: those that have a signature each, even without text, and those that come whole. */
const SIGNED: ReadonlySet<unknown> = new Set(['thinking', 'summary_text']);
const ENCRYPTED: ReadonlySet<unknown> = new Set(['redacted_thinking', 'summary_encrypted_text']);

/** The entries of one answer, in the order in which they began. */
export class ReasoningDetails {
  /** Whether any entry holds more than text: only its own server can read that. */
  isOpaque = false;
  /** The approximate number of characters they hold. */
  weight = 0;
  private begun: Record<string, unknown>[] = [];
  private readonly numbered = new Map<string, Record<string, unknown>>();

  /** Returns the entries that begin in this list; `isWhole` means that they do not arrive in pieces. */
  take(list: readonly unknown[], isWhole: boolean): readonly JsonObject[] {
    const before = this.begun.length;
    // An entry without a number continues the last one of the chunk before, and none of its own chunk.
    let last = this.begun.at(-1);
    for (const piece of list) {
      const weight = isRecord(piece) ? jsonWeight(piece) : undefined;
      if (!isRecord(piece) || weight === undefined) continue;
      this.weight += weight;
      this.isOpaque ||= isFilledText(piece.data) || isFilledText(piece.signature);
      const known = isWhole ? undefined : this.entryOf(piece, last);
      if (known) extendEntry(known, piece);
      else this.begin(piece);
      last = undefined;
    }
    return this.begun.slice(before);
  }

  /** The entries so far, once: later pieces begin new ones. */
  taken(): readonly JsonObject[] {
    const { begun } = this;
    this.begun = [];
    this.numbered.clear();
    return begun;
  }

  /** The entries that have not been taken. */
  get entries(): readonly JsonObject[] {
    return this.begun;
  }

  private entryOf(piece: JsonObject, last: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
    if (ENCRYPTED.has(piece.type)) return undefined;
    // Servers number entries by type: a summary and an encrypted entry may have the same number.
    const known =
      piece.index === undefined || piece.index === null ? last : this.numbered.get(`${piece.type} ${piece.index}`);
    if (known?.type !== piece.type || (known?.index ?? undefined) !== (piece.index ?? undefined)) return undefined;
    // Another id begins another entry, and so does text after a signature: the signature ends the entry before it.
    if (!known || (isFilledText(known.id) && isFilledText(piece.id) && known.id !== piece.id)) return undefined;
    const hasMoreText = isFilledText(piece.text) || isFilledText(piece.summary) || isFilledText(piece.thinking);
    const isSigned = SIGNED.has(piece.type) && isFilledText(piece.signature) && piece.signature !== known.signature;
    return isFilledText(known.signature) && (hasMoreText || isSigned) ? undefined : known;
  }

  private begin(piece: JsonObject): void {
    const entry = { ...piece };
    this.begun.push(entry);
    this.numbered.set(`${piece.type} ${piece.index}`, entry);
  }
}

function extendEntry(entry: Record<string, unknown>, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    // Assigned, it would be the entry's prototype.
    if (name === '__proto__') continue;
    const before = entry[name];
    // LiteLLM repeats the whole thought in the block that is signed.
    const isRepeated =
      name === 'thinking' &&
      isFilledText(piece.signature) &&
      isFilledText(value) &&
      isFilledText(before) &&
      value.startsWith(before);
    if (isRepeated) entry[name] = value;
    else if (GROWING.has(name) && typeof value === 'string')
      entry[name] = typeof before === 'string' ? before + value : value;
    else if (value !== '' && value !== null && value !== undefined) entry[name] = value;
  }
}
