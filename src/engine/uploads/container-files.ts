/** The uploaded files that a request puts into the container of its code or its shell. */
import { ApiError } from '../../protocol/errors.ts';
import type { Item } from '../../protocol/items.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { CONTAINER_KINDS, servedType } from '../../protocol/tool-calls/kinds.ts';
import { filePart } from './upload-parts.ts';
import type { UploadReader } from './upload-reader.ts';

const PARAM = 'tools';

/** A message that holds them, as if the user had sent it; none if there are none. Throws `file_not_found`. */
export async function filesOfContainer(tools: readonly JsonObject[], reader: UploadReader): Promise<readonly Item[]> {
  const wanted = new Set<string>();
  for (const { tool: type, container } of CONTAINER_KINDS) {
    const tool = tools.find((each) => servedType(each) === type);
    const ids = tool && container?.fileIdsIn(tool);
    for (const id of Array.isArray(ids) ? ids : []) {
      if (typeof id !== 'string') {
        const message = `Invalid type for '${PARAM}': '${container?.fileIdsField}' holds ids of files.`;
        throw new ApiError('invalid_type', message, { param: PARAM });
      }
      wanted.add(id);
    }
  }
  if (wanted.size === 0) return [];
  const content: JsonObject[] = [];
  for (const id of wanted) content.push(filePart(await reader.get(id, PARAM)));
  return [{ type: 'message', role: 'user', content }];
}
