/** Guards an answer of Chat Completions that another server wrote: its chunks as they come, or the whole completion. */

import { choiceIndex } from '../../../protocol/chat-completions/chunk.ts';
import { isRecord, type JsonObject, plainText } from '../../../protocol/record.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import { PIECE, SPELLINGS } from '../texts/positions.ts';
import { isReadText } from '../texts/walk.ts';
import type { Track } from '../tracks/text-track.ts';
import {
  AnswerReader,
  followSteps,
  type GrowingText,
  type OpenText,
  type Steps,
  shownCitations,
} from './answer-reader.ts';

const DONE = '[DONE]';
const CONTENT = 'content';
/** The maximum number of choices of an answer. */
const MAX_CHOICES = 1024;
/** Members of a delta that come whole, and those of which nothing is shown or read. */
const WHOLE_MEMBERS: ReadonlySet<string> = new Set([
  ...['annotations', 'images', 'citations', 'citation', 'sources'],
  ...SPELLINGS,
  ...PIECE.skipped,
]);

/** One answer: several choices, each with several texts that grow side by side and end with the choice. */
export class ChatAnswer extends AnswerReader {
  private readonly finishedChoices = new Set<number>();
  private readonly choices = new Set<number>();
  /** The content of each choice, in which its citations have their places. */
  private readonly contents = new Map<number, Track>();
  /** Citations that wait for the text before them. */
  private readonly heldCitations = new Map<number, unknown[]>();
  /** The last chunk without its choices. */
  private lastChunk: JsonObject = {};

  protected override async readEvent(chunk: JsonObject): Promise<readonly JsonObject[]> {
    // The casts: texts are replaced by texts.
    if (!Array.isArray(chunk.choices)) {
      // The text that is held back comes before an error, which is the last that clients read.
      const rest = chunk.error ? await this.endChoices(() => true) : [];
      return [...rest, (await this.mapTexts(chunk)) as JsonObject];
    }
    const choices = chunk.choices.map((choice: unknown) => this.takeChoice(choice));
    this.lastChunk = (await this.mapTexts({ ...chunk, choices: [] })) as JsonObject;
    const guarded = await this.growTexts({ choices }, growingTexts(choices));
    const shown = guarded.choices as readonly unknown[];
    const ends = new Map<number, JsonObject>();
    for (const choice of shown) {
      if (!isRecord(choice)) continue;
      const index = choiceIndex(choice);
      this.placeCitations(choice.delta, index);
      if (choice.finish_reason) ends.set(index, choice);
    }
    const rest = ends.size === 0 ? [] : await this.endChoices((index) => ends.has(index));
    for (const index of ends.keys()) this.finishedChoices.add(index);
    if (rest.length === 0) return [{ ...this.lastChunk, choices: shown }];
    // The text that is held back comes before the choice ends, and a whole message with its end.
    const open = shown.map((choice) => {
      if (!isRecord(choice)) return choice;
      const { message: _, ...others } = choice;
      return { ...others, finish_reason: null };
    });
    const closing = [...ends.values()].map((choice) =>
      'text' in choice ? { ...choice, text: '' } : { ...choice, delta: {} },
    );
    return [this.chunk(open), ...rest, { ...this.lastChunk, choices: closing }];
  }

  /** Nothing may follow the end of a choice: it could continue a text that has already been sent. */
  private takeChoice(choice: unknown): unknown {
    if (!isRecord(choice)) return choice;
    const index = choiceIndex(choice);
    this.choices.add(index);
    if (this.choices.size > MAX_CHOICES) throw new GuardBlocked('It has too many choices.');
    if (!this.finishedChoices.has(index)) return choice;
    const { delta: _, message: __, text: ___, ...others } = choice;
    return { ...others, delta: {} };
  }

  private placeCitations(delta: unknown, index: number): void {
    const content = this.openTexts.get(`${index} ${CONTENT}`)?.track ?? this.contents.get(index);
    if (content) this.contents.set(index, content);
    if (!isRecord(delta) || !Array.isArray(delta.annotations)) return;
    const { annotations } = delta;
    if (content?.holds) {
      const held = this.heldCitations.get(index) ?? [];
      for (const annotation of annotations) {
        this.countKept(annotation);
        held.push(annotation);
      }
      this.heldCitations.set(index, held);
    }
    // The cast: the chunk was parsed for this reader alone.
    (delta as Record<string, unknown>).annotations = content?.holds ? [] : shownCitations(content, annotations);
  }

