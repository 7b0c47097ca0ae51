/** Puts the server's own tools into a Chat Completions body. */
import type { Call } from '../../ports/api-request.ts';
import { noteOf, type PrepareSettings } from '../../ports/prepare.ts';
import type { Offer } from '../../ports/toolset.ts';
import { isRecord } from '../../protocol/record.ts';
import { gatesOf } from '../../tools/approval-rules.ts';
import { offerTools, toolList, typesOf } from '../../tools/toolset.ts';
import { chatToolNames, withTools } from './inject.ts';

/**
 * Adds the tools behind the client's own; a client's tool of the same name wins. Those that need approval are left out,
 * since this API has no words for it.
 */
export async function prepareChatTools(call: Call, settings: PrepareSettings): Promise<Call> {
  const { body, context = {}, signal } = call;
  if (context.tools || !isRecord(body)) return call;
  // Several answers at once cannot each call tools of ours.
  const providers = Number(body.n ?? 1) > 1 ? [] : settings.toolsOf(call.request);
  const client = toolList(body.tools);
  const requested = typesOf(client ?? []);
  const offered = await offerTools(providers, chatToolNames(body), signal, noteOf(call, settings), requested);
  const offer = withoutGated(offered, call, settings);
  const tools = { offer, client };
  return { ...call, body: withTools(body, offer), context: Object.assign({}, context, { tools }) };
}

function withoutGated(offer: Offer, call: Call, settings: PrepareSettings): Offer {
  const gates = gatesOf(offer, call, settings.approval);
  const note = noteOf(call, settings);
  for (const name of gates.keys()) note({ code: 'tool_dropped', message: needsApproval(name) });
  return new Map([...offer].filter(([name]) => !gates.has(name)));
}

function needsApproval(name: string): string {
  return `The tool '${name}' needs approval, which Chat Completions has no words for; the model is not offered it.`;
}
