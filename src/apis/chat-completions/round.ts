/** One model call of a completion: passed on and recorded as it arrives, within its limits, until it calls a server-run tool. */

import { refusalOf } from '../../engine/turn/call-permission.ts';
import { bytesOfItem } from '../../ports/limits.ts';
import type { PlainDelta } from '../../protocol/chat-completions/delta.ts';
import { customOf, rememberArguments } from '../../protocol/chat-completions/tool-calls.ts';
import { usageIn } from '../../protocol/chat-completions/usage.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { grow } from '../../protocol/grown-text.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { isDone } from '../../streams/sse-frames.ts';
import {
  type CallEntry,
  type ChunkPart,
  callPieces,
  chunkParts,
  hasOutput,
  isOneEntry,
  mayBeginCall,
} from './completion/chunk.ts';
import {
  begin,
  type ChatCall,
  type Completion,
  eventFrame,
  eventOf,
  noteSent,
  passedFrame,
} from './completion/completion.ts';
import type { HeldChunk, Round, WrittenCall } from './round-state.ts';

/** Takes the data of one event; returns what may be sent to the client now. */
export function takeData(round: Round, data: string): string {
  const delta = passesUnread(round) ? round.memo.read(data) : undefined;
  if (delta) return passUnread(round, data, delta);
  if (data === '') return '';
  if (!isDone(data)) return takeChunk(round, data);
  round.done = true;
  return '';
}

function passUnread(round: Round, data: string, delta: PlainDelta): string {
  const events: ModelEvent[] = [];
  round.decoder.takePlainDelta(delta, events);
  note(round, {}, events);
  const { line } = round;
  const [entry] = takenEntries(round);
  if (entry) return bounded(round, line.take(entry, eventOf(data)));
  return line.isIdle() ? eventOf(data) : bounded(round, line.takeOther(eventOf(data)));
}

function takenEntries(round: Round): readonly CallEntry[] {
  const { entries } = round;
  if (entries.length === 0) return NO_ENTRIES;
  round.entries = [];
  return entries;
}

const NO_ENTRIES: readonly CallEntry[] = [];

function takeChunk(round: Round, data: string): string {
  const chunk = parse(data);
  const events: ModelEvent[] = [];
  round.decoder.take(chunk, events);
  round.memo.learn(data, chunk);
  begin(round.completion, chunk);
  note(round, chunk, events);
  return release(round, { data, chunk, events, entries: takenEntries(round) });
}

/**
 * Whether a chunk with a single delta is sent to the client unchanged: no call waits for its owner, and the ids are the
 * client's.
 */
function passesUnread({ rewriting, held, completion }: Round): boolean {
  return !rewriting && held.length === 0 && !completion.continued;
}

/** Takes a whole answer, which a streaming client receives in generated chunks. */
export function takeWhole(round: Round, text: string): string {
  round.whole = parse(text);
  round.rewriting = true;
  round.done = true;
  return takeData(round, text);
}

/** Ends the model's answer; throws if it was truncated. */
export function endRound(round: Round): string {
  const events: ModelEvent[] = [];
  round.decoder.end(events, round.done);
  note(round, {}, events);
  const empty = emptyArguments(round);
  note(round, {}, empty);
  const last = { data: '', chunk: {}, events: [...events, ...empty], entries: NO_ENTRIES };
  return (round.rewriting ? rewritten(round, last) : flush(round)) + round.line.flush();
}

/** A call without arguments gets `{}`, which every JSON parser accepts. */
function emptyArguments({ callNumbers }: Round): readonly ModelEvent[] {
  const empty = [...callNumbers].filter(([, call]) => call.arguments.trim() === '');
  return empty.map(([call]) => ({ type: 'tool-call-delta', call, arguments: '{}' }));
}

function parse(data: string): JsonObject {
  const chunk = objectIn(data);
  if (chunk) rememberArguments(chunk, data);
  if (chunk) return chunk;
  throw new ApiError('upstream_error', 'The model server sent something that is not a JSON object.');
}

