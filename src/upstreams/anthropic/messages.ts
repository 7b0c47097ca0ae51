/** Writes a conversation of items as the system prompt and the alternating messages of a Messages request. */

import { SILENT_TYPES } from '../../protocol/chat-completions/messages.ts';
import { modelCallOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { argumentsObject, isUnreadable } from '../../protocol/tool-calls/call-arguments.ts';
import { pairCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { imageMessage } from '../../protocol/tool-calls/image-generation-call.ts';
import type { AnsweredToolCall } from '../../protocol/tool-calls/kind.ts';
import { answeredToolCall } from '../../protocol/tool-calls/kinds.ts';
import { type CallIds, callIds } from '../../protocol/tool-calls/names/call-ids.ts';
import { type Block, toBlocks } from './parts.ts';
import { thoughtIn } from './thinking.ts';
import { searchBlocks } from './web-tools.ts';

/** A message of the API: user and assistant alternate. */
export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Block[];
}

/** A conversation in the API's form. */
export interface Conversation {
  readonly system: readonly Block[];
  readonly messages: readonly Message[];
}

/** A message to which more content may be added. */
interface OpenMessage {
  readonly role: Message['role'];
  readonly content: Block[];
}

/** A conversation being built; `results` holds those of the last message's tool calls, all of one model call. */
interface Draft {
  readonly system: Block[];
  readonly messages: OpenMessage[];
  readonly results: Block[];
  modelCall: string | undefined;
  /** Whether an output of them has come: if the model call is unknown, further calls are not of it, and words are not either. */
  isAnswered: boolean;
  /** Whether one of them holds its output itself: if the model call is unknown, words are not of it. */
  holdsOutput: boolean;
  /** The API accepts letters, digits, `_` and `-`, and each id once. */
  readonly ids: CallIds;
}

/**
 * Writes the conversation. System and developer messages all move to the front; tool results come first in the next
 * user message. `skipped` receives the items that are not supported, and calls whose arguments are no object. Throws `ApiError` if calls and outputs do not
 * match, and for media that the API does not support.
 */
export function toConversation(request: ModelRequest, skipped: (item: Item) => void): Conversation {
  const { items, outputs } = pairCalls(request.items);
  const answers = new Set(outputs.values());
  const system = [...toBlocks(request.instructions)];
  const draft: Draft = { system, messages: [], results: [], ...NO_CALLS, ids: callIds('word') };
  for (const item of items) {
    if (SILENT_TYPES.has(item.type)) continue;
    const call = answeredToolCall(item, outputs);
    if (call && isUnreadable(call.arguments)) skipped(item);
    if (call) addToolCall(draft, item, call);
    else if (!answers.has(item) && !addMessage(draft, item)) skipped(item);
    draft.isAnswered ||= answers.has(item);
    draft.holdsOutput ||= call !== undefined && !outputs.has(item);
  }
  giveResults(draft);
  // The API refuses a message that ends with a thought, and a last text that ends in white space.
  const joined: OpenMessage[] = [];
  for (const { role, content } of draft.messages) {
    const lastSpoken = content.findLastIndex((block) => !isThought(block));
    addTo(joined, role, content.slice(0, lastSpoken + 1));
  }
  const last = joined.at(-1);
  const lastBlock = last?.content.at(-1);
  if (last?.role === 'assistant' && typeof lastBlock?.text === 'string')
    last.content[last.content.length - 1] = { ...lastBlock, text: lastBlock.text.trimEnd() };
  return { system: draft.system, messages: joined };
}

const NO_CALLS = { modelCall: undefined, isAnswered: false, holdsOutput: false };

function addToolCall(draft: Draft, item: Item, call: AnsweredToolCall): void {
  const modelCall = modelCallOfItem(String(item.id));
  // Calls of one message are parallel; those of two rounds are not, although nothing separates them.
  if (startsNewMessage(draft, modelCall)) giveResults(draft);
  const id = draft.ids(String(call.id ?? item.id));
  const input = argumentsObject(call.arguments);
  addTo(draft.messages, 'assistant', [{ type: 'tool_use', id, name: String(call.name), input }]);
  const content = toBlocks(call.output);
  draft.results.push({
    type: 'tool_result',
    tool_use_id: id,
    ...(content.length > 0 ? { content } : {}),
    ...(call.failed ? { is_error: true } : {}),
  });
  draft.modelCall = modelCall;
}

/** Returns whether the item is supported. */
function addMessage(draft: Draft, item: Item): boolean {
  if (item.type === 'reasoning') {
    const thought = thoughtIn(item.providerState);
    // Thoughts of another server are unsigned here, and the API would refuse them.
    if (thought) addAssistants(draft, item, [thought as Block]);
    return true;
  }
  if (item.type === 'web_search_call') {
    // Searches of another server contain nothing that can be sent back.
    const [use, result] = searchBlocks(item.providerState) ?? [];
    if (!use || !result) return false;
    const id = draft.ids(String(use.id));
    addAssistants(draft, item, [
      { ...use, id },
      { ...result, tool_use_id: id },
    ]);
    return true;
  }
  const image = imageMessage(item);
  if (image) return addMessage(draft, image);
  if (item.type !== 'message') return false;
  if (item.role === 'assistant') addAssistants(draft, item, toBlocks(item.content));
  else if (item.role === 'user') {
    giveResults(draft);
    addTo(draft.messages, 'user', toBlocks(item.content));
  } else for (const block of toBlocks(item.content)) if (block.type === 'text') draft.system.push(block);
  return true;
}

/** Text that follows tool calls in the same model answer stays with them; later text follows their results. */
function addAssistants(draft: Draft, item: Item, blocks: readonly Block[]): void {
  const modelCall = modelCallOfItem(String(item.id));
  if (startsNewMessage(draft, modelCall) || (modelCall === undefined && draft.holdsOutput)) giveResults(draft);
  addTo(draft.messages, 'assistant', blocks);
}

/** Whether an item of this model call is not of the message that made the last tool calls. */
function startsNewMessage(draft: Draft, modelCall: string | undefined): boolean {
  return modelCall !== draft.modelCall || (modelCall === undefined && draft.isAnswered);
}

function giveResults(draft: Draft): void {
  addTo(draft.messages, 'user', draft.results.splice(0));
  Object.assign(draft, NO_CALLS);
}

/** Merges adjacent messages of one role. */
function addTo(messages: OpenMessage[], role: Message['role'], blocks: readonly Block[]): void {
  if (blocks.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === role) for (const block of blocks) last.content.push(block);
  else messages.push({ role, content: [...blocks] });
}

/** Whether the block is a thought, readable or redacted. */
export function isThought({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}
