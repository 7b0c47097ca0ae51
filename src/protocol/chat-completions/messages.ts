/** Writes a conversation of items as the messages of a Chat Completions request. */

import { modelCallOfItem } from '../ids.ts';
import { contentText, partText } from '../item-text.ts';
import type { Item } from '../items.ts';
import type { ModelRequest } from '../model-request.ts';
import { isRecord, type JsonObject, plainText } from '../record.ts';
import { argumentsText, isUnreadable } from '../tool-calls/arguments/call-arguments.ts';
import { pairCalls } from '../tool-calls/conversation/pair-calls.ts';
import { imageMessage } from '../tool-calls/image-generation-call.ts';
import { answeredToolCall } from '../tool-calls/kinds.ts';
import { type CallIdForm, type CallIds, callIds } from '../tool-calls/names/call-ids.ts';
import { type ChatState, chatStateIn } from './answer-state.ts';
import { REASONING_FORMATS, type ReasoningField } from './reasoning-fields.ts';

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
  /** The signature, in Gemini's form, of calls whose own is not known. Default: none. */
  readonly callSignature?: string;
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
  let draft = newDraft();

  const flush = () => {
    if (isEmptyDraft(draft)) return;
    // A loop: one answer may hold more calls than a function takes arguments.
    for (const message of assistantMessages(draft, options, ids)) messages.push(message);
    draft = newDraft();
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
    // What an answer has after its calls belongs to the message that made them, before their results.
    const { modelCall } = draft;
    const isOfCalls = modelCall !== undefined && isModelOutput(item) && modelCall === modelCallOfItem(String(item.id));
    const isContinued = isOfCalls || (state?.late === true && !isEmptyDraft(draft));
    // Other text or reasoning after text or a call starts the model's next message; any other item ends its turn.
    if (!isContinued && (!isModelOutput(item) || draft.calls.length > 0 || draft.text !== undefined)) flush();
    if (state && options.state !== false) draft.states.push(state);
    if (item.type === 'reasoning') draft.reasoning += contentText(item.content) || contentText(item.summary);
    else if (isModelOutput(item)) draft.text = (draft.text ?? '') + contentText(item.content);
    else if (image) messages.push(inputMessage(image, options));
    else if (item.type === 'message') messages.push(inputMessage(item, options));
    else if (!answers.has(item)) skipped(item);
  }
  flush();
  if (options.systemMessages === 'keep') return messages;
  const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer';
  const system = messages.filter(isSystem);
  if (system.length === 0) return messages;
  const content = system.map((message) => message.content).join('\n\n');
  return [{ role: 'system', content }, ...messages.filter((message) => !isSystem(message))];
}

/** Items that carry no content for a model. */
export const SILENT_TYPES: ReadonlySet<string> = new Set([
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'additional_tools',
  'configuration_update',
  'multi_agent_call_output',
]);

function newDraft(): Draft {
  return { modelCall: undefined, text: undefined, reasoning: '', calls: [], states: [] };
}

function isEmptyDraft({ text, reasoning, calls, states }: Draft): boolean {
  return text === undefined && reasoning === '' && calls.length === 0 && states.length === 0;
}

/** Whether the model wrote it as text or reasoning. */
function isModelOutput(item: Item): boolean {
  return item.type === 'reasoning' || (item.type === 'message' && item.role === 'assistant');
}

/** A call with its answer; its arguments are as the model wrote them. */
export function answeredCall(item: Item, outputs: ReadonlyMap<Item, Item>): AnsweredCall | undefined {
  const call = answeredToolCall(item, outputs);
  if (!call) return undefined;
  const { id, name, arguments: text, output } = call;
  const written = plainText(text);
  const json = written.trim() === '' ? '{}' : written;
  // An item's id replaces a call's: some servers accept at most 40 characters, and the last ones differ.
  const callId = String(id ?? String(item.id).slice(-40));
  return { id: callId, name: String(name), arguments: json, output };
}

/** Replaces reasoning that a server requires and that nobody has: an empty text counts as none. */
const NO_REASONING = ' ';

/**
 * The message of the assistant, and the answers of its calls. Readable reasoning is sent back with calls only, because
 * models are trained so, unless the server requires it with every message.
 */