function release(round: Round, latest: HeldChunk): string {
  if (round.rewriting) return rewritten(round, latest);
  // Every call is the client's, and none will ever have to be sent in generated chunks.
  if (!round.rules.hidesCalls) return passed(round, latest);
  hold(round, latest);
  round.undecided = isUndecided(round.undecided, latest);
  return round.undecided ? '' : flush(round);
}

/** Empty chunks decide nothing, and could wait for ever. */
function hold(round: Round, latest: HeldChunk): void {
  round.held.push(latest);
  round.heldSize += latest.data.length;
  refuseEndless(round, round.heldSize);
}

function refuseEndless({ rules: { limits } }: Round, size: number): void {
  if (size > limits.outputBytes + limits.eventBytes)
    throw new ApiError(
      'output_too_large',
      "The model server began a call and wrote more than this server's limit besides.",
    );
}

/** Only the last call can be: the decoder emits a call when any other output follows. */
function isUndecided(before: boolean, { chunk, events }: HeldChunk): boolean {
  const pieces = callPieces(chunk);
  const last = pieces.findLast((piece) => mayBeginCall(piece) || piece.function?.arguments || customOf(piece));
  if (last) return mayBeginCall(last);
  return before && !events.some(({ type }) => !WITHOUT_OUTPUT.has(type));
}

/** Metadata of an answer that is not part of it. */
const WITHOUT_OUTPUT: ReadonlySet<ModelEvent['type']> = new Set(['usage', 'model-info', 'reasoning-end'] as const);

/** Everything held, as the model server wrote it. */
function flush(round: Round): string {
  const { completion } = round;
  const held = released(round);
  const unsent = round.calls.slice(round.passed).filter((call) => !completion.clientCalls.has(call));
  round.passed = round.calls.length;
  if (unsent.length > 0) notePassed(completion, unsent, held);
  return held.map((each) => passed(round, each)).join('');
}

/**
 * The chunk as the model server wrote it, unless it holds more of a call than of the one before it: then its parts are
 * sent one after another, some of them later.
 */
function passed(round: Round, { data, chunk, entries }: HeldChunk): string {
  const { completion, line } = round;
  const frame = passedFrame(completion, data, chunk);
  const [entry] = entries;
  if (!entry && line.isIdle()) return frame;
  if (entry && isOneEntry(chunk, entries)) return bounded(round, line.take(entry, frame));
  const parts = chunkParts(chunk, entries);
  if (parts.length === 1) return bounded(round, passedPart(round, parts[0] as ChunkPart, frame));
  let isInOrder = true;
  const frames = parts.map((part) => {
    const own = passedFrame(completion, JSON.stringify(part.chunk), part.chunk);
    const sent = passedPart(round, part, own);
    isInOrder &&= sent === own;
    return sent;
  });
  return isInOrder ? frame : bounded(round, frames.join(''));
}

function passedPart({ line }: Round, { chunk, entry, isEnd }: ChunkPart, frame: string): string {
  if (entry) return line.take(entry, frame);
  if (isEnd) return line.flush() + frame;
  return hasOutput(chunk) ? line.takeOther(frame) : frame;
}

/** What is sent now, if what waits is within its limit. */
function bounded(round: Round, sent: string): string {
  refuseEndless(round, round.line.waitingSize);
  return sent;
}

function released(round: Round): readonly HeldChunk[] {
  const { held } = round;
  round.held = [];
  round.heldSize = 0;
  return held;
}

/** The client keeps the model server's own numbering as long as its chunks are passed on. */
function notePassed(completion: Completion, calls: readonly ChatCall[], held: readonly HeldChunk[]): void {
  const numbers = new Map<unknown, unknown>();
  const add = (key: unknown, index: unknown) => numbers.has(key) || numbers.set(key, index);
  for (const piece of held.flatMap(({ chunk }) => callPieces(chunk)))
    add(piece.id ? `id ${piece.id}` : `name ${piece.function?.name}`, piece.index);
  for (const call of calls)
    noteSent(completion, call, numbers.get(`id ${call.id}`) ?? numbers.get(`name ${call.name}`));
}

