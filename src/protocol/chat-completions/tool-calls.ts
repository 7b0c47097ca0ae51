/** Assembles the tool calls of one model call from pieces, however the upstream splits them. */

import { ApiError } from '../errors.ts';
import type { ModelEvent } from '../events.ts';
import { rememberDigits } from '../json/whole-numbers.ts';
import { isRecord, type JsonObject, textOrNone } from '../record.ts';
import { ArgumentPieces, OBJECT_START } from '../tool-calls/arguments/argument-pieces.ts';
import { writtenArguments } from '../tool-calls/arguments/call-arguments.ts';
import { INPUT_END, INPUT_START, inputPiece } from '../tool-calls/custom-tool-call.ts';
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
  readonly pieces: ArgumentPieces;
  /** Whether it takes free text, which is its one argument here. */
  isCustom: boolean;
  emitted: boolean;
  /** The chunk that last changed it. */
  chunk: number;
}

interface Entry {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly isCustom: boolean;
  /** The text of a custom call, or the JSON of any other. */
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
  /** Calls whose free text has not ended: only the end of the answer shows that. */
  private readonly customs = new Set<Call>();
  private readonly atIndex = new Map<number, Call>();
  private readonly withId = new Map<string, Call>();
  /** Calls that came without a name, which some have got since. */
  private readonly unnamed = new Set<Call>();
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
      if (entry.isCustom && !call.pieces.isBegun) {
        call.isCustom = true;
        this.customs.add(call);
      }
      const { pieces, isCustom } = call;
      const more = pieces.take(isCustom ? inputPiece(entry.arguments, !pieces.isBegun) : entry.arguments);
      if (more !== '' || (call.pieces.isHolding && !call.emitted)) emitCall(call, more, events);
      if (call.pieces.isHolding) this.holding.add(call);
      else this.holding.delete(call);
      if (call.id !== '') this.withId.set(call.id, call);
      if (isRecord(raw)) this.seen(call, raw);
      if (call.name === '') this.countNameless(call, entry);
      else if (call.emitted) this.open.delete(call);
      else this.open.add(call);
    }
  }

  /** Emits the calls that still wait for arguments; call it before any other event is emitted, and at the end. */
  settle(events: ModelEvent[]): void {
    this.settleOpen(events);
    for (const call of this.holding) {
      const more = call.pieces.settle();
      if (more !== '') emitCall(call, more, events);
    }
    this.holding.clear();
  }

  /** Ends the free text of all calls, after `settle`; in an answer that was cut off, not that of the newest call. */
  end(events: ModelEvent[], isCutOff: boolean): void {
    for (const call of this.customs) {
      if (isCutOff && call === this.last) continue;
      emitCall(call, call.pieces.take(call.pieces.isBegun ? INPUT_END : INPUT_START + INPUT_END), events);
    }
    this.customs.clear();
  }

  private settleOpen(events: ModelEvent[], except?: Call): void {
    for (const call of this.open) {
      if (call === except) continue;
      emitCall(call, '', events);
      this.open.delete(call);
    }
    for (const call of this.holding) {
      // A fragment within its arguments waits for more of them: calls may be interleaved.
      if (call === except || call.pieces.isBegun) continue;
      emitCall(call, call.pieces.settle(), events);
      this.holding.delete(call);
    }
  }

  /** Whether a fragment of arguments is kept back until the next one shows what it is. */
  isHolding(): boolean {
    return this.holding.size > 0;
  }

  /** Whether any call waits for its arguments. */
  hasWaiting(): boolean {
    return this.open.size > 0 || this.holding.size > 0;
  }

  /** Whether something of a call has come, and no name: such a call can be neither run nor answered. */
  hasNameless(): boolean {
    for (const { id, name, arguments: text } of this.unnamed)
      if (name === '' && (id !== '' || text !== '')) return true;
    return false;
  }

  /** Whether the newest call has begun its arguments, and not ended them. */
  isMidCall(): boolean {
    return this.last?.pieces.isBegun === true && !mayBeWhole(this.last);
  }

  /**
   * Some servers write one index for all calls, or another one for the rest of a call: then the id tells whose piece it is.
   * Others give several calls one id, which their names begin.
   */
  private callOf(entry: Entry): Call {
    const known = this.withId.get(entry.id);
    const indexed = entry.index === undefined ? (known ?? this.last) : this.atIndex.get(entry.index);
    const isKnown = entry.name === '' || (indexed && entry.name === known?.name && !mayBeWhole(known));
    const earlier = known && indexed?.id !== entry.id && isKnown ? known : indexed;
    if (earlier && !startsAnother(earlier, entry, this.chunk)) {
      if (entry.index !== undefined && earlier !== indexed) this.atIndex.set(entry.index, earlier);
      return earlier;
    }
    const call: Call = {
      call: this.count,
      id: '',
      name: '',
      arguments: '',
      pieces: new ArgumentPieces(),
      isCustom: false,
      emitted: false,
      chunk: this.chunk,
    };
    this.count += 1;
    this.last = call;
    if (entry.index !== undefined) this.atIndex.set(entry.index, call);
    return call;
  }

  private countNameless(call: Call, entry: Entry): void {
    this.unnamed.add(call);
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
  if (call.name !== '' && entry.name !== call.name && mayBeWhole(call)) return true;
  // Other servers write the name on each, too; a call behind one that a model has not ended begins without arguments, or with an object.
  const isRest = !call.isCustom && entry.name === call.name && /^\s*[^\s{]/.test(entry.arguments);
  const isUnnumbered = entry.index === undefined && call.chunk === chunk;
  if (entry.id !== '' && entry.id === call.id) {
    // Whole messages number no calls, and those of some servers give all of them one id.
    const isObject = isUnnumbered && !call.isCustom && OBJECT_START.test(entry.arguments);
    return isObject && mayBeWhole(call) && !call.pieces.isSameObject(entry.arguments);
  }
  if (entry.id !== '' && call.id !== '') return !(isRest && call.pieces.isMidObject());
  if (isUnnumbered) return true;
  if (entry.arguments === '' || !mayBeWhole(call)) return false;
  if (entry.index === undefined || entry.name !== call.name) return true;
  return !call.isCustom && !call.pieces.isSameObject(entry.arguments);
}

/** Whether nothing of the call need follow: any free text may be all of it. */
function mayBeWhole({ isCustom, pieces }: Call): boolean {
  if (isCustom) return pieces.isBegun;
  return pieces.isWholeObject();
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
  // Some servers write the function's fields beside the id, or the name that its schema has for its arguments.
  const called = custom ?? (isRecord(entry.function) ? entry.function : entry);
  const written = called.arguments === undefined ? called.parameters : called.arguments;
  const index = typeof entry.index === 'string' && entry.index !== '' ? Number(entry.index) : entry.index;
  return {
    index: typeof index === 'number' && !Number.isNaN(index) ? index : undefined,
    id: textOrNone(entry.id),
    name: textOrNone(called.name),
    isCustom: Boolean(custom?.name || custom?.input),
    arguments: custom ? textOrNone(custom.input) : writtenArguments(written),
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
  // Most chunks have none, and are searched once: not for the first quote, of which JSON is full.
  if (!text.includes('arguments":')) return;
  if (text.includes('"arguments":{') || text.includes('"arguments": {')) rememberDigits(chunk, text, ARGUMENTS);
}

const ARGUMENTS = ['arguments'];
