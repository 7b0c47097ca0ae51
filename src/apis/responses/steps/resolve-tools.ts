/** Resolves the tools of a request: the client's, the server-run ones, and how the model may use them. */
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { mapMaybePromise } from '../../../protocol/record.ts';
import { additionalTools } from '../../../protocol/responses/input-items.ts';
import { nativeTypeTest, noteReporter, type PrepareSettings, type ServerOfModels } from '../../endpoint/prepare.ts';
import type { RequestInWindow, RequestWithTools } from './request.ts';
import { injectServerTools } from './tools/inject-tools.ts';
import { planTools } from './tools/plan-tools.ts';

const NO_TYPES: ReadonlySet<unknown> = new Set();

/** Throws `ApiError` as `injectServerTools` does, and for a choice of tools that cannot be satisfied. */
export function resolveTools(
  request: RequestInWindow,
  settings: PrepareSettings & ServerOfModels,
): MaybePromise<RequestWithTools> {
  return mapMaybePromise(injectServerTools(request.apiRequest, settings), (apiRequest) =>
    withToolPlan(apiRequest, request, settings),
  );
}

function withToolPlan(
  apiRequest: EndpointRequest,
  request: RequestInWindow,
  settings: PrepareSettings & ServerOfModels,
): RequestWithTools {
  const { conversation } = request;
  // The casts: the step has recorded its part in the context, and the body is the validated one.
  const {
    toolset,
    client = [],
    denied,
    served = NO_TYPES,
  } = (apiRequest.context as Required<NonNullable<typeof apiRequest.context>>).tools;
  const { tool_choice: choice } = apiRequest.body as Readonly<Record<string, unknown>>;
  const additional = additionalTools(request.conversation);
  const takes = nativeTypeTest(apiRequest, settings, request.body.model);
  const native = takes && { takes, served };
  const tools = planTools(
    { tools: client, additional, choice, conversation, denied, native },
    toolset,
    noteReporter(apiRequest, settings),
  );
  return Object.assign({}, request, { apiRequest, toolset: tools.toolset, tools, brought: [...client, ...additional] });
}
