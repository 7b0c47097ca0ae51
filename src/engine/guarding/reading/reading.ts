/** A text as guards read it: JSON that stands anywhere in it without its escapes, and JSON in the strings of that JSON too. */
import { applyEdits, type Edit } from '../guard/edits.ts';
import { isOpening, JsonLevel } from './json-level.ts';

/** Strings of JSON within strings of JSON: each level doubles the backslashes, so nobody writes as many by chance. */
const MAX_LEVELS = 8;
/** Pieces of one text between which its reading changes; more values than a whole request may have. */
const MAX_RUNS = 2_000_000;

/** Prose, or the characters of a string. */
const TEXT = 0;
/** A number, or `true`, `false` or `null`. */
const SCALAR = 1;
/** Punctuation and blanks of JSON, which no replacement may remove. */
const STRUCTURE = 2;
/** How many pieces that turned out to be no JSON are remembered before those that are gone are forgotten. */
const MAX_FAILED = 256;
type Kind = typeof TEXT | typeof SCALAR | typeof STRUCTURE;

const KINDS = 4;
const LEVELS = 16;

/** A part of the view in which each character has one of its own in the source, or one escape as a whole. */
interface Run {
  readonly view: number;
  readonly viewEnd: number;
  readonly source: number;
  readonly sourceEnd: number;
  readonly kind: Kind;
  readonly level: number;
}

/** A value of the JSON in a text: a string, a name, a number, or the text around the JSON. */
interface Part {
  readonly start: number;
  readonly end: number;
}

/** The text that has been read and not been passed on yet, which grows at its end and is taken from its start. */
export class Reading {
  /** What guards see. */
  view = '';
  /** Whether it holds more than may be read: nothing of it may pass. */
  isTooDeep = false;
  private source = '';
  /** How much of the source the view has: an escape that is incomplete is not among it. */
  private end = 0;
  private views: number[] = [];
  private sources: number[] = [];
  /** The kind, the level and the number of the JSON that each run is in. */
  private tags: number[] = [];
  private isPlain = false;
  /** Whether all of it is text without JSON, as most of an answer is: then the source is the view. */
  private isProse = true;
  private readonly levels: JsonLevel[] = [new JsonLevel()];
  private fragments = 0;
  /** JSON that turned out to be none. */
  private readonly failed = new Set<number>();

  /** Whether the view is the source, letter by letter, without any JSON. */
  get isPlainText(): boolean {
    return this.isProse;
  }

  /** The number of characters that have been read and not been taken. */
  get length(): number {
    return this.isProse ? this.view.length : this.source.length;
  }

  /** Where a number begins that may go on; the end of the view if there is none. */
  get openScalar(): number {
    if (this.isProse) return this.view.length;
    const last = this.tags.length - 1;
    const isOpen = this.levels.some(({ scalar }) => scalar !== '');
    if (!isOpen || last < 0) return this.view.length;
    let first = last;
    while (first > 0 && this.tags[first - 1] === this.tags[last]) first -= 1;
    return this.views[first] ?? 0;
  }

  /** Reads more of the text. */
  read(text: string): void {
    if (this.isProse && !text.includes('{') && !text.includes('[')) {
      this.view += text;
      return;
    }
    if (this.isProse) this.beginRuns();
    const at = this.source.length;
    this.source += text;
    this.feed(0, text, at, 1);
  }

  /** The text has ended: what is incomplete counts as it stands. */
  finish(): void {
    if (!this.isProse) this.closeFrom(0, this.source.length);
  }

  private beginRuns(): void {
    this.isProse = false;
    this.source = this.view;
    this.end = this.view.length;
    this.isPlain = this.end > 0;
    this.views = this.isPlain ? [0] : [];
    this.sources = this.isPlain ? [0] : [];
    this.tags = this.isPlain ? [TEXT] : [];
  }

