/** Reads and checks the answer of an embeddings server. */
import { objectIn } from '../../../protocol/json/json-text.ts';
import { isRecord } from '../../../protocol/record.ts';

/** Longer lists are not taken for embeddings. */
export const MAX_DIMENSIONS = 16_384;

/** What is wrong with an answer, in words that follow "The embeddings server". */
export class EmbeddingFault extends Error {
  override readonly name = 'EmbeddingFault';
}

/** The embeddings in the order of the texts, all of one length. Throws `EmbeddingFault`. */
export function embeddingsIn(text: string, count: number): readonly Float32Array[] {
  const { data } = objectIn(text) ?? {};
  if (!Array.isArray(data)) throw new EmbeddingFault('did not answer with a list of embeddings');
  if (data.length !== count) throw new EmbeddingFault(`answered with ${data.length} embeddings for ${count} texts`);
  const ordered: Float32Array[] = new Array(count);
  for (const [place, each] of data.entries()) {
    const { index = place, embedding } = isRecord(each) ? each : {};
    const isIndex = typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < count;
    if (!isIndex || ordered[index])
      throw new EmbeddingFault('answered with embeddings whose index is wrong or repeated');
    ordered[index] = readVector(embedding);
  }
  const dimensions = ordered[0]?.length;
  if (ordered.some(({ length }) => length !== dimensions))
    throw new EmbeddingFault('answered with embeddings of different lengths');
  return ordered;
}

function readVector(embedding: unknown): Float32Array {
  let vector: Float32Array | undefined;
  if (typeof embedding === 'string') vector = floatsFromBase64(embedding);
  else if (Array.isArray(embedding) && embedding.every((each) => typeof each === 'number'))
    vector = Float32Array.from(embedding);
  if (!vector || vector.length === 0 || vector.length > MAX_DIMENSIONS)
    throw new EmbeddingFault('answered with something that is not an embedding');
  // Float32Array.from turns texts into NaN, and numbers that are too large into Infinity.
  if (!vector.every(Number.isFinite))
    throw new EmbeddingFault('answered with an embedding with numbers that are not finite');
  return vector;
}

/** OpenAI's `base64`: 32-bit floats, the lowest byte first. */
function floatsFromBase64(text: string): Float32Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length % Float32Array.BYTES_PER_ELEMENT !== 0) return undefined;
  const vector = new Float32Array(bytes.length / Float32Array.BYTES_PER_ELEMENT);
  for (let at = 0; at < vector.length; at += 1) vector[at] = bytes.readFloatLE(at * Float32Array.BYTES_PER_ELEMENT);
  return vector;
}
