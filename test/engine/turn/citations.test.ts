/** Which links of an answer become citations: those to pages that this server has found. */

import { SharedMap } from '../../../src/engine/turn/data/shared-list.ts';
import { citationsIn, withPages } from '../../../src/engine/turn/machine/cited-pages.ts';
import type { UrlCitation } from '../../../src/protocol/items.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

const PAGES = withPages(new SharedMap(), [
  { url: 'https://one.example.com/a', title: 'One', text: '' },
  { url: 'https://two.example.org/b/', title: 'Two', text: '' },
  { url: 'https://en.example.org/wiki/Foo_(bar)', title: 'Foo', text: '' },
  { url: 'https://example.net', title: '', text: '' },
  { text: 'No page.' },
]);

/** The cited parts of the text, with the address of each. */
function cited(text: string): readonly string[] {
  // The cast: there are pages alone.
  const citations = citationsIn(text, PAGES) as readonly UrlCitation[];
  return citations.map(({ url, start_index, end_index }) => `${text.slice(start_index, end_index)} → ${url}`);
}

describe('a link to a page that was found', () => {
  it.each([
    [
      'See [the first](https://one.example.com/a).',
      ['[the first](https://one.example.com/a) → https://one.example.com/a'],
    ],
    ['🧑‍🚀 ([x [y]](https://one.example.com/a))', ['[x [y]](https://one.example.com/a) → https://one.example.com/a']],
    [
      '[x](https://one.example.com/a "A title"), and',
      ['[x](https://one.example.com/a "A title") → https://one.example.com/a'],
    ],
    ['[x](https://one.example.com/a#part)', ['[x](https://one.example.com/a#part) → https://one.example.com/a']],
    ['It is https://two.example.org/b.', ['https://two.example.org/b → https://two.example.org/b/']],
    ['**https://two.example.org/b/**!', ['https://two.example.org/b/ → https://two.example.org/b/']],
    ['<https://two.example.org/b/>', ['https://two.example.org/b/ → https://two.example.org/b/']],
    [
      '(https://en.example.org/wiki/Foo_(bar)).',
      ['https://en.example.org/wiki/Foo_(bar) → https://en.example.org/wiki/Foo_(bar)'],
    ],
    [
      '[f](https://en.example.org/wiki/Foo_(bar))',
      ['[f](https://en.example.org/wiki/Foo_(bar)) → https://en.example.org/wiki/Foo_(bar)'],
    ],
    ['https://EXAMPLE.net/', ['https://EXAMPLE.net/ → https://example.net']],
    [
      '[a](https://one.example.com/a)[b](https://two.example.org/b)',
      [
        '[a](https://one.example.com/a) → https://one.example.com/a',
        '[b](https://two.example.org/b) → https://two.example.org/b/',
      ],
    ],
    ['见https://one.example.com/a。', ['https://one.example.com/a → https://one.example.com/a']],
  ])('[B-41] is cited: %s', (text, expected) => {
    expect(cited(text)).toEqual(expected);
  });

  it.each([
    'https://elsewhere.example.com/',
    '[x](https://elsewhere.example.com/)',
    'https://one.example.com/ab',
    'https://',
    '](https://',
    'No link.',
    `https://one.example.com/a${'?'.repeat(5000)}`,
  ])('[B-41] is not one to another page: %s', (text) => {
    expect(cited(text)).toEqual([]);
  });

  it('[B-41] has the title of the page', () => {
    expect(citationsIn('[x](https://one.example.com/a)', PAGES)).toEqual([
      { type: 'url_citation', url: 'https://one.example.com/a', title: 'One', start_index: 0, end_index: 30 },
    ]);
  });

  it('[B-41] is cited a limited number of times', () => {
    expect(citationsIn('[x](https://one.example.com/a) '.repeat(10_000), PAGES).length).toBe(256);
  });

  it.each([
    ['https://a.b/,,,,,,,, '],
    ['https://'],
    ['](https://'],
    ['[x](https://x '],
    ['[['],
    ['https://a,'],
    ['[a](https://x)'],
    ['https://one.example.com/a)))'],
    ['[](https://x "'],
  ])('[B-41] [F-04] is found in linear work: %s over and over', async (piece) => {
    await expectLinearWork(2_000, (count) => citationsIn(piece.repeat(count), PAGES));
  });
});
