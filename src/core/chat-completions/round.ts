/** One model call of a completion: passed on as it comes, until it turns out to call a tool of ours. */
import { ApiError } from '../errors.ts';
import { isRecord } from '../record.ts';
import type { ModelEvent } from '../turn/events.ts';
import { type ChatDecoder, chatDecoder } from '../upstream/chat-decoder.ts';
import { begin, type ChatCall, type Completion, passedFrame, toldFrame } from './completion.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A chunk that waits until it is known whose call it begins. */
interface Held {
  readonly data: string;
  readonly chunk: Fields;
  readonly events: readonly ModelEvent[];
}

/** The model call so far. */
export interface Round {
  readonly completion: Completion;
  readonly decoder: ChatDecoder;
  readonly isOwned: (name: string) => boolean;
  /** A call id for calls that came without one. */
  readonly newCallId: () => string;
  readonly calls: ChatCall[];
  readonly callNumbers: Map<number, ChatCall>;
  held: Held[];
  /** Whether chunks are written anew, because the model server's own hold calls that are not the client's. */
  rewriting: boolean;
  text: string;
  reasoning: string;
  /** Whether the reasoning came as `reasoning_content`, so that the model server knows that field. */
  reasoningContent: boolean;
  usage: Fields | undefined;
  finishReason: string | undefined;
  done: boolean;
  /** The whole answer, where it was not streamed. */
  whole: Fields | undefined;
}

/** Before the model said anything. */
export function newRound(completion: Completion, isOwned: (name: string) => boolean, newCallId: () => string): Round {
  return {
    completion,
    decoder: chatDecoder({ think: false }),
    isOwned,
    newCallId,
    calls: [],
    callNumbers: new Map(),
    held: [],
    rewriting: false,
    text: '',
    reasoning: '',
    reasoningContent: false,
    usage: undefined,
    finishReason: undefined,
    done: false,
    whole: undefined,
  };
}

/** Takes the data of one event; answers what may go to the client now. */
export function takeData(round: Round, data: string): string {
  if (data === '') return '';
  if (data.trim() === '[DONE]') {
    round.done = true;
    return '';
  }
  const chunk = parse(data);
  const events: ModelEvent[] = [];
  round.decoder.take(chunk, events);
  note(round, chunk, events);
  return release(round, { data, chunk, events });
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
  return round.rewriting ? rewritten(round, { data: '', chunk: {}, events }) : flush(round);
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

/** Remembers what the chunk says. */
function note(round: Round, chunk: Fields, events: readonly ModelEvent[]): void {
  const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
  begin(round.completion, chunk);
  if (isRecord(chunk.usage)) round.usage = chunk.usage;
  if (typeof choice?.finish_reason === 'string') round.finishReason = choice.finish_reason;
  if ((choice?.delta ?? choice?.message)?.reasoning_content) round.reasoningContent = true;
  for (const event of events) noteEvent(round, event);
}

function noteEvent(round: Round, event: ModelEvent): void {
  if (event.type === 'text-delta') {
    round.text += event.text;
    round.completion.text += event.text;
  }
  if (event.type === 'reasoning-delta') round.reasoning += event.text;
  if (event.type === 'tool-call-delta') callOf(round, event).arguments += event.arguments;
}

function callOf(round: Round, event: Extract<ModelEvent, { type: 'tool-call-delta' }>): ChatCall {
  const known = round.callNumbers.get(event.call);
  if (known) return known;
  const name = event.name ?? '';
  const call = { id: event.id || round.newCallId(), name, owned: round.isOwned(name), arguments: '' };
  round.calls.push(call);
  round.callNumbers.set(event.call, call);
  round.rewriting ||= call.owned;
  return call;
}

function release(round: Round, latest: Held): string {
  if (round.rewriting) return rewritten(round, latest);
  round.held.push(latest);
  const undecided =
    round.held.some(({ chunk }) => beginsCall(chunk)) && !round.held.some(({ events }) => events.some(isCall));
  return undecided ? '' : flush(round);
}

/** Everything held, as the model server wrote it. */
function flush(round: Round): string {
  const { held, completion } = round;
  round.held = [];
  // The client keeps the model server's own numbering for as long as its chunks are passed on.
  for (const call of round.calls) if (!completion.clientCalls.includes(call)) completion.clientCalls.push(call);
  return held.map(({ data, chunk }) => passedFrame(completion, data, chunk)).join('');
}

/** Everything held and the latest, told anew. */
function rewritten(round: Round, latest: Held): string {
  const pending = [...round.held, latest];
  round.held = [];
  return pending
    .flatMap(({ events }) => events)
    .map((event) => told(round, event))
    .join('');
}

function told(round: Round, event: ModelEvent): string {
  const call = event.type === 'tool-call-delta' ? round.callNumbers.get(event.call) : undefined;
  return toldFrame(round.completion, event, call);
}

function isCall({ type }: ModelEvent): boolean {
  return type === 'tool-call-delta';
}

function beginsCall({ choices }: Fields): boolean {
  return (
    Array.isArray(choices) &&
    choices.some((choice) => choice?.delta?.tool_calls?.length > 0 || choice?.delta?.function_call)
  );
}
