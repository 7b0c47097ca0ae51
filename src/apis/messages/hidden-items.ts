/** Carries hidden items in blocks that clients send back as they are: calls of the server's own tools, and thoughts. */

import type { Sealer } from '../../ports/sealer.ts';
import type { OutputItem, ReasoningItem } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** An item, and the client's tool call that it comes before, if one does. */
export interface HiddenItem {
  readonly item: JsonObject;
  /** The call's id. */
  readonly before?: string;
  /** The ids of all calls of the client's in the message, each with that of its item, which tells the answer of the model that made it. */
  readonly calls?: readonly (readonly [callId: string, itemId: string])[];
}

/** The beginning of everything that this server seals for its clients. */
export const SEALED = 'pst1.';

/** Bound to the tenant; unlike a provider's state, to no model server. */
function boundTo(scope: string): readonly string[] {
  return [scope, 'messages', 'hidden items'];
}

/** The data of the block; undefined if there is nothing to carry. */
export function sealHidden(
  output: readonly OutputItem[],
  isHidden: (item: OutputItem) => boolean,
  sealer: Sealer,
  scope: string,
): string | undefined {
  const hidden: HiddenItem[] = [];
  const calls: [string, string][] = [];
  let next: Pick<HiddenItem, 'before'> = {};
  for (const item of output.toReversed()) {
    if (item.type === 'function_call') {
      next = { before: item.call_id };
      calls.push([item.call_id, item.id]);
    } else if (isHidden(item)) hidden.push({ item, ...next });
  }
  const [last, ...others] = hidden;
  return last && sealer.seal([...others.toReversed(), { ...last, calls }], boundTo(scope));
}

/**
 * The signature of a thought, with its text: a client may not want it, and some refuse a thought without a signature or
 * send it back as the user's words.
 */
export function sealThought(
  { type, summary, content, encrypted_content }: ReasoningItem,
  sealer: Sealer,
  scope: string,
): string {
  return sealer.seal([{ item: { type, summary, content, encrypted_content } }], boundTo(scope));
}

/** The items; undefined if the data is something else. */
export function openHidden(data: string, sealer: Sealer, scope: string): readonly HiddenItem[] | undefined {
  const opened = data.startsWith(SEALED) ? sealer.open(data, boundTo(scope)) : undefined;
  if (!Array.isArray(opened)) return undefined;
  // The cast: only this server can have sealed it.
  return opened.filter((each) => isRecord(each) && isRecord(each.item)) as unknown as readonly HiddenItem[];
}
