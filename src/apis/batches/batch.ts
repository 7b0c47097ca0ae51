/** A batch as the store keeps it: what it is to do, how far it has come, and where its results are. */
import type { ResponseKey } from '../../ports/store.ts';
import type { BatchKind } from '../../protocol/ids.ts';

/** OpenAI's words; Anthropic's are derived from them. */
export type BatchStatus =
  | 'validating'
  | 'failed'
  | 'in_progress'
  | 'finalizing'
  | 'completed'
  | 'expired'
  | 'cancelling'
  | 'cancelled';

const ENDED: ReadonlySet<BatchStatus> = new Set(['failed', 'completed', 'expired', 'cancelled']);

/** A fault of the input, by which the whole batch fails. */
export interface BatchFault {
  readonly code: string;
  readonly message: string;
  /** The field of the line; null for none. */
  readonly param: string | null;
  /** Counted from 1; null for a fault of the whole file. */
  readonly line: number | null;
}

/** What the answered lines used. */
export interface BatchUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Lines that have been answered. */
export interface BatchCounts {
  readonly completed: number;
  readonly failed: number;
  /** Of the results, as they are written. */
  readonly bytes: number;
  readonly usage: BatchUsage;
}

/** Nothing has been answered. */
export const NO_COUNTS: BatchCounts = {
  completed: 0,
  failed: 0,
  bytes: 0,
  usage: { input: 0, cached: 0, output: 0, reasoning: 0 },
};

/** Successive lines that one process answers at a time, with a log of their own. */
export interface BatchPart {
  /** Where its first line begins in the input, in bytes, and where its last one ends. */
  readonly start: number;
  readonly end: number;
  /** Without empty ones. */
  readonly lines: number;
  /** Set once nothing more is answered in it. */
  readonly ended?: BatchCounts | undefined;
}

/** What the store keeps of a batch as the resource of a record. */
export interface BatchState {
  readonly kind: BatchKind;
  /** Such as `/v1/responses`. */
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly status: BatchStatus;
  /** When it reached each status, in milliseconds since the epoch. */
  readonly times: Readonly<Partial<Record<BatchStatus, number>>>;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** How long its files are kept, in seconds after they are written; undefined for as long as others. */
  readonly outputSeconds?: number | undefined;
  /** The headers of the request that created it, sealed. */
  readonly headers: string;
  readonly model?: string | undefined;
  /** Lines of the input, once it is validated. */
  readonly total: number;
  readonly faults: readonly BatchFault[];
  /** Names the logs of the parts: another process that validates the same input makes others. */
  readonly attempt: string;
  readonly parts: readonly BatchPart[];
  /** How many of the parts have been handed to the engine. */
  readonly submitted: number;
  /** Whether lines were left because the time was over. */
  readonly isLate?: boolean | undefined;
  /** The files that a process has begun to write: another one that takes over deletes them. */
  readonly writing?: readonly string[] | undefined;
  readonly outputFileId?: string | undefined;
  readonly errorFileId?: string | undefined;
  /** The process that runs it, where the engine does not know, and until when it says so. */
  readonly lease?: { readonly owner: string; readonly until: number } | undefined;
}

/** What every batch begins with. */
export const NEW_BATCH = {
  status: 'validating',
  times: {},
  faults: [],
  attempt: '',
  parts: [],
  submitted: 0,
} as const satisfies Partial<BatchState>;

/** A batch of one tenant. */
export interface Batch extends ResponseKey {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly version: number;
  readonly state: BatchState;
}

/** Whether nothing more happens to it. */
export function hasEnded({ state: { status } }: Pick<Batch, 'state'>): boolean {
  return ENDED.has(status);
}

/** The key of a part's event log. */
export function partLogKey({ scope, id, state: { attempt } }: Batch, part: number): ResponseKey {
  return { scope, id: `${id}.${attempt}.${part}` };
}

/** The sum of both. */
export function addCounts(one: BatchCounts, other: BatchCounts): BatchCounts {
  return {
    completed: one.completed + other.completed,
    failed: one.failed + other.failed,
    bytes: one.bytes + other.bytes,
    usage: {
      input: one.usage.input + other.usage.input,
      cached: one.usage.cached + other.usage.cached,
      output: one.usage.output + other.usage.output,
      reasoning: one.usage.reasoning + other.usage.reasoning,
    },
  };
}

/** The counts of the parts that have ended. */
export function endedCounts({ parts }: Pick<BatchState, 'parts'>): BatchCounts {
  return parts.reduce((sum, { ended }) => (ended ? addCounts(sum, ended) : sum), NO_COUNTS);
}

/** The state with this status, and with the time at which it has reached that. */
export function withStatus(state: BatchState, status: BatchStatus, now = Date.now()): BatchState {
  return { ...state, status, times: { ...state.times, [status]: now } };
}
