/** What the model writes behind an open call, since another call began there. */
import type { RawChunk, TurnInput } from '../../../protocol/events.ts';
import { leastBytes } from '../../../protocol/json/json-size.ts';
import { SharedList, SharedMap } from '../data/shared-list.ts';
import type { Draft, OpenToolCall, WaitingCall, WaitingOutput } from './state.ts';

type CallDelta = Extract<TurnInput, { type: 'tool-call-delta' }>;

const NOTHING: WaitingOutput = { entries: new SharedList(), first: 0, places: new SharedMap(), bytes: 0 };
const NO_CHUNKS: SharedList<never> = new SharedList();
/** Bytes that each entry costs besides its content. */
const ENTRY_BYTES = 64;

/** What is output of the model in an order, besides calls. */
const ORDERED: ReadonlySet<TurnInput['type']> = new Set([
  'text-delta',
  'refusal-delta',
  'message-start',
  'reasoning-delta',
  'reasoning-end',
  'annotation',
  'image',
  'search-start',
  'search-end',
  'native-start',
  'native-progress',
  'native-end',
  'tools-listed',
] as const);

/** Whether the input is output behind the open call: a whole call has ended then. */
export function followsCall(draft: Draft, { toolCallIndex }: OpenToolCall, input: TurnInput): boolean {
  if (input.type === 'tool-call-delta') return input.call !== toolCallIndex;
  if (input.type !== 'raw') return ORDERED.has(input.type);
  return input.call === undefined ? input.isOutput : isUnknown(draft, input.call);
}

/** Takes an input that must wait until the calls before it have ended; returns false for any other. */
export function waitsForCall(draft: Draft, input: TurnInput): boolean {
  if (!draft.openCall) return false;
  if (input.type === 'raw') return chunkWaits(draft, input);
  if (!draft.waiting || !ORDERED.has(input.type)) return false;
  add(draft, draft.waiting, input, leastBytes(input));
  return true;
}

/** A chunk waits with its call; one that begins a call whose name is not known yet waits as other output does. */
function chunkWaits(draft: Draft, raw: RawChunk): boolean {
  const { waiting } = draft;
  const bytes = raw.data.length;
  const place = raw.call === undefined ? undefined : waiting?.places.get(raw.call);
  const entry = place === undefined ? undefined : waiting?.entries.at(place);
  if (waiting && place !== undefined && entry && 'toolCallIndex' in entry) {
    const entries = waiting.entries.with(place, { ...entry, chunks: entry.chunks.added(raw) });
    draft.waiting = { ...waiting, entries, bytes: waiting.bytes + bytes };
    return true;
  }
  const mustWait = raw.call === undefined ? waiting !== undefined && raw.isOutput : isUnknown(draft, raw.call);
  if (mustWait) add(draft, waiting ?? NOTHING, raw, bytes);
  return mustWait;
}

/** Whether no call of this number has begun. */
function isUnknown({ openCall, closedCalls, refused, waiting }: Draft, call: number): boolean {
  if (openCall?.toolCallIndex === call || closedCalls.has(call) || refused.has(call)) return false;
  return waiting?.places.has(call) !== true;
}

/** Takes the beginning of a call that is shown after the open one. */
export function waitingCall(draft: Draft, head: CallDelta): WaitingCall {
  const { call, id = '', name = '', arguments: text, fields } = head;
  const waiting = draft.waiting ?? NOTHING;
  const bytes = Buffer.byteLength(text);
  const entry: WaitingCall = { toolCallIndex: call, name, head, arguments: text, bytes, chunks: NO_CHUNKS };
  const places = waiting.places.with(call, waiting.entries.size);
  add(draft, { ...waiting, places }, entry, bytes + name.length + id.length + leastBytes(fields ?? {}));
  return entry;
}

function add(draft: Draft, waiting: WaitingOutput, entry: WaitingCall | TurnInput, bytes: number): void {
  const entries = waiting.entries.added(entry);
  draft.waiting = { ...waiting, entries, bytes: waiting.bytes + bytes + ENTRY_BYTES };
}

/** Adds arguments to a call that waits; returns it, or undefined if there is none of that number. */
export function growWaiting(draft: Draft, { call, arguments: text }: CallDelta): WaitingCall | undefined {
  const { waiting } = draft;
  const place = waiting?.places.get(call);
  const entry = place === undefined ? undefined : waiting?.entries.at(place);
  if (!waiting || place === undefined || !entry || !('toolCallIndex' in entry)) return undefined;
  const more = Buffer.byteLength(text);
  const grown = { ...entry, arguments: entry.arguments + text, bytes: entry.bytes + more };
  draft.waiting = { ...waiting, entries: waiting.entries.with(place, grown), bytes: waiting.bytes + more };
  return grown;
}

/** Takes the first entry from what waits. */
export function nextWaiting(draft: Draft, waiting: WaitingOutput): WaitingCall | TurnInput | undefined {
  const { entries, first } = waiting;
  const isLast = first + 1 >= entries.size;
  draft.waiting = isLast ? undefined : { ...waiting, entries: entries.with(first, undefined), first: first + 1 };
  return entries.at(first);
}
