/** Adds the server's own tools to requests for another handler. */
import { prepareChatTools } from '../../apis/chat-completions/request/prepare-tools.ts';
import { injectMessagesTools } from '../../apis/messages/inject.ts';
import { injectServerTools } from '../../apis/responses/steps/tools/inject-tools.ts';
import type { NodeRequest } from '../node/node-request.ts';
import { asMiddleware, type HostMiddleware } from './as-middleware.ts';
import { type MiddlewareOptions, middlewareSettings } from './options.ts';

/**
 * Adds the definitions of the `tools` after the client's own. `runTools` or one of our routers behind it runs the calls
 * in the answer. Servers that a request names by URL are left to the next handler:
 * `remoteMcp` is for routers only. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { injectTools, responsesRouter } from 'express-open-responses';
 * import { mcpTools } from 'express-open-responses/mcp';
 *
 * const tools = mcpTools({ configFile: './mcp.json' });
 * express().use('/v1', express.json(), injectTools({ tools }), responsesRouter({ tools })).listen(3000);
 * ```
 */
export function injectTools<Req extends NodeRequest = NodeRequest>(
  options: MiddlewareOptions<Req> = {},
): HostMiddleware<Req> {
  const settings = { ...middlewareSettings('injectTools', options), remoteMcp: undefined };
  const messages = injectMessagesTools(injectServerTools);
  return asMiddleware({ responses: injectServerTools, 'chat-completions': prepareChatTools, messages }, settings);
}
