/** How the answers of both kinds of calls are read by a routing upstream: as little as it can. */
import type { ChatBatch } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import { errorInBody } from '../../protocol/upstream-errors/upstream-error.ts';
import { withOwner } from './state-tags.ts';

/** One kind of answer. */
export interface Reading<Batch> {
  /** Whether the batch holds anything of the answer; from then on no other server can give it. */
  isOutput(batch: Batch): boolean;
  /** The error that the first data of an answer is, where it is one. */
  refusal(batch: Batch): unknown;
  /** The batch as it is handed on; `owner` is that of the state in it, if it is to be tagged. */
  passed(batch: Batch, owner: string | undefined): Batch;
  /** The first batch with output, with the name of the server. */
  named(batch: Batch, server: string): Batch;
}

/** The events of `stream`. The name stands right before the first output, however the bytes of the answer are split. */
export const EVENTS: Reading<readonly ModelEvent[]> = {
  isOutput: (batch) => batch.some(isOutput),
  // The upstream has thrown it.
  refusal: () => undefined,
  passed: (batch, owner) => (owner === undefined ? batch : withOwner(batch, owner)),
  named(batch, server) {
    const place = batch.findIndex(isOutput);
    const before = batch[place - 1];
    const behind = before?.type === 'model-info' ? before.server : undefined;
    const info: ModelEvent = { type: 'model-info', server: pathOf(server, behind) };
    return [...batch.slice(0, behind === undefined ? place : place - 1), info, ...batch.slice(place)];
  },
};

function isOutput({ type }: ModelEvent): boolean {
  return type !== 'model-info' && type !== 'usage';
}

/** The data of `chat`. */
export const CHAT: Reading<ChatBatch> = {
  isOutput: ({ data }) => data.length > 0,
  refusal({ data: [first] }) {
    const body = first?.includes('"error"') ? objectIn(first) : undefined;
    return body && errorInBody(body);
  },
  passed: (batch) => batch,
  named: (batch, server) => ({ ...batch, server: pathOf(server, batch.server) }),
};

function pathOf(server: string, behind: string | undefined): string {
  return behind === undefined ? server : `${server}/${behind}`;
}