  /** What is held back of these choices. */
  private async endChoices(isOver: (choice: number) => boolean): Promise<readonly JsonObject[]> {
    const chunks: JsonObject[] = [];
    for (const open of this.openTexts.values()) {
      const choice = Number.parseFloat(open.key);
      if (isOver(choice)) chunks.push(...(await this.endText(open)));
    }
    for (const [choice, citations] of this.heldCitations) {
      if (!isOver(choice)) continue;
      this.heldCitations.delete(choice);
      const delta = { annotations: shownCitations(this.contents.get(choice), citations) };
      chunks.push(this.chunk([{ index: choice, delta, finish_reason: null }]));
    }
    return chunks;
  }

  protected override continuation({ event, steps: [list = '', at = 0, ...steps] }: OpenText, text: string): JsonObject {
    // The casts: growing texts stand in choices.
    const choice = followSteps(event, [list, at]) as JsonObject;
    const fields = onlyText(choice, steps, text) as JsonObject;
    return this.chunk([{ index: choiceIndex(choice), ...fields, finish_reason: null }]);
  }

  protected override async endedTexts(): Promise<readonly string[]> {
    return (await this.endChoices(() => true)).map((chunk) => JSON.stringify(chunk));
  }

  private chunk(choices: readonly unknown[]): JsonObject {
    const { usage: _, ...others } = this.lastChunk;
    return { ...others, choices };
  }

  protected override async readWhole(body: unknown): Promise<unknown> {
    if (!isRecord(body) || !Array.isArray(body.choices)) return this.mapTexts(body);
    const { choices: before, ...head } = body;
    const choices = await Promise.all(before.map((choice: unknown) => this.wholeChoice(choice)));
    // The cast: texts are replaced by texts.
    return { ...((await this.mapTexts(head)) as JsonObject), choices };
  }

  /** A choice that is blocked does not end the others. */
  private async wholeChoice(choice: unknown): Promise<unknown> {
    try {
      return await this.mapTexts(choice, PIECE);
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      const message = { role: 'assistant', content: '' };
      return { index: isRecord(choice) ? choiceIndex(choice) : 0, message, finish_reason: 'content_filter' };
    }
  }

