/** Reads an answer while it is sent, to store the turn in it. */
import type { StoredResponse } from '../../ports/store.ts';

/** Reads one answer, event by event or as a whole. */
export interface AnswerReader {
  /** Takes the data of one event; returns whether it is the last that matters. */
  event(data: string): boolean;
  /** Takes the whole answer. */
  whole(text: string): void;
  /** The turn to store; undefined if the answer failed or was cut off. */
  turn(): StoredResponse | undefined;
}
