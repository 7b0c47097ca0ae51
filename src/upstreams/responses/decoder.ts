/** Reads the events of another server's Responses stream, or one whole response, as model events. */

import { readAnnotation } from '../../protocol/annotations.ts';
import { costIn, modelInfo, readUsage } from '../../protocol/chat-completions/usage.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent, WireEvent } from '../../protocol/events.ts';
import { grow, wholeText } from '../../protocol/grown-text.ts';
import { partText } from '../../protocol/item-text.ts';
import type { Item, LogProb } from '../../protocol/items.ts';
import { readLogProbList } from '../../protocol/json/log-probs.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { isFilledText, isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import { ArgumentPieces } from '../../protocol/tool-calls/arguments/argument-pieces.ts';
import { writtenArguments } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import { INPUT_END, INPUT_START, inputPiece } from '../../protocol/tool-calls/custom-tool-call.ts';
import { namespacedName, toModelSafeName } from '../../protocol/tool-calls/names/tool-names.ts';
import { errorInBody, secondAnswerError } from '../../protocol/upstream-errors/upstream-error.ts';
import { type Hold, holding } from '../http/without-output.ts';
import { withoutStatus } from '../responses-input/input.ts';
import {
  comparedText,
  hasOutput,
  itemKey,
  messageParts,
  OUTPUT_DIFFERS,
  pairItems,
  type StreamedItem,
} from './final-output.ts';
import {
  type ItemDelta,
  itemDelta,
  type PlainItemDelta,
  REASONING_DELTAS,
  SUMMARY_DELTA,
  TEXT_DELTA,
} from './plain-delta.ts';

/** The tools of a request, by which the calls of its answer are named. */
type OfferedTools = Pick<ModelRequest, 'tools' | 'native'>;

/** The data already emitted of one item of the other server's output. */
interface OpenItem extends StreamedItem {
  /** The index of the tool call, if it is one. */
  readonly call: number | undefined;
  /** Whether the call takes free text, which is its one argument here. */
  readonly isCustom: boolean;
  /** The arguments of any other call. */
  readonly pieces: ArgumentPieces | undefined;
  /** The number of the item, if it is shown as it is. */
  readonly native: number | undefined;
  /** Whether its reasoning is emitted raw or as a summary; if both arrive, only one is emitted. */
  reasoning: string | undefined;
  /** The JSON of the citations that have been emitted. */
  cited: Set<string> | undefined;
  /** Whether the JSON around the free text of a call has ended. */
  isInputEnded: boolean;
}

/** Reads one model call, which offered these tools: receives parsed events one by one. `note` receives what cannot be shown. */
export class ResponsesDecoder {
  /** Whether the response is complete: its `finish` has been emitted. */
  done = false;
  private readonly note: (note: Note) => void;
  /** The model's names for its tools, and those among them that take free text. */
  private readonly names: ReadonlySet<string>;
  private readonly customs: ReadonlySet<string>;
  private readonly hold: Hold = holding();
  private readonly items = new Map<unknown, OpenItem>();
  /** The item that began last: only to it can text be added. */
  private newest: OpenItem | undefined = undefined;
  private calls = 0;
  private natives = 0;
  /** The response that is being read, and whether it has begun again. */
  private response: { readonly id: unknown; readonly again: boolean } | undefined = undefined;

  constructor(note: (note: Note) => void, { tools, native }: OfferedTools = { tools: [] }) {
    this.note = note;
    this.names = new Set(tools.map(({ name }) => name));
    const customs = native?.tools.filter(({ tool }) => tool.type === 'custom') ?? [];
    this.customs = new Set(customs.flatMap(({ names }) => names));
  }

  /** Adds the model events of one event to `events`; throws `ApiError` if it is an error. */
  take(event: unknown, events: ModelEvent[]): void {
    if (!isRecord(event)) throw new ApiError('upstream_error', 'The model server sent an event that is not an object.');
    const { type } = event;
    const index = indexIn(event);
    // Some proxies leave out the wrapper with the type: a response that goes on is the beginning of a stream.
    if (event.object === 'response')
      return RUNNING_STATUSES.has(event.status) ? undefined : this.takeWhole(event, events);
    if (type === 'response.created') return this.beginResponse(event.response);
    if (type === 'response.output_item.added') return this.begin(index, event.item, events);
    if (type === 'response.output_item.done') return this.close(index, event.item, events);
    if (END_EVENTS.has(type)) return this.endStream(event.response, events);
    const { native, closed } = this.items.get(index) ?? {};
    if (native !== undefined && typeof type === 'string' && type.startsWith('response.')) {
      // Three words are an event of an item's content or progress, and not of the response; one that holds an item is of none that has begun.
      if (type.split('.', 4).length === 3) {
        const isShown = !closed && !('item' in event) && PROGRESS_TYPE.test(type);
        return isShown ? emitProgress(native, event, events) : undefined;
      }
    }
    if (String(type).endsWith('.delta')) return this.takeDelta(itemDelta(event), events);
    if (type === 'response.reasoning_summary_part.added') return this.nextPart(event, events);
    if (type === 'response.output_text.annotation.added') {
      const citation = readCitation(event.annotation);
      return citation && cite(this.items.get(index) ?? this.newest, citation, events);
    }
    if (CONTENT_ENDS.has(type)) return this.endContent(event, events);
    const error = errorInBody(event);
    if (error) throw error;
  }

