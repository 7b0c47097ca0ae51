/** Writes a conversation of items as the messages of a Chat Completions request. */

import { modelCallOfItem } from '../ids.ts';
import type { Item } from '../items.ts';
import type { ModelRequest } from '../model-request.ts';
import { isRecord, type JsonObject, plainTextOf } from '../record.ts';
import { argumentsText, isUnreadable } from '../tool-calls/call-arguments.ts';
import { imageMessage } from '../tool-calls/image-generation-call.ts';
import { answeredToolCall } from '../tool-calls/kinds.ts';
import { type CallIdForm, type CallIds, callIds } from '../tool-calls/names/call-ids.ts';
import { pairCalls } from '../tool-calls/pair-calls.ts';
import { type ChatState, chatStateIn, type ReasoningField } from './answer-state.ts';
import { backTo, extrasOf } from './going-back.ts';

/** A Chat Completions message; its fields are the API's. */
type ChatMessage = JsonObject & { readonly role: string; readonly content?: unknown };

/** The message format that a model server expects. */
export interface MessageOptions {
  /** `merge` writes all system and developer messages as one, at the front. */
  readonly systemMessages: 'keep' | 'merge';
  /** `system` renames the developer role, which most chat templates do not support. */
  readonly developerRole: 'keep' | 'system';
  /** Whether reasoning is sent back with the tool calls it led to, and its opaque state with any message. */
  readonly reasoningReplay: boolean;
  /** The field for reasoning whose original field is unknown. Default: `reasoning_content`. */
  readonly reasoningField?: ReasoningField | undefined;
  /** Whether the opaque provider state is sent back. Default: true. */
  readonly state?: boolean;
  /** Whether every message of the assistant holds reasoning. Default: false. */
  readonly reasoningRequired?: boolean;
  /** The ids of calls that the server accepts, each once. Default: the ids as they are. */
  readonly callIds?: CallIdForm;
  /** `omit` leaves out text of white space beside calls. Default: `keep`. */
  readonly blankText?: 'keep' | 'omit';
}

/** One tool call with its answer, both in Chat Completions form. */
export interface AnsweredCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly output: unknown;
}

/** An assistant message under construction: the model's output of one message. */
interface Draft {
  /** The model call that wrote it, if known. */
  modelCall: string | undefined;
  /** Undefined if there is no text, not even an empty one. */
  text: string | undefined;
  reasoning: string;
  readonly calls: AnsweredCall[];
  /** The opaque provider state to send back. */
  readonly states: ChatState[];
}

/**
 * The messages, with every call directly followed by its outputs. `skipped` receives items that cannot be sent, and calls
 * whose arguments cannot be sent as they are. Throws
 * `ApiError` if calls and outputs do not match.
 */
export function toChatMessages(
  request: ModelRequest,
  options: MessageOptions,
  skipped: (item: Item) => void,
): readonly ChatMessage[] {
  const { items, outputs } = pairCalls(request.items);
  const answers = new Set(outputs.values());
  const messages: ChatMessage[] = request.instructions ? [{ role: 'system', content: request.instructions }] : [];
  const ids = options.callIds ? callIds(options.callIds) : undefined;
  let draft = emptyDraft();

  const flush = () => {
    if (isEmpty(draft)) return;
    // A loop: one answer may hold more calls than a function takes arguments.
    for (const message of assistantMessages(draft, options, ids)) messages.push(message);
    draft = emptyDraft();
  };

  for (const item of items) {
    if (SILENT_TYPES.has(item.type)) continue;
    const call = answeredCall(item, outputs);
    if (call) {
      if (isUnreadable(call.arguments)) skipped(item);
      const modelCall = modelCallOfItem(String(item.id));
      // Calls of one message are parallel; those of two rounds are not, even if no item separates them.
      if (draft.calls.length > 0 && draft.modelCall !== modelCall) flush();
      draft.modelCall = modelCall;
      draft.calls.push(call);
      continue;
    }
    const image = imageMessage(item);
    const state = item.type === 'reasoning' ? chatStateIn(item.providerState) : undefined;
    const goesOn = state?.late === true && !isEmpty(draft);
    // Text or reasoning after text or a call starts the model's next message; any other item ends its turn.
    if (!goesOn && (!isAssistants(item) || draft.calls.length > 0 || draft.text !== undefined)) flush();
    if (state && options.state !== false) draft.states.push(state);
    if (item.type === 'reasoning') draft.reasoning += reasoningText(item);
    else if (isAssistants(item)) draft.text = assistantText(item);
    else if (image) messages.push(inputMessage(image, options));
    else if (item.type === 'message') messages.push(inputMessage(item, options));
    else if (!answers.has(item)) skipped(item);
  }
  flush();
  return options.systemMessages === 'merge' ? mergeSystem(messages) : messages;
}

/** Items that carry no content for a model. */
export const SILENT_TYPES: ReadonlySet<string> = new Set([
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'additional_tools',
  'configuration_update',
]);

function emptyDraft(): Draft {
  return { modelCall: undefined, text: undefined, reasoning: '', calls: [], states: [] };
}

function isEmpty({ text, reasoning, calls, states }: Draft): boolean {
  return text === undefined && reasoning === '' && calls.length === 0 && states.length === 0;
}

/** Whether the model wrote it as text or reasoning. */
function isAssistants(item: Item): boolean {
  return item.type === 'reasoning' || (item.type === 'message' && item.role === 'assistant');
}