/** Everything held and the latest, rewritten. */
function rewritten(round: Round, latest: HeldChunk): string {
  const pending = [...released(round), latest];
  const frames = pending.flatMap(({ events }) => events).map((event) => frameFor(round, event));
  refuseEndless(round, round.line.waitingSize);
  return frames.join('');
}

function frameFor(round: Round, event: ModelEvent): string {
  const { completion, line } = round;
  if (event.type !== 'tool-call-delta') {
    const frame = eventFrame(completion, event, undefined);
    return frame === '' ? '' : line.takeOther(frame);
  }
  const frame = eventFrame(completion, event, round.callNumbers.get(event.call));
  return frame === '' ? '' : line.take({ call: event.call, text: event.arguments }, frame);
}

type CallDelta = Extract<ModelEvent, { type: 'tool-call-delta' }>;

/** Records the content of a chunk. Throws `output_too_large`. */
function note(round: Round, chunk: JsonObject, events: readonly ModelEvent[]): void {
  const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
  round.usage = usageIn(chunk) ?? round.usage;
  // Some servers write an empty one before the end.
  if (typeof choice?.finish_reason === 'string' && choice.finish_reason) round.finishReason = choice.finish_reason;
  for (const event of events) noteEvent(round, event);
  if (keepsFields(round)) noteFields(round, choice ?? {});
  refuseTooLarge(round);
}

/** The next model request, which follows only a server-run call, needs them, and so does a completion made of a stream. */
function keepsFields({ rules, whole }: Round): boolean {
  return rules.hidesCalls || (rules.wantsWhole === true && !whole);
}

function noteFields(round: Round, { delta, message }: JsonObject): void {
  const content = delta ?? message;
  if (isRecord(content)) round.completion.bytes += round.fields.take(content, content === message);
  for (const [number, fields] of round.callFields) {
    const call = round.callNumbers.get(number);
    if (!call) continue;
    call.extra = Object.assign(call.extra ?? {}, fields);
    round.callFields.delete(number);
  }
}

function refuseTooLarge(round: Round): void {
  if (round.completion.bytes > round.rules.limits.outputBytes) throw tooLarge('a response');
}

function noteEvent(round: Round, event: ModelEvent): void {
  if ('text' in event) round.completion.bytes += Buffer.byteLength(event.text);
  if (event.type === 'text-delta') grow(round.text, event.text);
  if (event.type === 'tool-call-delta') noteCall(round, event);
  if (event.type === 'model-info' && event.model !== undefined) round.completion.answeredBy = event.model;
  if (event.type === 'finish') round.cutOff = event.reason !== 'stop';
}

function noteCall(round: Round, event: CallDelta): void {
  const call = callOf(round, event);
  const { argumentBytes } = round.rules.limits;
  const bytes = Buffer.byteLength(event.arguments);
  call.arguments += event.arguments;
  call.bytes += bytes;
  round.completion.bytes += bytes;
  if (call.bytes > argumentBytes) throw tooLarge('the arguments of a tool call');
}

function tooLarge(what: string): ApiError {
  return new ApiError('output_too_large', `The model wrote more than this server's limit for ${what}.`);
}

function callOf(round: Round, event: CallDelta): WrittenCall {
  const known = round.callNumbers.get(event.call);
  if (known) return known;
  const name = event.name ?? '';
  const why = refusalOf(round.rules.callRules, name, round);
  round.hasCall ||= why === undefined;
  const owned = why !== undefined || round.rules.isOwned(name);
  const call = { id: unusedId(round, event.id), name, owned, why, arguments: '', bytes: 0 };
  round.calls.push(call);
  round.callIds.add(call.id);
  round.completion.bytes += bytesOfItem(round.calls.length) + Buffer.byteLength(call.id);
  round.callNumbers.set(event.call, call);
  round.rewriting ||= call.owned;
  return call;
}

/** The model server's own id, or a generated one if it sent none or repeats the same for several calls. */
function unusedId({ callIds, rules }: Round, id: string | undefined): string {
  return id && !callIds.has(id) ? id : rules.newCallId();
}