  /** The same for an event that holds this and nothing else; returns false, having read nothing, where the whole event is shown. */
  takePlainDelta(delta: PlainItemDelta, events: ModelEvent[]): boolean {
    if (this.items.get(delta.index)?.native !== undefined) return false;
    this.takeDelta(delta, events);
    return true;
  }

  /** A gateway that loses its server may begin another answer within this one. */
  private beginResponse(response: unknown): void {
    const id = isRecord(response) ? response.id : undefined;
    const hasItems = this.items.size > 0;
    if (hasItems && this.response && this.response.id !== id) throw secondAnswerError();
    this.response = { id, again: hasItems };
  }

  /** Some servers number all items alike, or none: the next one takes the place of one that has ended. */
  private begin(index: unknown, item: unknown, events: ModelEvent[]): void {
    const known = this.items.get(index);
    if (known && this.response?.again) throw secondAnswerError();
    if (known?.closed && isRecord(item) && stringOrNone(itemKey(item)) !== known.key) {
      this.items.delete(index);
      // Still compared with the final output.
      this.items.set(Symbol(), known);
    }
    this.open(index, item, events);
  }

  private open(index: unknown, item: unknown, events: ModelEvent[], isWhole = false): OpenItem {
    const known = this.items.get(index);
    if (known) return known;
    const isCall = isRecord(item) && this.isCall(item);
    const isNative = isRecord(item) && !isCall && typeof item.type === 'string' && !READ_TYPES.has(item.type);
    const opened: OpenItem = {
      type: isRecord(item) ? stringOrNone(item.type) : undefined,
      key: isRecord(item) ? stringOrNone(itemKey(item)) : undefined,
      call: isCall ? this.calls++ : undefined,
      isCustom: isCall && item.type === CUSTOM,
      pieces: isCall && item.type !== CUSTOM ? new ArgumentPieces() : undefined,
      native: isNative ? this.natives++ : undefined,
      emitted: { text: '', tail: '' },
      spoke: false,
      reasoning: undefined,
      cited: undefined,
      isInputEnded: false,
      closed: false,
    };
    this.hold(plainText(opened.type).length + plainText(opened.key).length);
    this.items.set(index, opened);
    this.newest = opened;
    if (isCall) this.emitCall(opened, item, events, isWhole);
    // The casts, here and below: it has a type.
    else if (isNative)
      events.push({ type: 'native-start', native: opened.native as number, item: item as unknown as Item });
    else if (isRecord(item) && item.type === 'message') {
      // Servers without phases write null; clients know these two.
      const { phase } = item;
      const isPhase = phase === 'commentary' || phase === 'final_answer';
      events.push(isPhase ? { type: 'message-start', phase } : { type: 'message-start' });
    }
    return opened;
  }

  /** A call without a name can be neither run nor answered; one of a tool that nobody offered is shown as it is. */
  private isCall(item: JsonObject): boolean {
    if (item.type === CUSTOM) return this.customs.has(this.modelName(item));
    return item.type === 'function_call' && isFilledText(item.name);
  }

  private modelName({ type, name, namespace }: JsonObject): string {
    const own = stringOrNone(name) ?? '';
    const plain = type === CUSTOM ? toModelSafeName(own) : own;
    const whole = isFilledText(namespace) ? namespacedName(String(namespace), own) : plain;
    return this.names.has(whole) ? whole : plain;
  }

