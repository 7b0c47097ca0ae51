/** Has providers check the entries of a request that enable their tools, before the model is called. */
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import type { ToolProvider } from '../ports/tool-provider.ts';
import type { ToolsetEntry } from '../ports/toolset.ts';
import type { JsonObject } from '../protocol/record.ts';
import { requestedType } from '../protocol/tool-calls/kinds.ts';

/** Only the first entry of a type has an effect, and is checked. Throws what the provider throws. */
export async function checkRequested(
  entries: Iterable<ToolsetEntry>,
  tools: readonly JsonObject[],
  { scope, requestId, request }: EndpointRequest,
): Promise<void> {
  const checked = new Set<ToolProvider>();
  for (const { provider, tool } of entries) {
    if (!provider.check || tool.requestedBy === undefined || checked.has(provider)) continue;
    checked.add(provider);
    const at = tools.findIndex(({ type }) => requestedType(type) === tool.requestedBy);
    const settings = tools[at];
    if (settings) await provider.check(settings, { scope, requestId, request }, `tools[${at}]`);
  }
}
