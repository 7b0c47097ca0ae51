/** The fast path for chunks that differ only in their text: whatever it reads is what parsing gives. */
import fc from 'fast-check';
import { type TextMemo, textMemo } from '../../../src/core/upstream/text-memo.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What the memo reads of the chunks in turn; it learns from those that it leaves to the parser. */
function readAll(memo: TextMemo, chunks: readonly string[]): readonly (string | undefined)[] {
  return chunks.map((data) => {
    const text = memo.read(data);
    if (text === undefined) memo.learn(data, JSON.parse(data));
    return text;
  });
}

function chunk(delta: Fields, more: Fields = {}, choice: Fields = {}): Fields {
  return {
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: null, ...choice }],
    ...more,
  };
}

const said = (content: string, more?: Fields, choice?: Fields) => JSON.stringify(chunk({ content }, more, choice));

describe('textMemo', () => {
  it('[Q-03] [P-08] reads what has come twice, from the third chunk on, escapes and all', () => {
    const words = ['a', 'b', 'c', 'd "e"', 'f\\', '\n', '', '😀', '\u2028', 'é'];
    expect(
      readAll(
        textMemo(),
        words.map((word) => said(word)),
      ),
    ).toEqual([undefined, undefined, ...words.slice(2)]);
  });

  it.each<[string, Fields]>([
    ['a finish', chunk({ content: 'x' }, {}, { finish_reason: 'stop' })],
    ['log probabilities', chunk({ content: 'x' }, {}, { logprobs: { content: [] } })],
    ['a call', chunk({ content: 'x', tool_calls: [{ index: 0 }] })],
    ['reasoning', chunk({ content: 'x', reasoning_content: 'y' })],
    ['usage', chunk({ content: 'x' }, { usage: { prompt_tokens: 1 } })],
    ['an error', chunk({ content: 'x' }, { error: { message: 'no' } })],
    ['a second choice', { choices: [{ delta: { content: 'x' } }, { delta: { content: 'y' } }] }],
    ['another choice', chunk({ content: 'x' }, {}, { index: 1 })],
    ['a message', chunk({ content: 'x' }, {}, { message: { content: 'y' } })],
    ['parts', { choices: [{ delta: { content: [{ text: 'x' }] } }] }],
  ])('leaves chunks with %s to the parser, however often they come', (_, odd) => {
    const data = JSON.stringify(odd);
    expect(readAll(textMemo(), [data, data, data, data])).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('leaves a chunk to the parser whose text ends early', () => {
    const memo = textMemo();
    readAll(memo, [said('a'), said('b')]);
    const forged = said('MARK').replace('MARK', 'x","reasoning":"y');
    expect(memo.read(forged)).toBeUndefined();
  });

  it('is not taken in by a key of the same name elsewhere', () => {
    const odd = JSON.stringify({ meta: { content: 'same' }, ...chunk({ content: 'a' }) });
    expect(readAll(textMemo(), [odd, odd, odd, odd])).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('[Q-03] agrees with the parser on any stream', () => {
    const more = fc.constantFrom<Fields>({}, { obfuscation: 'xx' }, { usage: null }, { system_fingerprint: 'content' });
    const choice = fc.constantFrom<Fields>({}, { logprobs: null }, { finish_reason: 'stop' });
    const spaced = fc.constantFrom<(data: string) => string>(
      (data) => data,
      (data) => data.replaceAll('":', '": '),
      (data) => data.replace(/[^\0-\x7f]/g, (odd) => `\\u${odd.charCodeAt(0).toString(16).padStart(4, '0')}`),
    );
    const text = fc.string({ unit: fc.constantFrom('a', ' ', '"', '\\', '\n', 'é', '😀', '\ud800', '}', '\u0000') });
    const stream = fc.tuple(more, choice, spaced, fc.array(text, { maxLength: 8 }));
    fc.assert(
      fc.property(fc.array(stream, { maxLength: 4 }), (streams) => {
        const chunks = streams.flatMap(([fields, rest, write, words]) =>
          words.map((word) => write(said(word, fields, rest))),
        );
        const read = readAll(textMemo(), chunks);
        for (const [index, found] of read.entries()) {
          if (found === undefined) continue;
          expect(found).toBe(JSON.parse(chunks[index] ?? '').choices[0].delta.content);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
