/** Reads the limits and the ranking of a search, which the search endpoint and the tool `file_search` have in common. */
import type { AttributeFilter } from '../../ports/vectors/attributes.ts';
import { isPresent, isRecord, type JsonObject } from '../../protocol/record.ts';
import { invalidField } from '../../protocol/responses/invalid.ts';
import type { SearchWeights } from './fuse.ts';
import { readFilter } from './read-filter.ts';

/** The terms, checked. */
export interface SearchTerms {
  /** Selects files by their attributes. */
  readonly filter: AttributeFilter | undefined;
  /** Undefined if the client leaves it to the server. */
  readonly maxResults: number | undefined;
  /** From 0 to 1. */
  readonly scoreThreshold: number;
  /** The shares of both kinds of search. */
  readonly weights: SearchWeights;
}

/** OpenAI's limit. */
const MAX_RESULTS = 50;
/** As reciprocal rank fusion is published. With less than 0.43 for words, 20 results by meaning stand before the first by words alone. */
const BOTH: SearchWeights = { meaning: 0.5, words: 0.5 };
const MEANING_ALONE: SearchWeights = { meaning: 1, words: 0 };
const RANKERS: ReadonlySet<unknown> = new Set(['none', 'auto', 'default-2024-11-15', 'default_2024_08_21']);

/** Throws `invalid_value` naming the field; `within` is where the fields are, such as `tools[0].`. */
export function searchTerms(fields: JsonObject, within = ''): SearchTerms {
  const { filters, max_num_results: max, ranking_options: ranking } = fields;
  const at = `${within}ranking_options`;
  if (isPresent(ranking) && !isRecord(ranking)) throw invalidField(at, 'expected an object');
  const { ranker, score_threshold: threshold, hybrid_search: hybrid } = isRecord(ranking) ? ranking : {};
  if (isPresent(ranker) && !RANKERS.has(ranker))
    throw invalidField(`${at}.ranker`, `supported values are: ${[...RANKERS].join(', ')}`);
  const filter = readFilter(filters, `${within}filters`);
  if (isPresent(max) && !(Number.isInteger(max) && isWithin(max, 1, MAX_RESULTS)))
    throw invalidField(`${within}max_num_results`, `expected a whole number from 1 to ${MAX_RESULTS}`);
  if (isPresent(threshold) && !isWithin(threshold, 0, 1))
    throw invalidField(`${at}.score_threshold`, 'expected a number from 0 to 1');
  return {
    filter,
    maxResults: typeof max === 'number' ? max : undefined,
    scoreThreshold: typeof threshold === 'number' ? threshold : 0,
    weights: readWeights(ranker, hybrid, `${at}.hybrid_search`),
  };
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min && value <= max;
}

/** A bound that keeps the sum of weights finite. */
const MAX_WEIGHT = 1e6;

/** The weights are checked, even where the ranker takes none. */
function readWeights(ranker: unknown, hybrid: unknown, param: string): SearchWeights {
  if (!isPresent(hybrid)) return ranker === 'none' ? MEANING_ALONE : BOTH;
  const { embedding_weight: meaning, text_weight: words } = isRecord(hybrid) ? hybrid : {};
  if (!isWithin(meaning, 0, MAX_WEIGHT) || !isWithin(words, 0, MAX_WEIGHT) || meaning + words <= 0)
    throw invalidField(param, "expected 'embedding_weight' and 'text_weight', of which one is greater than 0");
  if (ranker === 'none') return MEANING_ALONE;
  return { meaning: meaning / (meaning + words), words: words / (meaning + words) };
}
