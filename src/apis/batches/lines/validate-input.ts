/** Reads a batch's whole input once, line by line: finds its faults, and the parts in which it is to be answered. */
import { hash } from 'node:crypto';
import { toPrintableId } from '../../../protocol/ids.ts';
import type { BatchFault, BatchPart } from '../batch.ts';
import type { BatchLimits } from '../limits.ts';
import { MESSAGES_ENDPOINT, readOrder } from './check-line.ts';
import { readLines } from './read-lines.ts';

/** The input of a batch: either faults, or parts. */
export interface ValidInput {
  readonly faults: readonly BatchFault[];
  readonly parts: readonly BatchPart[];
  readonly total: number;
  /** The model that its lines name, if they name one. */
  readonly model: string | undefined;
}

/** A part ends with the line that reaches one of these: a process holds the lines of a part in memory. */
const PART_LINES = 500;
const PART_BYTES = 4 * 1024 * 1024;
/** Further faults are not looked for. */
const MAX_FAULTS = 100;

/** Memory grows with the number of lines only: by a digest for each, to know ids that are there twice. */
export async function validateInput(
  bytes: AsyncIterable<Uint8Array>,
  endpoint: string,
  limits: BatchLimits,
): Promise<ValidInput> {
  const faults: BatchFault[] = [];
  const parts: BatchPart[] = [];
  const ids = new Set<string>();
  // Anthropic's batches may have a model for each request.
  const isOfOneModel = endpoint !== MESSAGES_ENDPOINT;
  let open: BatchPart | undefined;
  let model: string | undefined;
  let total = 0;
  for await (const line of readLines(bytes, limits.lineBytes)) {
    total += 1;
    if (total > limits.lines) {
      const message = `The batch has more than the ${limits.lines} requests that are allowed.`;
      faults.push({ code: 'maximum_requests_exceeded', message, param: null, line: null });
      break;
    }
    const { number, start, end } = line;
    const order = readOrder(line, endpoint, limits.lineBytes);
    if ('code' in order) faults.push({ ...order, line: number });
    else {
      const { customId, body } = order;
      const digest = hash('sha1', customId, 'base64');
      if (ids.has(digest)) {
        const message = `The custom_id '${toPrintableId(customId)}' for this request is a duplicate of another request. The custom_id parameter must be unique for each request in a batch.`;
        faults.push({ code: 'duplicate_custom_id', message, param: 'custom_id', line: number });
      }
      ids.add(digest);
      if (typeof body.model === 'string') model ??= body.model;
      if (isOfOneModel && typeof body.model === 'string' && body.model !== model) {
        const message = `The provided model '${toPrintableId(body.model)}' does not match the other requests' model '${toPrintableId(model)}'. All requests of a batch must have the same model.`;
        faults.push({ code: 'mismatched_model', message, param: 'body.model', line: number });
      }
    }
    if (faults.length >= MAX_FAULTS) break;
    open = { start: open?.start ?? start, end, lines: (open?.lines ?? 0) + 1 };
    if (open.lines < PART_LINES && open.end - open.start < PART_BYTES) continue;
    parts.push(open);
    open = undefined;
  }
  if (open) parts.push(open);
  if (total === 0) faults.push({ code: 'empty_file', message: 'The input file is empty.', param: null, line: null });
  return { faults, parts, total, model };
}