  private emitCall(item: OpenItem, call: JsonObject, events: ModelEvent[], isWhole: boolean): void {
    const { call_id: id, arguments: json, input, name, namespace, caller } = call;
    const written = item.isCustom ? plainText(input) : writtenArguments(json);
    const taken = item.pieces ? item.pieces.take(written) : written;
    const shown = isWhole && item.pieces ? taken + item.pieces.settle() : taken;
    // Its own name and namespace, where it has one, and who called it if the model's own program did.
    const fields = {
      ...(typeof namespace === 'string' ? { name, namespace } : {}),
      ...(isRecord(caller) ? { caller } : {}),
    };
    item.spoke ||= written !== '';
    grow(item.emitted, shown);
    events.push({
      type: 'tool-call-delta',
      call: item.call as number,
      ...(typeof id === 'string' && id ? { id } : {}),
      name: this.modelName(call),
      arguments: item.isCustom ? INPUT_START + inputPiece(shown) : shown,
      ...(Object.keys(fields).length > 0 ? { fields } : {}),
    });
  }

  private takeDelta(delta: ItemDelta | undefined, events: ModelEvent[]): void {
    if (delta === undefined) return;
    const { type, index, text, logprobs } = delta;
    const item = this.open(index, undefined, events);
    if (REASONING_DELTAS.has(type)) return this.reason(item, type, text, events);
    if (type === TEXT_DELTA) addWords(item, text, events, textDelta(text, logprobs));
    else if (type === 'response.refusal.delta') addWords(item, text, events, { type: 'refusal-delta', text });
    else this.addArguments(item, item.pieces ? item.pieces.take(text) : text, events);
    item.spoke = true;
  }

  private addArguments(item: OpenItem, text: string, events: ModelEvent[]): void {
    if (item.call === undefined || text === '') return;
    grow(item.emitted, text);
    const more = item.isCustom ? inputPiece(text) : text;
    events.push({ type: 'tool-call-delta', call: item.call, arguments: more });
  }

  private reason(item: OpenItem, type: string, text: string, events: ModelEvent[]): void {
    item.type ??= 'reasoning';
    item.reasoning ??= type;
    if (item.reasoning !== type) return;
    item.spoke = true;
    events.push({ type: 'reasoning-delta', text });
  }

  /** A summary consists of paragraphs. */
  private nextPart(event: JsonObject, events: ModelEvent[]): void {
    const item = this.items.get(indexIn(event));
    if (item?.spoke && item.reasoning === SUMMARY_DELTA) events.push({ type: 'reasoning-delta', text: '\n\n' });
  }

  /** Some servers give the end of a text or of arguments, or all of it, in the event that ends it. Later parts wait for the end of their item. */
  private endContent(event: JsonObject, events: ModelEvent[]): void {
    const { type, part, content_index: place } = event;
    const item = this.items.get(indexIn(event));
    if (!item || item.closed) return;
    const isCall = ARGUMENT_ENDS.has(type);
    if (isCall && item.call !== undefined) this.closeCall(event, item, events);
    if (isCall || item.type !== 'message' || (typeof place === 'number' && place > 0)) return;
    const whole = { ...event, type: type === 'response.refusal.done' ? 'refusal' : 'output_text' };
    this.addMissing(item, [isRecord(part) ? part : whole], events);
  }

  /** Emits any content that its events so far have not had. */
  private close(index: unknown, item: unknown, events: ModelEvent[]): void {
    if (!isRecord(item)) return;
    const opened = this.open(index, item, events, true);
    if (opened.native !== undefined) return emitNativeEnd(opened, item, events);
    opened.type ??= stringOrNone(item.type);
    if (opened.call !== undefined) this.closeCall(item, opened, events);
    else if (item.type === 'message') this.addMissing(opened, messageParts(item.content), events);
    else if (item.type === 'reasoning') closeReasoning(item, opened, events);
    else if (item.type === 'web_search_call') emitSearch(item, events);
    opened.closed = true;
  }

  /** Emits the end of the arguments, where it goes on from what has been emitted. An end event without any leaves them open for a later one. */
  private closeCall({ arguments: json, input }: JsonObject, item: OpenItem, events: ModelEvent[]): void {
    item.closed = true;
    const whole = item.isCustom ? plainText(input) : writtenArguments(json);
    if (whole === '' || item.isInputEnded) return;
    if (item.pieces) this.addArguments(item, item.pieces.settle(whole), events);
    const emitted = wholeText(item.emitted);
    if (whole.startsWith(emitted)) this.addArguments(item, whole.slice(emitted.length), events);
    if (item.isCustom) endInput(item, events);
  }

