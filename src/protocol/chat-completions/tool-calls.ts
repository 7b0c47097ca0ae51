/** Assembles the tool calls of one model call from pieces, however the upstream splits them. */

import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../errors.ts';
import type { ModelEvent } from '../events.ts';
import { type GrownText, grow, wholeText } from '../grown-text.ts';
import { objectIn } from '../json/json-text.ts';
import { ObjectEnd } from '../json/object-end.ts';
import { exactText, markedIn, rememberDigits } from '../json/whole-numbers.ts';
import { isRecord, type JsonObject, plainText, textOrNone } from '../record.ts';
import type { KnownCall } from './answer-state.ts';

/**
 * A call that has begun. It is emitted only when its name is certainly complete: at its first arguments, or when other
 * output follows.
 */
interface Call {
  readonly call: number;
  id: string;
  name: string;
  /** The arguments that wait until the call is emitted. */
  arguments: string;
  /** All arguments so far. */
  readonly text: GrownText;
  /** A fragment that repeats them, or is an object within them; the next one shows which. */
  held: string;
  /** Whether each fragment repeats all arguments so far. */
  isCumulative: boolean;
  /** The arguments that have not been searched for their end. */
  unread: GrownText;
  end: ObjectEnd | undefined;
  emitted: boolean;
  /** The chunk that last changed it. */
  chunk: number;
}

interface Entry {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Maximum characters of a tool's name; no server allows longer ones. */
const MAX_NAME_LENGTH = 256;
/** Maximum characters of ids and arguments of all calls that wait for a name, and the fixed cost of each such call. */
const MAX_NAMELESS_LENGTH = 1024 * 1024;
const NAMELESS_CALL = 64;

/** Receives every entry. */
export type SeeEntry = (call: KnownCall, entry: JsonObject) => void;

/** The calls of one model call. `seen` receives every entry unchanged, and the call it belongs to. */
export class ToolCalls {
  private readonly seen: SeeEntry;
  /** Calls with a name that wait for arguments. */
  private readonly open = new Set<Call>();
  /** Calls of which a fragment is held. */
  private readonly holding = new Set<Call>();
  private readonly atIndex = new Map<number, Call>();
  private readonly withId = new Map<string, Call>();
  private last: Call | undefined = undefined;
  private count = 0;
  private chunk = 0;
  private nameless = 0;

  constructor(seen: SeeEntry = () => {}) {
    this.seen = seen;
  }

  /** `entries` is the raw `delta.tool_calls`. */
  take(entries: readonly unknown[], events: ModelEvent[]): void {
    this.chunk += 1;
    for (const raw of entries) {
      const entry = readEntry(isRecord(raw) ? raw : {});
      const call = this.callOf(entry);
      this.settleOpen(events, call);
      call.chunk = this.chunk;
      if (!call.emitted) {
        call.id ||= entry.id;
        // The same name again is a repetition; any other text is the next piece of a split name.
        if (entry.name !== call.name) call.name += entry.name;
      }
      if (call.name.length > MAX_NAME_LENGTH)
        throw new ApiError('output_too_large', 'The model called a tool by a name that is too long.');
      addArguments(call, newArguments(call, entry.arguments), events);
      if (call.held !== '') this.holding.add(call);
      if (call.id !== '') this.withId.set(call.id, call);
      if (isRecord(raw)) this.seen(call, raw);
      // A call without a name can be neither run nor answered.
      if (call.name === '') this.countNameless(entry);
      else if (call.emitted) this.open.delete(call);
      else this.open.add(call);
    }
  }

  /** Emits the calls that still wait for arguments; call it before any other event is emitted, and at the end. */
  settle(events: ModelEvent[]): void {
    this.settleOpen(events);
    for (const call of this.holding) {
      const { held } = call;
      call.held = '';
      const before = wholeText(call.text);
      // At the end of the call the fragment is what makes an object of it.
      const isWholeCall = objectIn(before + held) === undefined && objectIn(held) !== undefined;
      addArguments(call, isWholeCall ? held.slice(before.length) : held, events);
    }
    this.holding.clear();
  }

  private settleOpen(events: ModelEvent[], except?: Call): void {
    for (const call of this.open) {
      if (call === except) continue;
      const { held } = call;
      call.held = '';
      this.holding.delete(call);
      // Only an empty object is held of a call that has no arguments yet.
      if (held === '') emitCall(call, '', events);
      else addArguments(call, held, events);
      this.open.delete(call);
    }
  }

  /** Whether any call waits for its arguments. */
  hasWaiting(): boolean {
    return this.open.size > 0 || this.holding.size > 0;
  }

  private callOf(entry: Entry): Call {
    const earlier =
      entry.index === undefined ? (this.withId.get(entry.id) ?? this.last) : this.atIndex.get(entry.index);
    if (earlier && !startsAnother(earlier, entry, this.chunk)) return earlier;
    const call: Call = {
      call: this.count,
      id: '',
      name: '',
      arguments: '',
      text: { text: '', tail: '' },
      held: '',
      isCumulative: false,
      unread: { text: '', tail: '' },
      end: undefined,
      emitted: false,
      chunk: this.chunk,
    };
    this.count += 1;
    this.last = call;
    if (entry.index !== undefined) this.atIndex.set(entry.index, call);
    return call;
  }

