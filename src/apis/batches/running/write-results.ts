/** Writes the results of a batch into files, from the logs of its parts: no more than a page of them is in memory. */
import { fromFiles } from '../../../ports/files/file-store.ts';
import { fromStore } from '../../../ports/store.ts';
import { type Batch, endedCounts, partLogKey } from '../batch.ts';
import type { BatchRecords } from '../batch-records.ts';
import { readOrder } from '../lines/check-line.ts';
import { unansweredLine } from '../lines/result-lines.ts';
import type { BatchesSettings } from '../settings.ts';
import { lineEventIn } from './part-progress.ts';
import { lineRequestId, partLines } from './part-run.ts';

const PAGE_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** The files of a batch that has ended. */
interface ResultFiles {
  readonly outputFileId?: string | undefined;
  readonly errorFileId?: string | undefined;
}

/** Writes those of the two files that are not empty, under these ids. Throws `store_error`. */
export async function writeResults(
  batch: Batch,
  [outputId, errorId]: readonly [output: string, errors: string],
  records: BatchRecords,
  settings: BatchesSettings,
): Promise<ResultFiles> {
  const { state } = batch;
  const { completed } = endedCounts(state);
  const write = (id: string, wantsOutput: boolean) =>
    putFile(settings, batch, id, wantsOutput, readResults(batch, wantsOutput, records, settings));
  if (state.kind === 'msgbatch') {
    if (state.total === 0) return {};
    await write(outputId, true);
    return { outputFileId: outputId };
  }
  const hasErrors = state.total > completed;
  if (completed > 0) await write(outputId, true);
  if (hasErrors) await write(errorId, false);
  return {
    ...(completed > 0 ? { outputFileId: outputId } : {}),
    ...(hasErrors ? { errorFileId: errorId } : {}),
  };
}

async function putFile(
  { files, batchLimits }: Pick<BatchesSettings, 'files' | 'batchLimits'>,
  { scope, id: batchId, state }: Batch,
  id: string,
  isOutput: boolean,
  lines: AsyncIterable<string>,
): Promise<void> {
  const createdAt = Date.now();
  const { kind, outputSeconds } = state;
  const name = kind === 'msgbatch' ? 'results' : isOutput ? 'output' : 'error';
  const seconds = outputSeconds === undefined ? {} : { expiresAt: createdAt + outputSeconds * 1000 };
  // Clients of Anthropic's do not know of the file: nobody would delete it once the batch has expired.
  const expiry = kind === 'msgbatch' ? { expiresAt: state.expiresAt + batchLimits.keptMs } : seconds;
  const details = () => ({
    filename: `${batchId}_${name}.jsonl`,
    purpose: 'batch_output',
    contentType: 'application/jsonl',
    ...expiry,
  });
  await fromFiles(() => files.put({ scope, id, createdAt, content: filePieces(lines), details }));
}

async function* filePieces(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array, void> {
  let piece: string[] = [];
  let length = 0;
  for await (const line of lines) {
    piece.push(line, '\n');
    length += line.length;
    if (length < PIECE_BYTES) continue;
    yield Buffer.from(piece.join(''));
    piece = [];
    length = 0;
  }
  if (piece.length > 0) yield Buffer.from(piece.join(''));
}

/** The lines of one of the files; lines that were not answered are among the errors, or with Anthropic's among all. */
async function* readResults(
  batch: Batch,
  wantsOutput: boolean,
  { log }: BatchRecords,
  settings: BatchesSettings,
): AsyncGenerator<string, void> {
  const { kind, endpoint, parts, status } = batch.state;
  const why = status === 'cancelling' ? 'cancelled' : 'expired';
  for (const [place, part] of parts.entries()) {
    const finished = new Set<number>();
    const key = partLogKey(batch, place);
    for (let after = -1; ; ) {
      const page = await fromStore(() => log.read(key, after, PAGE_BYTES));
      if (!page || page.events.length === 0) break;
      for (const text of page.events) {
        const { index, isOutput, line } = lineEventIn(text);
        finished.add(index);
        if (isOutput === wantsOutput) yield line;
      }
      after = page.from + page.events.length - 1;
    }
    if (finished.size === part.lines || wantsOutput !== (kind === 'msgbatch')) continue;
    const lines = (await partLines({ batch, part, settings })) ?? [];
    for (const [index, line] of lines.entries()) {
      if (finished.has(index)) continue;
      const order = readOrder(line, endpoint, settings.batchLimits.lineBytes);
      const customId = 'customId' in order ? order.customId : '';
      yield unansweredLine(kind, why, { requestId: lineRequestId(batch, place, index), customId });
    }
  }
}
