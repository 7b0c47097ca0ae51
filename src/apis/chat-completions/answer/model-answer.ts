/** One answer of a model server, read as model events and the chunks that they came in, within the limits of a turn. */

import { bytesOfItem, type Limits } from '../../../ports/limits.ts';
import type { ChatBatch } from '../../../ports/upstream.ts';
import type { PlainDelta } from '../../../protocol/chat-completions/chunk.ts';
import { ChatDecoder } from '../../../protocol/chat-completions/decoder.ts';
import { ChunkMemo } from '../../../protocol/chat-completions/fast-path/chunk-memo.ts';
import { jsonWeight } from '../../../protocol/chat-completions/own-fields.ts';
import { customCallIn, rememberArguments } from '../../../protocol/chat-completions/tool-calls.ts';
import { mergeUsage, usageIn } from '../../../protocol/chat-completions/usage.ts';
import { ApiError, outputTooLarge } from '../../../protocol/errors.ts';
import type { ModelEvent, RawChunk } from '../../../protocol/events.ts';
import { type GrownText, grow } from '../../../protocol/grown-text.ts';
import { randomSeed } from '../../../protocol/ids.ts';
import { objectIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { OBJECT_START } from '../../../protocol/tool-calls/arguments/argument-pieces.ts';
import { isDone } from '../../../streams/sse-frames.ts';
import {
  type ChunkPart,
  callEntries,
  chunkParts,
  hasCallEntry,
  mayBeginCall,
  type NumberedEntry,
  wholePart,
} from './chunk.ts';
import { type Completion, takeHead } from './completion.ts';
import { callFields, MessageFields } from './message-fields.ts';

/** One call by the model, of a server-run or a client's tool. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
  /** UTF-8 bytes of the arguments; counted as they arrive, since counting a long text for each delta of it is too slow. */
  bytes: number;
  /** Its extra fields, for the model server alone. */
  extra?: JsonObject;
}

/** What is read of an answer. */
export interface AnswerRules {
  /**
   * Whether the chunks of a call wait until its name is certainly complete, since the client may not receive it; if not, no
   * chunk waits.
   */
  readonly holdsCalls: boolean;
  /** Whether the fields of the message are kept: for the next model request, or for a client that wants one object. */
  readonly keepsFields: boolean;
  readonly limits: Pick<Limits, 'outputBytes' | 'argumentBytes' | 'eventBytes'>;
}

/** A chunk that waits until the owner of the call that it begins is known. */
interface HeldChunk {
  readonly data: string;
  readonly parts: readonly ChunkPart[];
  readonly events: readonly ModelEvent[];
}

type CallDelta = Extract<ModelEvent, { type: 'tool-call-delta' }>;

/** The events of a call in what was held, each with the position of its chunk. */
interface CallDeltas {
  readonly events: { readonly at: number; readonly event: CallDelta }[];
  /** The position of the first that has not been taken. */
  next: number;
}

/** Metadata of an answer that is not part of it. */
const WITHOUT_OUTPUT: ReadonlySet<ModelEvent['type']> = new Set(['usage', 'model-info', 'reasoning-end'] as const);

/** The answer so far. */
export class ModelAnswer {
  readonly calls: ChatCall[] = [];
  /** The text of its message. */
  readonly text: GrownText = { text: '', tail: '' };
  /** Everything else in the message. */
  readonly fields = new MessageFields();
  usage: JsonObject | undefined = undefined;
  /** In dollars. */
  cost: number | undefined = undefined;
  finishReason: string | undefined = undefined;
  /** Whether the model was truncated, so that its calls may be incomplete. */
  isCutOff = false;
  /** The whole answer, if it was not streamed: its text, and the object in it. */
  wholeText: string | undefined = undefined;
  whole: JsonObject | undefined = undefined;
  private readonly completion: Completion;
  private readonly rules: AnswerRules;
  private readonly decoder: ChatDecoder;
  private readonly memo: Pick<ChunkMemo, 'read' | 'learn'>;
  private readonly byNumber = new Map<number, ChatCall>();
  private readonly byId = new Map<string, ChatCall>();
  /** The extra fields of calls, by the decoder's numbers for them. */
  private readonly extraFields = new Map<number, JsonObject>();
  /** The entries of calls in the chunk that is read. */
  private entries: NumberedEntry[] = [];
  private held: HeldChunk[] = [];
  /** Characters of the held chunks. */
  private heldSize = 0;
  /** Whether a call has begun whose owner is not known yet. */
  private isUndecided = false;
  private isDone = false;

