/** Puts stored turns into requests for somebody else's handler. */
import { prepareChatHistory } from '../apis/chat-completions/prepare-history.ts';
import { loadRequestHistory } from '../apis/responses/steps/load-history.ts';
import type { NodeRequest } from '../node/node-request.ts';
import { asMiddleware, type NodeMiddleware } from './as-middleware.ts';
import { type MiddlewareOptions, middlewareSettings } from './options.ts';

/**
 * Replaces `previous_response_id`, in either dialect, by what was said until then, and references to stored items by
 * the items. Clients are answered 400 `previous_response_not_found` where the response is missing or another scope's.
 * `recordTurn` or one of our routers keeps turns to load. Throws a `TypeError` for a bad option.
 */
export function loadHistory<Req extends NodeRequest = NodeRequest>(
  options: MiddlewareOptions<Req> = {},
): NodeMiddleware<Req> {
  const settings = middlewareSettings('loadHistory', options);
  return asMiddleware({ responses: loadRequestHistory, 'chat-completions': prepareChatHistory }, settings);
}
