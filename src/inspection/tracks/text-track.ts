/** All guards over a text that is still being written. */
import type { TextStage } from './stage.ts';

/** A text in pieces. */
export interface Track {
  /** Takes more of the text; resolves with what may be passed on. Rejects with `GuardBlocked`, and `guard_failed`. */
  write(text: string): Promise<string>;
  /** The rest. */
  end(): Promise<string>;
  /** Whether characters are held back. */
  readonly holds: boolean;
  /** The index of the next character in the original text. */
  readonly position: number;
  /** The index in the text passed on of a character of the original text. */
  placeOf(index: number): number;
}

/** Each guard receives the output of the one before it. */
export class TextTrack implements Track {
  private readonly stages: readonly TextStage[];
  /** Characters that were taken. */
  private length = 0;

  constructor(stages: readonly TextStage[]) {
    this.stages = stages;
  }

  get holds(): boolean {
    return this.stages.some(({ holds }) => holds);
  }

  get position(): number {
    return this.length;
  }

  async write(text: string): Promise<string> {
    this.length += text.length;
    let passed = text;
    for (const stage of this.stages) {
      if (passed === '') return '';
      const out = stage.write(passed);
      passed = typeof out === 'string' ? out : await out;
    }
    return passed;
  }

  async end(): Promise<string> {
    let passed = '';
    for (const stage of this.stages) {
      const written = passed === '' ? '' : await stage.write(passed);
      passed = written + (await stage.end());
    }
    return passed;
  }

  placeOf(index: number): number {
    return this.stages.reduce((place, stage) => stage.placeOf(place), index);
  }
}

/** Makes the track of a run of text in JSON: of a string's characters, or of what stands between strings. */
type NewRun = (isString: boolean) => TextTrack;

/** JSON that is still being written: its strings are guarded in decoded form, and stay valid JSON strings. */
export class JsonTrack implements Track {
  private readonly newRun: NewRun;
  private run: TextTrack;
  private inString = false;
  /** An incomplete escape. */
  private escape = '';
  private length = 0;
  private shown = 0;
  /** How far the strings before have moved what follows each of these places. */
  private readonly shifts: { readonly at: number; readonly by: number }[] = [];

  constructor(newRun: NewRun) {
    this.newRun = newRun;
    this.run = newRun(false);
  }

  get holds(): boolean {
    return this.run.holds || this.escape !== '';
  }

  get position(): number {
    return this.length;
  }

  /** Exact between the strings. */
  placeOf(index: number): number {
    let low = 0;
    let high = this.shifts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.shifts[middle]?.at ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, index + (this.shifts[low - 1]?.by ?? 0));
  }

  async write(text: string): Promise<string> {
    const from = this.length - this.escape.length;
    let out = '';
    for (const piece of this.pieces(text)) {
      if (typeof piece === 'string') out += await this.take(piece);
      else {
        out += await this.turn();
        this.shift(from + piece, this.shown + out.length);
      }
    }
    this.length += text.length;
    this.shown += out.length;
    return out;
  }

  async end(): Promise<string> {
    const rest = this.spelled(await this.run.end()) + this.escape;
    this.escape = '';
    return rest;
  }

  private shift(at: number, shown: number): void {
    const by = shown - at;
    if (by !== (this.shifts.at(-1)?.by ?? 0)) this.shifts.push({ at, by });
  }

  /** The runs of the text, decoded, and the index behind each quote between them. */
  private *pieces(text: string): Generator<string | number> {
    const written = this.escape + text;
    this.escape = '';
    let run = '';
    for (let at = 0; at < written.length; ) {
      const end = runEnd(written, at, this.inString);
      run += written.slice(at, end);
      if (end === written.length) break;
      const escaped = written[end] === '"' ? undefined : escapeAt(written, end);
      if (escaped) {
        run += escaped.text;
        at = escaped.end;
      } else if (written[end] === '"') {
        yield run;
        yield end + 1;
        run = '';
        at = end + 1;
      } else {
        this.escape = written.slice(end);
        break;
      }
    }
    yield run;
  }

  private async take(text: string): Promise<string> {
    return text === '' ? '' : this.spelled(await this.run.write(text));
  }

  private async turn(): Promise<string> {
    const rest = this.spelled(await this.run.end());
    this.inString = !this.inString;
    this.run = this.newRun(this.inString);
    return `${rest}"`;
  }

  private spelled(text: string): string {
    return this.inString && text !== '' ? JSON.stringify(text).slice(1, -1) : text;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where a quote stands, or, in a string, an escape. */
function runEnd(text: string, from: number, inString: boolean): number {
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE || (inString && unit === BACKSLASH)) return at;
  }
  return text.length;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** The character of an escape; undefined while it is incomplete. */
function escapeAt(text: string, at: number): { readonly text: string; readonly end: number } | undefined {
  const kind = text[at + 1];
  if (kind === undefined) return undefined;
  if (kind !== 'u') return { text: ESCAPES[kind] ?? kind, end: at + 2 };
  if (text.length < at + 6) return undefined;
  const code = Number.parseInt(text.slice(at + 2, at + 6), 16);
  return { text: String.fromCharCode(Number.isNaN(code) ? 0xfffd : code), end: at + 6 };
}