  /** Takes the view up to this index out of it; returns its source with the edits. */
  take(viewEnd: number, edits: readonly Edit[]): string {
    const end = this.sourceAt(viewEnd);
    const passed = applyEdits(this.isProse ? this.view : this.source, edits, 0, end);
    if (this.isProse) this.view = this.view.slice(viewEnd);
    else this.drop(viewEnd, end);
    return passed;
  }

  /** The source index of a character of the view; that behind the view's last one for its length. */
  sourceAt(view: number): number {
    if (this.isProse) return view;
    if (view >= this.view.length) return this.end;
    const run = this.runAt(this.indexAt(view));
    return isEscape(run) ? run.source : run.source + view - run.view;
  }

  /**
   * The edits of the source that do to it what these do to the view. JSON stays JSON: replacements have its escapes, a number
   * that is touched becomes a string, and punctuation stays.
   */
  editsFor(edits: readonly Edit[]): readonly Edit[] {
    if (this.isProse) return edits;
    const found: SourceEdit[] = [];
    for (const edit of edits)
      for (let index = this.indexAt(edit.start); index < this.views.length; index += 1) {
        const run = this.runAt(index);
        if (run.view >= edit.end) break;
        if (run.kind === SCALAR) this.editScalar(found, index, edit);
        else if (run.kind === TEXT) editText(found, run, edit);
      }
    return found.map(({ start, end, rule, level, text, scalar }) => ({
      start,
      end,
      rule,
      text: scalar ? escaped(JSON.stringify(scalar.written()), level) : escaped(text, level),
    }));
  }

  /** The values of the JSON, and the text around it. */
  parts(): readonly Part[] {
    if (this.isProse) return [{ start: 0, end: this.view.length }];
    const parts: { start: number; end: number }[] = [];
    for (let index = 0; index < this.views.length; index += 1) {
      const { kind, view: start, viewEnd: end } = this.runAt(index);
      const last = parts.at(-1);
      if (kind === STRUCTURE) continue;
      if (last && last.end === start) last.end = end;
      else parts.push({ start, end });
    }
    return parts;
  }

  private editScalar(found: SourceEdit[], index: number, edit: Edit): void {
    const [from, to] = this.scalarAround(index);
    const last = found.at(-1);
    const local = {
      ...edit,
      start: Math.max(edit.start, from.view) - from.view,
      end: Math.min(edit.end, to.viewEnd) - from.view,
    };
    if (last?.scalar && last.start === from.source) return void (last.scalar.end < local.end && last.scalar.add(local));
    const scalar = new ScalarText(this.view.slice(from.view, to.viewEnd));
    scalar.add(local);
    found.push({ ...edit, start: from.source, end: to.sourceEnd, level: from.level, scalar });
  }

  /** The first and the last run of the number that this one belongs to. */
  private scalarAround(index: number): readonly [Run, Run] {
    let from = index;
    let to = index;
    while (from > 0 && this.tags[from - 1] === this.tags[index]) from -= 1;
    while (to + 1 < this.tags.length && this.tags[to + 1] === this.tags[index]) to += 1;
    return [this.runAt(from), this.runAt(to)];
  }

