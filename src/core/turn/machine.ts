/** The turn as a pure state machine: it alone hands out indices, ids, sequence numbers and statuses, and sums usage. */
import { ApiError, type ErrorBody } from '../errors.ts';
import { outputItemId } from '../ids.ts';
import type { ItemStatus, LogProb, OutputItem, Part, PartType, UrlCitation } from '../items.ts';
import { unreachable } from '../unreachable.ts';
import type { FinishReason, TurnEnd, TurnEvent, TurnInput, Usage } from './events.ts';

/** What is settled before a turn begins. */
export interface TurnPlan {
  /** The random part of the response's id, from which every item's id is made. */
  readonly seed: string;
  /** Where reasoning goes: the item's `summary`, or its raw `content`. */
  readonly reasoning: 'summary_text' | 'reasoning_text';
  /** The names of tools that may be called; undefined allows all. */
  readonly allowedTools?: ReadonlySet<string>;
  /** Whether a `queued` event stands between `created` and `in_progress`. */
  readonly queuedEvent: boolean;
  /** UTF-8 bytes of everything the model may write in one turn. */
  readonly outputBytes: number;
  /** UTF-8 bytes of the arguments of one call. */
  readonly argumentBytes: number;
}

interface OpenPart {
  readonly type: PartType;
  readonly index: number;
  text: string;
  annotations: readonly UrlCitation[];
  logprobs: LogProbList | undefined;
}

/** The message or reasoning item that is being written; at most one at a time. */
interface Writing {
  readonly kind: 'message' | 'reasoning';
  readonly index: number;
  readonly id: string;
  parts: readonly Part[];
  part: OpenPart | undefined;
}

/** A call whose arguments are coming in; several may be open, since upstreams interleave them. */
interface OpenCall {
  readonly call: number;
  readonly index: number;
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  arguments: string;
}

/** A linked list, newest first: appending to an array copied at every step would cost the square of its length. */
interface LogProbList {
  readonly logprobs: readonly LogProb[];
  readonly before: LogProbList | undefined;
}

/** Everything a turn knows between two steps. Treat it as a value: `step` never changes the one it was given. */
export interface TurnState {
  readonly plan: TurnPlan;
  readonly started: boolean;
  readonly ended: boolean;
  readonly sequence: number;
  readonly output: readonly OutputItem[];
  readonly writing: Readonly<Writing> | undefined;
  readonly calls: readonly Readonly<OpenCall>[];
  readonly dropped: readonly number[];
  readonly callIds: readonly string[];
  readonly usage: Usage;
  readonly callUsage: Usage | undefined;
  readonly finish: FinishReason | undefined;
  readonly bytes: number;
}

export const NO_USAGE: Usage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** The state before the first step. */
export function startState(plan: TurnPlan): TurnState {
  return {
    plan,
    started: false,
    ended: false,
    sequence: 0,
    output: [],
    writing: undefined,
    calls: [],
    dropped: [],
    callIds: [],
    usage: NO_USAGE,
    callUsage: undefined,
    finish: undefined,
    bytes: 0,
  };
}

/** Takes what happened and answers with the next state and what to say. What comes after the end is ignored. */
export function step(state: TurnState, inputs: readonly TurnInput[]): readonly [TurnState, readonly TurnEvent[]] {
  const draft = draftOf(state);
  for (const input of inputs) {
    if (draft.ended) break;
    if (isCutOff(draft) && SPEECH.has(input.type)) continue;
    take(draft, input);
    if (draft.bytes > draft.plan.outputBytes && !draft.ended) fail(draft, tooLarge('a response'));
  }
  const { events, ...next } = draft;
  return [next, events];
}

/** What a model that was cut off can no longer say: its last item is incomplete, and must stay the last. */
const SPEECH: ReadonlySet<TurnInput['type']> = new Set([
  'text-delta',
  'refusal-delta',
  'reasoning-delta',
  'tool-call-delta',
  'annotation',
  'finish',
] as const);

function isCutOff(draft: Draft): boolean {
  return draft.finish !== undefined && draft.finish !== 'stop';
}

