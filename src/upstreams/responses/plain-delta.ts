/** The deltas of a Responses stream: what an event of one holds, and nothing else. */

import type { LogProb } from '../../protocol/items.ts';
import { type DeltaFormat, DeltaMemo } from '../../protocol/json/delta-memo.ts';
import { logProbsText, readLogProbList } from '../../protocol/json/log-probs.ts';
import { isRecord } from '../../protocol/record.ts';

/** More text of an item. */
export interface ItemDelta {
  /** The type of the event. */
  readonly type: string;
  /** The number of the item, if it has one. */
  readonly index: number | undefined;
  readonly text: string;
  /** A list, or the JSON of its members separated by commas. */
  readonly logprobs: readonly LogProb[] | string;
}

/** The one delta whose text has log probabilities. */
export const TEXT_DELTA = 'response.output_text.delta';
export const SUMMARY_DELTA = 'response.reasoning_summary_text.delta';
/** OpenAI's two types, and that of Open Responses. */
export const REASONING_DELTAS: ReadonlySet<unknown> = new Set([
  SUMMARY_DELTA,
  'response.reasoning_text.delta',
  'response.reasoning.delta',
]);
/** The deltas that are read. */
const DELTA_EVENTS: ReadonlySet<unknown> = new Set([
  ...REASONING_DELTAS,
  TEXT_DELTA,
  ...['refusal', 'function_call_arguments', 'custom_tool_call_input'].map((name) => `response.${name}.delta`),
]);

/** The delta of an event; undefined for all other events. */
export function itemDelta(event: unknown): ItemDelta | undefined {
  if (!isRecord(event) || event.object === 'response') return undefined;
  const { type, output_index: index, delta: text, logprobs } = event;
  if (typeof type !== 'string' || typeof text !== 'string' || !DELTA_EVENTS.has(type)) return undefined;
  const hasLogProbs = type === TEXT_DELTA && Array.isArray(logprobs) && logprobs.length > 0;
  return {
    type,
    index: typeof index === 'number' ? index : undefined,
    text,
    logprobs: hasLogProbs ? readLogProbList(logprobs) : '',
  };
}

/** A delta whose log probabilities are text. */
export interface PlainItemDelta extends ItemDelta {
  readonly logprobs: string;
}

/** The memo of one answer's deltas, which need not be parsed. */
export function itemDeltaMemo(): DeltaMemo<PlainItemDelta> {
  return new DeltaMemo(FORMAT);
}

const FORMAT: DeltaFormat<PlainItemDelta> = {
  deltaIn(event) {
    const delta = itemDelta(event);
    if (delta === undefined) return undefined;
    const { logprobs } = delta;
    return { ...delta, logprobs: typeof logprobs === 'string' ? logprobs : logProbsText(logprobs) };
  },
  textKey: () => /"delta": ?"/,
  withText: ({ type, index }, text, logprobs) => ({ type, index, text, logprobs }),
  fields: new Set(['object', 'type', 'output_index', 'delta', 'logprobs']),
};