  constructor(completion: Completion, rules: AnswerRules, memo: Pick<ChunkMemo, 'read' | 'learn'> = new ChunkMemo()) {
    this.completion = completion;
    this.rules = rules;
    this.memo = memo;
    this.decoder = new ChatDecoder({
      think: false,
      passes: true,
      seeEntry: ({ call }, entry) => this.takeEntry(call, entry),
    });
  }

  /** The call of this id. */
  call(id: unknown): ChatCall | undefined {
    return typeof id === 'string' ? this.byId.get(id) : undefined;
  }

  /** Adds what the batch holds to `inputs`; throws `ApiError` after what came before the failure. */
  take({ whole, data, server }: ChatBatch, inputs: ModelEvent[]): void {
    if (server !== undefined) {
      this.completion.server = server;
      inputs.push({ type: 'model-info', server });
    }
    for (const each of data) {
      if (whole) this.takeWhole(each, inputs);
      else this.takeData(each, inputs);
    }
  }

  /** Adds what the data of one event holds to `inputs`. */
  takeData(data: string, inputs: ModelEvent[]): void {
    const delta = this.plainDelta(data);
    if (delta) {
      const before = inputs.length;
      this.decoder.takePlainDelta(delta, inputs);
      this.noteEvents(inputs, before);
      const call = this.entries[0]?.call;
      if (call !== undefined) this.entries = [];
      const isOutput = call !== undefined || delta.text !== '';
      inputs.push({ type: 'raw', data, chunk: undefined, call, isOutput, isEnd: false, part: 0, parts: 1 });
    } else if (isDone(data)) this.isDone = true;
    else if (data !== '') this.takeChunk(data, parsedChunk(data), inputs);
  }

  /** Takes a chunk of text alone, which nothing waits for; returns false, having read nothing, for any other. */
  takePlainText(data: string): boolean {
    const delta = this.plainDelta(data);
    if (!delta || delta.call !== undefined) return false;
    const events: ModelEvent[] = [];
    this.decoder.takePlainDelta(delta, events);
    this.noteEvents(events, 0);
    return true;
  }

  /** Adds what the end of the answer holds; throws if it was truncated by a failure. */
  end(inputs: ModelEvent[]): void {
    const events: ModelEvent[] = [];
    this.decoder.end(events, this.isDone);
    this.noteEvents(events, 0);
    const finish = events.pop();
    // A call without arguments gets `{}`, which every JSON parser accepts.
    for (const [call, { arguments: text }] of this.byNumber)
      if (text.trim() === '') events.push(this.noteCall({ type: 'tool-call-delta', call, arguments: '{}' }));
    if (finish) events.push(finish);
    this.held.push({ data: '', parts: [], events });
    this.release(inputs);
  }

  /** The delta of a chunk that need not be parsed: nothing waits for its owner, and the ids are the client's. */
  private plainDelta(data: string): PlainDelta | undefined {
    const delta = this.held.length === 0 && !this.completion.isContinued ? this.memo.read(data) : undefined;
    const mayWait = this.rules.holdsCalls && delta?.call !== undefined && OBJECT_START.test(delta.text);
    return mayWait ? undefined : delta;
  }

  private takeWhole(text: string, inputs: ModelEvent[]): void {
    this.wholeText = text;
    this.whole = parsedChunk(text);
    this.completion.isRewritten = true;
    this.isDone = true;
    this.takeChunk(text, this.whole, inputs);
  }

