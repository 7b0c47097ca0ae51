/** The output items that show tool calls, from their start to their result. */

import { originOfItem } from '../../../protocol/ids.ts';
import type { ItemStatus, OutputItem, ToolCallResult } from '../../../protocol/items.ts';
import type { ShownCall, WrittenToolCallKind } from '../../../protocol/tool-calls/kind.ts';
import { CALL_KINDS, CLIENT_CALL_KINDS, toolCallKind } from '../../../protocol/tool-calls/kinds.ts';
import type { OpenToolCall, PendingToolCall, TurnPlan } from './state.ts';

/** The item type that shows the call. */
export function presentedAs(
  { ownedAs }: Pick<TurnPlan, 'ownedAs'>,
  { owner, form }: Pick<OpenToolCall, 'owner' | 'form'>,
): WrittenToolCallKind {
  if (!owner) return form ? CLIENT_CALL_KINDS[form.kind] : CALL_KINDS.function_call;
  const kind = CALL_KINDS[owner.shownAs ?? ownedAs];
  // Some clients know only calls of functions.
  return kind.plainAs === ownedAs ? CALL_KINDS[kind.plainAs] : kind;
}

/** Whether this server ran the call. The model's own server makes items of some of the same types. */
export function isServerExecuted({ owners }: Pick<TurnPlan, 'owners'>, item: OutputItem): boolean {
  if (originOfItem(item.id) !== undefined) return false;
  // For clients that know only calls of functions.
  if (item.type === 'function_call') return item.namespace === undefined && owners.has(item.name);
  const kind = toolCallKind(item);
  if (kind?.runBy !== 'server' || !kind.mayRunUpstream) return kind?.runBy === 'server';
  return [...owners.values()].some(({ shownAs: type }) => type === kind.type);
}

/** The call without a result. */
export function callItem(plan: TurnPlan, call: OpenToolCall, status: ItemStatus): OutputItem {
  return withFields(presentedAs(plan, call).item(presentedCall(call), status), call);
}

/** The call with its result, where one item shows both. */
export function finishedItem(plan: TurnPlan, call: PendingToolCall, result: ToolCallResult): OutputItem {
  const kind = presentedAs(plan, call);
  return withFields(kind.finished?.(presentedCall(call), result) ?? kind.item(presentedCall(call), 'completed'), call);
}

/** Not every type of call writes further fields itself. */
function withFields(item: OutputItem, { fields }: OpenToolCall): OutputItem {
  return fields === undefined ? item : { ...item, ...fields };
}

function presentedCall(call: OpenToolCall): ShownCall {
  const { id, callId, name, input, owner, approvalRequestId = null, fields } = call;
  return {
    id,
    callId,
    clientTool: clientTool(call),
    arguments: call.arguments,
    input,
    owner: owner ?? { server: '', name },
    approvalRequestId,
    ...(fields === undefined ? {} : { fields }),
  };
}

/** The client's name for the tool. */
export function clientTool({ name, form }: OpenToolCall): { readonly name: string; readonly namespace?: string } {
  if (form?.isFound) return { name: form.name, namespace: form.name };
  if (form?.namespace === undefined) return { name: form?.name ?? name };
  return { name: form.name, namespace: form.namespace };
}
