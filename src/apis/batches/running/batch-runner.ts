/** Runs batches in whichever process their engine chooses: a job validates the input, one answers each part, and one writes the results. */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { drainError } from '../../../engine/request/activity.ts';
import type { BackgroundWorker, ClaimedRun } from '../../../ports/background/background-engine.ts';
import { fromFiles } from '../../../ports/files/file-store.ts';
import { notify } from '../../../ports/hooks.ts';
import { FairSlots } from '../../../ports/queues/fair-places.ts';
import { fromStore, type ResponseKey, storeFailure, storeKey } from '../../../ports/store.ts';
import { toApiError } from '../../../protocol/errors.ts';
import { newObjectId, randomSeed } from '../../../protocol/ids.ts';
import {
  addCounts,
  type Batch,
  type BatchCounts,
  type BatchFault,
  type BatchState,
  endedCounts,
  hasEnded,
  NO_COUNTS,
  partLogKey,
  withStatus,
} from '../batch.ts';
import type { BatchRecords } from '../batch-records.ts';
import { type ValidInput, validateInput } from '../lines/validate-input.ts';
import type { BatchesSettings } from '../settings.ts';
import { BatchStop } from './batch-stop.ts';
import { lineEventIn } from './part-progress.ts';
import { PartRun } from './part-run.ts';
import { writeResults } from './write-results.ts';

type Outcome = Awaited<ReturnType<BackgroundWorker['run']>>;

/** The batch, and what is to be done: nothing more for its validation, the number of a part, or its end. */
const JOB = /^((?:batch|msgbatch)_[0-9a-f]{32})(?:\.(\d{1,6}|end))?$/;
/** Parts of one batch that are with the engine at once: those of other batches come in between. */
const PARALLEL_PARTS = 4;
const RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
/** How long a process says that it runs a batch, where the engine does not know; it says so again in time. */
const LEASE_MS = 60_000;
/** How long after its window a batch may still be written; then it has failed. */
const OVERDUE_MS = 60 * 60_000;
const GRACE_MS = 24 * 60 * 60_000;

/** The worker of all batches in this process. */
export class BatchRunner implements BackgroundWorker {
  private readonly settings: BatchesSettings;
  private readonly records: BatchRecords;
  private readonly slots: FairSlots;
  private readonly owner = randomUUID();
  /** What works on each batch here. */
  private readonly stops = new Map<string, Set<BatchStop>>();
  private readonly leases = new Map<string, NodeJS.Timeout>();
  /** Whether everything has been given back: the next process goes on. */
  isDraining = false;

  constructor(settings: BatchesSettings, records: BatchRecords) {
    this.settings = settings;
    this.records = records;
    const { parallelLines } = settings.batchLimits;
    this.slots = new FairSlots({ places: parallelLines, waiting: Number.POSITIVE_INFINITY });
  }

  /** Gives back what runs, and closes the engine. */
  async drain(): Promise<void> {
    this.isDraining = true;
    await this.settings.engine.release();
    await this.settings.engine.close();
  }

