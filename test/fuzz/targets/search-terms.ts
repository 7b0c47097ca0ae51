/** The terms of searches in vector stores, as untrusted clients send them: read, or refused by the name of what is wrong. */
import fc from 'fast-check';
import { type SearchTerms, searchTerms } from '../../../src/engine/indexing/search-terms.ts';
import { type Attributes, matches } from '../../../src/ports/vectors/attributes.ts';
import { ApiError } from '../../../src/protocol/errors.ts';
import { law } from '../../support/law.ts';
import type { Target } from '../target.ts';

interface Input {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly attributes: Attributes;
}

const double = fc.double({ noNaN: true, noDefaultInfinity: true });
const scalar = fc.oneof(fc.string(), double, fc.boolean(), fc.constantFrom(1, 'a', '__proto__'));
const key = fc.constantFrom('a', 'b', '', '__proto__', 'constructor');
const comparison = fc.record({
  type: fc.constantFrom('eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'like', 'toString'),
  key: fc.oneof(key, fc.jsonValue()),
  value: fc.oneof(scalar, fc.array(scalar), fc.jsonValue()),
});
const { filter } = fc.letrec((tie) => ({
  filter: fc.oneof({ maxDepth: 10 }, comparison, tie('combination'), fc.jsonValue()),
  combination: fc.record({ type: fc.constantFrom('and', 'or'), filters: fc.array(tie('filter'), { maxLength: 4 }) }),
}));
const number = fc.oneof(double, fc.integer({ min: -1, max: 60 }), fc.jsonValue());
const ranking = fc.record(
  {
    ranker: fc.constantFrom('none', 'auto', 'default-2024-11-15', 'other', 1),
    score_threshold: number,
    hybrid_search: fc.record({ embedding_weight: number, text_weight: number }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

function check(terms: SearchTerms, attributes: Attributes): void {
  const { maxResults = 1, scoreThreshold, weights, filter: read } = terms;
  law(maxResults >= 1 && maxResults <= 50, 'the number of results is bounded', terms);
  law(scoreThreshold >= 0 && scoreThreshold <= 1, 'a threshold is from 0 to 1', terms);
  law(Math.abs(weights.meaning + weights.words - 1) < 1e-9, 'the sum of the weights is 1', terms);
  if (read) law(typeof matches(read, attributes) === 'boolean', 'a filter that was read can be compared', terms);
}

const searches: Target<Input> = {
  name: 'search terms',
  weight: 4,
  inputs: fc.record({
    fields: fc.record(
      { filters: filter, max_num_results: number, ranking_options: fc.oneof(ranking, fc.jsonValue()) },
      { requiredKeys: [] },
    ),
    attributes: fc.dictionary(key, scalar, { maxKeys: 4 }),
  }),
  run({ fields, attributes }) {
    try {
      check(searchTerms(fields), attributes);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      law(error.code === 'invalid_value' && error.param !== null, 'what is wrong is named', error);
    }
  },
};

export const vectorStores = [searches] as const;