/** A copy of the state that one step may change. */
interface Draft {
  plan: TurnPlan;
  started: boolean;
  ended: boolean;
  sequence: number;
  output: OutputItem[];
  writing: Writing | undefined;
  calls: OpenCall[];
  dropped: readonly number[];
  callIds: readonly string[];
  usage: Usage;
  callUsage: Usage | undefined;
  finish: FinishReason | undefined;
  bytes: number;
  events: TurnEvent[];
}

function draftOf(state: TurnState): Draft {
  const { writing } = state;
  return {
    ...state,
    output: [...state.output],
    writing: writing && { ...writing, part: writing.part && { ...writing.part } },
    calls: state.calls.map((call) => ({ ...call })),
    events: [],
  };
}

function take(draft: Draft, input: TurnInput): void {
  switch (input.type) {
    case 'text-delta':
      return writeText(draft, 'output_text', input.text, input.logprobs);
    case 'refusal-delta':
      return writeText(draft, 'refusal', input.text);
    case 'reasoning-delta':
      return writeText(draft, draft.plan.reasoning, input.text);
    case 'tool-call-delta':
      return writeCall(draft, input);
    case 'annotation':
      return annotate(draft, input.annotation);
    case 'usage':
      draft.callUsage = input.usage;
      return;
    case 'finish':
      return finishModelCall(draft, input.reason);
    case 'start':
      return start(draft);
    case 'keepalive':
      draft.events.push({ type: 'keepalive', sequence: draft.sequence++ });
      return;
    case 'fail':
      return fail(draft, input.error);
    case 'end':
      return end(draft, input.at);
    default:
      unreachable(input);
  }
}

function start(draft: Draft): void {
  draft.started = true;
  draft.events.push({ type: 'turn-start', sequence: draft.sequence++ });
  if (draft.plan.queuedEvent) draft.events.push({ type: 'turn-queued', sequence: draft.sequence++ });
  draft.events.push({ type: 'turn-progress', sequence: draft.sequence++ });
}

const NO_LOGPROBS: readonly LogProb[] = [];

function writeText(draft: Draft, type: PartType, text: string, logprobs = NO_LOGPROBS): void {
  if (text === '' && logprobs.length === 0) return;
  const writing = openPart(draft, type);
  const { part } = writing;
  part.text += text;
  if (logprobs.length > 0) part.logprobs = { logprobs, before: part.logprobs };
  draft.events.push({
    type: 'text-delta',
    sequence: draft.sequence++,
    index: writing.index,
    itemId: writing.id,
    partIndex: part.index,
    part: type,
    text,
    logprobs,
  });
  draft.bytes += Buffer.byteLength(text);
}

function annotate(draft: Draft, annotation: UrlCitation): void {
  const { index, id, part } = openPart(draft, 'output_text');
  draft.events.push({
    type: 'annotation',
    sequence: draft.sequence++,
    index,
    itemId: id,
    partIndex: part.index,
    annotationIndex: part.annotations.length,
    annotation,
  });
  part.annotations = [...part.annotations, annotation];
  draft.bytes += Buffer.byteLength(annotation.url) + Buffer.byteLength(annotation.title);
}

/** The item being written with an open part of this type, opened where need be. */
function openPart(draft: Draft, type: PartType): Writing & { part: OpenPart } {
  const writing = openItem(draft, type === 'output_text' || type === 'refusal' ? 'message' : 'reasoning');
  if (writing.part?.type === type) return writing as Writing & { part: OpenPart };
  closePart(draft, writing);
  const part: OpenPart = { type, index: writing.parts.length, text: '', annotations: [], logprobs: undefined };
  draft.events.push({
    type: 'part-start',
    sequence: draft.sequence++,
    index: writing.index,
    itemId: writing.id,
    partIndex: part.index,
    part: wholePart(part),
  });
  return Object.assign(writing, { part });
}

