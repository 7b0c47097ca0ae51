/**
 * A secret at every leaf of recorded requests, answers and errors is replaced, or its position is on the list of what guards do
 * not read: at all leaves at once, and at each alone of a sample by a seed.
 */

import { type AnswerApi, AnyAnswer } from '../../../src/engine/guarding/answers/any-answer.ts';
import { guardBody } from '../../../src/engine/guarding/request/guarded-body.ts';
import { BODY, namesTool, PIECE, type Position } from '../../../src/engine/guarding/texts/positions.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { isRecord, type JsonObject } from '../../../src/protocol/record.ts';
import { hasShared, listShared, readShared } from '../../support/shared.ts';
import { requestGuards } from './support.ts';

/** What is left of a secret that is not replaced. */
export const NAME = 'bob.planted';
/** A text with a secret. */
export const SECRET = ` ${NAME}@example.com `;
/** Another one for each leaf, in text or in JSON. */
const secretAt = (at: number) =>
  at % 2 === 0 ? ` ${NAME}${at}@example.com ` : JSON.stringify({ a: [`x\n${NAME}${at}@example.com\t`] });
/** The same where a text is JSON of its own. */
export const IN_JSON = JSON.stringify({ 'a\nb': [`x\n${NAME}@example.com\t`, { id: `${NAME}\u0040example.com` }] });
const SEED = Number(process.env.SEED ?? 20_261_126);

type Path = readonly (string | number)[];

/** Where the strings, numbers, booleans and nulls of a value are. */
function* leavesOf(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value !== 'object' || value === null) yield path;
  else if (Array.isArray(value)) for (const [at, member] of value.entries()) yield* leavesOf(member, [...path, at]);
  else for (const [name, member] of Object.entries(value)) yield* leavesOf(member, [...path, name]);
}

/** A copy with the text at the place. */
function planted(value: unknown, [name, ...rest]: Path, text: unknown): unknown {
  if (name === undefined) return text;
  if (Array.isArray(value)) return value.map((member, at) => (at === name ? planted(member, rest, text) : member));
  return { ...Object(value), [name]: planted(Object(value)[name], rest, text) };
}

/** Whether the list has the position: a leaf of its own, or below a member that is skipped. Nothing below a text is. */
function isListed(path: Path, value: unknown): boolean {
  let position: Position = BODY;
  let at = value;
  for (const [depth, step] of path.entries()) {
    // The cast: the path is one of the value.
    const member = (at as Record<string | number, unknown>)[step];
    if (isRecord(at)) {
      const name = String(step);
      if (position.skipped.has(name)) return true;
      if (depth === path.length - 1) return position.unread.has(name) || isNameOfTool(at, name, position);
      const next = position.members.get(name) ?? position.others;
      if (!next) return false;
      position = next;
    }
    at = member;
  }
  return false;
}

function isNameOfTool(owner: JsonObject, name: string, position: Position): boolean {
  return name === 'name' && (position === BODY || position === PIECE) && namesTool(owner);
}

/** A copy with a secret at every leaf that is not on the list and that `isMeant`. */
function plantedEverywhere(value: unknown, isMeant: (leaf: unknown) => boolean = () => true): unknown {
  let count = 0;
  const walk = (at: unknown, path: Path): unknown => {
    if (Array.isArray(at)) return at.map((member, index) => walk(member, [...path, index]));
    if (isRecord(at))
      return Object.fromEntries(Object.entries(at).map(([name, each]) => [name, walk(each, [...path, name])]));
    if (isListed(path, value) || !isMeant(at)) return at;
    count += 1;
    return secretAt(count);
  };
  return walk(value, []);
}

/** The secrets that are left in a text. */
function left(text: string): readonly string[] {
  return text.match(/.{0,60}bob\.planted.{0,20}/g)?.slice(0, 3) ?? [];
}

/** Evenly chosen by the seed and the file's name. */
function chosen<Value>(values: readonly Value[], key: string, count: number): readonly Value[] {
  if (values.length <= count) return values;
  let state = [...key].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, SEED >>> 0) || 1;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return values[state % values.length] as Value;
  });
}

const APIS: readonly (readonly [folder: string, api: AnswerApi])[] = [
  ['anthropic', 'messages'],
  ['chat', 'chat-completions'],
  ['responses', 'responses'],
];

