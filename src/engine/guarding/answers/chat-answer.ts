/** Guards an answer of Chat Completions: its chunks as they come, or the whole completion. */

import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../../protocol/record.ts';
import { isDone } from '../../../streams/sse-frames.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import type { RequestGuards } from '../request/request-guards.ts';
import { BODY, PIECE, type Position } from '../texts/positions.ts';
import { holdsTexts, isText, mapTexts } from '../texts/walk.ts';
import type { Track } from '../tracks/text-track.ts';
import { placed } from './placed-citations.ts';

/** A text of one choice, and how more of it is written. */
interface OpenTrack {
  readonly choice: number;
  readonly track: Track;
  readonly spell: Spell;
}

/** The fields of a choice with more of a text, or with another value in its place. */
type Spell = (more: unknown) => JsonObject;

/** What is known of a text where it is written. */
interface TextPlace {
  readonly key: string;
  readonly place: string;
  readonly choice: number;
  readonly spell: Spell;
}

const DONE = '[DONE]';

const CHOICES: ReadonlySet<string> = new Set(['choices']);
/** What a choice holds of the model's. */
const WRITTEN: ReadonlySet<string> = new Set(['delta', 'message', 'text']);

/** Fields of a delta that hold whole lists. */
const WHOLE_LISTS: ReadonlySet<string> = new Set(['annotations', 'images', 'citations', 'sources']);
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
  private head: JsonObject = {};
  /** Whether nothing may follow. */
  isBlocked = false;

  constructor(guards: RequestGuards) {
    this.guards = guards;
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
    if (body === undefined) return this.guards.output(text, 'text');
    if (!isRecord(body) || !Array.isArray(body.choices)) return JSON.stringify(await this.mapped(body, BODY));
    const { choices: given, ...head } = body;
    const choices = await Promise.all(given.map((choice: unknown) => this.wholeChoice(choice)));
    return JSON.stringify({ ...((await this.mapped(head, BODY)) as JsonObject), choices });
  }

  /** Each text as a whole. */
  private async mapped(value: unknown, position: Position = PIECE): Promise<unknown> {
    return mapTexts(value, '', position, { map: (text, path) => this.guards.output(text, placeOf(path)) });
  }

  private async wholeChoice(choice: unknown): Promise<unknown> {
    try {
      if (!isRecord(choice) || !isRecord(choice.message)) return await this.mapped(choice);
      const { message, ...others } = choice;
      return { ...((await this.mapped(others)) as JsonObject), message: await this.wholeMessage(message) };
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      const message = { role: 'assistant', content: '' };
      return { index: isRecord(choice) ? (choice.index ?? 0) : 0, message, finish_reason: 'content_filter' };
    }
  }

  private async wholeMessage(message: JsonObject): Promise<JsonObject> {
    const { content } = message;
    const isPlain = typeof content === 'string';
    const track = this.guards.textTrack(placeOf(CONTENT));
    const shown = isPlain ? { content: (await track.write(content)) + (await track.end()) } : {};
    const others = isPlain ? { ...message, content: '' } : message;
    const whole: JsonObject = { ...((await this.mapped(others)) as JsonObject), ...shown };
    return Array.isArray(message.annotations) ? { ...whole, [CITATIONS]: placed(whole[CITATIONS], track) } : whole;
  }

  private async taken(data: string): Promise<readonly string[]> {
    if (isDone(data)) return [...(await this.rest(() => true)), data];
    const chunk = jsonIn(data);
    if (chunk === undefined) return [await this.guards.output(data, 'text')];
    if (!isRecord(chunk) || !Array.isArray(chunk.choices)) return [JSON.stringify(await this.mapped(chunk, BODY))];
    const { choices } = chunk;
    this.head = holdsTexts(chunk, BODY, CHOICES)
      ? ((await this.mapped({ ...chunk, choices: [] }, BODY)) as JsonObject)
      : chunk;
    return this.takenChunk(this.head, choices);
  }

  /** The text of a choice that is held back is sent before the choice ends. */
  private async takenChunk(chunk: JsonObject, given: readonly unknown[]): Promise<readonly string[]> {
    const choices: unknown[] = [];
    const ends = new Map<number, JsonObject>();
    for (const choice of given) {
      const taken = isRecord(choice) ? await this.choice(choice) : await this.mapped(choice);
      choices.push(taken);
      if (isRecord(choice) && isRecord(taken) && choice.finish_reason) ends.set(Number(choice.index ?? 0), taken);
    }
    if (ends.size === 0) return [JSON.stringify({ ...chunk, choices })];
    const rest = await this.rest((index) => ends.has(index));
    for (const index of ends.keys()) this.finished.add(index);
    if (rest.length === 0) return [JSON.stringify({ ...chunk, choices })];
    const open = choices.map((choice) => (isRecord(choice) ? withoutMessage(choice) : choice));
    const closing = [...ends.values()].map((choice) =>
      'text' in choice ? { ...choice, text: '' } : { ...choice, delta: {} },
    );
    return [this.chunk(open), ...rest, JSON.stringify({ ...chunk, choices: closing })];
  }

  private chunk(choices: readonly unknown[]): string {
    const { usage: _, ...head } = this.head;
    return JSON.stringify({ ...head, choices });
  }

  private async choice(choice: JsonObject): Promise<JsonObject> {
    const index = Number(choice.index ?? 0);
    this.choices.add(index);
    const { delta, message, text } = choice;
    const isBare = !holdsTexts(choice, PIECE, WRITTEN);
    if (isBare && isRecord(delta) && message === undefined && text === undefined && !this.finished.has(index))
      return { ...choice, delta: await this.delta(delta, index) };
    const { delta: _, message: __, text: ___, ...others } = choice;
    const about = isBare ? others : ((await this.mapped(others)) as JsonObject);
    // Nothing may follow an end: it could continue a text that has already been sent.
    if (this.finished.has(index)) return { ...about, delta: {} };
    const at = { key: `${index} text`, place: 'text', choice: index, spell: (more: unknown) => ({ text: more }) };
    return {
      ...about,
      ...(isRecord(delta) ? { delta: await this.delta(delta, index) } : {}),
      ...('delta' in choice && !isRecord(delta) ? { delta: await this.mapped(delta) } : {}),
      // That of the API before Chat Completions.
      ...(typeof text === 'string' ? { text: await this.write(text, at) } : {}),
      ...(text !== undefined && typeof text !== 'string' ? { text: await this.mapped(text) } : {}),
      // Some servers end a stream with the whole message.
      ...(isRecord(message) ? { message: await this.wholeMessage(message) } : {}),
      ...('message' in choice && !isRecord(message) ? { message: await this.mapped(message) } : {}),
    };
  }

  private async delta(delta: JsonObject, choice: number): Promise<JsonObject> {
    const fields: [string, unknown][] = [];
    for (const name of Object.keys(delta)) fields.push([name, await this.field(delta, name, choice)]);
    return Object.fromEntries(fields);
  }

  private async field(owner: JsonObject, name: string, choice: number): Promise<unknown> {
    const value = owner[name];
    const key = `${choice} ${name}`;
    const spell: Spell = (more) => ({ delta: { [name]: more } });
    const at = { key, place: placeOf(name), choice, spell };
    if (typeof value === 'string') return isText(owner, name, value, PIECE) ? this.write(value, at) : value;
    if (name === 'tool_calls' && Array.isArray(value))
      return Promise.all(
        value.map((call, index) => (isRecord(call) ? this.call(call, index, choice) : this.mapped(call))),
      );
    if (name === 'function_call' && isRecord(value))
      return this.called(value, 'function_call', `${choice} call`, choice, spell);
    if (name === CITATIONS && Array.isArray(value)) return this.citations(value, choice);
    if (Array.isArray(value) && !WHOLE_LISTS.has(name)) return this.parts(name, value, choice);
    return isRecord(value) && PIECE.members.has(name) ? this.object(value, at) : this.alone(name, value);
  }

  /** A member that comes as a whole. */
  private async alone(name: string, value: unknown): Promise<unknown> {
    return ((await this.mapped({ [name]: value })) as JsonObject)[name];
  }

  /** Citations have their place once the text before them is sent. */
  private async citations(given: readonly unknown[], choice: number): Promise<unknown> {
    const guarded = (await this.alone(CITATIONS, given)) as readonly unknown[];
    const content = this.contents.get(choice);
    if (!content?.holds) return placed(guarded, content);
    this.waiting.set(choice, [...(this.waiting.get(choice) ?? []), ...guarded]);
    return [];
  }

  /** Such as speech with its transcript, whose text grows as any other. */
  private async object(value: JsonObject, at: TextPlace): Promise<JsonObject> {
    const fields: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) {
      const inside = { ...at, key: `${at.key} ${name}`, spell: (more: unknown) => at.spell({ [name]: more }) };
      if (typeof member === 'string')
        fields.push([name, isText(value, name, member, PIECE) ? await this.write(member, inside) : member]);
      else if (isRecord(member) && PIECE.members.has(name)) fields.push([name, await this.object(member, inside)]);
      else fields.push([name, await this.alone(name, member)]);
    }
    return Object.fromEntries(fields);
  }

  private async call(call: JsonObject, at: number, choice: number): Promise<JsonObject> {
    const index = call.index ?? at;
    const key = `${choice} call ${plainTextOf(index)}`;
    const { function: called, custom, ...others } = call;
    let shown = (await this.mapped(others)) as JsonObject;
    for (const [kind, part] of Object.entries({ function: called, custom })) {
      if (part === undefined) continue;
      const spell: Spell = (more) => ({ delta: { tool_calls: [{ index, [kind]: more }] } });
      const guarded = isRecord(part) ? await this.called(part, kind, key, choice, spell) : await this.mapped(part);
      shown = { ...shown, [kind]: guarded };
    }
    return shown;
  }

  /** Its text comes in pieces, or, from some servers, as an object. */
  private async called(
    called: JsonObject,
    kind: string,
    key: string,
    choice: number,
    spell: Spell,
  ): Promise<JsonObject> {
    const field = kind === 'custom' ? 'input' : 'arguments';
    const text = called[field];
    const isPiece = typeof text === 'string';
    const around = { function: isPiece ? { ...called, [field]: '' } : called };
    const { function: shown } = (await this.mapped(around)) as { readonly function: JsonObject };
    if (!isPiece) return shown;
    const inField: Spell = (more) => spell({ [field]: more });
    return { ...shown, [field]: await this.write(text, { key, place: 'arguments', choice, spell: inField }) };
  }

  /**
   * Mistral's content parts and OpenRouter's reasoning details: a part continues the one before it of the same kind, and a
   * text of the content what came as the content alone.
   */
  private async parts(name: string, parts: readonly unknown[], choice: number): Promise<readonly unknown[]> {
    const shown: unknown[] = [];
    const spell: Spell = (more) => ({ delta: { [name]: [more] } });
    for (const part of parts) {
      if (isRecord(part)) shown.push(await this.part(name, part, choice));
      else if (typeof part !== 'string') shown.push(await this.mapped(part));
      else shown.push(await this.write(part, { key: `${choice} ${name}`, place: placeOf(name), choice, spell }));
    }
    return shown;
  }

  private async part(name: string, part: JsonObject, choice: number): Promise<JsonObject> {
    const { type, index } = part;
    const about = { ...(type === undefined ? {} : { type }), ...(index === undefined ? {} : { index }) };
    const fields: [string, unknown][] = [];
    for (const [field, value] of Object.entries(part)) {
      const isContent = name === CONTENT && field === 'text';
      const key = isContent
        ? `${choice} ${CONTENT}`
        : `${choice} ${name} ${plainTextOf(type)} ${plainTextOf(index)} ${field}`;
      const spell: Spell = (more) => ({ delta: { [name]: [{ ...about, [field]: more }] } });
      const at = { key, place: placeOf(name), choice, spell };
      if (typeof value === 'string')
        fields.push([field, isText(part, field, value, PIECE) ? await this.write(value, at) : value]);
      else if (Array.isArray(value)) fields.push([field, await this.nested(value, at)]);
      else fields.push([field, await this.alone(field, value)]);
    }
    return Object.fromEntries(fields);
  }

  /** The texts in a part that holds parts. */
  private async nested(parts: readonly unknown[], at: TextPlace): Promise<readonly unknown[]> {
    const shown: unknown[] = [];
    for (const part of parts) {
      if (!isRecord(part) || typeof part.text !== 'string') {
        shown.push(await this.mapped(part));
        continue;
      }
      const around = (await this.mapped({ ...part, text: '' })) as JsonObject;
      const spell: Spell = (more) => at.spell([{ ...around, text: more }]);
      shown.push({ ...around, text: await this.write(part.text, { ...at, place: 'reasoning', spell }) });
    }
    return shown;
  }

  private async write(text: string, { key, place, choice, spell }: TextPlace): Promise<string> {
    const known = this.tracks.get(key);
    if (!known && this.tracks.size >= MOST_TRACKS) throw new GuardBlocked('It has too many parts.');
    const track = known?.track ?? this.guards.textTrack(place);
    // A text goes on in the form in which it came last.
    this.tracks.set(key, { choice, track, spell });
    if (key === `${choice} ${CONTENT}`) this.contents.set(choice, track);
    const written = await track.write(text);
    return this.guards.onlyObserves ? text : written;
  }

  /** The held-back text of these choices. */
  private async rest(ofChoice: (choice: number) => boolean): Promise<readonly string[]> {
    const rest: string[] = [];
    for (const [key, { choice, track, spell }] of this.tracks) {
      if (!ofChoice(choice)) continue;
      this.tracks.delete(key);
      const text = await track.end();
      if (text !== '' && !this.guards.onlyObserves)
        rest.push(this.chunk([{ index: choice, ...spell(text), finish_reason: null }]));
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

const PLACES: Readonly<Record<string, string>> = {
  content: 'text',
  refusal: 'refusal',
  tool_calls: 'arguments',
  function_call: 'arguments',
  function: 'arguments',
  custom: 'arguments',
  annotations: 'citation',
};

/** The place of a field of a message, or of what stands in one. */
function placeOf(path: string): string {
  const [name = ''] = path.split(/[.[]/, 1);
  return PLACES[name] ?? (name.startsWith('reasoning') ? 'reasoning' : name || 'text');
}

/** A choice that goes on: its message comes with its end. */
function withoutMessage({ message: _, ...choice }: JsonObject): JsonObject {
  return { ...choice, finish_reason: null };
}