  private takeChunk(data: string, chunk: JsonObject, inputs: ModelEvent[]): void {
    const events: ModelEvent[] = [];
    const choice = this.decoder.take(chunk, events);
    if (choice) this.memo.learn(data, chunk);
    takeHead(this.completion, chunk);
    this.completion.choice = this.decoder.choice ?? 0;
    this.noteChunk(chunk, choice, events);
    const { entries } = this;
    if (entries.length === 0 && this.held.length === 0 && !hasCallEntry(chunk)) {
      // Most chunks: nothing waits, and there is nothing to wait for.
      for (const event of events) inputs.push(event);
      inputs.push(rawChunk(data, wholePart(chunk, choice), 0, 1));
      return;
    }
    this.entries = [];
    this.held.push({ data, parts: chunkParts(chunk, choice, entries), events });
    if (this.rules.holdsCalls) {
      this.heldSize += data.length;
      const { outputBytes, eventBytes } = this.rules.limits;
      const tooMuch = "The model server began a call and wrote more than this server's limit besides.";
      if (this.heldSize > outputBytes + eventBytes) throw new ApiError('output_too_large', tooMuch);
      // Only the last call can be: the decoder emits a call when any other output follows.
      const last = callEntries(chunk).findLast(
        (entry) => mayBeginCall(entry) || entry.function?.arguments || customCallIn(entry),
      );
      if (last) this.isUndecided = mayBeginCall(last);
      // Empty chunks decide nothing.
      else if (events.some(({ type }) => !WITHOUT_OUTPUT.has(type))) this.isUndecided = false;
      if (this.isUndecided || this.decoder.isHoldingArguments) return;
    }
    this.release(inputs);
  }

  /**
   * Everything that was held: the events of each part, and then the part. The first event of a call goes before the first of its
   * parts, though the decoder may have read its name in a later chunk; the others stay with the chunk that they were read from.
   */
  private release(inputs: ModelEvent[]): void {
    const { held } = this;
    this.held = [];
    this.heldSize = 0;
    const deltas = deltasByCall(held);
    if (!deltas) {
      for (const { data, parts, events } of held) {
        for (const event of events) inputs.push(event);
        for (const [at, part] of parts.entries()) inputs.push(rawChunk(data, part, at, parts.length));
      }
      return;
    }
    for (const [at, { data, parts, events }] of held.entries()) {
      const calls = new Set(parts.map(({ call }) => call));
      for (const event of events) {
        if (event.type !== 'tool-call-delta') inputs.push(event);
        // What the decoder kept back of a call that this chunk does not go on with.
        else if (!calls.has(event.call)) takeDeltas(deltas.get(event.call), at, inputs);
      }
      for (const [index, part] of parts.entries()) {
        if (part.call !== undefined) takeDeltas(deltas.get(part.call), at, inputs);
        inputs.push(rawChunk(data, part, index, parts.length));
      }
    }
  }

  private takeEntry(call: number, entry: JsonObject): void {
    this.entries.push({ call, entry });
    const fields = this.rules.keepsFields ? callFields(entry) : undefined;
    if (!fields) return;
    // Not by spreading, which takes quadratic time if a server adds them one by one.
    this.extraFields.set(call, Object.assign(this.extraFields.get(call) ?? {}, fields));
    // At once: a call may wait for its name or arguments for ever.
    this.completion.bytes += jsonWeight(fields) ?? 0;
  }

  /** Records the content of a chunk. Throws `output_too_large`. */
  private noteChunk(chunk: JsonObject, choice: JsonObject | undefined, events: ModelEvent[]): void {
    const report = usageIn(chunk);
    if (report) this.usage = mergeUsage(this.usage, report);
    // Some servers write an empty one before the end.
    const reason = choice?.finish_reason;
    if (typeof reason === 'string' && reason) this.finishReason = reason;
    this.noteEvents(events, 0);
    if (!this.rules.keepsFields || !choice) return;
    const content = choice.delta ?? choice.message;
    if (isRecord(content)) this.completion.bytes += this.fields.take(content, content === choice.message);
    for (const [number, fields] of this.extraFields) {
      const call = this.byNumber.get(number);
      if (!call) continue;
      call.extra = Object.assign(call.extra ?? {}, fields);
      this.extraFields.delete(number);
    }
    this.refuseTooLarge();
  }

