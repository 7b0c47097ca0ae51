/** `POST /v1/messages/count_tokens`: counts the tokens of a request before it is answered. */

import type { Activity } from '../../ports/endpoints/activity.ts';
import type { EndpointRequest } from '../../ports/endpoints/endpoint-request.ts';
import { type JsonReply, jsonReply } from '../../protocol/reply.ts';
import { beginTurn } from '../../turn/lifetime.ts';
import { inItems, withTools } from './prepare.ts';
import type { MessagesSettings } from './settings.ts';

/** Counts the model's input, including the server's tools. Throws `ApiError` as `POST /v1/messages` does. Counts as a turn. */
export async function countMessageTokens(
  given: EndpointRequest,
  settings: MessagesSettings,
  turns: Activity,
): Promise<JsonReply> {
  const { signal, place, leave } = beginTurn(given, settings.limits.durationMs, turns);
  try {
    if (place) await place;
    const prepared = await withTools({ ...given, signal }, settings, false);
    const request = await settings.pipeline.modelRequest(inItems(prepared, settings));
    return jsonReply({ input_tokens: await settings.countTokens(request, signal) });
  } finally {
    leave();
  }
}
