/** Adds the server-run tools to a Responses body. */

import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { checkRequested } from '../../../engine/tools/check-requested.ts';
import { modelToolset } from '../../../engine/tools/deferred-tools.ts';
import {
  clientToolsOnly,
  definitions,
  deniedNames,
  listTools,
  namedTools,
  toolList,
  typesOf,
} from '../../../engine/tools/toolset.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import type { ToolProvider } from '../../../ports/tool-provider.ts';
import { NO_TOOLS, type Toolset } from '../../../ports/toolset.ts';
import type { InjectedTools } from '../../../ports/turn-context.ts';
import type { ToolDefinition } from '../../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { additionalTools } from '../../../protocol/responses/input-items.ts';
import { TOOL_SEARCH } from '../../../protocol/tool-calls/tool-search-call.ts';
import { nativeTypesOf, noteOf, type PrepareSettings, type ServerOfModels } from '../../endpoint/prepare.ts';
import { type ClientTool, readClientTools } from './client-tools.ts';
import { withNamedServers } from './server-tools.ts';

/**
 * Adds the tools after the client's own, with those of the servers that the request names; a client's tool of the same
 * name wins. Throws `ApiError` for a server that is unavailable.
 */
export function injectServerTools(
  request: EndpointRequest,
  settings: PrepareSettings & ServerOfModels,
): MaybePromise<EndpointRequest> {
  const { body, context = {} } = request;
  if (context.tools || !isRecord(body)) return request;
  const client = toolList(body.tools);
  const brought = [...(client ?? []), ...additionalTools(Array.isArray(body.input) ? body.input : [])];
  const providers = settings.toolsOf(request.request);
  if (brought.length === 0 && providers.length === 0) return withToolsOf(request, body, { toolset: NO_TOOLS, client });
  return withServed(request, body, { client, brought, providers }, settings);
}

/** The tools of a request, of which something is to be listed. */
interface GivenTools {
  readonly client: readonly JsonObject[] | undefined;
  /** The client's tools, wherever the body has them. */
  readonly brought: readonly JsonObject[];
  readonly providers: readonly ToolProvider[];
}

async function withServed(
  request: EndpointRequest,
  body: JsonObject,
  { client, brought, providers }: GivenTools,
  settings: PrepareSettings & ServerOfModels,
): Promise<EndpointRequest> {
  const { signal } = request;
  const own = readClientTools(brought).known;
  const note = noteOf(request, settings);
  const listed = await listTools(providers, signal, note, typesOf(brought), request);
  const hosted = await checkRequested(listed, brought, request, note);
  const served = await withNamedServers(request, { named: client ?? [], own, hosted }, settings);
  const searchesElsewhere = nativeTypesOf(request, settings, body.model)?.(TOOL_SEARCH) ?? false;
  const searches = !searchesElsewhere && searchesClients(brought, own);
  const toolset = namedTools(served, new Set(own.keys()), note, searches);
  const types = new Set(listed.map(({ tool }): unknown => tool.requestedBy));
  return withToolsOf(request, body, { toolset, client, served: types, denied: deniedNames(listed, served, own) });
}

/** The request with its tools, which its context records. */
function withToolsOf(request: EndpointRequest, body: JsonObject, tools: InjectedTools): EndpointRequest {
  return { ...request, body: withTools(body, tools), context: Object.assign({}, request.context, { tools }) };
}

/** Whether the request asks this server to search among the client's tools. */
function searchesClients(brought: readonly JsonObject[], own: ReadonlyMap<string, ClientTool>): boolean {
  const asks = brought.some(({ type, execution }) => type === TOOL_SEARCH && execution !== 'client');
  return asks && [...own.values()].some(({ deferred }) => deferred !== undefined);
}

/** The body with the client's and the server-run tools, some replacing the client's; unchanged if there are none. */
export function withTools(
  body: JsonObject,
  { toolset, client = [] }: { readonly toolset: Toolset; readonly client: readonly JsonObject[] | undefined },
): JsonObject {
  if (toolset.size === 0) return body;
  // Whoever plans the turn notes what cannot be offered.
  const offer = modelToolset(toolset, { allows: () => true, known: new Set() }, () => {});
  const offered = definitions(offer.toolset, offer.known).map(functionTool);
  return { ...body, tools: [...clientToolsOnly(client, offer.toolset), ...offered] };
}

/** With `strict` null, every server accepts the schema as it is. */
function functionTool({ name, description, parameters = EMPTY }: ToolDefinition): JsonObject {
  return { type: 'function', name, description: description ?? null, parameters, strict: null };
}

const EMPTY = { type: 'object', properties: {} };
