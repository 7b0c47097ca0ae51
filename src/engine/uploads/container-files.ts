/** The uploaded files that a request puts into the container of its code. */
import { ApiError } from '../../protocol/errors.ts';
import type { Item } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { CODE_INTERPRETER } from '../../protocol/tool-calls/code-interpreter-call.ts';
import { filePart } from './upload-parts.ts';
import type { UploadReader } from './upload-reader.ts';

const PARAM = 'tools';

/** A message that holds them, as if the user had sent it; none if there are none. Throws `file_not_found`. */
export async function filesOfContainer(tools: readonly JsonObject[], reader: UploadReader): Promise<readonly Item[]> {
  const container = tools.find(({ type }) => type === CODE_INTERPRETER)?.container;
  const ids: readonly unknown[] = isRecord(container) && Array.isArray(container.file_ids) ? container.file_ids : [];
  if (ids.length === 0) return [];
  if (!ids.every((id) => typeof id === 'string')) {
    const message = `Invalid type for '${PARAM}': 'container.file_ids' holds ids of files.`;
    throw new ApiError('invalid_type', message, { param: PARAM });
  }
  const content: JsonObject[] = [];
  for (const id of new Set(ids)) content.push(filePart(await reader.get(id, PARAM)));
  return [{ type: 'message', role: 'user', content }];
}
