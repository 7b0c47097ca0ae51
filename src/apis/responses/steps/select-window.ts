/** Settles what of the conversation the model is told: what stands behind the last compaction, and the summary in front of it. */
import type { Compacted } from '../../../compaction/seal.ts';
import type { CompactionSettings } from '../../../compaction/settings.ts';
import { contextWindow } from '../../../compaction/window.ts';
import type { EndpointRequest } from '../../../ports/endpoints/endpoint-request.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { CreateBody } from '../../../protocol/responses/schema.ts';
import type { CheckedRequest, RequestInWindow, RequestWithHistory } from './request.ts';

/** What opens compaction items. */
export interface WindowSettings {
  readonly compaction: CompactionSettings;
}

/** Throws `invalid_encrypted_content` for a compaction item of the conversation that is not ours. */
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

/** Every one that is sent, also where a newer one stands for it: the client is told what is wrong, and where. */
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
