/** What a JSON body may be made of, before and after it is parsed. */
import fc from 'fast-check';
import type { ApiError } from '../../src/protocol/errors.ts';
import { bodyFields, refuseManyValues } from '../../src/protocol/json/json-shape.ts';

function refusal(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    const { code, status } = error as ApiError;
    return [status, code];
  }
}

/** The values below the top, counted in the plainest way. */
function countIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + 1 + countIn(each), 0);
}

describe('the values of a body', () => {
  it('[F-02] are counted alike in the text and in what it parses to, at the limit and past it', () => {
    const bodies = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })).filter((body) => countIn(body) > 0);
    fc.assert(
      fc.property(bodies, fc.constantFrom(undefined, 2), (body, indent) => {
        const text = JSON.stringify(body, null, indent);
        // Strings with everything in them that structure is made of.
        fc.pre(!text.includes('"__proto__"'));
        const bytes = Buffer.from(`${text}${' '.repeat(text.length * 4)}`);
        const values = countIn(body);
        const outcomes = [values, values - 1].map((bodyValues) => [
          refusal(() => bodyFields(JSON.parse(text), { bodyValues })),
          // The text has one more: the body itself.
          refusal(() => refuseManyValues(bytes, { bodyValues: bodyValues + 1 })),
        ]);
        const refused = [413, 'request_too_large'];
        expect(outcomes).toEqual([
          [undefined, undefined],
          [refused, refused],
        ]);
      }),
    );
  });

  it.each([
    ['a string of brackets', `"${',[{'.repeat(50)}"`],
    ['escaped quotes', JSON.stringify('",'.repeat(50))],
    ['escaped backslashes', `${JSON.stringify('\\'.repeat(50))}`],
    ['a string without an end', `"${','.repeat(50)}`],
  ])('[F-02] are not found in %s', (_, text) => {
    expect(refusal(() => refuseManyValues(Buffer.from(text), { bodyValues: 2 }))).toBeUndefined();
  });
});

describe('bodyFields', () => {
  it.each([['text'], [[]], [null], [undefined], [Buffer.from('{}')]])('[F-02] takes %p for no body', (body) => {
    expect(refusal(() => bodyFields(body, { bodyValues: 10 }))).toEqual([400, 'invalid_json']);
  });

  it.each(['{"__proto__":1}', '{"input":[{"__proto__":{"role":"user"}}]}', '{"a":{"b":[[{"__proto__":null}]]}}'])(
    '[F-16] refuses the key __proto__ wherever it stands: %s',
    (text) => {
      expect(refusal(() => bodyFields(JSON.parse(text), { bodyValues: 10 }))).toEqual([400, 'invalid_value']);
    },
  );

  it('[F-16] takes the word __proto__ where it is a value', () => {
    const body = { name: '__proto__', list: ['__proto__'] };
    expect(bodyFields(body, { bodyValues: 10 })).toBe(body);
  });
});