  /** Emits what these parts of a message have beyond its text so far, if they go on from it; returns whether that is anything. Nothing is put behind another item. */
  private addMissing(item: OpenItem, parts: readonly JsonObject[], events: ModelEvent[]): boolean {
    const isPast = (item.spoke || item.closed) && item !== this.newest;
    const shown = wholeText(item.emitted);
    if (isPast || !parts.map(partText).join('').startsWith(shown)) return false;
    const before = events.length;
    let rest = shown.length;
    const citations = parts.map(({ annotations }) =>
      recordsIn(annotations).flatMap((each) => readCitation(each) ?? []),
    );
    // Some servers spell a citation differently here: no more of them are taken than there are too few.
    let missing = citations.flat().length - (item.cited?.size ?? 0);
    const isNew = (citation: Citation) => missing > 0 && !item.cited?.has(JSON.stringify(citation));
    const others = citations.map((list) => list.filter(isNew));
    for (const [index, part] of parts.entries()) {
      const whole = partText(part);
      const text = whole.slice(rest);
      // Log probabilities are those of the whole part.
      const logprobs = rest === 0 && Array.isArray(part.logprobs) ? readLogProbList(part.logprobs) : '';
      const more = part.type === 'refusal' ? ({ type: 'refusal-delta', text } as const) : textDelta(text, logprobs);
      if (text !== '') addWords(item, text, events, more);
      rest = Math.max(0, rest - whole.length);
      for (const citation of others[index] ?? []) if (missing-- > 0) cite(item, citation, events);
    }
    item.spoke ||= events.length > before;
    return events.length > before;
  }

  private takeWhole(response: JsonObject, events: ModelEvent[]): void {
    const output = Array.isArray(response.output) ? response.output : [];
    for (const [index, item] of output.entries()) this.close(index, item, events);
    this.end(response, events);
  }

  private endStream(response: unknown, events: ModelEvent[]): void {
    const output = isRecord(response) ? recordsIn(response.output) : [];
    if (output.length > 0 && this.settle(output, events)) this.note(OUTPUT_DIFFERS);
    this.end(response, events);
  }

  /** Emits the content that the stream lacked; returns whether the final output differs from it. */
  private settle(output: readonly JsonObject[], events: ModelEvent[]): boolean {
    const { pairs, rest } = pairItems(output, this.items.values());
    // Whether clients have already received it.
    const isShown = ({ spoke, closed, call, native }: OpenItem) =>
      spoke || closed || call !== undefined || native !== undefined;
    const last = pairs.findLastIndex(([, streamed]) => streamed && isShown(streamed));
    let differs = rest.some(({ emitted, spoke }) => spoke || wholeText(emitted) !== '');
    for (const [index, [item, streamed]] of pairs.entries()) {
      const isPast = item.type === 'reasoning' && index < last;
      if (streamed && isShown(streamed)) differs = this.settleShown(item, streamed, events) || differs;
      else if (hasOutput(item)) {
        differs = true;
        // A thought emitted after its result would be sent back in the wrong place.
        if (!isPast) this.close(Symbol(), item, events);
      }
    }
    return differs;
  }

  /** A call and the newest message stay open until the end, because more of them may arrive. */
  private settleShown(item: JsonObject, streamed: OpenItem, events: ModelEvent[]): boolean {
    if (streamed.native !== undefined) {
      if (streamed.closed) return false;
      emitNativeEnd(streamed, item, events);
      return true;
    }
    const emitted = wholeText(streamed.emitted) + (streamed.pieces?.lastPiece() ?? '');
    const differs = (comparedText(item) ?? emitted) !== emitted;
    if (streamed.call !== undefined) this.closeCall(item, streamed, events);
    if (item.type !== 'message') return differs;
    return this.addMissing(streamed, messageParts(item.content), events) || differs;
  }

  private end(response: unknown, events: ModelEvent[]): void {
    if (!isRecord(response)) throw new ApiError('upstream_error', 'The model server sent an end without a response.');
    const { status, incomplete_details: details, usage: reported } = response;
    // Arguments whose end nothing has told end here, but for free text that is cut off.
    for (const item of this.items.values()) {
      if (item.pieces) this.addArguments(item, item.pieces.settle(), events);
      const isCutOff = status === 'incomplete' && item === this.newest && !item.closed;
      if (item.isCustom && !isCutOff) endInput(item, events);
    }
    const usage = readUsage(reported);
    if (usage && isRecord(reported))
      events.push({ type: 'usage', usage, reported, cost: costIn(reported) ?? costIn(response) });
    if (status === 'failed' || status === 'cancelled') throw responseFailure(response);
    const info = modelInfo(response.model, response.service_tier);
    if (info) events.push(info);
    this.done = true;
    const isFiltered = isRecord(details) && details.reason === 'content_filter';
    const reason = isFiltered ? 'content_filter' : 'length';
    events.push({ type: 'finish', reason: status === 'incomplete' ? reason : 'stop' });
  }
}

/** Only a number is kept as the key of an item. */
function indexIn({ output_index: index }: JsonObject): number | undefined {
  return typeof index === 'number' ? index : undefined;
}

