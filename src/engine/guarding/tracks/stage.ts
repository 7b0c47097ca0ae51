/** One guard over a text that is still being written. */
import { setImmediate } from 'node:timers/promises';
import type { Guard, GuardFinding, GuardScan } from '../../../ports/guard.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { mapMaybePromise } from '../../../protocol/record.ts';
import { characterStart, type Edit } from '../guard/edits.ts';
import type { GuardContext, GuardedPlace } from '../guard/guard-context.ts';
import { editsForFindings, refuseDepth, scanText } from '../guard/run-guard.ts';
import { findingsBefore, mergeScans, unescapeText } from '../reading/escapes.ts';
import { findingsInReading } from '../reading/findings.ts';
import { Reading } from '../reading/reading.ts';

/** Takes a text in pieces; returns what may be passed on. */
export interface TextStage {
  write(text: string): MaybePromise<string>;
  end(): MaybePromise<string>;
  /** The index in the text passed on of a character of the original text. */
  placeOf(index: number): number;
  /** Whether characters are held back. */
  readonly holds: boolean;
}

/** How much of the text that was passed on a scanning guard sees again. */
const CONTEXT = 64;
const LOOKAHEAD = 128;
/** How much is scanned without a pause. */
const SLICE = 32 * 1024;
/** The maximum that is held back; a longer text is decided as if it ended there. */
export const MAX_HELD = 8192;

/** The stage of a guard. */
export function createStage(guard: Guard, at: GuardedPlace, context: GuardContext): TextStage {
  const stage = guard.scan ? new ScanStage(guard, at, context) : new WindowStage(guard, at, context);
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

/** A guard, and the text that it holds back. */
abstract class HoldingStage implements TextStage {
  private readonly shifts = new Shifts();
  protected readonly reading = new Reading();
  protected readonly guard: Guard;
  protected readonly at: GuardedPlace;
  protected readonly context: GuardContext;
  private isRefused = false;

  constructor(guard: Guard, at: GuardedPlace, context: GuardContext) {
    this.guard = guard;
    this.at = at;
    this.context = context;
  }

  get holds(): boolean {
    return this.reading.length > 0;
  }

  placeOf(index: number): number {
    return this.shifts.placeOf(index);
  }

  abstract write(text: string): MaybePromise<string>;
  abstract end(): MaybePromise<string>;

  protected read(text: string): void {
    this.reading.read(text);
    if (!this.reading.isTooDeep || this.isRefused) return;
    this.isRefused = true;
    refuseDepth(this.guard, this.at, this.context);
  }

  /** Passes the view on up to `settled`; `base` is where it begins in `text`, which the findings are in. */
  protected passOn(text: string, base: number, findings: readonly GuardFinding[], settled: number): string {
    const { guard, at, context, reading } = this;
    const decided = editsForFindings(guard, text, findings, at, context);
    const inView =
      base === 0 ? decided : decided.map((each) => ({ ...each, start: each.start - base, end: each.end - base }));
    const edits = reading.editsFor(inView);
    this.shifts.take(edits, 0, reading.sourceAt(settled - base));
    return reading.take(settled - base, edits);
  }
}

/** A guard that reports how much is decided: only text that may become a finding is held back. */
class ScanStage extends HoldingStage {
  private before = '';

  write(text: string): MaybePromise<string> {
    return text.length > SLICE ? this.writeLong(text) : this.take(text);
  }

  end(): string {
    this.reading.finish();
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
    this.read(text);
    const out = this.advance(false);
    return this.reading.view.length > MAX_HELD ? out + this.advance(true) : out;
  }

  private advance(isEnd: boolean): string {
    const { reading, before } = this;
    if (reading.view === '') return '';
    const text = before + reading.view;
    const from = before.length;
    const found = this.scan(text, from, isEnd);
    // The whole of a number is replaced by a string.
    const open = from + reading.openScalar;
    const decided = isEnd || found.settled <= open ? found : findingsBefore(found.findings, open);
    const settled = Math.max(decided.settled, from);
    this.before = text.slice(Math.max(0, settled - CONTEXT), settled);
    return this.passOn(text, from, decided.findings, settled);
  }

  private scan(text: string, from: number, isEnd: boolean): GuardScan {
    const { guard, at, context } = this;
    const raw = scanText(guard, text, from, isEnd, at, context);
    const decoded = unescapeText(text, isEnd);
    if (!decoded) return raw;
    const first = decoded.places.findIndex((place) => place >= from);
    if (first < 0) return { findings: [], settled: from };
    return mergeScans(raw, scanText(guard, decoded.text, first, isEnd, at, context), decoded, from);
  }
}

/** Any other guard sees windows: a finding counts once `lookahead` characters follow it. */
class WindowStage extends HoldingStage {
  private readonly lookahead = this.guard.lookahead ?? LOOKAHEAD;

  async write(text: string): Promise<string> {
    this.read(text);
    return this.reading.view.length < 2 * this.lookahead ? '' : this.advance(false);
  }

  async end(): Promise<string> {
    this.reading.finish();
    return this.reading.view === '' ? '' : this.advance(true);
  }

  private async advance(isEnd: boolean): Promise<string> {
    const { guard, reading, at, context } = this;
    const { view: text } = reading;
    const found = await findingsInReading(guard, reading, at, context);
    if (isEnd) return this.passOn(text, 0, found, text.length);
    const most = Math.min(reading.openScalar, unescapeText(text, false)?.complete ?? text.length);
    const { findings, settled } = findingsBefore(found, Math.min(this.windowEnd(text, found), most));
    // The next window has the others again.
    return this.passOn(text, 0, guard.mode === 'enforce' ? found : findings, settled);
  }

  /** After a word, outside of findings, and only as far as enough text follows. */
  private windowEnd(text: string, found: readonly GuardFinding[]): number {
    const most = text.length - this.lookahead;
    const word = wordEnd(text, most);
    const end = word > 0 || text.length < 4 * this.lookahead ? word : characterStart(text, most);
    const torn = found.find((finding) => finding.start < end && end < finding.end);
    if (!torn) return end;
    return torn.start > 0 || text.length < MAX_HELD ? torn.start : torn.end;
  }
}

/** The index after the last blank before `most`; 0 if there is none. */
function wordEnd(text: string, most: number): number {
  for (let at = most; at > 0; at -= 1) {
    const unit = text.charCodeAt(at - 1);
    if (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) return at;
  }
  return 0;
}

/** A monitoring guard holds nothing back. */
class ObservingStage implements TextStage {
  readonly holds = false;
  private readonly watched: TextStage;

  constructor(watched: TextStage) {
    this.watched = watched;
  }

  write(text: string): MaybePromise<string> {
    return mapMaybePromise(this.watched.write(text), () => text);
  }

  end(): MaybePromise<string> {
    return mapMaybePromise(this.watched.end(), () => '');
  }

  placeOf(index: number): number {
    return index;
  }
}
