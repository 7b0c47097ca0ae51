/** What the items of a conversation say of the calls of a program, in the order in which it made them. */
import type { ProgramCallResult } from '../../ports/programs/program-runtime.ts';
import type { Item } from '../../protocol/items.ts';
import { plainText } from '../../protocol/record.ts';
import { callOutput, writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { mcpCall } from '../../protocol/tool-calls/mcp-call.ts';
import { toolOutputText } from '../../protocol/tool-calls/results/output-text.ts';

/** One call. */
export interface CallRecord {
  /** The model's name for the tool. */
  readonly name: string;
  /** As the program wrote them; undefined where the item shows them in another form. */
  arguments: string | undefined;
  /** The item of the call, or of the request for its approval. */
  readonly item: Item;
  /** Undefined while it is missing. */
  result: ProgramCallResult | undefined;
}

/** Reads the model's name for the tool of a call. */
export type ReadToolName = (item: Item) => string;

/** The record of a call that the item begins; undefined for an item that begins none. */
export function callRecord(item: Item, nameOf: ReadToolName): CallRecord | undefined {
  const isRequest = item.type === 'mcp_approval_request';
  // An approved call belongs to the request for its approval.
  if (!isRequest && (!writtenKind(item) || approvalRequestId(item) !== undefined)) return undefined;
  const name = nameOf(isRequest ? { ...item, type: mcpCall.type } : item);
  return { name, arguments: shownArguments(item), item, result: undefined };
}

/** The arguments as the program wrote them; undefined where the item shows them in another form. */
export function shownArguments(item: Item): string | undefined {
  const isShown = item.type === 'mcp_approval_request' || writtenKind(item)?.field === 'arguments';
  return isShown && typeof item.arguments === 'string' ? item.arguments : undefined;
}

/** The request that an approved call goes back to; undefined for any other item. */
export function approvalRequestId(item: Item): string | undefined {
  const { approval_request_id: id } = item;
  return typeof id === 'string' && writtenKind(item) ? id : undefined;
}

/** What the program receives of the call in this item; `answer` is the item that answers it. Undefined while there is nothing. */
export function callResult(item: Item, answer: Item | undefined): ProgramCallResult | undefined {
  const kind = writtenKind(item);
  if (!kind || isMissing(item, answer)) return undefined;
  // Whoever may have made an item without a name, its program's call is this server's.
  const { output, failed } = kind.answered({ name: kind.tool ?? '', ...item }, answer && callOutput(answer)) ?? {};
  if (output === undefined) return undefined;
  // The cast: an output is a text or a list of parts; `toolOutputText` reads both.
  const text = Array.isArray(output) ? toolOutputText(output as readonly Record<string, unknown>[]) : plainText(output);
  return { text, failed: failed === true };
}

function isMissing(item: Item, answer: Item | undefined): boolean {
  const kind = writtenKind(item);
  if (kind?.answeredBy) return answer === undefined;
  return kind?.hasResult ? !kind.hasResult(item) : (kind?.lacksResult?.(item) ?? false);
}