function openItem(draft: Draft, kind: Writing['kind']): Writing {
  if (draft.writing?.kind === kind) return draft.writing;
  closeWriting(draft, 'completed');
  const index = draft.output.length;
  const id = outputItemId(kind === 'message' ? 'msg' : 'rs', draft.plan.seed, index);
  draft.writing = { kind, index, id, parts: [], part: undefined };
  announce(draft, index, writtenItem(draft, draft.writing, 'in_progress'));
  return draft.writing;
}

function announce(draft: Draft, index: number, item: OutputItem): void {
  draft.output.push(item);
  draft.events.push({ type: 'item-start', sequence: draft.sequence++, index, item });
}

function writtenItem(draft: Draft, writing: Writing, status: ItemStatus): OutputItem {
  const { id, kind, parts } = writing;
  if (kind === 'message') return { id, type: 'message', status, role: 'assistant', content: parts };
  if (draft.plan.reasoning === 'summary_text') return { id, type: 'reasoning', status, summary: parts };
  return { id, type: 'reasoning', status, summary: [], content: parts };
}

function wholePart(part: OpenPart): Part {
  const { type, text, annotations } = part;
  if (type === 'refusal') return { type, refusal: text };
  if (type === 'output_text') return { type, text, annotations, logprobs: listed(part.logprobs) };
  return { type, text };
}

function listed(list: LogProbList | undefined): readonly LogProb[] {
  const groups: (readonly LogProb[])[] = [];
  for (let node = list; node; node = node.before) groups.push(node.logprobs);
  return groups.length === 0 ? NO_LOGPROBS : groups.reverse().flat();
}

function closePart(draft: Draft, writing: Writing): void {
  const { part } = writing;
  if (!part) return;
  const whole = wholePart(part);
  const place = { index: writing.index, itemId: writing.id, partIndex: part.index };
  const logprobs = whole.type === 'output_text' ? whole.logprobs : NO_LOGPROBS;
  draft.events.push({
    type: 'text-end',
    sequence: draft.sequence++,
    ...place,
    part: part.type,
    text: part.text,
    logprobs,
  });
  draft.events.push({ type: 'part-end', sequence: draft.sequence++, ...place, part: whole });
  writing.parts = [...writing.parts, whole];
  writing.part = undefined;
}

function closeWriting(draft: Draft, status: ItemStatus): void {
  const { writing } = draft;
  if (!writing) return;
  closePart(draft, writing);
  draft.writing = undefined;
  closeItem(draft, writing.index, writtenItem(draft, writing, status));
}

function closeItem(draft: Draft, index: number, item: OutputItem): void {
  draft.output[index] = item;
  draft.events.push({ type: 'item-end', sequence: draft.sequence++, index, item });
}

function writeCall(draft: Draft, delta: Extract<TurnInput, { type: 'tool-call-delta' }>): void {
  if (draft.dropped.includes(delta.call)) return;
  const open = draft.calls.find(({ call }) => call === delta.call) ?? openCall(draft, delta);
  if (!open || delta.arguments === '') return;
  writeArguments(draft, open, delta.arguments);
  draft.bytes += Buffer.byteLength(delta.arguments);
  if (exceeds(open.arguments, draft.plan.argumentBytes)) fail(draft, tooLarge('the arguments of a tool call'));
}

/** UTF-8 takes at most three bytes for a UTF-16 unit, so short texts need no counting. */
function exceeds(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes;
}

function openCall(draft: Draft, delta: Extract<TurnInput, { type: 'tool-call-delta' }>): OpenCall | undefined {
  const name = delta.name ?? '';
  if (draft.plan.allowedTools?.has(name) === false) return dropCall(draft, delta.call, name);
  closeWriting(draft, 'completed');
  const index = draft.output.length;
  const callId = unusedCallId(draft, delta.id, index);
  const call = { call: delta.call, index, id: outputItemId('fc', draft.plan.seed, index), callId, name, arguments: '' };
  draft.calls.push(call);
  draft.callIds = [...draft.callIds, callId];
  announce(draft, index, callItem(call, 'in_progress'));
  draft.bytes += Buffer.byteLength(name) + Buffer.byteLength(callId);
  return call;
}