const whole = APIS.flatMap(([folder, api]) =>
  listShared(`corpus/${folder}-json`, '.json')
    .filter((name) => !name.endsWith('.request.json'))
    .map((name) => ({ file: `corpus/${folder}-json/${name}`, api })),
);
const streams = APIS.flatMap(([folder, api]) =>
  listShared(`corpus/${folder}-stream`, '.sse').map((name) => ({ file: `corpus/${folder}-stream/${name}`, api })),
);
const folders = [...APIS.flatMap(([folder]) => [`${folder}-json`, `${folder}-stream`]), 'errors'];
const requests = folders.flatMap((folder) =>
  listShared(`corpus/${folder}`, '.request.json').map((name) => `corpus/${folder}/${name}`),
);
const errors = listShared('corpus/errors', '.json')
  .filter((name) => !name.endsWith('.request.json'))
  .map((name) => `corpus/errors/${name}`);

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const answerOf = (api: AnswerApi) => new AnyAnswer(requestGuards({ output: [pii()] }).guards, 1e9, api);

/** The leaves at which the secret is still there, and not on the list. */
async function leaks(
  value: unknown,
  key: string,
  alone: number,
  show: (value: unknown) => Promise<string>,
): Promise<readonly string[]> {
  const found: string[] = left(await show(plantedEverywhere(value))).map((text) => `${key}, everywhere: ${text}`);
  for (const path of chosen([...leavesOf(value)], key, alone))
    for (const text of [SECRET, IN_JSON]) {
      if (isListed(path, value)) continue;
      const shown = await show(planted(value, path, text)).catch((error: unknown) => `refused: ${String(error)}`);
      if (shown.includes(NAME)) found.push(`${key}: ${path.join('.')}`);
    }
  return found;
}

/** What is tried. */
interface Extent {
  /** One file of how many. */
  readonly share: number;
  /** How many leaves of each file are tried alone, besides all at once. */
  readonly alone: number;
}

/** The tests over the recordings. */
export function plantSecrets({ share, alone }: Extent): void {
  const some = <Value>(files: readonly Value[]): readonly Value[] => files.filter((_, at) => (at + SEED) % share === 0);

  it('has recordings', () =>
    expect([hasShared, requests.length > 20, streams.length > 20]).toEqual([true, true, true]));

  it('[G-05] is replaced in requests', async () => {
    const { guards } = requestGuards({ input: [pii()] });
    const found: string[] = [];
    for (const file of some(requests)) {
      const body = jsonOf(readShared(file));
      if (body !== undefined)
        found.push(...(await leaks(body, file, alone, async (each) => JSON.stringify(await guardBody(each, guards)))));
    }
    expect(found).toEqual([]);
  });

  it('[G-05] is replaced in answers', async () => {
    const found: string[] = [];
    for (const { file, api } of some(whole))
      found.push(
        ...(await leaks(jsonOf(readShared(file)), file, alone, (each) => answerOf(api).whole(JSON.stringify(each)))),
      );
    expect(found).toEqual([]);
  });

  it('[G-06] is replaced in errors', async () => {
    const found: string[] = [];
    for (const file of some(errors))
      for (const [, api] of APIS) {
        const value = jsonOf(readShared(file));
        if (value !== undefined)
          found.push(...(await leaks(value, file, alone, (each) => answerOf(api).whole(JSON.stringify(each)))));
      }
    expect(found).toEqual([]);
  });

  it('[G-05] is replaced in streams, at every event', async () => {
    const found: string[] = [];
    for (const { file, api } of some(streams)) {
      const data = readShared(file)
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length).trim());
      const events = data.map((text) => ({ text, event: jsonOf(text) }));
      const all: string[] = [];
      const whole = answerOf(api);
      // Not in the numbers: they say which text an event goes on with.
      for (const { text, event } of events)
        all.push(
          ...(await whole.event(
            isRecord(event) ? JSON.stringify(plantedEverywhere(event, (leaf) => typeof leaf === 'string')) : text,
          )),
        );
      all.push(...(await whole.end()));
      found.push(...left(all.join('\n')).map((text) => `${file}, everywhere: ${text}`));
      const places = events.flatMap(({ event }, at) =>
        isRecord(event) ? [...leavesOf(event)].map((path) => ({ at, event, path })) : [],
      );
      const open = places.filter((place) => !isListed(place.path, place.event));
      for (const { at, event, path } of chosen(open, file, alone)) {
        const answer = answerOf(api);
        const shown: string[] = [];
        // The few before it, in which the parts begin that it is in.
        for (let each = Math.max(0, at - 3); each <= Math.min(at + 3, data.length - 1); each += 1)
          shown.push(
            ...(await answer.event(each === at ? JSON.stringify(planted(event, path, SECRET)) : (data[each] ?? ''))),
          );
        shown.push(...(await answer.end()));
        if (shown.join('\n').includes(NAME)) found.push(`${file} ${at}: ${path.join('.')}`);
      }
    }
    expect(found).toEqual([]);
  });
}