  private indexAt(view: number): number {
    let low = 0;
    let high = this.views.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.views[middle] ?? 0) <= view) low = middle;
      else high = middle;
    }
    return low;
  }

  private runAt(index: number): Run {
    const tag = this.tags[index] ?? 0;
    // The cast: the tag was made of a kind.
    const kind = (tag % KINDS) as Kind;
    const level = Math.floor(tag / KINDS) % LEVELS;
    return {
      view: this.views[index] ?? 0,
      viewEnd: this.views[index + 1] ?? this.view.length,
      source: this.sources[index] ?? 0,
      sourceEnd: this.sources[index + 1] ?? this.end,
      kind: kind !== TEXT && this.failed.has(Math.floor(tag / KINDS / LEVELS)) ? TEXT : kind,
      level,
    };
  }

  private drop(view: number, source: number): void {
    if (view >= this.view.length) {
      this.views = [];
      this.sources = [];
      this.tags = [];
      this.isPlain = false;
    } else {
      const first = this.indexAt(view);
      this.views = this.views.slice(first).map((each) => Math.max(0, each - view));
      this.sources = this.sources.slice(first).map((each) => Math.max(0, each - source));
      this.tags = this.tags.slice(first);
    }
    this.view = this.view.slice(view);
    this.source = this.source.slice(source);
    this.end -= source;
    for (const level of this.levels) level.escapeAt -= source;
    if (this.failed.size > MAX_FAILED) this.forgetFailed();
    const isText = this.tags.length === 0 || (this.tags.length === 1 && this.tags[0] === TEXT);
    const [outermost] = this.levels;
    if (isText && this.view.length === this.source.length && outermost?.isText) this.isProse = true;
  }

  private forgetFailed(): void {
    const held = new Set(this.tags.map((tag) => Math.floor(tag / KINDS / LEVELS)));
    for (const fragment of this.failed) if (!held.has(fragment)) this.failed.delete(fragment);
  }

  /** Takes decoded text at a level: of each character the source has `width`, which is 1 unless it is a single one. */
  private feed(depth: number, text: string, at: number, width: number): void {
    const level = this.levels[depth] ?? this.opened(depth);
    for (let index = 0; index < text.length; ) {
      if (level.isText) index = this.readText(level, depth, text, index, at, width);
      else if (level.isInString) index = this.readString(level, depth, text, index, at, width);
      else index = this.readStructure(level, depth, text, index, at, width);
    }
  }

  private opened(depth: number): JsonLevel {
    const level = new JsonLevel();
    this.levels[depth] = level;
    return level;
  }

  private readText(level: JsonLevel, depth: number, text: string, from: number, at: number, width: number): number {
    let end = from;
    while (end < text.length && !isOpening(text.charCodeAt(end))) end += 1;
    if (end > from) this.emit(TEXT, depth, 0, text.slice(from, end), at + from, width);
    if (end === text.length) return end;
    this.fragments += 1;
    level.begin(this.fragments);
    return this.readStructure(level, depth, text, end, at, width);
  }

  private readStructure(
    level: JsonLevel,
    depth: number,
    text: string,
    index: number,
    at: number,
    width: number,
  ): number {
    const read = level.read(text.charCodeAt(index), depth >= MAX_LEVELS);
    if (read === 'too-deep') this.isTooDeep = true;
    if (read === 'none' || read === 'too-deep') {
      this.fail(level);
      return index;
    }
    this.emit(read === 'scalar' ? SCALAR : STRUCTURE, depth, level.fragment, text.charAt(index), at + index, width);
    return index + 1;
  }

  private readString(level: JsonLevel, depth: number, text: string, from: number, at: number, width: number): number {
    if (level.escape !== '') return this.readEscape(level, depth, text, from, at, width);
    let end = from;
    for (; end < text.length; end += 1) {
      const unit = text.charCodeAt(end);
      if (unit === QUOTE || unit === BACKSLASH || unit < SPACE) break;
    }
    if (end > from) {
      this.feed(depth + 1, text.slice(from, end), at + from, width);
      return end;
    }
    const unit = text.charCodeAt(from);
    if (unit === BACKSLASH) {
      level.escape = '\\';
      level.escapeAt = at + from;
      return from + 1;
    }
    this.closeFrom(depth + 1, at + from);
    if (unit !== QUOTE) {
      // A line break, which no string of JSON has.
      this.fail(level);
      return from;
    }
    level.endString();
    this.emit(STRUCTURE, depth, level.fragment, '"', at + from, width);
    return from + 1;
  }

  private readEscape(level: JsonLevel, depth: number, text: string, index: number, at: number, width: number): number {
    const written = level.escape + text.charAt(index);
    const decoded = decodeEscape(written);
    if (decoded === undefined) {
      level.escape = written;
      return index + 1;
    }
    const from = level.escapeAt;
    if (decoded !== '') {
      level.escape = '';
      this.feed(depth + 1, decoded, from, at + index + width - from);
      return index + 1;
    }
    this.closeFrom(depth + 1, from);
    this.emitEscape(level, depth, at + index);
    this.fail(level);
    return index;
  }

  private fail(level: JsonLevel): void {
    this.failed.add(level.fragment);
    level.reset();
  }

  /** Ends the levels from this one on. The deepest one of those whose escape is incomplete has begun its own first. */
  private closeFrom(depth: number, end: number): void {
    for (let each = this.levels.length - 1; each >= depth; each -= 1) {
      const level = this.levels[each];
      const before = this.levels.slice(depth, each).findLast((outer) => outer.escape !== '');
      if (level) this.emitEscape(level, each, before?.escapeAt ?? end);
      level?.reset();
    }
    this.levels.length = Math.min(this.levels.length, Math.max(depth, 1));
  }

  /** An incomplete escape, or one that is none, is text. */
  private emitEscape(level: JsonLevel, depth: number, end: number): void {
    const { escape: text, escapeAt } = level;
    level.escape = '';
    if (text !== '') this.emit(TEXT, depth, 0, text, escapeAt, end - escapeAt);
  }

  private emit(kind: Kind, depth: number, fragment: number, text: string, at: number, width: number): void {
    const tag = kind + KINDS * (depth + LEVELS * fragment);
    const isPlainPiece = width === 1 || text.length === width;
    const goesOn = isPlainPiece && this.isPlain && this.end === at && this.tags.at(-1) === tag;
    if (!goesOn || this.tags.length === 0) {
      this.views.push(this.view.length);
      this.sources.push(at);
      this.tags.push(tag);
      if (this.tags.length > MAX_RUNS) this.isTooDeep = true;
    }
    this.isPlain = isPlainPiece;
    this.view += text;
    this.end = isPlainPiece ? at + text.length : at + width;
  }
}

