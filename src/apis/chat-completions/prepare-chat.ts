/** Prepares a chat completion before the model is called: validates it, resolves tools, and restores stored results. */

import { withGuardedErrors } from '../../engine/guarding/answers/guarded-error.ts';
import { guardedMessages } from '../../engine/guarding/guarded-chat.ts';
import { collectGuards } from '../../engine/guarding/request/guards-of.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { canRefuse, OFFERS_ALLOWED_ONLY, toolsAfterRefusals } from '../../engine/turn/machine/call-permission.ts';
import { attemptReporter } from '../../ports/hooks.ts';
import { NO_TOOLS } from '../../ports/toolset.ts';
import { passedHeaders } from '../endpoint/endpoint.ts';
import { noteReporter } from '../endpoint/prepare.ts';
import { requestLimits } from '../endpoint/request-limits.ts';
import { newCompletion } from './answer/completion.ts';
import { bodyWithTools } from './answer/next-body.ts';
import type { ChatSettings, PreparedChat } from './chat-request.ts';
import { prepareChatHistory } from './prepare-history.ts';
import {
  chatCallRules,
  countingUsage,
  isLegacy,
  prepareChatTools,
  unknownNames,
  wantsUsage,
} from './request/prepare-tools.ts';
import { readUploads } from './request/read-uploads.ts';
import { type ChatBody, validateChat } from './request/schema.ts';
import { chatSender } from './send-chat.ts';
import { serverCalls } from './server-calls.ts';
import { completionRecord, withoutStoring } from './stored/completion-record.ts';

/** Throws `ApiError` for an invalid request; `signal` ends the turn. */
export async function prepareChat(
  sent: EndpointRequest,
  settings: ChatSettings,
  signal: AbortSignal,
): Promise<PreparedChat> {
  const { limits } = settings;
  const valid = validateChat(sent.body, requestLimits(sent, limits));
  const isStored = valid.store === true && settings.leavesStoring !== true;
  const forModel = isStored ? (withoutStoring(valid) as ChatBody) : valid;
  const checked = await readUploads(forModel, { scope: sent.scope, signal }, settings);

  const guards = collectGuards({ ...sent, signal }, settings);
  const allowed = guards
    ? await guardedMessages(checked, guards, { loaded: sent.context?.history?.loaded, sent: forModel.messages })
    : checked;
  // Files stay named by their ids, unless guards have changed what the client sent.
  const record = isStored
    ? completionRecord(sent, valid, guards ? allowed.messages : valid.messages, settings)
    : undefined;

  const withTools = await withGuardedErrors(
    () => prepareChatTools({ ...sent, body: allowed, signal }, settings),
    guards,
  );
  const { toolset = NO_TOOLS, denied: deniedTools } = withTools.context?.tools ?? {};
  // A router without tools of its own passes everything on and calls no provider.
  const needsHistory = toolset.size > 0 || typeof checked.previous_response_id === 'string';
  const request = needsHistory ? await prepareChatHistory(withTools, settings) : withTools;
  // The cast: the steps only added to the validated body.
  const whole = request.body as ChatBody;

  const callRules = { ...chatCallRules(checked, toolset), deniedTools, isUnknownName: unknownNames(whole, toolset) };
  const mayOffer = (name: string) => toolsAfterRefusals(OFFERS_ALLOWED_ONLY, [name], callRules, String).length > 0;
  const offered = settings.offeredTools === 'allowed' ? bodyWithTools(whole, mayOffer) : whole;
  const isCounted = toolset.size > 0 || settings.isMetered === true;
  const body = isCounted ? countingUsage(offered) : offered;
  const runsCalls = toolset.size > 0 || canRefuse(callRules);
  const onAttempt = attemptReporter(request.requestId, settings.hooks);
  return {
    request,
    body,
    completion: newCompletion({ wantsUsage: wantsUsage(checked) || !isCounted, isLegacy: isLegacy(checked) }),
    send: chatSender(settings, request.requestId, { guards, isStored: isStored || sent.context?.recorded === true }),
    call: { signal, headers: passedHeaders(request), limits, note: noteReporter(request, settings), onAttempt },
    limits,
    callRules,
    wantsWhole: checked.stream !== true,
    server: runsCalls ? await serverCalls(request, body, settings, signal, guards) : undefined,
    record,
  };
}
