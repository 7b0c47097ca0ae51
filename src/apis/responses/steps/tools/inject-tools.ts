/** Adds the server-run tools to a Responses body. */

import { collectGuards } from '../../../../engine/guarding/request/guards-of.ts';
import type { EndpointRequest } from '../../../../engine/request/endpoint-request.ts';
import { checkRequested } from '../../../../engine/tools/check-requested.ts';
import { modelToolset } from '../../../../engine/tools/deferred-tools.ts';
import {
  clientToolsOnly,
  deniedNames,
  listTools,
  namedTools,
  requestedTypes,
  toolDefinitions,
  toolList,
} from '../../../../engine/tools/toolset.ts';
import type { MaybePromise } from '../../../../ports/store.ts';
import type { ToolProvider } from '../../../../ports/tool-provider.ts';
import { NO_TOOLS, type Toolset, type ToolsetEntry } from '../../../../ports/toolset.ts';
import type { InjectedTools } from '../../../../ports/turn-context.ts';
import type { Note } from '../../../../protocol/note.ts';
import { isRecord, type JsonObject } from '../../../../protocol/record.ts';
import { additionalTools } from '../../../../protocol/responses/input-items.ts';
import { TOOL_SEARCH } from '../../../../protocol/tool-calls/tool-search-call.ts';
import { nativeTypeTest, noteReporter, type PrepareSettings, type ServerOfModels } from '../../../endpoint/prepare.ts';
import { readClientTools } from './client-tools.ts';
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
  if (!isRecord(body)) return request;
  if (context.tools) return withLeftServers(request, body, context.tools, settings);
  const client = toolList(body.tools);
  const brought = toolsBrought(client, body);
  const providers = settings.toolsOf(request.request);
  if (brought.length > 0 || providers.length > 0)
    return withListedTools(request, body, { client, brought, providers }, settings);
  const none = { toolset: NO_TOOLS, client, leavesServers: settings.remoteMcp === undefined };
  return { ...request, body, context: Object.assign({}, context, { tools: none }) };
}

/** The client's tools, wherever the body has them. */
function toolsBrought(client: readonly JsonObject[] = [], { input }: JsonObject): readonly JsonObject[] {
  return [...client, ...additionalTools(Array.isArray(input) ? input : [])];
}

/** The request with the tools of servers that it names and that a middleware in front could not open. */
function withLeftServers(
  request: EndpointRequest,
  body: JsonObject,
  injected: InjectedTools,
  settings: PrepareSettings & ServerOfModels,
): MaybePromise<EndpointRequest> {
  const { toolset, client = [], leavesServers } = injected;
  const isLeft = ({ type, server_url: url }: JsonObject) => type === 'mcp' && Boolean(url);
  if (leavesServers !== true || !settings.remoteMcp || !client.some(isLeft)) return request;
  const brought = toolsBrought(client, body);
  const hosted = [...toolset.values()].filter(({ search }) => search === undefined);
  const note = noteReporter(request, settings);
  return namedServerTools(request, { client, brought, hosted, model: body.model }, settings, note).then((named) => {
    const tools = { ...injected, toolset: named.toolset, leavesServers: false };
    return { ...request, body: withTools(body, tools), context: Object.assign({}, request.context, { tools }) };
  });
}

/** The tools that a request may use. */
interface ToolSources {
  /** Those of its field `tools`; undefined if it has none. */
  readonly client: readonly JsonObject[] | undefined;
  /** All of the client's. */
  readonly brought: readonly JsonObject[];
  /** Of the host's tools. */
  readonly providers: readonly ToolProvider[];
}

async function withListedTools(
  request: EndpointRequest,
  body: JsonObject,
  { client, brought, providers }: ToolSources,
  settings: PrepareSettings & ServerOfModels,
): Promise<EndpointRequest> {
  const { context = {}, signal } = request;
  const note = noteReporter(request, settings);
  const listed = await listTools(providers, signal, note, requestedTypes(brought), request);
  const hosted = await checkRequested(listed, brought, request, note, () => collectGuards(request, settings));
  const { toolset, served, own } = await namedServerTools(
    request,
    { client, brought, hosted, model: body.model },
    settings,
    note,
  );
  const tools: InjectedTools = {
    toolset,
    client,
    served: new Set(listed.map(({ tool }): unknown => tool.requestedBy)),
    denied: deniedNames(listed, served, own),
    leavesServers: settings.remoteMcp === undefined,
  };
  return { ...request, body: withTools(body, tools), context: Object.assign({}, context, { tools }) };
}

/** The tools of a request, of which the host's have been listed. */
interface NamedTools extends Omit<ToolSources, 'providers'> {
  readonly hosted: readonly ToolsetEntry[];
  readonly model: unknown;
}

/** The host's tools and those of the servers that the request names, by the model's names for them. */
async function namedServerTools(
  request: EndpointRequest,
  { client, brought, hosted, model }: NamedTools,
  settings: PrepareSettings & ServerOfModels,
  note: (note: Note) => void,
) {
  const own = readClientTools(brought).known;
  const served = await withNamedServers(request, { named: client ?? [], own, hosted }, settings);
  // Whether this server is to search among the client's tools.
  const searches =
    brought.some(({ type, execution }) => type === TOOL_SEARCH && execution !== 'client') &&
    [...own.values()].some(({ deferred }) => deferred !== undefined) &&
    !nativeTypeTest(request, settings, model)?.(TOOL_SEARCH);
  const toolset = namedTools(served, new Set(own.keys()), note, searches);
  return { toolset, served, own };
}

/** The body with the client's and the server-run tools, some replacing the client's; unchanged if there are none. */
export function withTools(
  body: JsonObject,
  { toolset, client = [] }: { readonly toolset: Toolset; readonly client: readonly JsonObject[] | undefined },
): JsonObject {
  if (toolset.size === 0) return body;
  // Whoever plans the turn notes what cannot be offered.
  const offer = modelToolset(toolset, { allows: () => true, known: new Set() }, () => {});
  const offered = toolDefinitions(offer.toolset, offer.known).map(
    ({ name, description = null, parameters = EMPTY }): JsonObject => {
      // With `strict` null, every server accepts the schema as it is.
      return { type: 'function', name, description, parameters, strict: null };
    },
  );
  return { ...body, tools: [...clientToolsOnly(client, offer.toolset), ...offered] };
}

const EMPTY = { type: 'object', properties: {} };
