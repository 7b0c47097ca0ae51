/** Guards an answer of Chat Completions: its chunks as they come, or the whole completion. */

import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import type { RequestGuards } from '../request/request-guards.ts';
import { mapTexts } from '../request/texts.ts';
import type { Track } from '../tracks/text-track.ts';
import { placed } from './placed-citations.ts';

/** A text of one choice, and a delta with more of it. */
interface OpenTrack {
  readonly choice: number;
  readonly track: Track;
  readonly delta: Spell;
}

/** A delta with more of a text, or with another value in its place. */
type Spell = (more: unknown) => JsonObject;

/** What is known of a text where it is written. */
interface TextPlace {
  readonly key: string;
  readonly place: string;
  readonly choice: number;
  readonly delta: Spell;
  /** Whether it is JSON. */
  readonly isJson?: boolean;
}

const DONE = '[DONE]';

/** Fields of a delta that hold whole lists. */
const WHOLE_LISTS: ReadonlySet<string> = new Set(['annotations', 'images', 'citations', 'sources']);
const NO_TEXT: ReadonlySet<string> = new Set(['role', 'id', 'type', 'name', 'index', 'format', 'signature', 'data']);
/** Fields of a chunk or a completion that hold no text of the model. */
const ABOUT: ReadonlySet<string> = new Set([
  ...['id', 'object', 'created', 'model', 'choices', 'usage', 'system_fingerprint', 'service_tier', 'provider'],
  ...['obfuscation'],
]);
/** The maximum number of choices and calls of one answer. */
const MOST_TRACKS = 4096;
const CONTENT = 'content';
const CITATIONS = 'annotations';

/** One answer. */
export class ChatAnswer {
  private readonly guards: RequestGuards;
  private readonly tracks = new Map<string, OpenTrack>();
  private readonly finished = new Set<number>();
  private readonly choices = new Set<number>([0]);
  /** The content of each choice, in which its citations have their places. */
  private readonly contents = new Map<number, Track>();
  /** Citations that wait for the text before them. */
  private readonly waiting = new Map<number, unknown[]>();
  private readonly isJson: boolean;
  private head: JsonObject = {};
  /** Whether nothing may follow. */
  isBlocked = false;

  /** `isJson` says whether the request wants JSON. */
  constructor(guards: RequestGuards, isJson = false) {
    this.guards = guards;
    this.isJson = isJson;
  }

  /** The events in the place of one. Rejects with `guard_failed`. */
  async event(data: string): Promise<readonly string[]> {
    if (this.isBlocked) return [];
    try {
      const events = await this.taken(data);
      return this.guards.onlyObserves ? [data] : events;
    } catch (error) {
      return this.blocked(error);
    }
  }

  /** The events at the end of a stream that has no end of its own. */
  async end(): Promise<readonly string[]> {
    if (this.isBlocked) return [];
    try {
      return await this.rest(() => true);
    } catch (error) {
      return this.blocked(error);
    }
  }

  /** The JSON of a whole completion. Rejects with `guard_failed`. */
  async whole(text: string): Promise<string> {
    const shown = await this.wholeBody(text).catch(blockedBody);
    return this.guards.onlyObserves ? text : shown;
  }

  private async wholeBody(text: string): Promise<string> {
    const body = jsonIn(text);
    if (!isRecord(body)) return this.guards.output(text, 'text');
    if (!Array.isArray(body.choices)) return this.other(body);
    const choices = await Promise.all(body.choices.map((choice) => this.wholeChoice(choice)));
    return JSON.stringify({ ...(await this.guardedHead(body)), choices });
  }

  /** Such as the sources that some servers name beside the choices. */
  private async guardedHead(head: JsonObject): Promise<JsonObject> {
    const others = Object.entries(head).filter(([name]) => !ABOUT.has(name));
    if (others.length === 0) return head;
    return { ...head, ...((await this.mapped(Object.fromEntries(others), '')) as JsonObject) };
  }

  /** Each text as a whole. */
  private mapped(value: unknown, name: string): Promise<unknown> {
    const place = placeOf(name);
    const map = (text: string) => this.guards.output(text, place);
    return mapTexts(value, name, { map, json: (text) => this.guards.outputJson(text, place) });
  }

