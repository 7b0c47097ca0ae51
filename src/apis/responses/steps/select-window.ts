/** Selects the part of the conversation that the model receives: the items after the last compaction, preceded by its summary. */
import { type Compacted, SEALED_COMPACTION } from '../../../engine/compaction/seal.ts';
import type { CompactionSettings } from '../../../engine/compaction/settings.ts';
import { contextWindow } from '../../../engine/compaction/window.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { originOfItem } from '../../../protocol/ids.ts';
import type { Item } from '../../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { nativeTypeTest, type ServerOfModels } from '../../endpoint/prepare.ts';
import type { CheckedRequest, RequestInWindow, RequestWithHistory } from './request.ts';

/** The sealer of compaction items. */
export interface WindowSettings {
  readonly compaction: CompactionSettings;
}

/** Throws `invalid_encrypted_content` for a compaction item of the conversation that was not sealed here. */
export function selectWindow(request: RequestWithHistory, settings: WindowSettings & ServerOfModels): RequestInWindow {
  const { body, apiRequest, conversation } = request;
  const { previous_response_id: previousId, conversation: conversationId } = body;
  const past = previousId ? 'previous_response_id' : conversationId ? 'conversation' : 'input';
  const read = (item: Item) => openCompaction(item, apiRequest, settings, past);
  return Object.assign({}, request, {
    window: contextWindow(conversation, read, nativeCompactions(apiRequest, settings, body.model)),
  });
}

/** Checks every one that is sent, even if a newer one replaces it: the client receives the fault and its position. */
export function refuseUnreadable(
  { apiRequest, body: { model } }: CheckedRequest,
  settings: WindowSettings & ServerOfModels,
): void {
  const { body } = apiRequest;
  const isNative = nativeCompactions(apiRequest, settings, model);
  const input = isRecord(body) && Array.isArray(body.input) ? body.input : [];
  for (const [index, item] of input.entries()) {
    if (isRecord(item) && item.type === 'compaction' && !isNative(item))
      openCompaction(item, apiRequest, settings, `input[${index}].encrypted_content`);
  }
}

/** Whether the model's own server made a compaction, and reads it itself. */
function nativeCompactions(request: EndpointRequest, settings: WindowSettings & ServerOfModels, model: unknown) {
  // Looked up where there is such an item: most conversations have none.
  return ({ id, encrypted_content: sealed }: JsonObject) => {
    if (typeof sealed !== 'string' || nativeTypeTest(request, settings, model) === undefined) return false;
    return originOfItem(id) !== undefined || !sealed.startsWith(SEALED_COMPACTION);
  };
}

function openCompaction(
  item: JsonObject,
  { scope }: EndpointRequest,
  { compaction }: WindowSettings,
  param: string,
): Compacted {
  const compacted = compaction.seal.open(item.encrypted_content, scope);
  if (compacted) return compacted;
  const why = 'it was changed, made for someone else, or made with a key that this server does not have';
  throw new ApiError('invalid_encrypted_content', `The compaction item in '${param}' cannot be read: ${why}.`, {
    param,
  });
}
