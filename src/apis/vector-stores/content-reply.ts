/** The texts of a file as an answer, which is sent while it is read: together they may take hundreds of megabytes. */

import { fromIndex } from '../../engine/indexing/from-index.ts';
import type { VectorFile, VectorIndex } from '../../ports/vectors/vector-index.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply } from '../../protocol/reply.ts';

/** Texts that are in memory at the same time. */
const MAX_TEXTS = 64;

/** Throws `store_error` if the index fails before the answer begins; later, the answer is cut off. */
export async function contentReply(file: VectorFile, index: VectorIndex): Promise<Reply | JsonReply> {
  const first = await fromIndex(() => index.chunkTexts(file, 0, MAX_TEXTS));
  const whole = jsonReply(pageResource(file, first));
  if (first.length < MAX_TEXTS) return whole;
  return { status: whole.status, headers: whole.headers, body: jsonPieces(file, first, index) };
}

function pageResource({ id: file_id, filename, attributes }: VectorFile, texts: readonly string[]): JsonObject {
  const data = texts.map((text) => ({ type: 'text', text }));
  const about = { file_id, filename, attributes };
  return { object: 'vector_store.file_content.page', ...about, has_more: false, next_page: null, data };
}

/** The same JSON in pieces. Throws if the file is deleted or indexed anew meanwhile: what has been sent is not the whole of it. */
async function* jsonPieces(file: VectorFile, first: readonly string[], index: VectorIndex): AsyncIterable<string> {
  // `data` is the last field.
  yield JSON.stringify(pageResource(file, first)).slice(0, -']}'.length);
  for (let from = MAX_TEXTS; ; from += MAX_TEXTS) {
    const texts = await fromIndex(() => index.chunkTexts(file, from, MAX_TEXTS));
    yield texts.map((text) => `,${JSON.stringify({ type: 'text', text })}`).join('');
    if (texts.length < MAX_TEXTS) break;
  }
  const now = await fromIndex(() => index.getFile(file));
  if (now?.createdAt !== file.createdAt) throw new Error('The file was deleted while its texts were sent.');
  yield ']}';
}