  /** Records the events from this position on. Throws `output_too_large`. */
  private noteEvents(events: ModelEvent[], from: number): void {
    const { completion } = this;
    for (let at = from; at < events.length; at += 1) {
      const event = events[at];
      if (!event) continue;
      if (event.type === 'tool-call-delta') events[at] = this.noteCall(event);
      if ('text' in event) completion.bytes += Buffer.byteLength(event.text);
      if (event.type === 'text-delta') grow(this.text, event.text);
      if (event.type === 'model-info' && event.model !== undefined) completion.answeredBy = event.model;
      if (event.type === 'usage') this.cost = event.cost;
      if (event.type === 'finish') this.isCutOff = event.reason !== 'stop';
    }
    this.refuseTooLarge();
  }

  /** Returns the event with the id that the call has from now on. */
  private noteCall(event: CallDelta): ModelEvent {
    const { completion } = this;
    const known = this.byNumber.get(event.call);
    const call = known ?? this.beginCall(event);
    const bytes = Buffer.byteLength(event.arguments);
    call.arguments += event.arguments;
    call.bytes += bytes;
    completion.bytes += bytes;
    if (call.bytes > this.rules.limits.argumentBytes) throw outputTooLarge('the arguments of a tool call');
    return known || call.id === event.id ? event : { ...event, id: call.id };
  }

  private beginCall({ call: number, id, name = '' }: CallDelta): ChatCall {
    // Some model servers send no id, or repeat one for several calls.
    const unique = id && !this.byId.has(id) ? id : `call_${randomSeed()}`;
    const call = { id: unique, name, arguments: '', bytes: 0 };
    this.calls.push(call);
    this.byId.set(unique, call);
    this.completion.bytes += bytesOfItem(this.calls.length) + Buffer.byteLength(unique);
    this.byNumber.set(number, call);
    return call;
  }

  private refuseTooLarge(): void {
    if (this.completion.bytes > this.rules.limits.outputBytes) throw outputTooLarge('a response');
  }
}

/** The events of each call in what was held; undefined where there is none, as in most chunks. */
function deltasByCall(held: readonly HeldChunk[]): Map<number, CallDeltas> | undefined {
  if (!held.some(({ events }) => events.some(({ type }) => type === 'tool-call-delta'))) return undefined;
  const deltas = new Map<number, CallDeltas>();
  const newest = new Map<number | undefined, number>();
  for (const [chunk, { parts, events }] of held.entries()) {
    for (const { call } of parts) newest.set(call, chunk);
    for (const event of events) {
      if (event.type !== 'tool-call-delta') continue;
      // What the decoder kept back belongs to the last chunk of its call.
      const at = newest.get(event.call) ?? chunk;
      const known = deltas.get(event.call);
      if (known) known.events.push({ at, event });
      else deltas.set(event.call, { events: [{ at, event }], next: 0 });
    }
  }
  return deltas;
}

/** One part of a chunk as it travels among the events. */
function rawChunk(data: string, { chunk, call, isOutput, isEnd }: ChunkPart, part: number, parts: number): RawChunk {
  return { type: 'raw', data, chunk, call, isOutput, isEnd, part, parts };
}

/** Adds the events of a call up to this chunk, and in any case the beginning of the call. */
function takeDeltas(deltas: CallDeltas | undefined, at: number, inputs: ModelEvent[]): void {
  if (!deltas) return;
  const { events } = deltas;
  const [first] = events;
  if (first && deltas.next === 0 && first.at > at) {
    const { type, call, arguments: text } = first.event;
    inputs.push({ ...first.event, arguments: '' });
    events[0] = { at: first.at, event: { type, call, arguments: text } };
  }
  for (let next = events[deltas.next]; next && next.at <= at; next = events[deltas.next]) {
    inputs.push(next.event);
    deltas.next += 1;
  }
}

function parsedChunk(data: string): JsonObject {
  const chunk = objectIn(data);
  if (!chunk) throw new ApiError('upstream_error', 'The model server sent something that is not a JSON object.');
  rememberArguments(chunk, data);
  return chunk;
}