  /** Guards any other body, such as an error, which may repeat a text. */
  private async other(body: JsonObject): Promise<string> {
    return JSON.stringify(await this.mapped(body, CONTENT));
  }

  private async wholeChoice(choice: unknown): Promise<unknown> {
    if (!isRecord(choice) || !isRecord(choice.message)) return choice;
    try {
      const message = await this.wholeMessage(choice.message);
      return withoutLogProbs({ ...choice, message }, this.guards);
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      const message = { role: 'assistant', content: '' };
      return { index: choice.index ?? 0, message, finish_reason: 'content_filter' };
    }
  }

  private async wholeMessage(message: JsonObject): Promise<JsonObject> {
    const fields: [string, unknown][] = [];
    const { content, annotations } = message;
    const track = this.contentTrack();
    const shown = typeof content === 'string' ? (await track.write(content)) + (await track.end()) : undefined;
    for (const [name, value] of Object.entries(message)) {
      if (NO_TEXT.has(name)) fields.push([name, value]);
      else if (name === CONTENT && shown !== undefined) fields.push([name, shown]);
      else fields.push([name, await this.mapped(value, name)]);
    }
    const whole = Object.fromEntries(fields);
    return Array.isArray(annotations) ? { ...whole, [CITATIONS]: placed(whole[CITATIONS], track) } : whole;
  }

  private contentTrack(): Track {
    const place = placeOf(CONTENT);
    return this.isJson ? this.guards.jsonTrack(place) : this.guards.textTrack(place);
  }

  private async taken(data: string): Promise<readonly string[]> {
    if (isDone(data)) return [...(await this.rest(() => true)), data];
    const chunk = jsonIn(data);
    if (!isRecord(chunk)) return [await this.guards.output(data, 'text')];
    if (!Array.isArray(chunk.choices)) return [await this.other(chunk)];
    const guarded = await this.guardedHead(chunk);
    const { choices: _, usage: __, ...head } = guarded;
    this.head = head;
    return this.takenChunk(guarded, chunk.choices);
  }

  /** The text of a choice that is held back is sent before the choice ends. */
  private async takenChunk(chunk: JsonObject, given: readonly unknown[]): Promise<readonly string[]> {
    const choices: unknown[] = [];
    const ends = new Map<number, JsonObject>();
    for (const choice of given) {
      const taken = isRecord(choice) ? await this.choice(choice) : choice;
      choices.push(taken);
      if (isRecord(choice) && choice.finish_reason) ends.set(Number(choice.index ?? 0), choice);
    }
    if (ends.size === 0) return [JSON.stringify({ ...chunk, choices })];
    const rest = await this.rest((index) => ends.has(index));
    for (const index of ends.keys()) this.finished.add(index);
    if (rest.length === 0) return [JSON.stringify({ ...chunk, choices })];
    const open = choices.map((choice) => (isRecord(choice) ? { ...choice, finish_reason: null } : choice));
    const closing = [...ends.values()].map((choice) => ({
      ...choice,
      delta: {},
      ...(choice.logprobs ? { logprobs: null } : {}),
    }));
    return [this.chunk(open), ...rest, JSON.stringify({ ...chunk, choices: closing })];
  }

  private chunk(choices: readonly unknown[]): string {
    return JSON.stringify({ ...this.head, choices });
  }

  private async choice(choice: JsonObject): Promise<JsonObject> {
    const index = Number(choice.index ?? 0);
    this.choices.add(index);
    const { delta, message } = choice;
    // Nothing may follow an end: it could continue a text that has already been sent.
    if (this.finished.has(index)) return { ...withoutLogProbs(choice, this.guards), delta: {}, message: undefined };
    const shown = isRecord(delta) ? { ...choice, delta: await this.delta(delta, index) } : choice;
    // Some servers end a stream with the whole message.
    const whole = isRecord(message) ? { ...shown, message: await this.wholeMessage(message) } : shown;
    return withoutLogProbs(whole, this.guards);
  }

