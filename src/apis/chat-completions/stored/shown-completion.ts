/** What a client has received of a completion, put together to the resource that it would have been without a stream. */
import { bytesOfItem } from '../../../ports/limits.ts';
import { choiceIndex } from '../../../protocol/chat-completions/chunk.ts';
import { jsonWeight } from '../../../protocol/chat-completions/own-fields.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, recordsIn } from '../../../protocol/record.ts';
import { TEXT_FIELDS } from '../answer/message-fields.ts';

interface Fields {
  [name: string]: unknown;
}

interface ShownChoice {
  readonly fields: Fields;
  readonly message: Fields;
  readonly calls: Map<number, Fields>;
}

/** The fields of a spoken answer whose texts are pieces. */
const GROWING_AUDIO: ReadonlySet<string> = new Set(['data', 'transcript']);
/** The most choices and calls of an answer; others are left out. */
const MAX_PLACES = 1024;

/** Reads the answer as the client reads it, from a stream's frames or as a whole. */
export class ShownCompletion {
  private readonly maxLength: number;
  private length = 0;
  private places = 0;
  private fields: Fields = {};
  private readonly choices = new Map<number, ShownChoice>();
  private isComplete = true;

  /** `maxLength` is the most characters of text, JSON and names of fields that are kept of the answer. */
  constructor(maxLength: number) {
    this.maxLength = maxLength;
  }

  /** Takes whole frames of the stream; comments are skipped. */
  takeFrames(text: string): void {
    for (const frame of text.split('\n\n')) {
      const lines = frame.split('\n').filter((line) => line.startsWith('data: '));
      const data = lines.map((line) => line.slice('data: '.length)).join('\n');
      if (data !== '' && data.trim() !== '[DONE]') this.takeChunk(jsonIn(data));
    }
  }

  /** Takes the whole answer. */
  takeWhole(text: string): void {
    const whole = jsonIn(text);
    this.isComplete = isRecord(whole) && !isRecord(whole.error) && text.length <= this.maxLength;
    if (this.isComplete && isRecord(whole)) this.fields = { ...whole };
  }

  /** The completion; undefined if it has no id, was an error, or is too long to be kept. */
  resource(): JsonObject | undefined {
    const { id } = this.fields;
    if (!this.isComplete || typeof id !== 'string' || id === '') return undefined;
    const ordered = [...this.choices].sort(([one], [other]) => one - other);
    const choices = ordered.map(([index, { fields, message, calls }]) => ({
      index,
      message: { ...message, ...(calls.size > 0 ? { tool_calls: [...calls.values()] } : {}) },
      logprobs: null,
      finish_reason: null,
      ...fields,
    }));
    return { ...this.fields, object: 'chat.completion', choices: choices.length > 0 ? choices : this.fields.choices };
  }

  private takeChunk(chunk: unknown): void {
    if (!this.isComplete) return;
    if (!isRecord(chunk) || isRecord(chunk.error)) {
      this.isComplete = false;
      return;
    }
    const { choices, obfuscation: _, ...head } = chunk;
    for (const [name, value] of Object.entries(head)) {
      // Azure's very first chunk has an empty id, and most chunks have a usage of null.
      if (value !== null && value !== '') this.put(this.fields, name, value);
    }
    for (const choice of recordsIn(choices)) this.takeChoice(choice);
  }

  private takeChoice({ index, delta, logprobs, ...rest }: JsonObject): void {
    const choice = this.placeIn(this.choices, choiceIndex({ index }), () => ({
      fields: {},
      message: { role: 'assistant', content: null },
      calls: new Map(),
    }));
    if (!choice) return;
    for (const [name, value] of Object.entries(rest)) if (value !== null) this.put(choice.fields, name, value);
    if (isRecord(logprobs)) this.add(recordIn(choice.fields, 'logprobs'), logprobs, NOTHING);
    if (!isRecord(delta)) return;
    const { tool_calls: calls, function_call: called, audio, ...fields } = delta;
    this.add(choice.message, fields, TEXT_FIELDS);
    if (isRecord(called)) this.add(recordIn(choice.message, 'function_call'), called, ARGUMENTS);
    if (isRecord(audio)) this.add(recordIn(choice.message, 'audio'), audio, GROWING_AUDIO);
    for (const call of recordsIn(calls)) {
      const { index: at = 0, function: functionCall, custom, ...others } = call;
      const place = this.placeIn(choice.calls, at, () => ({}));
      if (!place) continue;
      this.add(place, others, NOTHING);
      if (isRecord(functionCall)) this.add(recordIn(place, 'function'), functionCall, ARGUMENTS);
      if (isRecord(custom)) this.add(recordIn(place, 'custom'), custom, ARGUMENTS);
    }
  }

  /** Adds fields of a delta: texts of the growing ones and lists go on. */
  private add(fields: Fields, added: JsonObject, growing: ReadonlySet<string>): void {
    for (const [name, value] of Object.entries(added)) {
      const before = fields[name];
      if (typeof value === 'string' && growing.has(name)) {
        if (this.takesRoom(value.length)) fields[name] = (typeof before === 'string' ? before : '') + value;
      } else if (Array.isArray(value)) {
        if (!Array.isArray(before)) this.put(fields, name, [...value]);
        else for (const each of value) if (this.takesRoom(weigh(each))) before.push(each);
      } else if (value !== null) this.put(fields, name, value);
    }
  }

  /** Sets the field; what it was before is no longer kept. */
  private put(fields: Fields, name: string, value: unknown): void {
    const before = Object.hasOwn(fields, name) ? fields[name] : undefined;
    // As most fields of most chunks.
    if (before === value) return;
    const replaced = before === undefined ? -name.length : weighField(before);
    if (this.takesRoom(weighField(value) - replaced)) fields[name] = value;
  }

  private placeIn<Value>(places: Map<number, Value>, index: unknown, create: () => Value): Value | undefined {
    if (typeof index !== 'number') return undefined;
    const found = places.get(index);
    if (found || places.size >= MAX_PLACES) return found;
    this.places += 1;
    if (!this.takesRoom(bytesOfItem(this.places))) return undefined;
    const made = create();
    places.set(index, made);
    return made;
  }

  private takesRoom(length: number): boolean {
    this.length += length;
    if (this.length > this.maxLength) {
      this.isComplete = false;
      this.fields = {};
      this.choices.clear();
    }
    return this.isComplete;
  }
}

const NOTHING: ReadonlySet<string> = new Set();
/** A call's name comes once, its arguments in pieces. */
const ARGUMENTS: ReadonlySet<string> = new Set(['arguments', 'input']);

/** Of what is nested too deeply to be stored: infinite. */
function weigh(value: unknown): number {
  return jsonWeight(value) ?? Number.POSITIVE_INFINITY;
}

/** The weight of a list is the sum of its members', which are added one by one: replacing it gives back what it took. */
function weighField(value: unknown): number {
  if (!Array.isArray(value)) return weigh(value);
  return value.reduce<number>((sum, member) => sum + weigh(member), weigh([]));
}

/** The object in the field, which is created if there is none. */
function recordIn(fields: Fields, name: string): Fields {
  const found = fields[name];
  if (isRecord(found)) return found;
  const made: Fields = {};
  fields[name] = made;
  return made;
}
