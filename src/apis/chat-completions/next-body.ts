/** The body of the next model call: the messages so far, the model's calls and their results. */

import { functionMessages, toolMessages } from '../../protocol/chat-completions/messages.ts';
import { wholeText } from '../../protocol/grown-text.ts';
import type { ToolOutput } from '../../protocol/items.ts';
import type { JsonObject } from '../../protocol/record.ts';
import type { ChatCall } from './completion/completion.ts';
import { isLegacy } from './prepare-tools.ts';
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

/** A forced choice applies to the first model call only, or the model could never answer. */
export function nextBody(body: ChatBody, added: readonly JsonObject[], circling: boolean): ChatBody {
  const next: Record<string, unknown> = { ...body, messages: [...body.messages, ...added] };
  for (const field of ['tool_choice', 'function_call']) {
    if (field in next && next[field] !== 'none') next[field] = 'auto';
  }
  if (circling) next[isLegacy(body) ? 'function_call' : 'tool_choice'] = 'none';
  return next as ChatBody;
}
