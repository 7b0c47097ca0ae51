/** Puts the server's own tools into a Chat Completions body. */
import type { Call } from '../call.ts';
import { noteOf, type PrepareSettings } from '../prepare/prepare.ts';
import { isRecord } from '../record.ts';
import { toolList } from '../responses/prepare-tools.ts';
import { offerTools, typesOf } from '../tools/offer.ts';
import { chatToolNames, withTools } from './inject.ts';

/** Adds the tools behind the client's own; a client's tool of the same name wins. */
export async function prepareChatTools(call: Call, settings: PrepareSettings): Promise<Call> {
  const { body, context = {}, signal } = call;
  if (context.tools || !isRecord(body)) return call;
  // Several answers at once cannot each call tools of ours.
  const providers = Number(body.n ?? 1) > 1 ? [] : settings.toolsOf(call.request);
  const client = toolList(body.tools);
  const requested = typesOf(client ?? []);
  const offer = await offerTools(providers, chatToolNames(body), signal, noteOf(call, settings), requested);
  const tools = { offer, client };
  return { ...call, body: withTools(body, offer), context: { ...context, tools } };
}
