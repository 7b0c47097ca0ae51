/** One model call of a completion: passed on as it comes, until it turns out to call a tool of ours. */

import type { Limits } from '../../ports/limits.ts';
import { type ChatDecoder, chatDecoder } from '../../protocol/chat-completions/decoder.ts';
import { type ChunkMemo, chunkMemo, type Said } from '../../protocol/chat-completions/fast-path/chunk-memo.ts';
import { customOf } from '../../protocol/chat-completions/tool-calls.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { GrownText } from '../../protocol/grown-text.ts';
import { isRecord } from '../../protocol/record.ts';
import { isDone } from '../../upstreams/chat-completions/chat-completions-upstream.ts';
import { callPieces, mayBeginCall } from './chunk.ts';
import { begin, type ChatCall, type Completion, eventOf, noteTold, passedFrame, toldFrame } from './completion.ts';
import { note } from './note-chunk.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A chunk that waits until it is known whose call it begins. */
interface Held {
  readonly data: string;
  readonly chunk: Fields;
  readonly events: readonly ModelEvent[];
}

/** A call that is being written. */
export interface WrittenCall extends ChatCall {
  /** UTF-8 bytes of the arguments; counted as they come, since counting a long text for each delta of it takes ages. */
  bytes: number;
}

/** What a round must know of its turn. */
export interface RoundRules {
  /** Whether the model was offered tools of ours; where not, nothing has to wait. */
  readonly offersTools: boolean;
  readonly isOwned: (name: string) => boolean;
  /** A call id for calls that came without one. */
  readonly newCallId: () => string;
  readonly limits: Pick<Limits, 'outputBytes' | 'argumentBytes' | 'eventBytes'>;
}

/** The model call so far. */
export interface Round {
  readonly completion: Completion;
  readonly rules: RoundRules;
  readonly decoder: ChatDecoder;
  readonly memo: ChunkMemo;
  readonly calls: WrittenCall[];
  readonly callNumbers: Map<number, WrittenCall>;
  readonly callIds: Set<string>;
  /** How many of the calls the client has been told of in the model server's own chunks. */
  passed: number;
  held: Held[];
  /** Characters of what is held. */
  heldSize: number;
  /** Whether a call has begun of which it is not known whose it is. */
  undecided: boolean;
  /** Whether chunks are written anew, because the model server's own hold calls that are not the client's. */
  rewriting: boolean;
  /** The text of its answer. */
  readonly said: GrownText;
  reasoning: string;
  /** Whether the reasoning came as `reasoning_content`, so that the model server knows that field. */
  reasoningContent: boolean;
  usage: Fields | undefined;
  finishReason: string | undefined;
  /** Whether the model was stopped before it had said all, so that its calls may lack something. */
  cutOff: boolean;
  done: boolean;
  /** The whole answer, where it was not streamed. */
  whole: Fields | undefined;
}

/** Before the model said anything. */
export function newRound(completion: Completion, rules: RoundRules): Round {
  return {
    completion,
    rules,
    decoder: chatDecoder({ think: false }),
    memo: chunkMemo(),
    calls: [],
    callNumbers: new Map(),
    callIds: new Set(),
    passed: 0,
    held: [],
    heldSize: 0,
    undecided: false,
    rewriting: false,
    said: { text: '', tail: '' },
    reasoning: '',
    reasoningContent: false,
    usage: undefined,
    finishReason: undefined,
    cutOff: false,
    done: false,
    whole: undefined,
  };
}

/** Takes the data of one event; answers what may go to the client now. */
export function takeData(round: Round, data: string): string {
  const said = passesUnread(round) ? round.memo.read(data) : undefined;
  if (said) return passUnread(round, data, said);
  if (data === '') return '';
  if (!isDone(data)) return takeChunk(round, data);
  round.done = true;
  return '';
}

function passUnread(round: Round, data: string, said: Said): string {
  const events: ModelEvent[] = [];
  round.decoder.takeSaid(said, events);
  note(round, {}, events);
  return eventOf(data);
}

function takeChunk(round: Round, data: string): string {
  const chunk = parse(data);
  const events: ModelEvent[] = [];
  round.decoder.take(chunk, events);
  round.memo.learn(data, chunk);
  begin(round.completion, chunk);
  note(round, chunk, events);
  return release(round, { data, chunk, events });
}

