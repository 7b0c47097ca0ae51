/** Embeds texts, and checks the answer: an embedder of the host's own may return anything. */
import { inspect } from 'node:util';
import { type Embedder, EmbeddingError } from '../../ports/vectors/embedder.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { orderFor } from './embedding-order.ts';

/** Texts of a document that the embedder receives at a time: a query that comes meanwhile waits for them. */
export const EMBEDDED_AT_ONCE = 16;

/** The embeddings of queries, which go before those of documents. Throws as `embedDocuments` does. */
export function embedQueries(
  queries: readonly string[],
  embedder: Embedder,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  return orderFor(embedder).query(() => embedTexts(queries, embedder, signal));
}

/**
 * The embeddings of the texts, in their order. Throws `EmbeddingError` if one is missing or has no finite numbers, and the signal's
 * reason at once, even if the embedder never answers.
 */
export async function embedDocuments(
  texts: readonly string[],
  embedder: Embedder,
  tenant: string,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const order = orderFor(embedder);
  const embeddings: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += EMBEDDED_AT_ONCE) {
    const some = texts.slice(from, from + EMBEDDED_AT_ONCE);
    embeddings.push(...(await order.document(tenant, () => embedTexts(some, embedder, signal), signal)));
  }
  return embeddings;
}

async function embedTexts(
  texts: readonly string[],
  embedder: Embedder,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const embeddings: unknown = await untilAborted(signal, () => embedder.embed(texts, signal));
  const isEmbedding = (value: unknown) =>
    value instanceof Float32Array && value.length > 0 && value.every(Number.isFinite);
  if (Array.isArray(embeddings) && texts.every((_, at) => isEmbedding(embeddings[at]))) return embeddings;
  const got = inspect(embeddings, {
    depth: 1,
    maxArrayLength: 3,
    maxStringLength: 20,
    breakLength: Number.POSITIVE_INFINITY,
  });
  const cause = new TypeError(`embed must resolve with a Float32Array of finite numbers for each text, got ${got}`);
  throw new EmbeddingError('The embedder did not answer with an embedding for each text.', { retryable: false, cause });
}
