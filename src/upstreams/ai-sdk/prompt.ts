/** Writes a conversation of items as the prompt of a language model of the AI SDK. */
import { ApiError } from '../../protocol/errors.ts';
import { contentText, partText } from '../../protocol/item-text.ts';
import type { Item } from '../../protocol/items.ts';
import { withExactNumbers } from '../../protocol/json/whole-numbers.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { fileSource } from '../../protocol/responses/file-source.ts';
import { argumentsObject } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import type { AnsweredToolCall } from '../../protocol/tool-calls/kind.ts';
import { MessageDraft } from '../responses-input/message-draft.ts';

/** The versions of the AI SDK's interface. */
export type Specification = 'v2' | 'v3' | 'v4';

/** A part of a message; `providerOptions` is set when the state of its answer is read. */
type Part = Record<string, unknown> & { readonly type: string };

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
  const draft = new Draft(specification, request.instructions);
  draft.write(request.items, skipped);
  const content = draft.system.filter((text) => text !== '').join('\n\n');
  const messages = draft.messages.map((message) => ({ ...message }));
  return content === '' ? messages : [{ role: 'system', content }, ...messages];
}

class Draft extends MessageDraft<'tool', Part> {
  readonly system: string[];
  private readonly specification: Specification;
  /** The calls and the last text to which the next state belongs. */
  private stateless: Part[] = [];
  private text: Part | undefined;

  constructor(specification: Specification, instructions = '') {
    super('tool');
    this.specification = specification;
    this.system = [instructions];
  }

  protected callParts(id: string, call: AnsweredToolCall) {
    const named = { toolCallId: id, toolName: String(call.name) };
    const part: Part = { type: 'tool-call', ...named, input: withExactNumbers(argumentsObject(call.arguments)) };
    this.stateless.push(part);
    return [part, { type: 'tool-result', ...named, output: resultOutput(call, this.specification) }] as const;
  }

  protected contentParts(content: unknown): readonly Part[] {
    const parts = Array.isArray(content) ? content.filter(isRecord) : [{ text: content }];
    return parts.map((part) => promptPart(part, this.specification)).filter((part) => part.text !== '');
  }

  protected override addedAnswer(parts: readonly Part[]): void {
    this.text = parts.findLast((part) => part.type === 'text');
  }

  protected addSystem(content: unknown): void {
    this.system.push(contentText(content));
  }

  protected addOther(item: Item): boolean {
    const { type, providerState: state } = item;
    if (type === 'reasoning') this.addState(item, isRecord(state) ? state : {});
    // A call that the provider ran stands with its result in one message. The casts: this upstream has written them.
    else if (isRecord(state) && isRecord(state.call) && isRecord(state.result))
      this.addAnswer(item, [state.call as Part, state.result as Part]);
    else return false;
    return true;
  }

  /** A thought stands where it was; signatures of calls and of text return to them. */
  private addState(item: Item, { thought, calls, text }: AnswerState): void {
    if (thought) {
      const options = isRecord(thought.options) ? { providerOptions: thought.options } : {};
      this.addAnswer(item, [{ type: 'reasoning', text: thought.text, ...options }]);
    }
    if (isRecord(text) && this.text) this.text.providerOptions = text;
    const called = calls?.length ? this.stateless.slice(-calls.length) : [];
    for (const [index, part] of called.entries()) if (isRecord(calls?.[index])) part.providerOptions = calls[index];
    if (calls) this.stateless = [];
  }
}

/** A text, or a file: its bytes in base64, or its address, which the provider gives to the model or refuses. */
function promptPart(part: JsonObject, specification: Specification): Part {
  const source = fileSource(part);
  if (!source) return { type: 'text', text: partText(part) };
  const { mediaType, base64 } = source;
  const url = base64 === undefined && URL.canParse(source.url) ? new URL(source.url) : undefined;
  if (base64 === undefined && !url)
    throw new ApiError('invalid_value', 'A file must be a data URL, or have an address.', { param: 'input' });
  const file = { type: 'file', ...(part.filename ? { filename: part.filename } : {}) };
  if (specification !== 'v4') return { ...file, mediaType, data: base64 ?? url };
  const data = url ? { type: 'url', url } : { type: 'data', data: base64 };
  return { ...file, mediaType: mediaType.replace('/*', ''), data };
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
  if (data instanceof URL)
    return specification === 'v2' ? { type: 'text', text: data.href } : { type: `${kind}-url`, url: data.href };
  return { type: specification === 'v2' ? 'media' : `${kind}-data`, data, mediaType };
}
