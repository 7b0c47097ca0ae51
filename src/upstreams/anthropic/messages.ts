/** Writes a conversation of items as the system prompt and the alternating messages of a Messages request. */

import { SILENT_TYPES } from '../../protocol/chat-completions/messages.ts';
import { modelCallOfItem } from '../../protocol/ids.ts';
import { imageMessage } from '../../protocol/images.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { AnsweredToolCall } from '../../protocol/tool-calls/kind.ts';
import { answeredToolCall } from '../../protocol/tool-calls/kinds.ts';
import { pairCalls } from '../../protocol/tool-calls/pair-calls.ts';
import { type Block, blocksOf } from './parts.ts';
import { thoughtIn } from './thinking.ts';
import { blocksOfSearch } from './web-tools.ts';

/** A message of the wire: user and assistant take turns. */
export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Block[];
}

/** A conversation as the wire has it. */
export interface Conversation {
  readonly system: readonly Block[];
  readonly messages: readonly Message[];
}

/** A message that more may be added to. */
interface OpenMessage {
  readonly role: Message['role'];
  readonly content: Block[];
}

/** A conversation in the making; `results` are those of the last message's calls, all of one model call. */
interface Draft {
  readonly system: Block[];
  readonly messages: OpenMessage[];
  readonly results: Block[];
  modelCall: string | undefined;
  /** The ids of calls so far, each with how many were made of it. */
  readonly ids: Map<string, number>;
}

/**
 * The conversation. The words of system and developer messages all go to the front, the results of calls come first in
 * the next user message. `skipped` is told of items that have no place. Throws `ApiError` where calls and outputs do
 * not fit together, and for media that the wire does not know.
 */
export function toConversation(request: ModelRequest, skipped: (item: Item) => void): Conversation {
  const { items, outputs } = pairCalls(request.items);
  const answers = new Set(outputs.values());
  const system = [...blocksOf(request.instructions)];
  const draft: Draft = { system, messages: [], results: [], modelCall: undefined, ids: new Map() };
  for (const item of items) {
    if (SILENT_TYPES.has(item.type) || answers.has(item)) continue;
    const call = answeredToolCall(item, outputs);
    if (call) addCall(draft, item, call);
    else if (!addMessage(draft, item)) skipped(item);
  }
  giveResults(draft);
  return { system: draft.system, messages: finished(draft.messages) };
}

function addCall(draft: Draft, item: Item, call: AnsweredToolCall): void {
  const modelCall = modelCallOfItem(String(item.id));
  // Calls of one message are parallel; those of two rounds are not, though nothing stands between them.
  if (modelCall !== draft.modelCall) giveResults(draft);
  const id = freshId(draft.ids, String(call.id ?? item.id));
  add(draft, 'assistant', [{ type: 'tool_use', id, name: String(call.name), input: objectFrom(call.arguments) }]);
  draft.results.push(resultBlock(id, call));
  draft.modelCall = modelCall;
}

/** Answers whether the item has a place. */
function addMessage(draft: Draft, item: Item): boolean {
  if (item.type === 'reasoning') {
    const thought = thoughtIn(item.providerState);
    // Another server's thoughts are unsigned here, and would be refused.
    if (thought) addAssistants(draft, item, [thought as Block]);
    return true;
  }
  if (item.type === 'web_search_call') return addSearch(draft, item);
  const image = imageMessage(item);
  if (image) return addMessage(draft, image);
  if (item.type !== 'message') return false;
  if (item.role === 'assistant') addAssistants(draft, item, blocksOf(item.content));
  else if (item.role === 'user') addUsers(draft, blocksOf(item.content));
  else for (const block of blocksOf(item.content)) if (block.type === 'text') draft.system.push(block);
  return true;
}

/** Another server's searches have nothing that could be given back. */
function addSearch(draft: Draft, item: Item): boolean {
  const [use, result] = blocksOfSearch(item.providerState) ?? [];
  if (!use || !result) return false;
  const id = freshId(draft.ids, String(use.id));
  addAssistants(draft, item, [
    { ...use, id },
    { ...result, tool_use_id: id },
  ]);
  return true;
}

/** What the model said after its calls in the same breath stays with them; anything later follows their results. */
function addAssistants(draft: Draft, item: Item, blocks: readonly Block[]): void {
  const modelCall = modelCallOfItem(String(item.id));
  if (modelCall === undefined || modelCall !== draft.modelCall) giveResults(draft);
  add(draft, 'assistant', blocks);
}

function addUsers(draft: Draft, blocks: readonly Block[]): void {
  giveResults(draft);
  add(draft, 'user', blocks);
}

function giveResults(draft: Draft): void {
  add(draft, 'user', draft.results.splice(0));
  draft.modelCall = undefined;
}

function add({ messages }: Draft, role: Message['role'], blocks: readonly Block[]): void {
  addTo(messages, role, blocks);
}

/** Neighbours of one role are one message. */
function addTo(messages: OpenMessage[], role: Message['role'], blocks: readonly Block[]): void {
  if (blocks.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === role) for (const block of blocks) last.content.push(block);
  else messages.push({ role, content: [...blocks] });
}

/** The wire takes letters, digits, `_` and `-`, and each id once; other servers' ids have more, and come back. */
function freshId(taken: Map<string, number>, given: string): string {
  const plain = given.replace(/[^\w-]/g, '_') || 'call';
  // How many there are already, or a conversation of one id alone would be searched again for each.
  let copy = taken.get(plain) ?? 1;
  let id = plain;
  for (; taken.has(id); id = `${plain}_${copy}`) copy += 1;
  taken.set(plain, copy);
  if (id !== plain) taken.set(id, 1);
  return id;
}

function resultBlock(id: string, { output, failed }: AnsweredToolCall): Block {
  const content = blocksOf(output);
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(content.length > 0 ? { content } : {}),
    ...(failed ? { is_error: true } : {}),
  };
}

/** The wire takes an object only; what was wrong with other arguments stands in their output. */
function objectFrom(text: unknown): JsonObject {
  try {
    const value: unknown = JSON.parse(String(text));
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** A thought must lead to something, and the wire refuses a last text that ends in white space. */
function finished(messages: readonly Message[]): readonly Message[] {
  const joined: OpenMessage[] = [];
  for (const { role, content } of messages) addTo(joined, role, withoutLooseThoughts(content));
  const last = joined.at(-1);
  return last?.role === 'assistant' ? [...joined.slice(0, -1), trimmed(last)] : joined;
}

function withoutLooseThoughts(content: readonly Block[]): readonly Block[] {
  const lastSpoken = content.findLastIndex((block) => !isThought(block));
  return content.slice(0, lastSpoken + 1);
}

function trimmed({ role, content }: Message): Message {
  const last = content.at(-1);
  if (typeof last?.text !== 'string') return { role, content };
  return { role, content: [...content.slice(0, -1), { ...last, text: last.text.trimEnd() }] };
}

/** Whether the block is a thought, readable or not. */
export function isThought({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}
