/** Reads the parts of a language model's stream as events. Every version of the interface is read by the same rules. */
import { citationAtEnd } from '../../protocol/annotations.ts';
import { modelInfo, readUsage } from '../../protocol/chat-completions/usage.ts';
import { ApiError, outputTooLarge } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { imageFormat } from '../../protocol/images.ts';
import type { Note } from '../../protocol/note.ts';
import { definedFields, isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import { argumentsObject } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import { pageSources, webAction } from '../../protocol/tool-calls/web-pages.ts';
import { BatchReader } from '../../streams/batch-reader.ts';
import type { AnswerState } from './prompt.ts';
import { streamError } from './provider-error.ts';

interface OpenThought {
  text: string;
  readonly options: JsonObject;
}

interface OpenCall {
  readonly name: string;
  /** Its number among the calls; undefined while its input has not begun, as the provider may turn out to run it itself. */
  call?: number;
  input: string;
  whole?: string;
  options: JsonObject | undefined;
}

/** Providers' own tools that search, which have an item; others have none. */
const SEARCHES = /search|browse|fetch|grounding/i;
/** Parts that carry nothing for a client. */
const SILENT_PARTS: ReadonlySet<unknown> = new Set(['tool-input-end', 'custom', 'raw', 'ping']);

/** Reads one model call. */
export class AnswerReader extends BatchReader<{ readonly data: readonly unknown[] }> {
  private isDone = false;
  private readonly note: (note: Note) => void;
  private readonly thoughts = new Map<string, OpenThought>();
  /** The last call of each id, and all calls in their order. */
  private readonly openCalls = new Map<string, OpenCall>();
  private readonly calls: OpenCall[] = [];
  /** Calls that the provider runs itself, by their id. */
  private readonly executed = new Map<string, JsonObject>();
  private textOptions: JsonObject | undefined;
  /** What may still be kept until the end of the answer, in characters of JSON. */
  private room: number;

  constructor(note: (note: Note) => void, room: number) {
    super();
    this.note = note;
    this.room = room;
  }

  /** Throws `ApiError` for an error, and for an end without a reason. */
  protected read({ data }: { readonly data: readonly unknown[] }, events: ModelEvent[]): void {
    for (const part of data) if (!this.isDone && isRecord(part)) this.take(part, events);
  }

  protected override isWhole(): boolean {
    return this.isDone;
  }

  end(): never {
    throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
  }

  private take(part: JsonObject, events: ModelEvent[]): void {
    const { type, delta } = part;
    const id = plainText(part.id ?? part.toolCallId);
    const options = isRecord(part.providerMetadata) ? part.providerMetadata : undefined;
    switch (type) {
      case 'stream-start':
        for (const { type: kind, feature, setting, details, message } of recordsIn(part.warnings)) {
          const about = `The model's provider warns of '${plainText(feature ?? setting ?? kind)}'`;
          const more = plainText(details ?? message);
          this.note({ code: 'setting_dropped', message: about + (more && `: ${more}`) });
        }
        return;
      case 'response-metadata': {
        const info = modelInfo(part.modelId, undefined);
        if (info) events.push(info);
        return;
      }
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        if (type === 'text-delta' && delta !== '') events.push({ type, text: plainText(delta) });
        this.textOptions = options ?? this.textOptions;
        return;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const thought = this.thoughts.get(id) ?? this.hold(id, { text: '', options: {} });
        this.thoughts.set(id, thought);
        // A provider may repeat itself with each delta.
        if (options && Object.keys(options).some((name) => !(name in thought.options))) this.hold(id, options);
        Object.assign(thought.options, options);
        if (type === 'reasoning-delta' && typeof delta === 'string' && delta !== '') {
          thought.text += delta;
          events.push({ type, text: delta });
        }
        if (type === 'reasoning-end') this.endThought(id, thought, events);
        return;
      }
      case 'tool-input-start':
        if (part.providerExecuted !== true) this.openCall(id, part.toolName, options);
        return;
      case 'tool-input-delta':
        if (delta !== '') this.addInput(id, this.openCalls.get(id), plainText(delta), events);
        return;
      case 'tool-call':
        if (part.providerExecuted === true) return this.beginExecuted(id, part, events, options);
        return this.endCall(id, part, events, options);
      case 'tool-result':
        return this.endExecuted(id, part, events, options);
      case 'source':
        if (part.sourceType === 'url' && typeof part.url === 'string')
          events.push(citationAtEnd(part.url, plainText(part.title) || part.url));
        return;
      case 'file':
        return this.takeFile(part, events);
      case 'finish':
        return this.finish(part, events);
      case 'error':
        throw streamError(part.error);
      default:
        if (!SILENT_PARTS.has(type)) this.noteLeftOut(`Parts of type '${plainText(type)}' of the model are left out.`);
    }
  }

  private hold<Kept>(id: string, kept: Kept): Kept {
    this.room -= id.length + JSON.stringify(kept).length;
    if (this.room < 0) throw outputTooLarge('a response');
    return kept;
  }

  private noteLeftOut(message: string): void {
    this.note({ code: 'upstream_fields_ignored', message });
  }

  private endThought(id: string, { text, options }: OpenThought, events: ModelEvent[]): void {
    this.thoughts.delete(id);
    const hasOptions = Object.keys(options).length > 0;
    const state: AnswerState = { thought: { text, ...(hasOptions ? { options } : {}) } };
    if (text !== '' || hasOptions) events.push({ type: 'reasoning-end', state });
  }

  private openCall(id: string, name: unknown, options: JsonObject | undefined): OpenCall {
    const open: OpenCall = this.hold(id, { name: plainText(name), input: '', options });
    this.openCalls.set(id, open);
    return open;
  }

  private addInput(id: string, open: OpenCall | undefined, text: string, events: ModelEvent[]): void {
    if (!open || open.whole !== undefined) return;
    const begin = open.call === undefined ? { id, name: open.name } : {};
    open.call ??= this.calls.push(open) - 1;
    open.input += text;
    events.push({ type: 'tool-call-delta', call: open.call, ...begin, arguments: text });
  }

  /** The whole call says what its deltas have left out. One that differs from the last of its id is another call. */
  private endCall(id: string, { toolName, input }: JsonObject, events: ModelEvent[], options?: JsonObject): void {
    const text = typeof input === 'string' ? input : JSON.stringify(input ?? {});
    const last = this.openCalls.get(id);
    if (last?.whole === text && last.name === plainText(toolName)) return;
    const open = last && last.whole === undefined ? last : this.openCall(id, toolName, undefined);
    open.options = options ?? open.options;
    this.addInput(id, open, text.startsWith(open.input) ? text.slice(open.input.length) : '', events);
    open.whole = text;
  }

  private beginExecuted(id: string, part: JsonObject, events: ModelEvent[], providerOptions?: JsonObject): void {
    const { toolName, input: written } = part;
    const input = typeof written === 'string' ? argumentsObject(written) : written;
    const call = { type: 'tool-call', toolCallId: id, toolName, input, providerExecuted: true };
    this.executed.set(id, this.hold(id, definedFields({ ...call, providerOptions })));
    const name = plainText(toolName);
    const message = `A call of '${name}', which the provider runs itself, has no item.`;
    if (!SEARCHES.test(name)) this.note({ code: 'call_dropped', message });
    else events.push({ type: 'search-start', search: id, action: webAction(isRecord(input) ? input : {}) });
  }

  private endExecuted(id: string, part: JsonObject, events: ModelEvent[], providerOptions?: JsonObject): void {
    const { toolName, result: value, isError, preliminary } = part;
    const call = this.executed.get(id);
    if (!call || preliminary === true || !SEARCHES.test(plainText(toolName))) return;
    const failed = isError === true;
    const output = { type: failed ? 'error-json' : 'json', value };
    const result = { type: 'tool-result', toolCallId: id, toolName, output, providerOptions };
    const state = { call, result: definedFields(result) };
    const sources = pageSources(isRecord(value) ? (value.sources ?? value.results) : value);
    events.push({ type: 'search-end', search: id, failed, sources, state });
  }

  private takeFile({ mediaType, data: file }: JsonObject, events: ModelEvent[]): void {
    const data = isRecord(file) && 'data' in file ? file.data : file;
    const base64 = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data;
    if (typeof base64 === 'string' && base64 !== '' && plainText(mediaType).startsWith('image/'))
      events.push({ type: 'image', result: base64, details: { output_format: imageFormat(base64) } });
    else this.noteLeftOut(`A file of type '${plainText(mediaType)}' that the model made has no item.`);
  }

  private finish({ usage, finishReason }: JsonObject, events: ModelEvent[]): void {
    const { unified, raw } = isRecord(finishReason) ? finishReason : { unified: finishReason, raw: undefined };
    // What the providers begin with, and end with where the server never gave a reason.
    if (unified === 'unknown' || unified === 'interrupted' || (unified === 'other' && raw === undefined)) this.end();
    if (unified === 'error') throw new ApiError('upstream_error', 'The model server reported an error.');
    for (const [id, thought] of this.thoughts) this.endThought(id, thought, events);
    const calls = this.calls.map(({ options }) => options ?? null);
    const state: AnswerState = definedFields({
      calls: calls.some(Boolean) ? calls : undefined,
      text: this.textOptions,
    });
    if (state.calls || state.text) events.push({ type: 'reasoning-end', state });
    const counted = readUsage(usage);
    const reported = isRecord(usage) && isRecord(usage.raw) ? { reported: usage.raw } : {};
    if (counted) events.push({ type: 'usage', usage: counted, ...reported });
    const ownReason = unified === 'content-filter' ? 'content_filter' : 'stop';
    events.push({ type: 'finish', reason: unified === 'length' ? unified : ownReason });
    this.isDone = true;
  }
}