  protected override placeAt(path: string): string {
    const [name = ''] = path.replace(/^(choices\[\d+\]\.)?((delta|message)\.)?/, '').split(/[.[]/, 1);
    return fieldPlace(name);
  }

  protected override blockedEnd(): readonly string[] {
    const begun = this.choices.size > 0 ? [...this.choices] : [0];
    const open = begun.filter((index) => !this.finishedChoices.has(index));
    const choices = open.map((index) => ({ index, delta: {}, finish_reason: 'content_filter' }));
    return [JSON.stringify(this.chunk(choices)), DONE];
  }

  /** Nothing is left of a completion that is blocked as a whole. */
  protected override blockedWhole(): JsonObject {
    const message = "This server's policy does not let the answer pass.";
    return { error: { message, type: 'server_error', param: null, code: 'content_filter' } };
  }
}

const PLACES: ReadonlyMap<string, string> = new Map([
  ['content', 'text'],
  ['refusal', 'refusal'],
  ['tool_calls', 'arguments'],
  ['function_call', 'arguments'],
  ['function', 'arguments'],
  ['custom', 'arguments'],
  ['annotations', 'citation'],
]);

/** The place of a field of a message, and of everything in it. */
function fieldPlace(name: string): string {
  return PLACES.get(name) ?? (name.startsWith('reasoning') ? 'reasoning' : name || 'text');
}

/** The texts of a chunk that later chunks continue. */
function growingTexts(choices: readonly unknown[]): readonly GrowingText[] {
  const texts: GrowingText[] = [];
  for (const [at, choice] of choices.entries()) {
    if (!isRecord(choice)) continue;
    const index = choiceIndex(choice);
    const add: AddText = (key, place, steps) =>
      void texts.push({ key: `${index} ${key}`, place, steps: ['choices', at, ...steps] });
    if (isRecord(choice.delta)) addTextsOfDelta(choice.delta, add);
    // That of the API before Chat Completions.
    if (typeof choice.text === 'string') add('text', 'text', ['text']);
  }
  return texts;
}

type AddText = (key: string, place: string, steps: Steps) => void;

function addTextsOfDelta(delta: JsonObject, add: AddText): void {
  for (const [name, value] of Object.entries(delta)) {
    const place = fieldPlace(name);
    const steps = ['delta', name];
    if (WHOLE_MEMBERS.has(name)) continue;
    if (typeof value === 'string') {
      if (isReadText(delta, name, value, PIECE)) add(name, place, steps);
    } else if (name === 'function_call' && isRecord(value)) {
      if (typeof value.arguments === 'string') add('call', place, [...steps, 'arguments']);
    } else if (name === 'tool_calls' && Array.isArray(value)) addTextsOfCalls(value, add);
    else if (Array.isArray(value)) addTextsOfParts(value, name, place, steps, add);
    // Such as speech with its transcript.
    else if (isRecord(value) && PIECE.members.has(name)) addTextsOfObject(value, name, place, steps, add);
  }
}

function addTextsOfCalls(calls: readonly unknown[], add: AddText): void {
  for (const [at, call] of calls.entries()) {
    if (!isRecord(call)) continue;
    const key = `call ${plainText(call.index ?? at)}`;
    for (const [kind, field] of [
      ['function', 'arguments'],
      ['custom', 'input'],
    ] as const)
      if (isRecord(call[kind]) && typeof call[kind][field] === 'string')
        add(key, 'arguments', ['delta', 'tool_calls', at, kind, field]);
  }
}

/**
 * Mistral's content parts and OpenRouter's reasoning details: a part continues the one before it of the same kind, and a
 * text of the content what came as the content alone.
 */
function addTextsOfParts(parts: readonly unknown[], name: string, place: string, steps: Steps, add: AddText): void {
  for (const [at, part] of parts.entries()) {
    const inside = [...steps, at];
    if (typeof part === 'string') add(name, place, inside);
    if (!isRecord(part)) continue;
    for (const [field, value] of Object.entries(part)) {
      const isContent = name === CONTENT && field === 'text';
      const key = isContent ? CONTENT : `${name} ${plainText(part.type)} ${plainText(part.index)} ${field}`;
      if (typeof value === 'string' && isReadText(part, field, value, PIECE)) add(key, place, [...inside, field]);
      if (!Array.isArray(value) || WHOLE_MEMBERS.has(field)) continue;
      // The texts of a part that holds parts.
      for (const [inner, each] of value.entries())
        if (isRecord(each) && typeof each.text === 'string') add(key, 'reasoning', [...inside, field, inner, 'text']);
    }
  }
}

function addTextsOfObject(object: JsonObject, key: string, place: string, steps: Steps, add: AddText): void {
  for (const [name, value] of Object.entries(object)) {
    if (WHOLE_MEMBERS.has(name)) continue;
    const inside = [...steps, name];
    if (typeof value === 'string' && isReadText(object, name, value, PIECE)) add(`${key} ${name}`, place, inside);
    if (Array.isArray(value) && PIECE.members.has(name)) addTextsOfParts(value, `${key} ${name}`, place, inside, add);
    if (isRecord(value) && PIECE.members.has(name)) addTextsOfObject(value, `${key} ${name}`, place, inside, add);
  }
}

/** The value at the end of the steps with nothing around it but what tells the members of lists apart. */
function onlyText(value: unknown, [step, ...steps]: Steps, text: string, list?: string): unknown {
  if (step === undefined) return text;
  const member = followSteps(value, [step]);
  if (typeof step === 'string') return { [step]: onlyText(member, steps, text, step) };
  const inner = onlyText(member, steps, text);
  if (!isRecord(member) || !isRecord(inner)) return [inner];
  if (list === 'tool_calls') return [{ index: member.index ?? step, ...inner }];
  const { type, index } = member;
  return [{ ...(type === undefined ? {} : { type }), ...(index === undefined ? {} : { index }), ...inner }];
}