  async run({ key, signal }: ClaimedRun): Promise<Outcome> {
    const { takesOver } = this.settings.engine;
    for (let tries = 0; ; tries += 1) {
      try {
        const outcome = await this.work(key, signal);
        // A log whose last answer was lost is no longer this run's: without another process, the next run claims it.
        if (outcome === 'ended' || takesOver) return outcome;
      } catch (error) {
        if (!signal.aborted) this.report(error);
      }
      if (signal.aborted) return 'released';
      // What failed was the store, the files or this process: another one, or the next attempt, may succeed.
      const pauseMs = takesOver ? RETRY_MS : Math.min(RETRY_MS * 2 ** Math.min(tries, 10), MAX_RETRY_MS);
      await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {});
      if (takesOver || signal.aborted) return 'released';
    }
  }

  /** Receives what the engine's database and the logs of parts throw. */
  onError(error: unknown): void {
    this.report(storeFailure(error));
  }

  private report(error: unknown): void {
    notify(this.settings.hooks, 'onError', toApiError(error), { requestId: 'batches' });
  }

  /** Hands the engine what is to be done next with the batch; what it has already is not done twice. Throws `store_error`, and `server_draining` of an engine that was released meanwhile. */
  async advance(batch: Batch): Promise<void> {
    const { scope, id, state } = batch;
    if (hasEnded(batch)) return;
    const submit = (job: string) =>
      fromStore(() => this.settings.engine.submit({ scope, id: job })).catch((error: unknown) => {
        throw this.isDraining ? drainError() : error;
      });
    if (state.attempt === '') return submit(id);
    if (state.parts.every(({ ended }) => ended)) return submit(`${id}.end`);
    for (const [place, { ended }] of state.parts.slice(0, state.submitted).entries())
      if (!ended) await submit(`${id}.${place}`);
  }

  /** Goes on with a batch whose process is gone, where the engine does not, or whose job the engine has lost. Throws `store_error`. */
  async revive(batch: Batch): Promise<void> {
    if (hasEnded(batch) || this.isDraining) return;
    const { lease } = batch.state;
    const isFree = lease?.owner !== this.owner && Number(lease?.until ?? 0) <= Date.now();
    if (this.settings.engine.takesOver ? mayBeLost(batch) : isFree) await this.advance(batch);
  }

  /** Has those who work on the batch here look at it at once, since it was changed. */
  async noteChange(key: ResponseKey): Promise<void> {
    await Promise.all([...(this.stops.get(storeKey(key)) ?? [])].map((stop) => stop.look()));
  }

  /** What has been answered so far. Throws `store_error`. */
  async counts(batch: Batch): Promise<BatchCounts> {
    const { log } = this.records;
    const { parts, submitted } = batch.state;
    let sum = endedCounts(batch.state);
    const open = [...parts.slice(0, submitted).entries()].filter(([, { ended }]) => !ended);
    const keys = open.map(([place]) => partLogKey(batch, place));
    const heads = keys.length === 0 ? [] : await fromStore(() => log.heads(keys));
    for (const [place, head] of heads.entries()) {
      const key = keys[place];
      if (!key || !head || head.next === 0) continue;
      const page = await fromStore(() => log.read(key, head.next - 2, 1));
      const last = page?.events[0];
      if (last !== undefined) sum = addCounts(sum, lineEventIn(last).counts);
    }
    return sum;
  }

  private async work({ scope, id: job }: ResponseKey, signal: AbortSignal): Promise<Outcome> {
    const [, id = '', what] = JOB.exec(job) ?? [];
    const batch = id === '' ? undefined : await this.records.find({ scope, id });
    if (!batch) return 'ended';
    if (hasEnded(batch)) return this.settle(batch);
    if (Date.now() > batch.state.expiresAt + OVERDUE_MS) return this.fail(batch, [TOO_LATE]);
    if (!(await this.lease(batch))) return 'ended';
    const stop = new BatchStop(batch, this.records, signal);
    const place = storeKey(batch);
    const stops = this.stops.get(place) ?? new Set();
    this.stops.set(place, stops.add(stop));
    try {
      if (what === undefined) return await this.validate(batch, signal);
      return await (what === 'end' ? this.finish(batch, stop) : this.runPart(batch, Number(what), stop));
    } finally {
      stop.end();
      stops.delete(stop);
      if (stops.size === 0) {
        this.stops.delete(place);
        clearInterval(this.leases.get(place));
        // At once, and not when it is over: the next process may go on.
        if (this.leases.delete(place) && signal.aborted) await this.giveBack(batch);
      }
    }
  }

  private async giveBack(batch: Batch): Promise<void> {
    const edit = ({ state }: Batch) => (state.lease?.owner === this.owner ? { ...state, lease: undefined } : undefined);
    await this.records.change(batch, edit).catch((error) => this.onError(error));
  }

  /** Whether this process may work on the batch. An engine that hands batches over knows that itself. */
  private async lease(batch: Batch): Promise<boolean> {
    const place = storeKey(batch);
    const { owner } = this;
    if (this.settings.engine.takesOver) return true;
    // Another process has it where this one could not extend it in time.
    if (this.leases.has(place) && batch.state.lease?.owner === owner) return true;
    const extend = () =>
      this.records.change(batch, (current) => {
        const { lease } = current.state;
        if (hasEnded(current) || (lease && lease.owner !== owner && lease.until > Date.now())) return undefined;
        return { ...current.state, lease: { owner, until: Date.now() + LEASE_MS } };
      });
    if ((await extend())?.state.lease?.owner !== owner) return false;
    clearInterval(this.leases.get(place));
    const timer = setInterval(() => void extend().catch((error) => this.onError(error)), LEASE_MS / 3);
    this.leases.set(place, timer.unref());
    return true;
  }

  /** A batch that was cancelled meanwhile is validated all the same: its results name each of its lines. */
  private async validate(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    const { state } = batch;
    if (state.attempt !== '') return this.advanceFrom(batch);
    const input = await this.readInput(batch, signal);
    if (input.faults.length > 0) return this.fail(batch, input.faults);
    const attempt = randomSeed().slice(0, 12);
    const { parts, total, model } = input;
    const validated: BatchState = { ...state, attempt, parts, total, model };
    const expiresAt = state.expiresAt + GRACE_MS;
    // Before the batch names them: whoever claims a part of it finds the part's log.
    for (const place of parts.keys()) {
      const key = partLogKey({ ...batch, state: validated }, place);
      await fromStore(() => this.records.log.begin(key, { epoch: 1, request: '', expiresAt }));
    }
    const changed = await this.records.change(batch, (current) => {
      if (current.state.attempt !== '' || hasEnded(current)) return undefined;
      const next = { ...current.state, attempt, total, model };
      if (next.status === 'cancelling')
        return { ...next, submitted: parts.length, parts: parts.map((part) => ({ ...part, ended: NO_COUNTS })) };
      return { ...withStatus(next, 'in_progress'), parts, submitted: Math.min(PARALLEL_PARTS, parts.length) };
    });
    if (changed?.state.attempt !== attempt) await this.forgetLogs({ ...batch, state: validated });
    return changed ? this.advanceFrom(changed) : 'ended';
  }

  /** Rejects with the signal's reason. */
  private async readInput({ scope, state }: Batch, signal: AbortSignal): Promise<ValidInput> {
    const { files, batchLimits } = this.settings;
    const bytes = await fromFiles(() => files.read({ scope, id: state.inputFileId }));
    if (!bytes) return { faults: [NO_INPUT], parts: [], total: 0, model: undefined };
    async function* pieces(from: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
      for await (const piece of from) {
        signal.throwIfAborted();
        yield piece;
      }
    }
    return validateInput(pieces(bytes), state.endpoint, batchLimits);
  }

  private async runPart(batch: Batch, index: number, stop: BatchStop): Promise<Outcome> {
    const part = batch.state.parts[index];
    if (part && !part.ended) {
      const { records, settings, slots } = this;
      const onError = (error: unknown) => this.onError(error);
      const outcome = await new PartRun({ batch, index, part, records, settings, slots, stop, onError }).run();
      if (outcome === 'released') return (await this.records.find(batch)) ? 'released' : 'ended';
    }
    return this.advanceFrom(batch);
  }

  /** Writes the results. Of two processes that do, the one whose files the batch names wins; the other deletes its own. */
  private async finish(batch: Batch, stop: BatchStop): Promise<Outcome> {
    const { records, settings } = this;
    if (!batch.state.parts.every(({ ended }) => ended)) return this.advanceFrom(batch);
    const ids = [newObjectId('file'), newObjectId('file')] as const;
    let before: readonly string[] = [];
    const begun = await records.change(batch, (current) => {
      if (hasEnded(current)) return undefined;
      before = current.state.writing ?? [];
      return { ...current.state, writing: ids };
    });
    if (!begun || hasEnded(begun)) return begun ? this.settle(begun) : 'ended';
    await this.deleteFiles(begun, before);
    const files = await writeResults(begun, ids, records, settings);
    const ended = await records.change(begun, ({ state }) => {
      if (state.writing?.[0] !== ids[0]) return undefined;
      const { writing: _, lease: __, ...rest } = state;
      return withStatus({ ...rest, ...files }, endStatus(state));
    });
    if (ended?.state.outputFileId !== files.outputFileId || ended?.state.errorFileId !== files.errorFileId)
      await this.deleteFiles(begun, ids);
    if (!ended) return 'ended';
    if (!hasEnded(ended)) return stop.signal.aborted ? 'released' : 'ended';
    return this.settle(ended);
  }

  private async fail(batch: Batch, faults: readonly BatchFault[]): Promise<Outcome> {
    const failed = await this.records.change(batch, (current) => {
      if (hasEnded(current)) return undefined;
      const { lease: _, ...rest } = current.state;
      const parts = rest.parts.map((part) => ({ ...part, ended: part.ended ?? NO_COUNTS }));
      return withStatus({ ...rest, parts, faults }, 'failed');
    });
    return failed ? this.settle(failed) : 'ended';
  }

  /** Tells the owner, and forgets what is no longer needed. May be repeated. */
  private async settle(batch: Batch): Promise<Outcome> {
    const { scope, id, state } = batch;
    const { webhooks } = this.settings;
    if (state.kind === 'batch') await webhooks?.publish({ scope, subject: id, type: `batch.${state.status}` });
    await this.records.deactivate(batch);
    await this.forgetLogs(batch);
    // It was made of the body of the request that created the batch.
    if (state.kind === 'msgbatch') await this.deleteFiles(batch, [state.inputFileId]);
    return 'ended';
  }

  private async advanceFrom(batch: Batch): Promise<'ended'> {
    const current = await this.records.find(batch);
    if (current) await this.advance(current);
    return 'ended';
  }

  private async forgetLogs(batch: Batch): Promise<void> {
    for (const place of batch.state.parts.keys())
      await fromStore(() => this.records.log.delete(partLogKey(batch, place)));
  }

  private async deleteFiles({ scope }: Batch, ids: readonly string[]): Promise<void> {
    for (const id of ids) await fromFiles(() => this.settings.files.delete({ scope, id }));
  }
}

/** Whether the batch has been idle for longer than it should be: its process may have been killed before the engine had its job. */
function mayBeLost({ createdAt, state: { status, times, expiresAt } }: Batch): boolean {
  const since = status === 'in_progress' ? expiresAt : Math.max(createdAt, ...Object.values(times));
  return Date.now() > since + LEASE_MS;
}

const TOO_LATE: BatchFault = {
  code: 'server_error',
  message: 'The results could not be written.',
  param: null,
  line: null,
};
const NO_INPUT: BatchFault = {
  code: 'file_not_found',
  message: 'The input file does not exist.',
  param: 'input_file_id',
  line: null,
};

/** How a batch ends whose results are written. */
function endStatus({ faults, status, isLate }: BatchState): 'failed' | 'cancelled' | 'expired' | 'completed' {
  if (faults.length > 0) return 'failed';
  if (status === 'cancelling') return 'cancelled';
  return isLate ? 'expired' : 'completed';
}
