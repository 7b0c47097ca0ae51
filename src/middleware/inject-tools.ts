/** Puts the server's own tools into requests for somebody else's handler. */
import { prepareChatTools } from '../apis/chat-completions/prepare-tools.ts';
import { injectServerTools } from '../apis/responses/steps/inject-tools.ts';
import type { NodeRequest } from '../node/node-request.ts';
import { asMiddleware, type NodeMiddleware } from './as-middleware.ts';
import { type MiddlewareOptions, middlewareSettings } from './options.ts';

/**
 * Adds the definitions of the `tools` behind those that the client brings. Calls of them come back in the answer:
 * `runTools` or one of our routers behind it runs them. Servers that a request names by URL are left to whoever stands
 * behind it: `remoteMcp` is for routers alone. Throws a `TypeError` for a bad option.
 */
export function injectTools<Req extends NodeRequest = NodeRequest>(
  options: MiddlewareOptions<Req> = {},
): NodeMiddleware<Req> {
  const settings = { ...middlewareSettings('injectTools', options), remoteMcp: undefined };
  return asMiddleware({ responses: injectServerTools, 'chat-completions': prepareChatTools }, settings);
}
