/** Adds the server-run tools to a Chat Completions body. */
import type { EndpointRequest } from '../../ports/endpoints/endpoint-request.ts';
import { noteOf, type PrepareSettings } from '../../ports/endpoints/prepare.ts';
import type { Toolset } from '../../ports/toolset.ts';
import { isRecord } from '../../protocol/record.ts';
import { approvalRulesOf } from '../../tools/approval-rules.ts';
import { checkRequested } from '../../tools/check-requested.ts';
import { offerOf } from '../../tools/deferred-tools.ts';
import { buildToolset, toolList, typesOf } from '../../tools/toolset.ts';
import { chatToolNames, chosenTools, withTools } from './inject.ts';

/**
 * Adds the tools after the client's own; a client's tool of the same name wins. Those that need approval are left out,
 * since this API has no way to request it.
 */
export async function prepareChatTools(request: EndpointRequest, settings: PrepareSettings): Promise<EndpointRequest> {
  const { body, context = {}, signal } = request;
  if (context.tools || !isRecord(body)) return request;
  // Server-run tools cannot work with several choices in one answer.
  const providers = Number(body.n ?? 1) > 1 ? [] : settings.toolsOf(request.request);
  const client = toolList(body.tools);
  const requested = typesOf(client ?? []);
  const note = noteOf(request, settings);
  const whole = await buildToolset(providers, chatToolNames(body), signal, note, requested, request);
  await checkRequested(whole.values(), client ?? [], request);
  const { names, allows } = chosenTools(body);
  const runnable = withoutApprovalRequired(whole, request, settings);
  const { toolset, known } = offerOf(runnable, { allows, known: new Set(names) }, note);
  const tools = { toolset, client };
  return { ...request, body: withTools(body, toolset, known), context: Object.assign({}, context, { tools }) };
}

function withoutApprovalRequired(toolset: Toolset, request: EndpointRequest, settings: PrepareSettings): Toolset {
  const approvalRules = approvalRulesOf(toolset, request, settings.approval);
  const note = noteOf(request, settings);
  for (const name of approvalRules.keys()) note({ code: 'tool_dropped', message: needsApproval(name) });
  return new Map([...toolset].filter(([name]) => !approvalRules.has(name)));
}

function needsApproval(name: string): string {
  return `The tool '${name}' needs approval, which Chat Completions has no words for; the model is not offered it.`;
}
