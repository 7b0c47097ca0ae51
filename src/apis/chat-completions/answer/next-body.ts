/** The body of the next model call: the messages so far, the model's calls and their results. */

import { toolList } from '../../../engine/tools/toolset.ts';
import { toolMessages } from '../../../protocol/chat-completions/messages.ts';
import { wholeText } from '../../../protocol/grown-text.ts';
import { contentText } from '../../../protocol/item-text.ts';
import type { ToolOutput } from '../../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { argumentsText } from '../../../protocol/tool-calls/arguments/call-arguments.ts';
import { toModelSafeName } from '../../../protocol/tool-calls/names/tool-names.ts';
import { isLegacy, toolName } from '../request/prepare-tools.ts';
import type { ChatBody } from '../request/schema.ts';
import type { ChatCall, ModelAnswer } from './model-answer.ts';

/** A call with its result. */
export interface AnsweredChatCall {
  readonly call: Pick<ChatCall, 'id' | 'name' | 'arguments' | 'extra'>;
  readonly output: ToolOutput;
}

/** The messages that an answer adds: the model's own, with the calls named here, and their results. */
export function answerMessages(
  { text, fields }: Pick<ModelAnswer, 'text' | 'fields'>,
  answered: readonly AnsweredChatCall[],
  inLegacyForm: boolean,
): readonly JsonObject[] {
  const [words, own] = [wholeText(text), fields.all()];
  const parts: readonly unknown[] = Array.isArray(own.content) ? own.content : [];
  const partText = contentText(parts);
  // Behind thoughts in parts, the text may have come as text.
  const rest = parts.length > 0 && words.startsWith(partText) ? words.slice(partText.length) : '';
  const message = {
    role: 'assistant',
    content: words || null,
    ...own,
    ...(rest === '' ? {} : { content: [...parts, { type: 'text', text: rest }] }),
  };
  if (inLegacyForm && answered.length > 0)
    // A message holds one call in this form.
    return answered.flatMap(({ call, output }, at) => [
      {
        ...(at === 0 ? message : { role: 'assistant', content: null }),
        function_call: calledFunction(call),
      },
      ...toolMessages([{ ...call, ...calledFunction(call), output }], 'function'),
    ]);
  const calls = answered.map(({ call }) => callMessage(call));
  return [
    { ...message, tool_calls: calls },
    ...toolMessages(answered.map(({ call, output }) => ({ ...call, output }))),
  ];
}

/** The call as a message holds it. */
export function callMessage(call: AnsweredChatCall['call']): JsonObject {
  const { id, extra } = call;
  return { ...extra, id, type: 'function', function: calledFunction(call) };
}

/** Servers refuse a whole conversation for one name that no tool can have, or for arguments that are no JSON object. */
function calledFunction({ name, arguments: text }: AnsweredChatCall['call']) {
  return { name: toModelSafeName(name), arguments: argumentsText(text) };
}

/** The body with these messages added. */
export function bodyWithMessages(body: ChatBody, added: readonly JsonObject[]): ChatBody {
  // The cast: the messages were created here.
  return { ...body, messages: [...body.messages, ...(added as ChatBody['messages'])] };
}

/** The body without a forced choice: it applies until its call is made, or the model could never answer. */
export function unforcedBody(body: ChatBody): ChatBody {
  const next: Record<string, unknown> = { ...body };
  for (const field of ['tool_choice', 'function_call']) if (field in next) next[field] = unforcedChoice(next[field]);
  // The cast: neither field is checked.
  return next as ChatBody;
}

/** What only allows certain tools goes on doing so. */
function unforcedChoice(choice: unknown): unknown {
  if (choice === 'none' || choice === undefined) return choice;
  if (!isRecord(choice) || choice.type !== 'allowed_tools') return 'auto';
  const { allowed_tools: allowed } = choice;
  return isRecord(allowed) ? { ...choice, allowed_tools: { ...allowed, mode: 'auto' } } : { ...choice, mode: 'auto' };
}

/** The body of a model that must answer without tools. */
export function toollessBody(body: ChatBody): ChatBody {
  if (body.tools === undefined && body.functions === undefined) return body;
  return { ...body, [isLegacy(body) ? 'function_call' : 'tool_choice']: 'none' };
}

/** The body with the tools of these names only. Servers refuse a choice without tools. */
export function bodyWithTools(body: ChatBody, isOffered: (name: string) => boolean): ChatBody {
  const { tools, functions, tool_choice: _, function_call: __, parallel_tool_calls: ___, ...bare } = body;
  const all = [...(toolList(tools) ?? []), ...(toolList(functions) ?? [])];
  const offered = all.filter((tool) => isOffered(toolName(tool)));
  if (offered.length === all.length) return body;
  // The cast: without these fields it is still a valid body.
  if (offered.length === 0) return bare as ChatBody;
  return { ...body, ...(isLegacy(body) ? { functions: offered } : { tools: offered }) };
}