/** A call with its answer; its arguments are as the model wrote them. */
export function answeredCall(item: Item, outputs: ReadonlyMap<Item, Item>): AnsweredCall | undefined {
  const call = answeredToolCall(item, outputs);
  if (!call) return undefined;
  const { id, name, arguments: text, output } = call;
  const written = plainTextOf(text);
  const json = written.trim() === '' ? '{}' : written;
  return { id: String(id ?? shortId(item.id)), name: String(name), arguments: json, output };
}

/** An item's id replaces a call's: some servers accept at most 40 characters, and the last ones differ. */
function shortId(id: unknown): string {
  return String(id).slice(-40);
}

function assistantMessages(draft: Draft, options: MessageOptions, ids: CallIds | undefined): ChatMessage[] {
  const { text: content = '', calls, states } = draft;
  if (calls.length === 0 && content === '') return [];
  const isBlank = options.blankText === 'omit' && calls.length > 0 && content.trim() === '';
  const back = backTo(isBlank ? { ...draft, text: '' } : draft, options);
  const extras = extrasOf(states, calls);
  const sent = ids ? calls.map((call) => ({ ...call, id: ids(call.id) })) : calls;
  const message: ChatMessage = {
    role: 'assistant',
    ...back,
    ...(calls.length === 0 ? {} : { tool_calls: sent.map((call, at) => ({ ...wireCall(call), ...extras.get(at) })) }),
  };
  return [message, ...toolMessages(sent)];
}

function wireCall({ id, name, arguments: text }: AnsweredCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: argumentsText(text) } };
}

/** The answers in the order of the calls; images follow in a user message, since a tool message holds only text. */
export function toolMessages(calls: readonly AnsweredCall[]): ChatMessage[] {
  return answerMessages(calls, ({ id }) => ({ role: 'tool', tool_call_id: id }));
}

/** The same of a legacy `function_call`. */
export function functionMessages(call: AnsweredCall): ChatMessage[] {
  return answerMessages([call], ({ name }) => ({ role: 'function', name }));
}

function answerMessages(calls: readonly AnsweredCall[], headOf: (call: AnsweredCall) => ChatMessage): ChatMessage[] {
  const lifted: unknown[] = [];
  const messages = calls.map((call): ChatMessage => {
    const { text, media } = splitOutput(call.output);
    for (const part of media) lifted.push(part);
    const content = text === '' && media.length > 0 ? '(The output is attached in the next message.)' : text;
    return { ...headOf(call), content };
  });
  return lifted.length === 0 ? messages : [...messages, { role: 'user', content: lifted }];
}

function splitOutput(output: unknown): { text: string; media: readonly unknown[] } {
  if (typeof output === 'string') return { text: output, media: [] };
  if (!Array.isArray(output)) return { text: output === undefined ? '' : JSON.stringify(output), media: [] };
  const parts = output.filter(isRecord).map(chatPart);
  const text = parts.filter(isText).map((part) => part.text);
  return { text: text.join('\n'), media: parts.filter((part) => !isText(part)) };
}

function isText(part: JsonObject): boolean {
  return part.type === 'text';
}

function reasoningText(item: Item): string {
  const raw = textsOf(item.content);
  return raw === '' ? textsOf(item.summary) : raw;
}

function assistantText(item: Item): string {
  return typeof item.content === 'string' ? item.content : textsOf(item.content);
}

function textsOf(parts: unknown): string {
  if (!Array.isArray(parts)) return '';
  return soleText(parts) ?? parts.filter(isRecord).map(plainText).join('');
}

function inputMessage(item: Item, { developerRole }: MessageOptions): ChatMessage {
  const role = item.role === 'developer' && developerRole === 'system' ? 'system' : String(item.role);
  return { role, content: inputContent(item.content) };
}

/** Text alone is written as a string, since many small servers accept nothing else. */
function inputContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? '';
  const sole = soleText(content);
  if (sole !== undefined) return sole;
  const parts = content.filter(isRecord);
  return parts.some(isMedia) ? parts.map(chatPart) : parts.map(plainText).join('\n');
}

function isMedia({ type }: JsonObject): boolean {
  return MEDIA_TYPES.has(type);
}

const MEDIA_TYPES: ReadonlySet<unknown> = new Set(['input_image', 'input_file', 'input_audio', 'input_video']);

/**
 * The text of a list that holds only one text, as most do: creating new lists for it would take longer than everything
 * else.
 */
function soleText(parts: readonly unknown[]): string | undefined {
  const [first] = parts;
  if (parts.length !== 1 || !isRecord(first) || typeof first.text !== 'string') return undefined;
  return first.type === 'input_text' || first.type === 'output_text' ? first.text : undefined;
}

function plainText(part: JsonObject): string {
  return plainTextOf(part.text ?? part.refusal);
}

function chatPart(part: JsonObject): JsonObject {
  switch (part.type) {
    case 'input_image':
      return { type: 'image_url', image_url: { url: part.image_url, ...(part.detail ? { detail: part.detail } : {}) } };
    case 'input_file':
      return { type: 'file', file: fileOf(part) };
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio };
    case 'input_video':
      return { type: 'video_url', video_url: { url: part.video_url } };
    default:
      return { type: 'text', text: plainText(part) };
  }
}

/** Chat Completions has no field for a file's URL; the routers that accept one read it from `file_data`. */
function fileOf({ filename, file_data: data, file_url: url }: JsonObject): JsonObject {
  return { ...(filename ? { filename } : {}), file_data: data ?? url };
}

function mergeSystem(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer';
  const system = messages.filter(isSystem);
  if (system.length === 0) return messages;
  const content = system.map((message) => message.content).join('\n\n');
  return [{ role: 'system', content }, ...messages.filter((message) => !isSystem(message))];
}
