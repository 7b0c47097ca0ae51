/** Adds stored turns to requests for another handler. */
import { prepareChatHistory } from '../../apis/chat-completions/prepare-history.ts';
import { loadRequestHistory } from '../../apis/responses/steps/load-history.ts';
import type { NodeRequest } from '../node/node-request.ts';
import { asMiddleware, type HostMiddleware } from './as-middleware.ts';
import { type MiddlewareOptions, middlewareSettings } from './options.ts';

/**
 * Replaces `previous_response_id`, in either API, by the conversation up to it, and references to stored items by
 * the items. Answers 400 `previous_response_not_found` if the response is missing or belongs to another scope.
 * `recordTurn` or one of our routers stores the turns. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import express, { type RequestHandler } from 'express';
 * import { loadHistory, memoryStore, recordTurn } from 'express-open-responses';
 *
 * declare const proxy: RequestHandler;
 * const store = memoryStore();
 * const app = express();
 * app.post('/v1/responses', express.json({ limit: '10mb' }), loadHistory({ store }), recordTurn({ store }), proxy);
 * ```
 */
export function loadHistory<Req extends NodeRequest = NodeRequest>(
  options: MiddlewareOptions<Req> = {},
): HostMiddleware<Req> {
  const settings = middlewareSettings('loadHistory', options);
  return asMiddleware({ responses: loadRequestHistory, 'chat-completions': prepareChatHistory }, settings);
}