/** `allowed_tools` is a hard limit: a call outside it is never shown, however the model came to make it. */
function dropCall(draft: Draft, call: number, name: string): undefined {
  draft.dropped = [...draft.dropped, call];
  draft.events.push({ type: 'call-dropped', name });
}

/** The upstream's id, or one of ours where it sent none or sends the same for several calls. */
function unusedCallId(draft: Draft, id: string | undefined, index: number): string {
  if (id && !draft.callIds.includes(id)) return id;
  return outputItemId('call', draft.plan.seed, index);
}

function callItem({ id, callId, name, arguments: text }: OpenCall, status: ItemStatus): OutputItem {
  return { id, type: 'function_call', status, call_id: callId, name, arguments: text };
}

function writeArguments(draft: Draft, call: OpenCall, text: string): void {
  call.arguments += text;
  draft.events.push({
    type: 'arguments-delta',
    sequence: draft.sequence++,
    index: call.index,
    itemId: call.id,
    text,
  });
}

/** A call that was never given arguments has none: `{}`, as a delta too, since some clients read only deltas. */
function closeCall(draft: Draft, call: OpenCall, status: ItemStatus): void {
  if (status === 'completed' && call.arguments.trim() === '') writeArguments(draft, call, '{}');
  draft.events.push({
    type: 'arguments-end',
    sequence: draft.sequence++,
    index: call.index,
    itemId: call.id,
    name: call.name,
    arguments: call.arguments,
  });
  closeItem(draft, call.index, callItem(call, status));
}

function finishModelCall(draft: Draft, reason: FinishReason): void {
  const last = draft.output.length - 1;
  closeAll(draft, (index) => (reason !== 'stop' && index === last ? 'incomplete' : 'completed'));
  draft.dropped = [];
  draft.finish = reason;
  addCallUsage(draft);
}

/** Closes what is open in the order of the output: a call closes what was being written before it, so calls come first. */
function closeAll(draft: Draft, status: (index: number) => ItemStatus): void {
  const { calls, writing } = draft;
  draft.calls = [];
  for (const call of calls) closeCall(draft, call, status(call.index));
  if (writing) closeWriting(draft, status(writing.index));
}

function addCallUsage(draft: Draft): void {
  if (draft.callUsage) draft.usage = sum(draft.usage, draft.callUsage);
  draft.callUsage = undefined;
}

function sum(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    input_tokens_details: {
      cached_tokens: a.input_tokens_details.cached_tokens + b.input_tokens_details.cached_tokens,
    },
    output_tokens: a.output_tokens + b.output_tokens,
    output_tokens_details: {
      reasoning_tokens: a.output_tokens_details.reasoning_tokens + b.output_tokens_details.reasoning_tokens,
    },
    total_tokens: a.total_tokens + b.total_tokens,
  };
}

const INCOMPLETE = { stop: null, length: 'max_output_tokens', content_filter: 'content_filter' } as const;

function end(draft: Draft, at: number): void {
  if (draft.writing || draft.calls.length > 0) finishModelCall(draft, 'stop');
  addCallUsage(draft);
  const reason = INCOMPLETE[draft.finish ?? 'stop'];
  const status = reason ? 'incomplete' : 'completed';
  endTurn(draft, { status, reason, error: null, completedAt: reason ? null : at });
}

function fail(draft: Draft, error: ErrorBody): void {
  if (!draft.started) start(draft);
  closeAll(draft, () => 'incomplete');
  addCallUsage(draft);
  draft.events.push({ type: 'error', sequence: draft.sequence++, error });
  endTurn(draft, { status: 'failed', reason: null, error, completedAt: null });
}

function endTurn(draft: Draft, how: Pick<TurnEnd, 'status' | 'reason' | 'error' | 'completedAt'>): void {
  draft.ended = true;
  const { output, usage } = draft;
  draft.events.push({ type: 'turn-end', sequence: draft.sequence++, ...how, output, usage });
}

function tooLarge(what: string): ErrorBody {
  return new ApiError('output_too_large', `The model wrote more than this server's limit for ${what}.`).body;
}
