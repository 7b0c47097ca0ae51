/** The entries of a recording. */
import type { GrownText } from '../../../protocol/grown-text.ts';
import type { BoundedText } from './bounded-text.ts';

/** The state of a response; `refused` is a request for which no model was called. */
export type RecordedStatus = 'running' | 'completed' | 'incomplete' | 'failed' | 'cancelled' | 'refused';

/** An error, as the client sees it. */
export interface RecordedError {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

/** Something on the timeline that the response's items do not show; times in milliseconds since the request. */
export interface Mark {
  readonly kind: 'approval' | 'note' | 'heartbeat' | 'compaction';
  readonly at: number;
  readonly text: string;
}

/** A call of a tool that the server ran; times in milliseconds since the request. */
export interface ToolRun {
  readonly server: string;
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly error: string | undefined;
}

/** One item; times in milliseconds since the request. */
export interface LiveItem {
  readonly index: number;
  readonly type: string;
  readonly id: string;
  readonly start: number;
  /** When the arguments of a call were complete. */
  argumentsAt: number | undefined;
  end: number | undefined;
  /** The number of its deltas. */
  deltas: number;
  /** The text so far, while it grows. */
  growing: GrownText;
  /** Its length. */
  characters: number;
  /** The whole item, once it is complete. */
  json: BoundedText;
}

/** Where and when a request was sent; milliseconds since the request of the client. */
export interface Attempt {
  readonly host: string;
  readonly at: number;
}

/** One call of a model; times in milliseconds since the client's request. */
export interface ModelCall {
  readonly upstream: string;
  readonly start: number;
  readonly attempts: readonly Attempt[];
  readonly request: BoundedText;
  /** Whether `request` and `answer` are what went over the wire; otherwise they are the arguments and the events of the upstream. */
  readonly isWire: boolean;
  /** The event stream, or one JSON body. */
  readonly answer: string;
  /** The first id in it: that of a chat completion. */
  readonly answerId: string | undefined;
  /** Bytes of the answer that were not kept. */
  readonly answerCut: number;
  readonly batches: number;
  readonly firstOutput: number | undefined;
  readonly end: number | undefined;
  readonly error: RecordedError | undefined;
  /** Gives the memory of the answer back. */
  forget(): void;
}
