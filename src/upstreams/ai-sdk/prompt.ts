/** Writes a conversation of items as the prompt of a language model of the AI SDK. */
import { SILENT_TYPES } from '../../protocol/chat-completions/messages.ts';
import { ApiError } from '../../protocol/errors.ts';
import { dataInURL } from '../../protocol/file-data.ts';
import { modelCallOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { withExactNumbers } from '../../protocol/json/whole-numbers.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import { argumentsObject, isUnreadable } from '../../protocol/tool-calls/call-arguments.ts';
import { pairCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { imageMessage } from '../../protocol/tool-calls/image-generation-call.ts';
import type { AnsweredToolCall } from '../../protocol/tool-calls/kind.ts';
import { answeredToolCall } from '../../protocol/tool-calls/kinds.ts';
import { callIds } from '../../protocol/tool-calls/names/call-ids.ts';

/** The versions of the AI SDK's interface. */
export type Specification = 'v2' | 'v3' | 'v4';

/** A part of a message; `providerOptions` is set when the state of its answer is read. */
type Part = Record<string, unknown> & { readonly type: string };
type Role = 'user' | 'assistant' | 'tool';

/** What a model's answer needs back, as JSON: of one thought, or of the calls, in their order, and the last text of a model call. */
export interface AnswerState {
  readonly thought?: { readonly text: string; readonly options?: unknown };
  readonly calls?: readonly unknown[];
  readonly text?: unknown;
}

/**
 * The prompt. System and developer messages move to the front, since many providers take them nowhere else. `skipped` receives the
 * items that have no place. Throws `ApiError` if calls and outputs do not match, and for parts that the interface does not have.
 */
export function toPrompt(
  request: ModelRequest,
  specification: Specification,
  skipped: (item: Item) => void,
): readonly JsonObject[] {
  const { items, outputs } = pairCalls(request.items);
  const answers = new Set(outputs.values());
  const draft = new Draft(specification, request.instructions);
  for (const item of items) {
    if (SILENT_TYPES.has(item.type)) continue;
    const call = answeredToolCall(item, outputs);
    if (call) {
      if (isUnreadable(call.arguments)) skipped(item);
      draft.addCall(item, call);
    } else if (answers.has(item)) draft.isAnswered = true;
    else if (!draft.addItem(item)) skipped(item);
  }
  return draft.finished();
}

class Draft {
  /** Whether an output of the last calls has come: what follows is of another model call. */
  isAnswered = false;
  private readonly specification: Specification;
  private readonly system: string[];
  private readonly messages: { readonly role: Role; readonly content: Part[] }[] = [];
  private readonly results: Part[] = [];
  /** The calls and the last text to which the next state belongs. */
  private calls: Part[] = [];
  private text: Part | undefined;
  private modelCall: string | undefined;
  private readonly ids = callIds('word');

  constructor(specification: Specification, instructions = '') {
    this.specification = specification;
    this.system = [instructions];
  }

  finished(): readonly JsonObject[] {
    this.giveResults();
    const content = this.system.filter((text) => text !== '').join('\n\n');
    const messages = this.messages.map((message) => ({ ...message }));
    return content === '' ? messages : [{ role: 'system', content }, ...messages];
  }

  addCall(item: Item, call: AnsweredToolCall): void {
    this.beginAnswer(item);
    const named = { toolCallId: this.ids(String(call.id ?? item.id)), toolName: String(call.name) };
    const part: Part = { type: 'tool-call', ...named, input: withExactNumbers(argumentsObject(call.arguments)) };
    this.calls.push(part);
    this.add('assistant', [part]);
    this.results.push({ type: 'tool-result', ...named, output: resultOutput(call, this.specification) });
  }

  /** Returns whether the item has a place. */
  addItem(item: Item): boolean {
    const image = imageMessage(item);
    if (image) return this.addItem(image);
    const { type, role, content, providerState: state } = item;
    if (type === 'reasoning') this.addState(item, state);
    else if (isRecord(state) && isRecord(state.call)) {
      // A call that the provider ran stands with its result in one message. The casts: this upstream has written them.
      if (!isRecord(state.result)) return false;
      this.beginAnswer(item);
      this.add('assistant', [state.call as Part, state.result as Part]);
    } else if (type !== 'message') return false;
    else if (role === 'user') {
      this.giveResults();
      this.add('user', promptParts(content, this.specification));
    } else if (role === 'assistant') {
      this.beginAnswer(item);
      const parts = promptParts(content, this.specification);
      this.add('assistant', parts);
      this.text = parts.findLast((part) => part.type === 'text');
    } else this.system.push(contentText(content));
    return true;
  }

  /** A thought stands where it was; signatures of calls and of text return to them. */
  private addState(item: Item, state: unknown): void {
    const { thought, calls, text }: AnswerState = isRecord(state) ? state : {};
    if (thought) {
      this.beginAnswer(item);
      const options = isRecord(thought.options) ? { providerOptions: thought.options } : {};
      this.add('assistant', [{ type: 'reasoning', text: thought.text, ...options }]);
    }
    if (isRecord(text) && this.text) this.text.providerOptions = text;
    const called = calls?.length ? this.calls.slice(-calls.length) : [];
    for (const [index, part] of called.entries()) if (isRecord(calls?.[index])) part.providerOptions = calls[index];
    if (calls) this.calls = [];
  }

  /** The results of the calls before come first, unless the item is of the same model call. */
  private beginAnswer({ id }: Item): void {
    const modelCall = modelCallOfItem(String(id));
    if (modelCall !== this.modelCall || (modelCall === undefined && this.isAnswered)) this.giveResults();
    this.modelCall = modelCall;
  }

  private giveResults(): void {
    this.add('tool', this.results.splice(0));
    this.isAnswered = false;
  }

  private add(role: Role, parts: readonly Part[]): void {
    const last = this.messages.at(-1);
    if (last?.role === role) for (const part of parts) last.content.push(part);
    else if (parts.length > 0) this.messages.push({ role, content: [...parts] });
  }
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return plainText(content);
  return content.map((part) => (isRecord(part) ? plainText(part.text ?? part.refusal) : '')).join('');
}

function promptParts(content: unknown, specification: Specification): readonly Part[] {
  const parts = Array.isArray(content) ? content.filter(isRecord) : [{ text: content }];
  return parts.map((part) => promptPart(part, specification)).filter((part) => part.text !== '');
}

function promptPart(part: JsonObject, specification: Specification): Part {
  const { file_data: data, file_url: url, filename } = part;
  switch (part.type) {
    case 'input_image':
      return filePart(part.image_url, 'image/*', specification);
    case 'input_file': {
      // Some clients send bare base64, which is nearly always a PDF.
      const isBare = typeof data === 'string' && !data.startsWith('data:');
      const file = filePart(isBare ? `data:${PDF};base64,${data}` : (data ?? url), PDF, specification);
      return filename ? { ...file, filename } : file;
    }
    case 'input_audio': {
      const { data: sound, format } = isRecord(part.input_audio) ? part.input_audio : part;
      return filePart(`data:audio/${format === 'mp3' ? 'mpeg' : format};base64,${sound}`, 'audio/*', specification);
    }
    case 'input_video':
      return filePart(part.video_url, 'video/*', specification);
    default:
      return { type: 'text', text: plainText(part.text ?? part.refusal) };
  }
}

const PDF = 'application/pdf';

/** A file: its bytes in base64, or its address, which the provider gives to the model or refuses. */
function filePart(source: unknown, usualType: string, specification: Specification): Part {
  const text = plainText(source);
  const inline = dataInURL(text);
  if (!inline && !URL.canParse(text)) {
    throw new ApiError('invalid_value', 'A file must be a data URL, or have an address.', { param: 'input' });
  }
  const mediaType = inline?.mediaType ?? usualType;
  if (specification !== 'v4') return { type: 'file', mediaType, data: inline?.base64 ?? new URL(text) };
  const data = inline ? { type: 'data', data: inline.base64 } : { type: 'url', url: new URL(text) };
  return { type: 'file', mediaType: mediaType.replace('/*', ''), data };
}

/** What a tool answered. */
function resultOutput({ output, failed }: AnsweredToolCall, specification: Specification): JsonObject {
  const parts = recordsIn(output);
  if (!parts.some(({ type }) => type === 'input_image' || type === 'input_file')) {
    const isText = Array.isArray(output) || typeof output === 'string';
    return { type: failed ? 'error-text' : 'text', value: isText ? contentText(output) : JSON.stringify(output ?? '') };
  }
  return { type: 'content', value: parts.map((part) => resultPart(promptPart(part, specification), specification)) };
}

/** The three versions name a file in a result in three ways. */
function resultPart(part: Part, specification: Specification): JsonObject {
  const { type, data, mediaType } = part;
  if (type !== 'file' || specification === 'v4') return part;
  const kind = String(mediaType).startsWith('image') ? 'image' : 'file';
  if (data instanceof URL) {
    return specification === 'v2' ? { type: 'text', text: data.href } : { type: `${kind}-url`, url: data.href };
  }
  return { type: specification === 'v2' ? 'media' : `${kind}-data`, data, mediaType };
}
