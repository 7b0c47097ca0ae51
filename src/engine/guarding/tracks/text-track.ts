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
