/** What is read of filters and of ranking options, which any client may send. */

import { readFilter } from '../../../src/engine/indexing/read-filter.ts';
import { searchTerms } from '../../../src/engine/indexing/search-terms.ts';
import { type AttributeFilter, matches } from '../../../src/ports/vectors/attributes.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

function faultOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    const { code, param } = error as { readonly code: unknown; readonly param: unknown };
    return [code, param];
  }
}

const PRICE = { type: 'gte', key: 'price', value: 10 };

function nested(depth: number): unknown {
  let filter: unknown = PRICE;
  for (let at = 0; at < depth; at += 1) filter = { type: 'and', filters: [filter] };
  return filter;
}

describe('a filter', () => {
  it('[X-14] is read with its parts alone', () => {
    const given = {
      type: 'or',
      filters: [PRICE, { type: 'in', key: 'kind', value: ['a', 1, true], more: 1 }],
      other: 2,
    };
    const read = { type: 'or', filters: [PRICE, { type: 'in', key: 'kind', value: ['a', 1, true] }] };
    expect(readFilter(given, 'filters')).toEqual(read);
  });

  it.each([
    ['nested 1,000 deep', nested(1000), `filters${'.filters[0]'.repeat(8)}`],
    ['with too many parts', { type: 'and', filters: Array(100).fill(PRICE) }, 'filters.filters[99]'],
    ['of no known type', { ...PRICE, type: 'like' }, 'filters.type'],
    ['of a type that objects inherit', { ...PRICE, type: 'constructor' }, 'filters.type'],
    ['without a key', { type: 'eq', value: 1 }, 'filters.key'],
    ['with an object as its value', { ...PRICE, value: {} }, 'filters.value'],
    ['with an order of booleans', { ...PRICE, value: true }, 'filters.value'],
    ['with a long text', { type: 'eq', key: 'a', value: 'x'.repeat(513) }, 'filters.value'],
    ['that is a list', [], 'filters'],
  ])('[X-14] %s is refused', (_, given, param) => {
    expect(faultOf(() => readFilter(given, 'filters'))).toEqual(['invalid_value', param]);
  });

  it('[X-14] of many values is compared with many files in work of their sum, not of their product', async () => {
    await expectLinearWork(1000, (size) => {
      const value = Array.from({ length: size / 8 }, (_, at) => `${'x'.repeat(100)}${at}`);
      const filters = Array.from({ length: 9 }, () => ({ type: 'nin' as const, key: 'kind', value: [...value] }));
      const filter: AttributeFilter = { type: 'and', filters };
      const found = Array.from({ length: size }, (_, at) =>
        matches(filter, { kind: at === 0 ? (value.at(-1) ?? '') : `${at}` }),
      );
      expect(found.filter(Boolean)).toHaveLength(size - 1);
    });
  });
});

describe('the terms of a search', () => {
  it('[X-14] have defaults', () => {
    expect(searchTerms({})).toEqual({
      filter: undefined,
      maxResults: undefined,
      scoreThreshold: 0,
      weights: { meaning: 0.5, words: 0.5 },
    });
  });

  it('[X-14] share their weights', () => {
    const { weights } = searchTerms({ ranking_options: { hybrid_search: { embedding_weight: 1, text_weight: 3 } } });
    expect([weights, searchTerms({ ranking_options: { ranker: 'none' } }).weights]).toEqual([
      { meaning: 0.25, words: 0.75 },
      { meaning: 1, words: 0 },
    ]);
  });

  it.each([
    [{ max_num_results: 51 }, 'max_num_results'],
    [{ max_num_results: 0 }, 'max_num_results'],
    [{ ranking_options: 'auto' }, 'ranking_options'],
    [{ ranking_options: { ranker: 'mine' } }, 'ranking_options.ranker'],
    [{ ranking_options: { score_threshold: 2 } }, 'ranking_options.score_threshold'],
    [{ ranking_options: { hybrid_search: { embedding_weight: 0, text_weight: 0 } } }, 'ranking_options.hybrid_search'],
    [{ ranking_options: { hybrid_search: { embedding_weight: -1, text_weight: 2 } } }, 'ranking_options.hybrid_search'],
  ])('[X-14] are refused as %j', (fields, param) => {
    expect(faultOf(() => searchTerms(fields, 'tools[0].'))).toEqual(['invalid_value', `tools[0].${param}`]);
  });
});
