/** Separates the user's new answers from those that are history. */
import { modelCallOfItem, originOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { toolCallKind } from '../../protocol/tool-calls/kinds.ts';

/** The user's answer to one request for approval; validated. */
export interface Answer extends Item {
  readonly type: 'mcp_approval_response';
  readonly approval_request_id: string;
  readonly approve: boolean;
}

/**
 * The answers in the request's own input that no later model output follows: clients that send the whole conversation
 * send the old ones too.
 */
export function liveAnswers(input: readonly Item[]): readonly Answer[] {
  const live: Answer[] = [];
  const later = new Set<string | undefined>();
  for (const item of input.toReversed()) {
    if (isModelOutput(item)) later.add(modelCallOfItem(String(item.id)));
    if (!isAnswer(item)) continue;
    const modelCall = modelCallOfItem(item.approval_request_id);
    // The model may have requested several approvals at once, and the client may have put each answer after its request.
    const isOfSameCall = later.size === 1 && modelCall !== undefined && later.has(modelCall);
    if (later.size === 0 || isOfSameCall) live.push(item);
  }
  return live.toReversed();
}

/** What the model's own server asked for, it is told itself. */
function isAnswer(item: Item): item is Answer {
  return item.type === 'mcp_approval_response' && originOfItem(item.approval_request_id) === undefined;
}

/** The model's other output besides messages and tool calls. */
const MODEL_OUTPUT: ReadonlySet<string> = new Set([
  'reasoning',
  'mcp_list_tools',
  'mcp_approval_request',
  'compaction',
  'tool_search_output',
]);

function isModelOutput(item: Item): boolean {
  const { type, role } = item;
  return MODEL_OUTPUT.has(type) || toolCallKind(item) !== undefined || (type === 'message' && role === 'assistant');
}
