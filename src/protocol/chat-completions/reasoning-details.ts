/** Puts together the `reasoning_details` of one answer, whose entries may come in pieces. */
import { isRecord, type JsonObject } from '../record.ts';
import { weightOf } from './weight.ts';

/** The fields that a piece goes on with; of all others the last one that says something counts. */
const GROWING: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/** The entries of one answer, in the order in which they began. */
export class ReasoningDetails {
  /** Whether any entry holds more than words: only its own server can read that. */
  isOpaque = false;
  /** About how many characters they hold. */
  weight = 0;
  private begun: Record<string, unknown>[] = [];
  private readonly numbered = new Map<string, Record<string, unknown>>();

  /** `isWhole` says that they come in no pieces. */
  take(list: readonly unknown[], isWhole: boolean): void {
    // What has no number goes on with what came last in the chunk before, and with nothing of its own chunk.
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

  /** The entries so far, once: what comes later begins new ones. */
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

/** Servers number entries by kind: a summary and what is sealed may have the same number. */
function keyOf({ type, index }: JsonObject): string {
  return `${type} ${index}`;
}

function isOpaque({ data, signature }: JsonObject): boolean {
  return isText(data) || isText(signature);
}

/** Another id is another entry, and so are words behind a signature: it was of those before it. */
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
