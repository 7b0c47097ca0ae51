/** Texts as databases keep them. */
import fc from 'fast-check';
import { joinTexts, originalText, splitTexts, storableText } from '../../src/protocol/json/storable-text.ts';

/** Any text, with what databases refuse in every other one. */
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\u0000', '\u001e', '\ud83d', '\ude80', 'a', 'é') }),
);

describe('a storable text', () => {
  it('is JSON as it is, and quoted where a database refuses, changes or cuts off a character', () => {
    const plain = ['{"a":"\\u0000 \\ud83d"}', '[]', '0', 'größer 🚀\u2028\t'];
    const odd = ['', '"', '"a"', 'a\u0000', 'half \ud83d pair', '\ude80', 'a\u001eb'];
    expect([plain.map(storableText), odd.map(storableText)]).toEqual([plain, odd.map((text) => JSON.stringify(text))]);
  });

  it('[X-06] is UTF-8 without NUL, and becomes the text again', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const stored = storableText(text);
        expect(Buffer.from(stored).toString()).toBe(stored);
        expect([stored.includes('\u0000'), stored === '', originalText(stored)]).toEqual([false, false, text]);
      }),
    );
  });

  it('[X-06] keeps any number of texts apart in one', () => {
    fc.assert(fc.property(fc.array(texts), (list) => expect(splitTexts(joinTexts(list))).toEqual(list)));
  });
});