/** Whether a chunk that says one thing alone goes to the client as it is: no call waits for its owner, and the ids are the client's. */
function passesUnread({ rewriting, held, completion }: Round): boolean {
  return !rewriting && held.length === 0 && !completion.continued;
}

/** Takes a whole answer, which a client that wants a stream is told of in chunks of ours. */
export function takeWhole(round: Round, text: string): string {
  round.whole = parse(text);
  round.rewriting = true;
  round.done = true;
  return takeData(round, text);
}

/** The model has said all; throws where it was cut off. */
export function endRound(round: Round): string {
  const events: ModelEvent[] = [];
  round.decoder.end(events, round.done);
  note(round, {}, events);
  const empty = emptyArguments(round);
  note(round, {}, empty);
  return round.rewriting ? rewritten(round, { data: '', chunk: {}, events: [...events, ...empty] }) : flush(round);
}

/** A call without arguments has none: `{}`, which every reader of JSON can take. */
function emptyArguments({ callNumbers }: Round): readonly ModelEvent[] {
  const empty = [...callNumbers].filter(([, call]) => call.arguments.trim() === '');
  return empty.map(([call]) => ({ type: 'tool-call-delta', call, arguments: '{}' }));
}

function parse(data: string): Fields {
  try {
    const chunk: unknown = JSON.parse(data);
    if (isRecord(chunk)) return chunk;
  } catch {
    // Said below, for what is no JSON and for what is no object.
  }
  throw new ApiError('upstream_error', 'The model server sent something that is not a JSON object.');
}

function release(round: Round, latest: Held): string {
  if (round.rewriting) return rewritten(round, latest);
  // Every call is the client's, and nothing will ever have to be told of it in chunks of ours.
  if (!round.rules.offersTools) return passedFrame(round.completion, latest.data, latest.chunk);
  hold(round, latest);
  round.undecided = isUndecided(round.undecided, latest);
  return round.undecided ? '' : flush(round);
}

/** Chunks that say nothing decide nothing, and could wait for ever. */
function hold(round: Round, latest: Held): void {
  round.held.push(latest);
  round.heldSize += latest.data.length;
  if (round.heldSize > round.rules.limits.outputBytes + round.rules.limits.eventBytes)
    throw new ApiError(
      'output_too_large',
      "The model server began a call and wrote more than this server's limit besides.",
    );
}

/** Only the last call can be: the decoder tells a call on when anything else comes. */
function isUndecided(before: boolean, { chunk, events }: Held): boolean {
  const pieces = callPieces(chunk);
  const last = pieces.findLast((piece) => mayBeginCall(piece) || piece.function?.arguments || customOf(piece));
  if (last) return mayBeginCall(last);
  return before && !events.some(({ type }) => type !== 'usage');
}

/** Everything held, as the model server wrote it. */
function flush(round: Round): string {
  const { completion } = round;
  const held = released(round);
  const untold = round.calls.slice(round.passed).filter((call) => !completion.clientCalls.has(call));
  round.passed = round.calls.length;
  if (untold.length > 0) notePassed(completion, untold, held);
  return held.map(({ data, chunk }) => passedFrame(completion, data, chunk)).join('');
}

function released(round: Round): readonly Held[] {
  const { held } = round;
  round.held = [];
  round.heldSize = 0;
  return held;
}

/** The client keeps the model server's own numbering for as long as its chunks are passed on. */
function notePassed(completion: Completion, calls: readonly ChatCall[], held: readonly Held[]): void {
  const numbers = new Map<unknown, unknown>();
  const add = (key: unknown, index: unknown) => numbers.has(key) || numbers.set(key, index);
  for (const piece of held.flatMap(({ chunk }) => callPieces(chunk)))
    add(piece.id ? `id ${piece.id}` : `name ${piece.function?.name}`, piece.index);
  for (const call of calls)
    noteTold(completion, call, numbers.get(`id ${call.id}`) ?? numbers.get(`name ${call.name}`));
}

/** Everything held and the latest, told anew. */
function rewritten(round: Round, latest: Held): string {
  const pending = [...released(round), latest];
  return pending
    .flatMap(({ events }) => events)
    .map((event) => told(round, event))
    .join('');
}

function told(round: Round, event: ModelEvent): string {
  const call = event.type === 'tool-call-delta' ? round.callNumbers.get(event.call) : undefined;
  return toldFrame(round.completion, event, call);
}
