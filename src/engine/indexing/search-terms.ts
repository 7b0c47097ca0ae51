/** Reads the limits and the ranking of a search, which the search endpoint and the tool `file_search` have in common. */
import type { AttributeFilter } from '../../ports/vectors/attributes.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
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
const MOST_RESULTS = 50;
/** As reciprocal rank fusion is published. With less than 0.43 for words, 20 results by meaning stand before the first by words alone. */
const BOTH: SearchWeights = { meaning: 0.5, words: 0.5 };
const MEANING_ALONE: SearchWeights = { meaning: 1, words: 0 };
const RANKERS: ReadonlySet<unknown> = new Set(['none', 'auto', 'default-2024-11-15', 'default_2024_08_21']);

/** Throws `invalid_value` naming the field; `within` is where the fields are, such as `tools[0].`. */
export function searchTerms(fields: JsonObject, within = ''): SearchTerms {
  const { filters, max_num_results: most, ranking_options: given } = fields;
  const at = `${within}ranking_options`;
  if (given !== undefined && given !== null && !isRecord(given)) throw wrong(at, 'expected an object');
  const { ranker, score_threshold: threshold, hybrid_search: hybrid } = isRecord(given) ? given : {};
  if (isGiven(ranker) && !RANKERS.has(ranker))
    throw wrong(`${at}.ranker`, `supported values are: ${[...RANKERS].join(', ')}`);
  return {
    filter: readFilter(filters, `${within}filters`),
    maxResults: isGiven(most) ? countOf(most, `${within}max_num_results`) : undefined,
    scoreThreshold: isGiven(threshold) ? scoreOf(threshold, `${at}.score_threshold`) : 0,
    weights: weightsOf(ranker, weightsGiven(hybrid, `${at}.hybrid_search`)),
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function countOf(value: unknown, param: string): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_RESULTS) return value as number;
  throw wrong(param, `expected a whole number from 1 to ${MOST_RESULTS}`);
}

function scoreOf(value: unknown, param: string): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw wrong(param, 'expected a number from 0 to 1');
}

function weightsOf(ranker: unknown, given: SearchWeights | undefined): SearchWeights {
  return ranker === 'none' ? MEANING_ALONE : (given ?? BOTH);
}

function weightsGiven(given: unknown, param: string): SearchWeights | undefined {
  if (!isGiven(given)) return undefined;
  const { embedding_weight: meaning, text_weight: words } = isRecord(given) ? given : {};
  if (!isWeight(meaning) || !isWeight(words) || meaning + words <= 0)
    throw wrong(param, "expected 'embedding_weight' and 'text_weight', of which one is greater than 0");
  return { meaning: meaning / (meaning + words), words: words / (meaning + words) };
}

/** A bound that keeps the sum of weights finite. */
const LARGEST_WEIGHT = 1e6;

function isWeight(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LARGEST_WEIGHT;
}

function wrong(param: string, why: string): ApiError {
  return new ApiError('invalid_value', `Invalid '${param}': ${why}.`, { param });
}
