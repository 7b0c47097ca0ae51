/** The body of the next model call: the messages so far, the model's calls and their results. */

import { toolList } from '../../engine/tools/toolset.ts';
import { type CallRules, offeredAfter } from '../../engine/turn/call-permission.ts';
import { functionMessages, toolMessages } from '../../protocol/chat-completions/messages.ts';
import { wholeText } from '../../protocol/grown-text.ts';
import type { ToolOutput } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { ChatCall } from './completion/completion.ts';
import { isLegacy, nameIn } from './prepare-tools.ts';
import type { Round } from './round-state.ts';
import type { ChatBody } from './schema.ts';

/** A call with its result. */
export interface AnsweredChatCall {
  readonly call: ChatCall;
  readonly output: ToolOutput;
}

/** The messages that a round adds: the model's own, with the calls named here, and their results. */
export function roundMessages(
  round: Round,
  answered: readonly AnsweredChatCall[],
  legacy: boolean,
): readonly JsonObject[] {
  const message = { role: 'assistant', content: wholeText(round.text) || null, ...round.fields.all() };
  const [first] = answered;
  if (legacy && first)
    return [
      { ...message, function_call: calledIn(first.call) },
      ...functionMessages({ ...first.call, output: first.output }),
    ];
  const calls = answered.map(({ call }) => callMessage(call));
  return [
    { ...message, tool_calls: calls },
    ...toolMessages(answered.map(({ call, output }) => ({ ...call, output }))),
  ];
}

/** The call as a message holds it. */
export function callMessage(call: Pick<ChatCall, 'id' | 'name' | 'arguments' | 'extra'>): JsonObject {
  return { ...call.extra, id: call.id, type: 'function', function: calledIn(call) };
}

/** The called function, which is all that a legacy message holds. */
export function calledIn({ name, arguments: text }: Pick<ChatCall, 'name' | 'arguments'>): JsonObject {
  return { name, arguments: text };
}

/** How the model goes on. */
interface Continuation {
  /** Whether it repeats itself, and must answer without tools. */
  readonly circling: boolean;
  /** Whether the call that the choice requires is still to be made. */
  readonly isOpen: boolean;
}

/** A forced choice applies until its call is made, or the model could never answer. */
export function nextBody(body: ChatBody, added: readonly JsonObject[], { circling, isOpen }: Continuation): ChatBody {
  const next: Record<string, unknown> = { ...body, messages: [...body.messages, ...added] };
  for (const field of CHOICES) if (field in next && !isOpen) next[field] = unforced(next[field]);
  if (circling && hasTools(next)) next[isLegacy(body) ? 'function_call' : 'tool_choice'] = 'none';
  return next as ChatBody;
}

const CHOICES = ['tool_choice', 'function_call'] as const;

/** What only allows certain tools goes on doing so. */
function unforced(choice: unknown): unknown {
  if (choice === 'none' || choice === undefined) return choice;
  if (!isRecord(choice) || choice.type !== 'allowed_tools') return 'auto';
  const { allowed_tools: allowed } = choice;
  return isRecord(allowed) ? { ...choice, allowed_tools: { ...allowed, mode: 'auto' } } : { ...choice, mode: 'auto' };
}

function hasTools({ tools, functions }: JsonObject): boolean {
  return tools !== undefined || functions !== undefined;
}

/** The body without the tools that are not offered any more. Servers refuse a choice without tools. */
export function offeredOnly(body: ChatBody, rules: CallRules, refusals: number): ChatBody {
  const { tools, functions, tool_choice: _, function_call: __, parallel_tool_calls: ___, ...bare } = body;
  const all = [...(toolList(tools) ?? []), ...(toolList(functions) ?? [])];
  const left = offeredAfter(refusals, all, rules, nameIn);
  if (left.length === all.length) return body;
  // The cast: without these fields it is still a valid body.
  if (left.length === 0) return bare as ChatBody;
  return { ...body, ...(isLegacy(body) ? { functions: left } : { tools: left }) };
}