  private async delta(delta: JsonObject, choice: number): Promise<JsonObject> {
    const fields: [string, unknown][] = [];
    for (const [name, value] of Object.entries(delta)) fields.push([name, await this.field(name, value, choice)]);
    return Object.fromEntries(fields);
  }

  private async field(name: string, value: unknown, choice: number): Promise<unknown> {
    const key = `${choice} ${name}`;
    const delta: Spell = (more) => ({ [name]: more });
    if (typeof value === 'string') {
      const isJson = this.isJson && name === CONTENT;
      return NO_TEXT.has(name) ? value : this.write(value, { key, place: placeOf(name), choice, delta, isJson });
    }
    if (name === 'tool_calls' && Array.isArray(value))
      return Promise.all(value.map((call, at) => (isRecord(call) ? this.call(call, at, choice) : call)));
    if (name === 'function_call' && isRecord(value))
      return this.called(value, 'function_call', `${choice} call`, choice, delta);
    if (name === CITATIONS && Array.isArray(value)) return this.citations(value, choice);
    if (Array.isArray(value) && !WHOLE_LISTS.has(name)) return this.parts(name, value, choice);
    return isRecord(value)
      ? this.object(value, { key, place: placeOf(name), choice, delta })
      : this.mapped(value, name);
  }

  /** Citations have their place once the text before them is sent. */
  private async citations(given: readonly unknown[], choice: number): Promise<unknown> {
    const guarded = (await this.mapped(given, CITATIONS)) as readonly unknown[];
    const content = this.contents.get(choice);
    if (!content?.holds) return placed(guarded, content);
    this.waiting.set(choice, [...(this.waiting.get(choice) ?? []), ...guarded]);
    return [];
  }

