/** Adds the server-run tools to a Messages body, for another handler. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { isRecord } from '../../protocol/record.ts';
import type { Prepare, PrepareSettings } from '../endpoint/prepare.ts';
import { requestLimits } from '../endpoint/request-limits.ts';
import { withCallableTools } from './prepare.ts';
import { checkMessages } from './request/schema.ts';
import { requestedTools, withServerRun } from './tools.ts';

/** `inject` adds them to a body of the Responses API. Throws `ApiError` as it does, and for an invalid body. */
export function injectMessagesTools(inject: Prepare): Prepare {
  return async (request: EndpointRequest, settings: PrepareSettings) => {
    if (request.context?.tools || !isRecord(request.body)) return request;
    const body = checkMessages(request.body, requestLimits(request, settings.limits), false);
    const tools = requestedTools(body, settings.remoteMcp !== undefined);
    const offered = await inject({ ...request, body: { model: body.model, input: [], tools } }, settings);
    const { context } = withCallableTools(offered, tools, settings);
    const toolset = context?.tools?.toolset;
    if (!toolset?.size) return { ...request, context };
    return { ...request, context, body: { ...body, tools: withServerRun(body.tools ?? [], toolset) } };
  };
}
