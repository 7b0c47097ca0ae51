/** Reads the parts of a language model's stream as events. Every version of the interface is read by the same rules. */
import { citationAtEnd } from '../../protocol/annotations.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { FinishReason, ModelEvent, Usage } from '../../protocol/events.ts';
import { imageFormat } from '../../protocol/images.ts';
import type { UrlSource } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import { argumentsObject } from '../../protocol/tool-calls/call-arguments.ts';
import type { AnswerState } from './prompt.ts';
import { streamError } from './provider-error.ts';

interface OpenThought {
  text: string;
  options: JsonObject | undefined;
}

interface OpenCall {
  readonly call: number;
  hasInput: boolean;
  options: JsonObject | undefined;
}

/** Providers' own tools that search, which have an item; others have none. */
const SEARCHES = /search|browse|fetch|grounding/i;

/** The state of one model call. */
export class AnswerReader {
  /** Whether the answer is whole: its `finish` has been read. */
  isDone = false;
  private readonly note: (note: Note) => void;
  private readonly thoughts = new Map<string, OpenThought>();
  private readonly calls = new Map<string, OpenCall>();
  /** Calls that the provider runs itself, by their id. */
  private readonly executed = new Map<string, JsonObject>();
  private textOptions: JsonObject | undefined;

  constructor(note: (note: Note) => void) {
    this.note = note;
  }

  /** Adds what the part holds to `events`. Throws `ApiError` for an error, and for an end without a reason. */
  take(part: unknown, events: ModelEvent[]): void {
    if (!isRecord(part)) return;
    const id = plainText(part.id ?? part.toolCallId);
    const options = isRecord(part.providerMetadata) ? part.providerMetadata : undefined;
    switch (part.type) {
      case 'stream-start':
        for (const warning of recordsIn(part.warnings)) this.warn(warning);
        return;
      case 'response-metadata':
        if (typeof part.modelId === 'string') events.push({ type: 'model-info', model: part.modelId });
        return;
      case 'text-delta':
        if (part.delta !== '') events.push({ type: 'text-delta', text: plainText(part.delta) });
        this.textOptions = options ?? this.textOptions;
        return;
      case 'text-start':
      case 'text-end':
        this.textOptions = options ?? this.textOptions;
        return;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.takeThought(part, id, options, events);
      case 'tool-input-start':
        if (part.providerExecuted !== true) this.begin(id, part.toolName, options, events);
        return;
      case 'tool-input-delta': {
        const open = this.calls.get(id);
        if (!open || part.delta === '') return;
        open.hasInput = true;
        events.push({ type: 'tool-call-delta', call: open.call, arguments: plainText(part.delta) });
        return;
      }
      case 'tool-call':
        return part.providerExecuted === true ? this.beginExecuted(part, events) : this.takeCall(part, options, events);
      case 'tool-result':
        return this.endExecuted(part, events);
      case 'source': {
        const { sourceType, url, title } = part;
        if (sourceType === 'url' && typeof url === 'string') events.push(citationAtEnd(url, plainText(title) || url));
        return;
      }
      case 'file':
        return this.takeFile(part, events);
      case 'finish':
        return this.finish(part, events);
      case 'error':
        throw streamError(part.error);
      case 'tool-input-end':
      case 'custom':
      case 'raw':
      case 'ping':
        return;
      default:
        this.note({
          code: 'upstream_fields_ignored',
          message: `Parts of type '${plainText(part.type)}' of the model are left out.`,
        });
    }
  }

  private warn({ type, feature, setting, details, message }: JsonObject): void {
    const what = plainText(feature ?? setting ?? type);
    const more = plainText(details ?? message);
    this.note({ code: 'setting_dropped', message: `The model's provider warns of '${what}'${more && `: ${more}`}` });
  }

  private takeThought(
    { type, delta }: JsonObject,
    id: string,
    options: JsonObject | undefined,
    events: ModelEvent[],
  ): void {
    const thought = this.thoughts.get(id) ?? { text: '', options: undefined };
    this.thoughts.set(id, thought);
    if (options) thought.options = { ...thought.options, ...options };
    if (type === 'reasoning-delta' && typeof delta === 'string' && delta !== '') {
      thought.text += delta;
      events.push({ type: 'reasoning-delta', text: delta });
    }
    if (type !== 'reasoning-end') return;
    this.thoughts.delete(id);
    const { text } = thought;
    const state: AnswerState = { thought: { text, ...(thought.options ? { options: thought.options } : {}) } };
    if (text !== '' || thought.options) events.push({ type: 'reasoning-end', state });
  }

  private begin(id: string, name: unknown, options: JsonObject | undefined, events: ModelEvent[]): OpenCall {
    const open: OpenCall = { call: this.calls.size, hasInput: false, options };
    this.calls.set(id, open);
    events.push({ type: 'tool-call-delta', call: open.call, id, name: plainText(name), arguments: '' });
    return open;
  }