/** Only a string is kept as a type or an id. */
function stringOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The ends of a call's arguments, and those of a message's content. */
const ARGUMENT_ENDS: ReadonlySet<unknown> = new Set([
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.done',
]);
const CONTENT_ENDS: ReadonlySet<unknown> = new Set([
  ...ARGUMENT_ENDS,
  ...['output_text', 'refusal', 'content_part'].map((name) => `response.${name}.done`),
]);
const END_EVENTS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed']);
/** Of words alone: a client reads it in a line of its own. */
const PROGRESS_TYPE = /^response\.[\w:-]+\.[\w:-]+$/;
const RUNNING_STATUSES: ReadonlySet<unknown> = new Set(['in_progress', 'queued']);

function responseFailure(response: JsonObject): ApiError {
  const { error: details } = response;
  const reason = isRecord(details) && typeof details.reason === 'string' ? { code: details.reason } : {};
  const error = isRecord(details) ? errorInBody({ ...response, error: { ...details, ...reason } }) : undefined;
  return error ?? new ApiError('upstream_error', `The model server ended the response as ${response.status}.`);
}

function textDelta(text: string, logprobs: readonly LogProb[] | string): ModelEvent {
  return logprobs.length === 0 ? { type: 'text-delta', text } : { type: 'text-delta', text, logprobs };
}

function addWords(item: OpenItem, text: string, events: ModelEvent[], event: ModelEvent): void {
  item.type ??= 'message';
  grow(item.emitted, text);
  events.push(event);
}

/** Ends the free text of a call, once. */
function endInput(item: OpenItem, events: ModelEvent[]): void {
  if (item.isInputEnded) return;
  item.isInputEnded = true;
  // The cast: it is a call.
  events.push({ type: 'tool-call-delta', call: item.call as number, arguments: INPUT_END });
}

/** Without the item's place, which this server says, and without padding. */
function emitProgress(
  native: number,
  { sequence_number: _, output_index: __, obfuscation: ___, ...event }: JsonObject,
  events: ModelEvent[],
): void {
  // The cast: it has a type.
  events.push({ type: 'native-progress', native, event: event as WireEvent });
}

function emitNativeEnd(opened: OpenItem, item: JsonObject, events: ModelEvent[]): void {
  if (opened.closed) return;
  opened.closed = true;
  const whole = { ...item, type: String(opened.type) } as Item;
  events.push({ type: 'native-end', native: opened.native as number, item: whole });
}

function closeReasoning(item: JsonObject, { spoke }: OpenItem, events: ModelEvent[]): void {
  const parts = recordsIn(item.content).length > 0 ? recordsIn(item.content) : recordsIn(item.summary);
  const text = parts.map((part) => part.text).join('\n\n');
  if (!spoke && text !== '') events.push({ type: 'reasoning-delta', text });
  if (typeof item.encrypted_content === 'string' && item.encrypted_content !== '') {
    events.push({ type: 'reasoning-end', state: withoutStatus(item) });
  }
}

/** Emits a web search, whose query is known at its end. */
function emitSearch(item: JsonObject, events: ModelEvent[]): void {
  const { url, query, pattern, sources } = isRecord(item.action) ? item.action : {};
  const search = String(item.id);
  const text = String(query ?? pattern ?? '');
  const found = recordsIn(sources).flatMap(({ url: source }) =>
    typeof source === 'string' ? [{ type: 'url' as const, url: source }] : [],
  );
  const action =
    typeof url === 'string'
      ? { type: 'open_page' as const, url }
      : { type: 'search' as const, query: text, queries: [text] };
  events.push({ type: 'search-start', search, action });
  const failed = item.status === 'failed';
  events.push({ type: 'search-end', search, failed, sources: found, state: withoutStatus(item) });
}

const CUSTOM = 'custom_tool_call';
/** The types of which the events and items are read, and written anew. */
const READ_TYPES: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call', 'web_search_call']);

function readCitation(annotation: unknown): Citation | undefined {
  if (!isRecord(annotation) || !ANNOTATIONS.has(annotation.type)) return undefined;
  return readAnnotation(annotation);
}

type Citation = NonNullable<ReturnType<typeof readAnnotation>>;

/** Emits a citation, and remembers that its item has it. */
function cite(item: OpenItem | undefined, citation: Citation, events: ModelEvent[]): void {
  if (item) {
    item.cited ??= new Set();
    item.cited.add(JSON.stringify(citation));
  }
  events.push(citation);
}

const ANNOTATIONS: ReadonlySet<unknown> = new Set(['url_citation', 'file_citation', 'container_file_citation']);
