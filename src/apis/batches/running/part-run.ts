/** Answers the lines of one part, from where an earlier process left it: each result is in the part's log before it counts. */

import { hash } from 'node:crypto';
import { fromFiles } from '../../../ports/files/file-store.ts';
import type { FairSlots } from '../../../ports/queues/fair-places.ts';
import { limitScope } from '../../../ports/scope.ts';
import { fromStore, storeKey } from '../../../ports/store.ts';
import { ApiError } from '../../../protocol/errors.ts';
import {
  type Batch,
  type BatchCounts,
  type BatchFault,
  type BatchPart,
  type BatchState,
  endedCounts,
  NO_COUNTS,
  partLogKey,
  withStatus,
} from '../batch.ts';
import type { BatchRecords } from '../batch-records.ts';
import { answerLine } from '../lines/answer-line.ts';
import { type LineOrder, readOrder } from '../lines/check-line.ts';
import { type InputLine, readLines } from '../lines/read-lines.ts';
import { resultLine, usageIn } from '../lines/result-lines.ts';
import type { BatchesSettings } from '../settings.ts';
import type { BatchStop } from './batch-stop.ts';
import { lineHeaders } from './line-headers.ts';
import { PartLog } from './part-log.ts';
import { type LineEvent, PartProgress } from './part-progress.ts';

/** What a part is run with. */
interface PartSetup {
  readonly batch: Batch;
  /** Its place among the batch's parts. */
  readonly index: number;
  readonly part: BatchPart;
  readonly records: BatchRecords;
  readonly settings: BatchesSettings;
  readonly slots: FairSlots;
  readonly stop: BatchStop;
  readonly onError: (error: unknown) => void;
}

/** Lines of one part that run at the same time. */
const PARALLEL_LINES = 8;
/** Processes that may end without a result of the part before one of its next lines is taken for the cause. */
const MAX_STARTS = 20;
/** How long the results of a part are kept behind the batch's window. */
const GRACE_MS = 24 * 60 * 60_000;
const LOST: BatchFault = {
  code: 'server_error',
  message: 'The results of some requests were lost.',
  param: null,
  line: null,
};

const GONE: BatchFault = {
  code: 'file_not_found',
  message: 'The input file was deleted before all of its requests were answered.',
  param: 'input_file_id',
  line: null,
};

const SEALED: BatchFault = {
  code: 'server_error',
  message: 'The server was restarted with another secret before all of the requests were answered.',
  param: null,
  line: null,
};

/** The run of one part in this process. */
export class PartRun {
  private readonly setup: PartSetup;
  private progress = PartProgress.parse('');
  private running = 0;
  private wake = () => {};
  private failure: { readonly error: unknown } | undefined;

  constructor(setup: PartSetup) {
    this.setup = setup;
  }

  /** Resolves with `ended` once nothing more is answered in the part, with `released` if another process is to continue it. */
  async run(): Promise<'ended' | 'released'> {
    const { batch, index, records, stop, onError } = this.setup;
    const key = partLogKey(batch, index);
    const { log } = records;
    const [head] = await fromStore(() => log.heads([key]));
    if (!head) return this.end(NO_COUNTS, LOST);
    const epoch = head.epoch + 1;
    const claimed = await fromStore(() => log.claim(key, epoch));
    if (!claimed) return 'released';
    this.progress = PartProgress.parse(claimed.state);
    // Whoever has ended the log could not note in the batch why lines were left.
    if (claimed.ended) return this.endEarly(LOST);
    this.progress.starts += 1;
    const state = () => this.progress.toString();
    const onLost = () => stop.abort('released');
    const { signal } = stop;
    const partLog = new PartLog({ log, key, epoch, next: claimed.next, state, onError, onLost, signal });
    if (!(await partLog.keepState())) return 'released';
    const isSealed = this.isSealed();
    const lines = isSealed ? undefined : await partLines(this.setup);
    if (lines) await this.answerAll(lines, partLog);
    if (stop.why === 'released') return 'released';
    if (!(await partLog.end(batch.state.expiresAt + GRACE_MS))) return 'released';
    return lines ? this.end(this.progress.counts) : this.endEarly(isSealed ? SEALED : GONE);
  }

  /** Ends the part without answering what is left of it: a fault, unless nothing is, or the batch was to stop. */
  private endEarly(fault: BatchFault) {
    const { part, stop } = this.setup;
    const { counts } = this.progress;
    const isWhole = counts.completed + counts.failed >= part.lines;
    return this.end(counts, isWhole || stop.why ? undefined : fault);
  }

  /** Whether no line can be sent any more. Throws where another process may have the secret with which one could. */
  private isSealed(): boolean {
    const { batch, settings, onError } = this.setup;
    try {
      lineHeaders(batch, '', settings.sealer);
      return false;
    } catch (error) {
      if (settings.engine.takesOver) throw error;
      onError(error);
      return true;
    }
  }

  private async answerAll(lines: readonly InputLine[], log: PartLog): Promise<void> {
    const { stop } = this.setup;
    let first = this.progress.starts > MAX_STARTS;
    for (const [index, line] of lines.entries()) {
      if (this.progress.isFinished(index)) continue;
      while (this.running >= (first ? 1 : PARALLEL_LINES) && !stop.signal.aborted)
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      if (stop.signal.aborted || this.failure) break;
      if (first) {
        // One line at a time could still end every process: this one is given up, and the others go on.
        first = false;
        await this.keep(log, index, this.order(line).customId, POISON);
        continue;
      }
      this.running += 1;
      void this.answer(log, index, line)
        .catch((error) => {
          if (stop.signal.aborted) return;
          this.failure ??= { error };
        })
        .finally(() => {
          this.running -= 1;
          this.wake();
        });
    }
    while (this.running > 0)
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    if (this.failure) throw this.failure.error;
  }