  private countNameless(entry: Entry): void {
    this.nameless += entry.id.length + entry.arguments.length + NAMELESS_CALL;
    if (this.nameless > MAX_NAMELESS_LENGTH)
      throw new ApiError('output_too_large', 'The model called a tool without naming it.');
  }
}

/**
 * Some upstreams number every call 0, some number none: then the id distinguishes calls, and without ids a finished
 * call separates them.
 */
function startsAnother(call: Call, entry: Entry, chunk: number): boolean {
  // A fragment without a name continues its call even under a new id: old vLLM generates an id for every chunk.
  if (entry.name === '') return false;
  if (entry.id !== '' && call.id !== '') return entry.id !== call.id;
  if (entry.index === undefined && call.chunk === chunk) return true;
  if (entry.arguments === '' || (!isEmptyObject(call) && !hasWholeObject(call))) return false;
  return entry.index === undefined || entry.name !== call.name || !isSameObject(call, entry.arguments);
}

/** Each character is read once, and only if an upstream repeats names: most never do. */
function hasWholeObject(call: Call): boolean {
  call.end ??= new ObjectEnd();
  call.end.take(wholeText(call.unread));
  call.unread = { text: '', tail: '' };
  return call.end.isReached();
}

function addArguments(call: Call, more: string, events: ModelEvent[]): void {
  grow(call.text, more);
  grow(call.unread, more);
  if (more !== '') emitCall(call, more, events);
}

/**
 * What the fragment adds. Some servers repeat all arguments so far in each fragment, others the whole call once more at
 * its end; a piece that only looks like an earlier one, such as "00" after "100", is a piece. Only pieces that begin three
 * objects within each other, all alike, are taken for repetitions.
 */
function newArguments(call: Call, fragment: string): string {
  const { held } = call;
  const { text, tail } = call.text;
  const length = text.length + tail.length;
  if (fragment === '') return fragment;
  if (length === 0) return firstArguments(call, fragment);
  if (held !== '') {
    call.held = '';
    call.isCumulative = continuesText(held, '', fragment);
    return call.isCumulative ? fragment.slice(length) : held + fragment;
  }
  if (!OBJECT.test(fragment)) return fragment;
  if (continuesText(text, tail, fragment)) {
    // In front of a value it may be one that begins as the whole does.
    if (call.isCumulative || !BEFORE_VALUE.test(tail === '' ? text.slice(-64) : tail)) return fragment.slice(length);
    call.held = fragment;
    return '';
  }
  return fragment.trimEnd().endsWith('}') && hasWholeObject(call) && isSameObject(call, fragment) ? '' : fragment;
}

function isEmptyObject({ held, text }: Call): boolean {
  return held !== '' && text.text === '' && text.tail === '';
}

/** Some servers begin every call with an empty object, and write the arguments then. */
function firstArguments(call: Call, fragment: string): string {
  const { held } = call;
  call.held = held === '' && EMPTY_OBJECT.test(fragment) ? fragment : '';
  if (call.held !== '') return '';
  return OBJECT.test(fragment) ? fragment : held + fragment;
}

const EMPTY_OBJECT = /^\s{0,64}\{\s{0,64}\}\s{0,64}$/;

/** Whether the fragment begins with the text so far, and ends no more objects than it begins. */
function continuesText(text: string, tail: string, fragment: string): boolean {
  if (fragment.length < text.length + tail.length) return false;
  if (!fragment.startsWith(text) || !fragment.startsWith(tail, text.length)) return false;
  const end = new ObjectEnd();
  end.take(fragment);
  return !end.isMissed();
}

const BEFORE_VALUE = /[:[,]\s{0,64}$/;

const OBJECT = /^\s*\{/;

/** Whether the text is the same object as the arguments so far. */
function isSameObject(call: Call, text: string): boolean {
  const value = markedIn(text);
  return isRecord(value) && isDeepStrictEqual(markedIn(wholeText(call.text)), value);
}

function emitCall(call: Call, text: string, events: ModelEvent[]): void {
  if (call.emitted) {
    events.push({ type: 'tool-call-delta', call: call.call, arguments: text });
    return;
  }
  call.arguments += text;
  if (call.name === '') return;
  call.emitted = true;
  events.push({ type: 'tool-call-delta', call: call.call, id: call.id, name: call.name, arguments: call.arguments });
  call.arguments = '';
}

function readEntry(entry: JsonObject): Entry {
  const custom = customCallIn(entry);
  const called = custom ?? (isRecord(entry.function) ? entry.function : {});
  const { arguments: written } = called;
  // Some upstreams send the arguments as the object itself.
  const text = typeof written === 'object' && written !== null ? exactText(written) : plainText(written);
  return {
    index: typeof entry.index === 'number' ? entry.index : undefined,
    id: textOrNone(entry.id),
    name: textOrNone(called.name),
    arguments: custom ? JSON.stringify({ input: textOrNone(custom.input) }) : text,
  };
}

/** The call of a custom tool, if it is one: some servers send an empty `custom` beside a complete `function`. */
export function customCallIn({
  function: called,
  custom,
}: {
  readonly function?: unknown;
  readonly custom?: unknown;
}): JsonObject | undefined {
  if (!isRecord(custom)) return undefined;
  if (!isRecord(called)) return custom;
  const isFunction = called.name || called.arguments || !(custom.name || custom.input);
  return isFunction ? undefined : custom;
}

/** Remembers the digits of arguments that the chunk, which was parsed from the text, holds as objects. */
export function rememberArguments(chunk: unknown, text: string): void {
  // Most chunks have none, and are searched once.
  if (!text.includes('"arguments":')) return;
  if (text.includes('"arguments":{') || text.includes('"arguments": {')) rememberDigits(chunk, text, ARGUMENTS);
}

const ARGUMENTS = ['arguments'];
