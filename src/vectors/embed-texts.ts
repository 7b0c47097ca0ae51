/** Embeds texts, and checks the answer: an embedder of the host's own may return anything. */
import { type Embedder, EmbeddingError } from '../ports/vectors/embedder.ts';
import { untilAborted } from '../streams/until-aborted.ts';

/**
 * The embeddings of the texts, in their order. Throws `EmbeddingError` if one is missing or has no finite numbers, and the signal's
 * reason at once, even if the embedder never answers.
 */
export async function embedTexts(
  texts: readonly string[],
  embedder: Embedder,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const embeddings: unknown = await untilAborted(signal, () => embedder.embed(texts, signal));
  if (areFor(texts, embeddings)) return embeddings;
  throw new EmbeddingError('The embedder did not answer with an embedding for each text.', { retryable: false });
}

function areFor(texts: readonly string[], embeddings: unknown): embeddings is readonly Float32Array[] {
  return Array.isArray(embeddings) && texts.every((_, at) => isEmbedding(embeddings[at]));
}

function isEmbedding(value: unknown): boolean {
  return value instanceof Float32Array && value.length > 0 && value.every(Number.isFinite);
}
