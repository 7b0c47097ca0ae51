/** One guard over a text that is still being written. */
import { setImmediate } from 'node:timers/promises';
import type { Guard, GuardFinding } from '../../ports/guard.ts';
import type { MaybePromise } from '../../ports/store.ts';
import { andThen } from '../../protocol/record.ts';
import { characterStart, type Edit, edited } from '../guard/edits.ts';
import type { GuardContext, GuardedPlace } from '../guard/guard-context.ts';
import { applied, findingsOf, scanned } from '../guard/run-guard.ts';

/** Takes a text in pieces; returns what may be passed on. */
export interface TextStage {
  write(text: string): MaybePromise<string>;
  end(): MaybePromise<string>;
  /** The index in the text passed on of a character of the original text. */
  placeOf(index: number): number;
  /** Whether characters are held back. */
  readonly holds: boolean;
}

/** Encodes a replacement, such as for JSON. */
export type Spell = (replacement: string) => string;

/** How much of the text that was passed on a scanning guard sees again. */
const CONTEXT = 64;
const LOOKAHEAD = 128;
/** How much is scanned without a pause. */
const SLICE = 32 * 1024;
/** The maximum that is held back; a longer text is decided as if it ended there. */
export const MOST_HELD = 8192;

/** The stage of a guard. */
export function stageOf(guard: Guard, at: GuardedPlace, context: GuardContext, spell: Spell): TextStage {
  const stage = guard.scan ? new ScanStage(guard, at, context, spell) : new WindowStage(guard, at, context, spell);
  return guard.mode === 'monitor' ? new ObservingStage(stage) : stage;
}

/** Where replacements have moved the characters after them. */
class Shifts {
  private readonly ends: number[] = [];
  private readonly shifts: number[] = [];
  /** Characters that were passed on or replaced. */
  private taken = 0;

  /** Records the edits of a text that is taken from `from` up to `to`. */
  take(edits: readonly Edit[], from: number, to: number): void {
    const base = this.taken - from;
    for (const { start, end, text } of edits) {
      this.shifts.push((this.shifts.at(-1) ?? 0) + text.length - (end - start));
      this.ends.push(base + end);
    }
    this.taken += to - from;
  }

  placeOf(index: number): number {
    let low = 0;
    let high = this.ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.ends[middle] ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, index + (this.shifts[low - 1] ?? 0));
  }
}

function spelled(edits: readonly Edit[], spell: Spell): readonly Edit[] {
  return edits.map((edit) => ({ ...edit, text: spell(edit.text) }));
}

/** A guard, and the text that it holds back. */
abstract class HoldingStage implements TextStage {
  protected readonly shifts = new Shifts();
  protected held = '';
  protected readonly guard: Guard;
  protected readonly at: GuardedPlace;
  protected readonly context: GuardContext;
  protected readonly spell: Spell;

  constructor(guard: Guard, at: GuardedPlace, context: GuardContext, spell: Spell) {
    this.guard = guard;
    this.at = at;
    this.context = context;
    this.spell = spell;
  }

  get holds(): boolean {
    return this.held !== '';
  }

  placeOf(index: number): number {
    return this.shifts.placeOf(index);
  }

  abstract write(text: string): MaybePromise<string>;
  abstract end(): MaybePromise<string>;
}

/** A guard that reports how much is decided: only text that may become a finding is held back. */
class ScanStage extends HoldingStage {
  private before = '';

  write(text: string): MaybePromise<string> {
    return text.length > SLICE ? this.writeLong(text) : this.take(text);
  }

  end(): string {
    return this.advance(true);
  }

  /** Between the slices of a whole text other requests have their turn. */
  private async writeLong(text: string): Promise<string> {
    let out = '';
    for (let at = 0; at < text.length; at += SLICE) {
      if (at > 0) await setImmediate();
      this.context.signal.throwIfAborted();
      out += this.take(text.slice(at, at + SLICE));
    }
    return out;
  }

  private take(text: string): string {
    this.held += text;
    const out = this.advance(false);
    return this.held.length > MOST_HELD ? out + this.advance(true) : out;
  }

  private advance(isEnd: boolean): string {
    if (this.held === '') return '';
    const text = this.before + this.held;
    const from = this.before.length;
    const found = scanned(this.guard, text, from, isEnd, this.at, this.context);
    const { settled } = found;
    const edits = spelled(found.edits, this.spell);
    this.shifts.take(edits, from, settled);
    this.before = text.slice(Math.max(0, settled - CONTEXT), settled);
    this.held = text.slice(settled);
    return edited(text, edits, from, settled);
  }
}

/** Any other guard sees windows: a finding counts once `lookahead` characters follow it. */
class WindowStage extends HoldingStage {
  private readonly lookahead = this.guard.lookahead ?? LOOKAHEAD;

  async write(text: string): Promise<string> {
    this.held += text;
    return this.held.length < 2 * this.lookahead ? '' : this.advance(false);
  }

  async end(): Promise<string> {
    return this.held === '' ? '' : this.advance(true);
  }

  private async advance(isEnd: boolean): Promise<string> {
    const { guard, held: text, at, context } = this;
    const found = await findingsOf(guard, text, at, context);
    const cut = isEnd ? text.length : this.cutOf(text, found);
    // The next window has the others again.
    const taken = guard.mode === 'enforce' ? found : found.filter(({ end }) => end <= cut);
    const edits = spelled(applied(guard, text, taken, at, context), this.spell);
    this.shifts.take(edits, 0, cut);
    this.held = text.slice(cut);
    return edited(text, edits, 0, cut);
  }

  /** After a word, outside of findings, and only as far as enough text follows. */
  private cutOf(text: string, found: readonly GuardFinding[]): number {
    const most = text.length - this.lookahead;
    const word = wordEnd(text, most);
    const wanted = word > 0 || text.length < 4 * this.lookahead ? word : characterStart(text, most);
    const torn = found.find(({ start, end }) => start < wanted && wanted < end);
    if (!torn) return wanted;
    return torn.start > 0 || text.length < MOST_HELD ? torn.start : torn.end;
  }
}

/** The index after the last blank before `most`; 0 if there is none. */
function wordEnd(text: string, most: number): number {
  for (let at = most; at > 0; at -= 1) if (isBlank(text.charCodeAt(at - 1))) return at;
  return 0;
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

/** A monitoring guard holds nothing back. */
class ObservingStage implements TextStage {
  readonly holds = false;
  private readonly watched: TextStage;

  constructor(watched: TextStage) {
    this.watched = watched;
  }

  write(text: string): MaybePromise<string> {
    return andThen(this.watched.write(text), () => text);
  }

  end(): MaybePromise<string> {
    return andThen(this.watched.end(), () => '');
  }

  placeOf(index: number): number {
    return index;
  }
}
