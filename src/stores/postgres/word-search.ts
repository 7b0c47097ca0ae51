/** The search by words in PostgreSQL: rare words weigh more, which PostgreSQL's own ranks do not know. */
import type { VectorTables } from './vector-schema.ts';

/** The places of the parameters, such as `$3`, and the condition that the filter is. */
interface WordSearchTerms {
  /** The numbers of the vector stores. */
  readonly stores: string;
  readonly limit: string;
  /** The text search configuration. */
  readonly language: string;
  /** The words, each quoted. */
  readonly words: string;
  /** On the file `f`. */
  readonly matching: string;
}

/** How many chunks are ranked by how often they have the words, for each chunk that is wanted; the others only by which words they have. */
const RANKED = 8;

/**
 * The statement. A word weighs as in BM25, by the number of chunks that have it. The index alone says which chunks these are, so that
 * only the texts of the best ones are read.
 */
export function wordSearch(
  { chunks, files }: VectorTables,
  { stores, limit, language, words, matching }: WordSearchTerms,
): string {
  return `
    WITH wanted AS MATERIALIZED (
      SELECT query, row_number() OVER () AS word
      FROM (SELECT DISTINCT websearch_to_tsquery(${language}::text::regconfig, given) AS query FROM unnest(${words}::text[]) AS given) AS read
      WHERE numnode(query) > 0),
    hits AS MATERIALIZED (
      SELECT w.word, c.file, c.place
      FROM wanted w JOIN ${chunks} c ON c.words @@ w.query JOIN ${files} f ON f.number = c.file
      WHERE c.store = ANY (${stores}::bigint[]) AND f.status = 'completed' AND ${matching}),
    weights AS MATERIALIZED (
      SELECT word, ln(1 + (greatest(total - hits, 0) + 0.5) / (hits + 0.5)) AS weight
      FROM (SELECT word, count(*) AS hits FROM hits GROUP BY word) AS counted,
        (SELECT sum(chunks) AS total FROM ${files} WHERE store = ANY (${stores}::bigint[]) AND status = 'completed') AS searched),
    best AS MATERIALIZED (
      SELECT file, place, sum(weight) AS weight FROM hits JOIN weights USING (word)
      GROUP BY file, place ORDER BY weight DESC, file, place LIMIT ${limit}::integer * ${RANKED})
    SELECT c.place, c.text, f.body, f.notes,
      (SELECT sum(weights.weight * ts_rank(c.words, query, 1)) FROM weights JOIN wanted USING (word)) AS score
    FROM best b JOIN ${chunks} c ON c.file = b.file AND c.place = b.place JOIN ${files} f ON f.number = c.file
    ORDER BY score DESC, b.weight DESC LIMIT ${limit}::integer`;
}