/** An edit of the source that still lacks its escapes. */
interface SourceEdit {
  readonly start: number;
  end: number;
  readonly rule: string;
  readonly text: string;
  readonly level: number;
  readonly scalar?: ScalarText | undefined;
}

/** A number with replacements in it. */
class ScalarText {
  private readonly text: string;
  private readonly edits: Edit[] = [];

  constructor(text: string) {
    this.text = text;
  }

  /** The end of the last replacement. */
  get end(): number {
    return this.edits.at(-1)?.end ?? 0;
  }

  add(edit: Edit): void {
    this.edits.push(edit);
  }

  written(): string {
    return applyEdits(this.text, this.edits);
  }
}

/** Runs of one string form one edit; where punctuation lies between them, each has the replacement. */
function editText(found: SourceEdit[], run: Run, edit: Edit): void {
  const isWhole = isEscape(run);
  const start = isWhole ? run.source : run.source + Math.max(0, edit.start - run.view);
  const end = isWhole ? run.sourceEnd : run.source + Math.min(run.viewEnd, edit.end) - run.view;
  const last = found.at(-1);
  if (last && !last.scalar && last.end === start && edit.start < run.view) last.end = end;
  else if (!last || start >= last.end) found.push({ ...edit, start, end, level: run.level });
}

function isEscape({ view, viewEnd, source, sourceEnd }: Run): boolean {
  return viewEnd - view !== sourceEnd - source;
}

function escaped(text: string, levels: number): string {
  let written = text;
  for (let level = 0; level < levels; level += 1) written = JSON.stringify(written).slice(1, -1);
  return written;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '"': '"', '\\': '\\', '/': '/' },
  ...{ n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' },
};
const MAX_ESCAPE = 6;

/** The character of an escape; undefined while it is incomplete, and empty if it is none. */
function decodeEscape(written: string): string | undefined {
  const kind = written.charAt(1);
  if (kind !== 'u') return ESCAPES[kind] ?? '';
  if (!/^\\u[\da-f]{0,4}$/i.test(written)) return '';
  return written.length < MAX_ESCAPE ? undefined : String.fromCharCode(Number.parseInt(written.slice(2), 16));
}
