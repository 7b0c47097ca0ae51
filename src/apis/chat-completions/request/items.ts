/** Reads chat messages as items, and writes items as chat messages: both APIs share the stored form. */

import { toChatMessages } from '../../../protocol/chat-completions/messages.ts';
import { readReasoning, reasoningPartField } from '../../../protocol/chat-completions/reasoning-fields.ts';
import { customCallIn } from '../../../protocol/chat-completions/tool-calls.ts';
import type { Item } from '../../../protocol/items.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../../protocol/record.ts';
import type { ChatBody } from './schema.ts';

type Messages = ChatBody['messages'];

/** Whether the value is a list of messages. */
export function isMessageList(value: unknown): value is Messages {
  return Array.isArray(value) && value.every((message) => isRecord(message) && typeof message.role === 'string');
}

/** The items as messages that any Chat Completions server accepts. Throws `ApiError` if a call has no output. */
export function itemMessages(items: readonly Item[], skipped: (item: Item) => void): Messages {
  const options = { systemMessages: 'keep', developerRole: 'keep', reasoningReplay: false, state: false } as const;
  return toChatMessages({ model: '', items, tools: [] }, options, skipped) as Messages;
}

/** The messages as items, without ids of their own. */
export function messageItems(messages: Messages): readonly Item[] {
  return messages.flatMap((message, index) => {
    switch (message.role) {
      case 'assistant':
        return assistantItems(message, index);
      case 'tool':
        return [outputItem(message.tool_call_id, message.content)];
      case 'function':
        // Such an answer has no id; it directly follows its call, whose id is made from its index.
        return [outputItem(`call_${index - 1}`, message.content)];
      default:
        return [{ type: 'message', role: message.role, content: inputParts(message.content) }];
    }
  });
}

function outputItem(callId: unknown, content: unknown): Item {
  return {
    type: 'function_call_output',
    call_id: callId,
    output: Array.isArray(content) ? inputParts(content) : content,
  };
}

function assistantItems(message: Messages[number], index: number): readonly Item[] {
  const { content, refusal, tool_calls: calls, function_call: called } = message;
  const thought = readReasoning(message);
  const parts = [...textParts(content), ...(refusal ? [{ type: 'refusal', refusal }] : [])];
  return [
    ...(thought ? [{ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: thought }] }] : []),
    ...(parts.length > 0 ? [{ type: 'message', role: 'assistant', content: parts }] : []),
    ...(Array.isArray(calls) ? calls.filter(isRecord).map(callItem) : []),
    ...(isRecord(called) ? [{ type: 'function_call', call_id: `call_${index}`, ...called }] : []),
  ];
}

function textParts(content: unknown): readonly JsonObject[] {
  if (content === '') return [];
  const parts: readonly JsonObject[] = typeof content === 'string' ? [{ text: content }] : recordsIn(content);
  return parts.flatMap((part) => {
    if (part.type === 'refusal') return [part];
    // These are read with the reasoning.
    if (reasoningPartField(part)) return [];
    return [{ type: 'output_text', text: plainText(part.text), annotations: [], logprobs: [] }];
  });
}

function callItem(call: JsonObject): Item {
  const { id, function: called } = call;
  const custom = customCallIn(call);
  if (custom) return { type: 'custom_tool_call', call_id: id, name: custom.name, input: custom.input };
  const { name, arguments: text } = isRecord(called) ? called : {};
  return { type: 'function_call', call_id: id, name, arguments: text };
}

function inputParts(content: unknown): readonly JsonObject[] {
  if (!Array.isArray(content)) return [{ type: 'input_text', text: plainText(content) }];
  return content.filter(isRecord).map(inputPart);
}

function inputPart(part: JsonObject): JsonObject {
  switch (part.type) {
    case 'image_url': {
      const { url, detail = 'auto' } = isRecord(part.image_url) ? part.image_url : { url: part.image_url };
      return { type: 'input_image', image_url: url, detail };
    }
    case 'file':
      return { type: 'input_file', ...(isRecord(part.file) ? part.file : {}) };
    case 'video_url':
      return { type: 'input_video', video_url: isRecord(part.video_url) ? part.video_url.url : part.video_url };
    case 'text':
      return { type: 'input_text', text: part.text };
    default:
      return part;
  }
}
