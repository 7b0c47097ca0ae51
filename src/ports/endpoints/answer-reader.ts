/** Reads an answer as it passes by, to keep the turn that is in it. */
import type { StoredResponse } from '../store.ts';

/** Reads one answer, event by event or as a whole. */
export interface AnswerReader {
  /** Takes the data of one event; whether it is the last that matters. */
  event(data: string): boolean;
  /** Takes the whole answer. */
  whole(text: string): void;
  /** The turn as it is to be kept; undefined where the answer failed or broke off. */
  turn(): StoredResponse | undefined;
}
