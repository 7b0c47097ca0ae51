/** The one string in a JSON object, read while it is written: however it is escaped and wherever it is cut. */
import fc from 'fast-check';
import { FIELD_START, readField, type TextField } from '../../../src/engine/turn/data/text-field.ts';

/** What the pieces add, one by one, and where the reading ends. */
function read(pieces: readonly string[]): { readonly reported: readonly string[]; readonly phase: TextField['phase'] } {
  let state = FIELD_START;
  const reported = pieces.map((piece) => {
    const [next, added] = readField(Object.freeze(state), 'input', piece);
    state = next;
    return added;
  });
  return { reported, phase: state.phase };
}

// What escapes are made of, and whole characters of one and of two UTF-16 units.
const unit = fc.constantFrom('a', '"', '\\', '/', '\n', '\r', '\t', '\b', '\f', '\0', 'u', '{', '}', 'é', '中', '😀');
const text = fc.string({ unit, maxLength: 30 });

/** One UTF-16 unit as `\u…`. */
function unicode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The ways in which models write the same string. */
const STYLES: Readonly<Record<string, (text: string) => string>> = {
  'as JSON.stringify does': (text) => JSON.stringify(text),
  'in ASCII': (text) => JSON.stringify(text).replace(/[^ -~]/g, unicode),
  'in capital escapes': (text) =>
    `"${text.replace(/[\s\S]/g, (unit) => unicode(unit).toUpperCase().replace('U', 'u'))}"`,
  'with raw line breaks': (text) => `"${text.replace(/["\\]/g, '\\$&')}"`,
  'with slashes escaped': (text) => JSON.stringify(text).replaceAll('/', '\\/'),
};
const OPENINGS = ['{"input":', '{ "input": ', '\n{\n  "input" :\n  '] as const;

/** The text in pieces, cut between any two UTF-16 units. */
function cut(text: string, places: readonly number[]): readonly string[] {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].sort((one, other) => one - other);
  return [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end));
}

describe('readField', () => {
  it.each(Object.entries(STYLES))('[S-06] reads any text written %s, cut anywhere', (_, style) => {
    const places = fc.array(fc.nat(), { maxLength: 8 });
    fc.assert(
      fc.property(text, fc.constantFrom(...OPENINGS), places, (text, opening, places) => {
        const { reported, phase } = read(cut(`${opening}${style(text)}}`, places));
        expect([reported.join(''), phase]).toEqual([text, 'done']);
      }),
      { numRuns: 500 },
    );
  });

  it.each(Object.entries(STYLES))('[S-06] emits each character written %s as soon as it is complete', (_, style) => {
    fc.assert(
      fc.property(text, (text) => {
        const characters = [...text];
        const { reported } = read(['{"input":"', ...characters.map((character) => style(character).slice(1, -1))]);
        expect(reported).toEqual(['', ...characters]);
      }),
      { numRuns: 200 },
    );
  });

  it.each(Object.entries(STYLES))('[S-06] emits no half of a character written %s', (_, style) => {
    fc.assert(
      fc.property(text, (text) => {
        const { reported } = read(`{"input":${style(text)}}`.split(''));
        expect(reported.filter((added) => /\p{Surrogate}/u.test(added))).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it.each<readonly [string, readonly string[], readonly string[]]>([
    ['a line break', ['{"inp', 'ut":"a', '\\', 'nb', '"}'], ['', 'a', '', '\nb', '']],
    ['an escape of four digits', ['{"input":"', '\\u0', '0e9', 'x"}'], ['', '', 'é', 'x']],
    ['a pair, escaped', ['{"input":"', '\\ud83d', '\\ude', '00"}'], ['', '', '', '😀']],
    ['a pair, raw', ['{"input":"', '\ud83d', '\ude00"}'], ['', '', '😀']],
    ['a backslash before what looks like an escape', ['{"input":"', '\\\\', 'u0041"}'], ['', '\\', 'u0041']],
    ['a backslash before what looks like half a pair', ['{"input":"', '\\\\ud83d', '"}'], ['', '\\ud83d', '']],
    ['half a pair with nothing behind it', ['{"input":"', '\\ud83d', 'x"}'], ['', '', '\ud83dx']],
    ['an escape that there is not', ['{"input":"\\', 'q"}'], ['', 'q']],
    ['no more than its field', ['{"input":"a"', ',"b":"c"}'], ['a', '']],
  ])('[S-06] reads %s', (_, pieces, reported) => {
    expect(read(pieces).reported).toEqual(reported);
  });

  it.each<readonly [string, TextField['phase']]>([
    ['*** Begin Patch', 'other'],
    ['{"patch":"a"}', 'other'],
    ['{"a":1,"input":"b"}', 'other'],
    ['["a"]', 'other'],
    ['"a"', 'other'],
    ['{"input":5}', 'other'],
    ['{"inputs":"a"}', 'other'],
    ['{"in put":"a"}', 'other'],
    ['{"input', 'head'],
    ['', 'head'],
    [' \n {', 'head'],
  ])('[S-06] emits nothing of %j, cut or not', (text, phase) => {
    expect([read([text]), read(text.split(''))].map(({ reported, phase }) => [reported.join(''), phase])).toEqual([
      ['', phase],
      ['', phase],
    ]);
  });

  it('[S-06] keeps nothing of blanks, however many come before the text', () => {
    let state = FIELD_START;
    for (let count = 0; count < 1_000; count += 1) [state] = readField(state, 'input', count === 500 ? '{' : ' \n');
    expect([state.head, readField(state, 'input', '"input":"a"}')[1]]).toEqual([' { ', 'a']);
  });
});