  /** Such as speech with its transcript, whose text grows as any other. */
  private async object(value: JsonObject, at: TextPlace): Promise<JsonObject> {
    const fields: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) {
      const inside = { ...at, key: `${at.key} ${name}`, delta: (more: unknown) => at.delta({ [name]: more }) };
      if (typeof member === 'string')
        fields.push([name, NO_TEXT.has(name) ? member : await this.write(member, inside)]);
      else fields.push([name, isRecord(member) ? await this.object(member, inside) : await this.mapped(member, name)]);
    }
    return Object.fromEntries(fields);
  }

  private async call(call: JsonObject, at: number, choice: number): Promise<JsonObject> {
    const index = call.index ?? at;
    const key = `${choice} call ${plainTextOf(index)}`;
    let shown = call;
    for (const kind of ['function', 'custom']) {
      const called = call[kind];
      if (!isRecord(called)) continue;
      const spell: Spell = (more) => ({ tool_calls: [{ index, [kind]: more }] });
      shown = { ...shown, [kind]: await this.called(called, kind, key, choice, spell) };
    }
    return shown;
  }

  private async called(
    called: JsonObject,
    kind: string,
    key: string,
    choice: number,
    spell: Spell,
  ): Promise<JsonObject> {
    const field = kind === 'custom' ? 'input' : 'arguments';
    const text = called[field];
    if (typeof text !== 'string') return called;
    const delta: Spell = (more) => spell({ [field]: more });
    return {
      ...called,
      [field]: await this.write(text, { key, place: 'arguments', choice, delta, isJson: kind !== 'custom' }),
    };
  }

  /** Mistral's content parts and OpenRouter's reasoning details: a part continues the one before it of the same kind. */
  private async parts(name: string, parts: readonly unknown[], choice: number): Promise<readonly unknown[]> {
    const shown: unknown[] = [];
    for (const part of parts) shown.push(isRecord(part) ? await this.part(name, part, choice) : part);
    return shown;
  }

  private async part(name: string, part: JsonObject, choice: number): Promise<JsonObject> {
    const { type, index } = part;
    const about = { ...(type === undefined ? {} : { type }), ...(index === undefined ? {} : { index }) };
    const isJson = this.isJson && name === CONTENT && type === 'text';
    const fields: [string, unknown][] = [];
    for (const [field, value] of Object.entries(part)) {
      const key = `${choice} ${name} ${plainTextOf(type)} ${plainTextOf(index)} ${field}`;
      const delta: Spell = (more) => ({ [name]: [{ ...about, [field]: more }] });
      const at = { key, place: placeOf(name), choice, delta, isJson };
      if (typeof value === 'string' && !NO_TEXT.has(field)) fields.push([field, await this.write(value, at)]);
      else if (Array.isArray(value)) fields.push([field, await this.nested(value, { ...at, isJson: false })]);
      else fields.push([field, isRecord(value) ? await this.mapped(value, field) : value]);
    }
    return Object.fromEntries(fields);
  }

  /** The texts in a part that holds parts. */
  private async nested(parts: readonly unknown[], at: TextPlace): Promise<readonly unknown[]> {
    const shown: unknown[] = [];
    for (const part of parts) {
      const text = isRecord(part) ? part.text : undefined;
      const delta: Spell = (more) => at.delta([{ ...Object(part), text: more }]);
      if (typeof text !== 'string') shown.push(await this.mapped(part, ''));
      else shown.push({ ...Object(part), text: await this.write(text, { ...at, place: 'reasoning', delta }) });
    }
    return shown;
  }

  private async write(text: string, { key, place, choice, delta, isJson }: TextPlace): Promise<string> {
    const known = this.tracks.get(key);
    if (!known && this.tracks.size >= MOST_TRACKS) throw new GuardBlocked('It has too many parts.');
    const track = known?.track ?? (isJson ? this.guards.jsonTrack(place) : this.guards.textTrack(place));
    if (!known) this.tracks.set(key, { choice, track, delta });
    if (key === `${choice} ${CONTENT}`) this.contents.set(choice, track);
    const written = await track.write(text);
    return this.guards.onlyObserves ? text : written;
  }

  /** The held-back text of these choices. */
  private async rest(ofChoice: (choice: number) => boolean): Promise<readonly string[]> {
    const rest: string[] = [];
    for (const [key, { choice, track, delta }] of this.tracks) {
      if (!ofChoice(choice)) continue;
      this.tracks.delete(key);
      const text = await track.end();
      if (text !== '' && !this.guards.onlyObserves)
        rest.push(this.chunk([{ index: choice, delta: delta(text), finish_reason: null }]));
    }
    for (const [choice, citations] of this.waiting) {
      if (!ofChoice(choice)) continue;
      this.waiting.delete(choice);
      const delta = { [CITATIONS]: placed(citations, this.contents.get(choice)) };
      rest.push(this.chunk([{ index: choice, delta, finish_reason: null }]));
    }
    return rest;
  }

  private blocked(error: unknown): readonly string[] {
    if (!(error instanceof GuardBlocked)) throw error;
    this.isBlocked = true;
    const open = [...this.choices].filter((index) => !this.finished.has(index));
    const choices = open.map((index) => ({ index, delta: {}, finish_reason: 'content_filter' }));
    return [this.chunk(choices), DONE];
  }
}

/** Replaces the whole body of a completion that is blocked. Rethrows any other error. */
function blockedBody(error: unknown): string {
  if (!(error instanceof GuardBlocked)) throw error;
  const message = "This server's policy does not let the answer pass.";
  return JSON.stringify({ error: { message, type: 'server_error', param: null, code: 'content_filter' } });
}

const MESSAGE_PLACES: Readonly<Record<string, string>> = {
  content: 'text',
  refusal: 'refusal',
  tool_calls: 'arguments',
  function_call: 'arguments',
  annotations: 'citation',
};

/** The place of a field of a message. */
function placeOf(name: string): string {
  return MESSAGE_PLACES[name] ?? (name.startsWith('reasoning') ? 'reasoning' : name);
}

/** Log probabilities and the numbers of tokens would reveal the text. */
function withoutLogProbs(choice: JsonObject, { onlyObserves }: RequestGuards): JsonObject {
  if (onlyObserves) return choice;
  const shown = choice.logprobs ? { ...choice, logprobs: null } : choice;
  return shown.token_ids ? { ...shown, token_ids: null } : shown;
}
