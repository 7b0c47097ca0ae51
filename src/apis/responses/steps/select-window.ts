/** Selects the part of the conversation that the model receives: the items after the last compaction, preceded by its summary. */
import type { Compacted } from '../../../compaction/seal.ts';
import type { CompactionSettings } from '../../../compaction/settings.ts';
import { contextWindow } from '../../../compaction/window.ts';
import type { EndpointRequest } from '../../../ports/endpoints/endpoint-request.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { CreateBody } from '../../../protocol/responses/schema.ts';
import type { CheckedRequest, RequestInWindow, RequestWithHistory } from './request.ts';

/** The sealer of compaction items. */
export interface WindowSettings {
  readonly compaction: CompactionSettings;
}

/** Throws `invalid_encrypted_content` for a compaction item of the conversation that was not sealed here. */
export function selectWindow(request: RequestWithHistory, settings: WindowSettings): RequestInWindow {
  const { body, apiRequest, conversation } = request;
  const open = opener(apiRequest, settings);
  return Object.assign({}, request, {
    window: contextWindow(conversation, (item) => opened(open(item.encrypted_content), pastIn(body))),
  });
}

function opener(
  { scope }: EndpointRequest,
  { compaction }: WindowSettings,
): (sealed: unknown) => Compacted | undefined {
  return (sealed) => compaction.seal.open(sealed, scope);
}

/** Checks every one that is sent, even if a newer one replaces it: the client receives the fault and its position. */
export function refuseUnreadable({ apiRequest }: CheckedRequest, settings: WindowSettings): void {
  const { body } = apiRequest;
  const open = opener(apiRequest, settings);
  const input = isRecord(body) && Array.isArray(body.input) ? body.input : [];
  for (const [index, item] of input.entries()) {
    if (isRecord(item) && item.type === 'compaction')
      opened(open(item.encrypted_content), `input[${index}].encrypted_content`);
  }
}

function pastIn({ previous_response_id: id, conversation }: CreateBody): string {
  if (id) return 'previous_response_id';
  return conversation ? 'conversation' : 'input';
}

function opened(compacted: Compacted | undefined, param: string): Compacted {
  if (compacted) return compacted;
  const why = 'it was changed, made for someone else, or made with a key that this server does not have';
  throw new ApiError('invalid_encrypted_content', `The compaction item in '${param}' cannot be read: ${why}.`, {
    param,
  });
}
