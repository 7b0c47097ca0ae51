/** The bodies of the vector store endpoints. */
import type { z } from 'zod';
import type { Limits } from '../../ports/limits.ts';
import type { Attributes } from '../../ports/vectors/attributes.ts';
import type { Chunking } from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import { listSchema } from '../../protocol/json/schema-kinds.ts';
import { invalid, refuseLong } from '../../protocol/responses/invalid.ts';
import { metadataSchema } from '../../protocol/responses/schema.ts';
import type { VectorStoreLimits } from './limits.ts';

/** OpenAI's limits. */
const MOST_ATTRIBUTES = 16;
const LONGEST_KEY = 64;
const LONGEST_VALUE = 512;
const LONGEST_NAME = 512;
const MOST_DAYS = 365;

/** The schemas of the bodies. */
export const bodySchemas = lazily((z) => {
  const name = z.string().max(LONGEST_NAME).nullish();
  const expiry = z.object({ anchor: z.enum(['last_active_at']), days: z.int().min(1).max(MOST_DAYS) }).nullish();
  const attributes = z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()], { error: 'a text, a number or a boolean' }))
    .refine((given) => Object.keys(given).length <= MOST_ATTRIBUTES, {
      error: `at most ${MOST_ATTRIBUTES} keys are allowed`,
    })
    .refine((given) => Object.keys(given).every((key) => key.length <= LONGEST_KEY), {
      error: `a key may have at most ${LONGEST_KEY} characters`,
    })
    .refine((given) => Object.values(given).every((value) => String(value).length <= LONGEST_VALUE), {
      error: `a text may have at most ${LONGEST_VALUE} characters`,
    })
    .nullish();
  const cut = z.object({
    max_chunk_size_tokens: z.int().min(100).max(4096),
    chunk_overlap_tokens: z.int().min(0),
  });
  const strategy = z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('auto') }),
      z.object({
        type: z.literal('static'),
        static: cut.refine(({ max_chunk_size_tokens: most, chunk_overlap_tokens: overlap }) => overlap * 2 <= most, {
          error: "'chunk_overlap_tokens' may be at most half of 'max_chunk_size_tokens'",
        }),
      }),
    ])
    .nullish();
  const ids = listSchema(z.string()).nullish();
  const file = z.object({ file_id: z.string(), attributes, chunking_strategy: strategy });
  return {
    newStore: z.object({
      name,
      description: name,
      metadata: metadataSchema().nullish(),
      expires_after: expiry,
      file_ids: ids,
      chunking_strategy: strategy,
    }),
    storeChange: z.object({ name, metadata: metadataSchema().nullish(), expires_after: expiry }),
    newFile: file,
    attributes: z.object({ attributes }),
    batch: z.object({ file_ids: ids, files: listSchema(file).nullish(), attributes, chunking_strategy: strategy }),
    query: z.object({
      query: z.union([z.string(), listSchema(z.string())], { error: 'a text or a list of texts' }),
      rewrite_query: z.boolean().nullish(),
    }),
  };
});

/** Checks a body and names the field at fault. */
type Reader<Body> = (given: unknown, limits: Limits) => Body;

type Schemas = ReturnType<typeof bodySchemas>;

function reader<Name extends keyof Schemas>(name: Name): Reader<z.infer<Schemas[Name]>> {
  return (given, limits) => {
    const body = bodyFields(given === undefined ? {} : given, limits);
    const result = bodySchemas()[name].safeParse(body);
    if (!result.success) throw invalid(result.error.issues, body);
    // The cast: it is the result of the schema of that name.
    return result.data as z.infer<Schemas[Name]>;
  };
}

/** A new vector store. */
export const readNewStore = reader('newStore');

/** A change of a vector store; missing fields keep their values. */
export const readStoreChange = reader('storeChange');

/** A file to add. */
export const readNewFile = reader('newFile');

/** New attributes. */
export const readAttributes = reader('attributes');

const batch = reader('batch');

/** A file to add, and how. */
export interface WantedFile {
  readonly id: string;
  readonly attributes: Attributes;
  readonly chunking: Chunking;
  readonly autoChunking: boolean;
}

/** The files of a batch, each once. Throws for none, for too many, and for both ways to name them. */
export function readBatch(given: unknown, limits: Limits, { batchFiles }: VectorStoreLimits): readonly WantedFile[] {
  const { file_ids: named, files, ...common } = batch(given, limits);
  if (named && files) {
    const message = "Name the files in 'file_ids' or in 'files', and not in both.";
    throw new ApiError('mutually_exclusive_parameters', message, { param: 'files' });
  }
  const param = files ? 'files' : 'file_ids';
  const wanted = files ?? named?.map((id) => ({ file_id: id, ...common }));
  if (!wanted) throw new ApiError('missing_required_parameter', "Missing required parameter: 'file_ids'.", { param });
  if (wanted.length === 0) throw new ApiError('invalid_value', `Invalid '${param}': it must not be empty.`, { param });
  refuseLong(param, wanted.length, batchFiles);
  return [...new Map(wanted.map((each) => [each.file_id, wantedFile(each)])).values()];
}

/** OpenAI's defaults. */
const AUTO: Chunking = { maxTokens: 800, overlapTokens: 400 };

/** The file as it is added. */
export function wantedFile({
  file_id: id,
  attributes: given,
  chunking_strategy: how,
}: z.infer<Schemas['newFile']>): WantedFile {
  if (how?.type !== 'static') return { id, attributes: given ?? {}, chunking: AUTO, autoChunking: true };
  const { max_chunk_size_tokens: maxTokens, chunk_overlap_tokens: overlapTokens } = how.static;
  return { id, attributes: given ?? {}, chunking: { maxTokens, overlapTokens }, autoChunking: false };
}

const query = reader('query');

/** The queries of a search. Throws for none, and for too many or too long ones. */
export function readQueries(
  given: unknown,
  limits: Limits,
  { queries: most, queryLength }: VectorStoreLimits,
): readonly string[] {
  const queries = [query(given, limits).query].flat();
  refuseLong('query', queries.length, most);
  if (queries.length === 0 || queries.some((each) => each.trim() === ''))
    throw new ApiError('invalid_value', "Invalid 'query': it must not be empty.", { param: 'query' });
  if (queries.every(({ length }) => length <= queryLength)) return queries;
  const message = `Invalid 'query': string too long. Expected at most ${queryLength} characters.`;
  throw new ApiError('string_above_max_length', message, { param: 'query' });
}
