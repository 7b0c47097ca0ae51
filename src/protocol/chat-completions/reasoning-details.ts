/** Merges the `reasoning_details` of one answer, whose entries may arrive in pieces. */
import { isRecord, type JsonObject } from '../record.ts';
import { weightOf } from './own-fields.ts';

/** The fields that a piece continues; of all others the last non-empty value counts. */
const GROWING: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/** The entries of one answer, in the order in which they began. */
export class ReasoningDetails {
  /** Whether any entry holds more than text: only its own server can read that. */
  isOpaque = false;
  /** The approximate number of characters they hold. */
  weight = 0;
  private begun: Record<string, unknown>[] = [];
  private readonly numbered = new Map<string, Record<string, unknown>>();

  /** `isWhole` means that the entries do not arrive in pieces. */
  take(list: readonly unknown[], isWhole: boolean): void {
    // An entry without a number continues the last one of the chunk before, and none of its own chunk.
    let last = this.begun.at(-1);
    for (const piece of list) {
      const weight = isRecord(piece) ? weightOf(piece) : undefined;
      if (!isRecord(piece) || weight === undefined) continue;
      this.weight += weight;
      this.isOpaque ||= isOpaque(piece);
      const known = isWhole ? undefined : this.entryOf(piece, last);
      if (known) extend(known, piece);
      else this.begin(piece);
      last = undefined;
    }
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
    const known = piece.index === undefined || piece.index === null ? last : this.numbered.get(keyOf(piece));
    if (known?.type !== piece.type || (known?.index ?? undefined) !== (piece.index ?? undefined)) return undefined;
    return known && goesOn(known, piece) ? known : undefined;
  }

  private begin(piece: JsonObject): void {
    const entry = { ...piece };
    this.begun.push(entry);
    this.numbered.set(keyOf(piece), entry);
  }
}

/** Servers number entries by type: a summary and an encrypted entry may have the same number. */
function keyOf({ type, index }: JsonObject): string {
  return `${type} ${index}`;
}

function isOpaque({ data, signature }: JsonObject): boolean {
  return isText(data) || isText(signature);
}

/** Another id begins another entry, and so does text after a signature: the signature ends the entry before it. */
function goesOn(known: JsonObject, piece: JsonObject): boolean {
  if (isText(known.id) && isText(piece.id) && known.id !== piece.id) return false;
  return !(isText(known.signature) && (isText(piece.text) || isText(piece.summary)));
}

function extend(entry: Record<string, unknown>, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    // Assigned, it would be the entry's prototype.
    if (name === '__proto__') continue;
    if (GROWING.has(name) && typeof value === 'string') entry[name] = textOf(entry[name]) + value;
    else if (value !== '' && value !== null && value !== undefined) entry[name] = value;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
