/** Everything that happens to a chat completion before the model is asked: check, settle tools, bring back kept results. */
import type { Call } from '../call.ts';
import { passedHeaders } from '../endpoint.ts';
import { tell } from '../hooks.ts';
import { randomSeed } from '../ids.ts';
import type { Note } from '../note.ts';
import type { CoreSettings } from '../options.ts';
import { offerTools } from '../tools/offer.ts';
import { toolRunner } from '../tools/tool-runner.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { newCompletion } from './completion.ts';
import { chatToolNames, isLegacy, wantsUsage, withTools } from './inject.ts';
import { keepResults, restoreResults } from './kept-results.ts';
import type { ChatTurn } from './run-chat.ts';
import { validateChat } from './schema.ts';

/** The settings of a router whose upstream speaks Chat Completions itself. */
export type ChatSettings = CoreSettings & { readonly upstream: Upstream & Required<Pick<Upstream, 'chat'>> };

/** Throws `ApiError` for what is wrong with the request; `signal` ends the turn. */
export async function prepareChat(call: Call, settings: ChatSettings, signal: AbortSignal): Promise<ChatTurn> {
  const { upstream, store, limits, hooks, toolsOf } = settings;
  const { scope, requestId } = call;
  const note = (told: Note) => tell(hooks, 'onNote', told, { requestId });
  const body = validateChat(call.body);
  // Several answers at once cannot each call tools of ours.
  const providers = Number(body.n ?? 1) > 1 ? [] : toolsOf(call.request);
  const offer = await offerTools(providers, chatToolNames(body), signal, note);
  const messages = offer.size === 0 ? body.messages : await restoreResults(store, scope, body.messages);
  return {
    body: offer.size === 0 ? body : withTools({ ...body, messages } as typeof body, offer),
    completion: newCompletion({ wantsUsage: wantsUsage(body) || offer.size === 0, legacy: isLegacy(body) }),
    chat: (next, upstreamCall) => upstream.chat(next, upstreamCall),
    call: { signal, headers: passedHeaders(call), limits, note },
    limits,
    offersTools: offer.size > 0,
    isOwned: (name) => offer.has(name),
    newCallId: () => `call_${randomSeed()}`,
    runCall: toolRunner(offer, call, settings, signal),
    keepResults: (round) => keepResults(settings, call, round),
  };
}