function assistantMessages(draft: Draft, options: MessageOptions, ids: CallIds | undefined): ChatMessage[] {
  const { calls, states, reasoning } = draft;
  const { reasoningReplay, reasoningField = 'reasoning_content', reasoningRequired = false } = options;
  const isBlank = options.blankText === 'omit' && calls.length > 0 && (draft.text ?? '').trim() === '';
  const text = isBlank ? '' : (draft.text ?? '');
  if (calls.length === 0 && text === '') return [];
  const details = reasoningReplay ? states.flatMap((state) => state.details ?? []) : [];
  const blocks = reasoningReplay ? states.flatMap((state) => state.blocks ?? []) : [];
  const parts = reasoningReplay ? states.flatMap((state) => state.parts ?? []) : [];
  const readable = reasoningReplay && (calls.length > 0 || reasoningRequired) ? reasoning : '';
  const thought = readable === '' && reasoningReplay && reasoningRequired ? NO_REASONING : readable;
  const statedField = states.find(({ field }) => field)?.field;
  const field = statedField ?? (details.length > 0 ? undefined : reasoningField);
  // The entries of these contain all of it.
  const isInDetails = details.length > 0 && field === 'reasoning_details';
  const content = text === '' && calls.length > 0 ? null : text;
  const message: Record<string, unknown> & ChatMessage = {
    role: 'assistant',
    content: parts.length > 0 ? [...parts, ...(text === '' ? [] : [{ type: 'text', text }])] : content,
  };
  if (thought !== '' && field && !isInDetails) Object.assign(message, REASONING_FORMATS[field].write(thought, text));
  if (details.length > 0) message.reasoning_details = details;
  if (blocks.length > 0) message.thinking_blocks = blocks;
  for (const state of states) Object.assign(message, state.message);
  if (calls.length === 0) return [message];
  const extras = callExtras(states, calls);
  const { callSignature: signature } = options;
  // Gemini signs the first of parallel calls only.
  const unsigned =
    signature === undefined ? undefined : { extra_content: { google: { thought_signature: signature } } };
  const sent = ids ? calls.map((call) => ({ ...call, id: ids(call.id) })) : calls;
  message.tool_calls = sent.map((call, at) => {
    const written = { name: call.name, arguments: argumentsText(call.arguments) };
    return Object.assign(
      { id: call.id, type: 'function', function: written },
      extras.get(at) ?? (at === 0 ? unsigned : undefined),
    );
  });
  return [message, ...toolMessages(sent)];
}

const NO_EXTRAS: ReadonlyMap<number, JsonObject> = new Map();

/**
 * The extra fields by the index of their call: matched by its id, or, if the id has changed, by the index among calls
 * of its name.
 */
function callExtras(states: readonly ChatState[], calls: readonly AnsweredCall[]): ReadonlyMap<number, JsonObject> {
  const callStates = states.flatMap((state) => state.calls ?? []);
  if (callStates.length === 0) return NO_EXTRAS;
  const extras = new Map<number, JsonObject>();
  const places = new Map(calls.map(({ id }, place) => [id, place]));
  for (const { id, at, name, extra } of callStates) {
    const place = places.get(id) ?? (calls[at]?.name === name ? at : undefined);
    if (place !== undefined) extras.set(place, { extra_content: extra });
  }
  return extras;
}

/**
 * The answers in the order of the calls, or the one of a legacy `function_call`; images follow in a user message, since a
 * tool message holds only text.
 */
export function toolMessages(calls: readonly AnsweredCall[], role: 'tool' | 'function' = 'tool'): ChatMessage[] {
  const media: JsonObject[] = [];
  const messages = calls.map(({ id, name, output }): ChatMessage => {
    const head = role === 'tool' ? { role, tool_call_id: id } : { role, name };
    if (!Array.isArray(output)) {
      if (typeof output === 'string') return { ...head, content: output };
      return { ...head, content: output === undefined ? '' : JSON.stringify(output) };
    }
    const texts: unknown[] = [];
    const before = media.length;
    for (const part of output.filter(isRecord).map(chatPart)) {
      if (part.type === 'text') texts.push(part.text);
      else media.push(part);
    }
    const text = texts.join('\n');
    const isMediaOnly = text === '' && media.length > before;
    return { ...head, content: isMediaOnly ? '(The output is attached in the next message.)' : text };
  });
  return media.length === 0 ? messages : [...messages, { role: 'user', content: media }];
}

function inputMessage({ role: itemRole, content }: Item, { developerRole }: MessageOptions): ChatMessage {
  const role = itemRole === 'developer' && developerRole === 'system' ? 'system' : String(itemRole);
  if (!Array.isArray(content)) return { role, content: content ?? '' };
  const [first] = content;
  // One text, as most have: new lists would take longer than everything else.
  if (content.length === 1 && isRecord(first) && typeof first.text === 'string' && !MEDIA_TYPES.has(first.type))
    return { role, content: first.text };
  const parts = content.filter(isRecord);
  // Text alone is written as a string, since many small servers accept nothing else.
  const isText = !parts.some(({ type }) => MEDIA_TYPES.has(type));
  return { role, content: isText ? parts.map(partText).join('\n') : parts.map(chatPart) };
}

const MEDIA_TYPES: ReadonlySet<unknown> = new Set(['input_image', 'input_file', 'input_audio', 'input_video']);

function chatPart(part: JsonObject): JsonObject {
  switch (part.type) {
    case 'input_image':
      return { type: 'image_url', image_url: { url: part.image_url, ...(part.detail ? { detail: part.detail } : {}) } };
    case 'input_file':
      // Chat Completions has no field for a file's URL; the routers that accept one read it from `file_data`.
      return {
        type: 'file',
        file: { ...(part.filename ? { filename: part.filename } : {}), file_data: part.file_data ?? part.file_url },
      };
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio };
    case 'input_video':
      return { type: 'video_url', video_url: { url: part.video_url } };
    default:
      return { type: 'text', text: partText(part) };
  }
}