  private takeCall(
    { toolCallId, toolName, input }: JsonObject,
    options: JsonObject | undefined,
    events: ModelEvent[],
  ): void {
    const id = plainText(toolCallId);
    const open = this.calls.get(id) ?? this.begin(id, toolName, undefined, events);
    open.options = options ?? open.options;
    const text = typeof input === 'string' ? input : JSON.stringify(input ?? {});
    if (!open.hasInput) events.push({ type: 'tool-call-delta', call: open.call, arguments: text });
    open.hasInput = true;
  }

  private beginExecuted(part: JsonObject, events: ModelEvent[]): void {
    const { toolCallId, toolName, input, providerMetadata } = part;
    const id = plainText(toolCallId);
    const options = isRecord(providerMetadata) ? { providerOptions: providerMetadata } : {};
    const given = typeof input === 'string' ? argumentsObject(input) : input;
    this.executed.set(id, {
      ...{ type: 'tool-call', toolCallId: id, toolName, input: given, providerExecuted: true },
      ...options,
    });
    if (!SEARCHES.test(plainText(toolName))) {
      return this.note({
        code: 'call_dropped',
        message: `A call of '${plainText(toolName)}', which the provider runs itself, has no item.`,
      });
    }
    const query = isRecord(given) ? plainText(given.query ?? given.url) : '';
    events.push({ type: 'search-start', search: id, action: { type: 'search', query, queries: query ? [query] : [] } });
  }

  private endExecuted(part: JsonObject, events: ModelEvent[]): void {
    const { toolCallId, toolName, result, isError, preliminary, providerMetadata } = part;
    const id = plainText(toolCallId);
    const call = this.executed.get(id);
    if (!call || preliminary === true || !SEARCHES.test(plainText(toolName))) return;
    const options = isRecord(providerMetadata) ? { providerOptions: providerMetadata } : {};
    const output = { type: isError === true ? 'error-json' : 'json', value: result };
    const kept = { type: 'tool-result', toolCallId: id, toolName, output, ...options };
    const state = { call, result: kept };
    const list = isRecord(result) ? (result.sources ?? result.results) : result;
    const pages = recordsIn(list);
    const sources = pages.flatMap(({ url }): UrlSource[] => (typeof url === 'string' ? [{ type: 'url', url }] : []));
    events.push({ type: 'search-end', search: id, failed: isError === true, sources, state });
  }

  private takeFile(part: JsonObject, events: ModelEvent[]): void {
    const { mediaType, data: given } = part;
    const data = isRecord(given) && 'data' in given ? given.data : given;
    const base64 = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data;
    if (typeof base64 !== 'string' || !plainText(mediaType).startsWith('image/')) {
      const message = `A file of type '${plainText(mediaType)}' that the model made has no item.`;
      return this.note({ code: 'upstream_fields_ignored', message });
    }
    events.push({ type: 'image', result: base64, details: { output_format: imageFormat(base64) } });
  }

  private finish({ usage, finishReason }: JsonObject, events: ModelEvent[]): void {
    const { unified, raw } = isRecord(finishReason) ? finishReason : { unified: finishReason, raw: undefined };
    // What the providers begin with, and end with where the server never gave a reason.
    if (unified === 'unknown' || unified === 'interrupted' || (unified === 'other' && raw === undefined)) {
      throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
    }
    if (unified === 'error') throw new ApiError('upstream_error', 'The model server reported an error.');
    for (const [id, thought] of this.thoughts) this.takeThought({ type: 'reasoning-end' }, id, thought.options, events);
    const calls = [...this.calls.values()].map(({ options }) => options ?? null);
    const hasCalls = calls.some((each) => each !== null);
    if (hasCalls || this.textOptions) {
      const state: AnswerState = {
        ...(hasCalls ? { calls } : {}),
        ...(this.textOptions ? { text: this.textOptions } : {}),
      };
      events.push({ type: 'reasoning-end', state });
    }
    if (isRecord(usage)) {
      const reported = isRecord(usage.raw) ? { reported: usage.raw } : {};
      events.push({ type: 'usage', usage: toUsage(usage), ...reported });
    }
    events.push({ type: 'finish', reason: FINISH_REASONS.get(unified) ?? 'stop' });
    this.isDone = true;
  }
}

const FINISH_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['length', 'length'],
  ['content-filter', 'content_filter'],
]);

/** Both forms: numbers of their own in the second version, objects in later ones. */
function toUsage({ inputTokens: input, outputTokens: output, cachedInputTokens, reasoningTokens }: JsonObject): Usage {
  const read = isRecord(input) ? input : { total: input, cacheRead: cachedInputTokens };
  const written = isRecord(output) ? output : { total: output, reasoning: reasoningTokens };
  const [inputTokens, outputTokens] = [tokenCount(read.total), tokenCount(written.total)];
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: tokenCount(read.cacheRead),
      cache_write_tokens: tokenCount(read.cacheWrite),
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: tokenCount(written.reasoning) },
    total_tokens: inputTokens + outputTokens,
  };
}

function tokenCount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.trunc(value) : 0;
}