  private async answer(log: PartLog, index: number, line: InputLine): Promise<void> {
    const { batch, settings, stop, slots } = this.setup;
    const { scope, state } = batch;
    const { apis, batchLimits } = settings;
    const order = this.order(line);
    const { signal } = stop;
    const request = {
      path: state.endpoint.slice('/v1'.length),
      body: order.body,
      headers: lineHeaders(batch, lineRequestId(batch, this.setup.index, index), settings.sealer),
      scope,
      signal,
    };
    const tenant = limitScope(scope);
    let hasPlace = false;
    const place = {
      async enter() {
        await slots.enter(tenant, signal);
        hasPlace = true;
      },
      leave() {
        if (hasPlace) slots.leave(tenant);
        hasPlace = false;
      },
    };
    let kept: Promise<void>;
    try {
      // In its place: by then those before it have counted.
      await place.enter();
      const isFull = endedCounts(state).bytes + this.progress.counts.bytes >= batchLimits.outputBytes;
      const answer = isFull ? FULL : await answerLine(request, apis, batchLimits, place);
      kept = this.keep(log, index, order.customId, answer);
    } finally {
      place.leave();
    }
    await kept;
  }

  /** Every line was checked before; a file never changes. */
  private order(line: InputLine): LineOrder {
    const { batch, settings } = this.setup;
    const order = readOrder(line, batch.state.endpoint, settings.batchLimits.lineBytes);
    if ('code' in order) throw new Error(`The input of batch ${batch.id} is no longer what it was: ${order.message}`);
    return order;
  }

  /** Keeps the result of a line; from then on the line is finished. */
  private async keep(
    log: PartLog,
    index: number,
    customId: string,
    { status, body }: { readonly status: number; readonly body: unknown },
  ): Promise<void> {
    const { batch } = this.setup;
    const { kind } = batch.state;
    const requestId = lineRequestId(batch, this.setup.index, index);
    const line = resultLine(kind, { requestId, customId, status, body });
    const isDone = status >= 200 && status < 300;
    const counts: BatchCounts = {
      completed: isDone ? 1 : 0,
      failed: isDone ? 0 : 1,
      bytes: Buffer.byteLength(line) + 1,
      usage: usageIn(body),
    };
    this.progress.finish(index, counts);
    const event: LineEvent = { index, isOutput: isDone || kind === 'msgbatch', counts: this.progress.counts, line };
    await log.append(JSON.stringify(event));
  }

  /** Notes in the batch that the part has ended. */
  private async end(counts: BatchCounts, fault?: BatchFault): Promise<'ended'> {
    const { batch, index, records, stop } = this.setup;
    const isLate = stop.why === 'expired';
    await records.change(batch, ({ state }) => endPart(state, index, counts, { isLate, fault }));
    return 'ended';
  }
}

const POISON = {
  status: 500,
  body: {
    error: new ApiError('server_error', 'The server failed several times while this request was being answered.').body,
  },
};
const FULL = {
  status: 502,
  body: { error: new ApiError('output_too_large', 'The answers of this batch are larger than allowed.').body },
};

/** The lines of the part, which are held in memory until it has ended; undefined if the input is gone. Throws `store_error`. */
export async function partLines({
  batch: { scope, state },
  part: { start, end },
  settings: { files, batchLimits },
}: Pick<PartSetup, 'batch' | 'part' | 'settings'>): Promise<readonly InputLine[] | undefined> {
  const bytes = await fromFiles(() => files.read({ scope, id: state.inputFileId }, { start, end }));
  if (!bytes) return undefined;
  const lines: InputLine[] = [];
  for await (const line of readLines(bytes, batchLimits.lineBytes)) lines.push(line);
  return lines;
}

/** The id of a line's request: always the same, so that logs of two attempts show that they belong together. */
export function lineRequestId(batch: Batch, part: number, line: number): string {
  return `batch_req_${hash('sha256', `${storeKey(batch)} ${part} ${line}`).slice(0, 32)}`;
}

/** The state once the part has ended; undefined if it has already. */
function endPart(
  state: BatchState,
  index: number,
  counts: BatchCounts,
  { isLate, fault }: { readonly isLate: boolean; readonly fault: BatchFault | undefined },
): BatchState | undefined {
  if (!state.parts[index] || state.parts[index].ended) return undefined;
  const isStopping = isLate || state.isLate === true || state.status === 'cancelling';
  const parts = state.parts.map((part, place) => {
    if (place === index) return { ...part, ended: counts };
    return isStopping && place >= state.submitted ? { ...part, ended: NO_COUNTS } : part;
  });
  const submitted = isStopping ? parts.length : Math.min(state.submitted + 1, parts.length);
  const faults = fault && state.faults.length === 0 ? [fault] : state.faults;
  const next: BatchState = { ...state, parts, submitted, faults, isLate: isLate || state.isLate };
  const isOver = parts.every(({ ended }) => ended);
  return isOver && state.status === 'in_progress' ? withStatus(next, 'finalizing') : next;
}
