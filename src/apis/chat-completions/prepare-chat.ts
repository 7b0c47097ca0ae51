/** Prepares a chat completion before the model is called: validates it, resolves tools, and restores stored results. */

import { withGuardedErrors } from '../../engine/guarding/answers/guarded-error.ts';
import { guardedCalls } from '../../engine/guarding/guarded-calls.ts';
import { guardedChat, guardedMessages } from '../../engine/guarding/guarded-chat.ts';
import { type GuardingSettings, guardsOf } from '../../engine/guarding/request/guards-of.ts';
import type { BudgetSettings } from '../../engine/metering/budgeted.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { KeepSettings } from '../../engine/request/keep.ts';
import { conversationImages } from '../../engine/tools/conversation-images.ts';
import { toolRunner } from '../../engine/tools/tool-runner.ts';
import { hiddenTools } from '../../engine/tools/toolset.ts';
import { workspaceOf } from '../../engine/tools/workspace.ts';
import { canRefuse, OFFERS_ALLOWED_ONLY } from '../../engine/turn/call-permission.ts';
import { withFirstOutput } from '../../engine/turn/first-output.ts';
import { attemptsOf, type Reports } from '../../ports/hooks.ts';
import type { OnStep } from '../../ports/step.ts';
import type { Toolset } from '../../ports/toolset.ts';
import type { WantedHeartbeat } from '../../ports/turn-context.ts';
import type { ChatBatch, Upstream } from '../../ports/upstream.ts';
import { randomSeed } from '../../protocol/ids.ts';
import { type EndpointSettings, passedHeaders } from '../endpoint/endpoint.ts';
import { noteOf, type PrepareSettings } from '../endpoint/prepare.ts';
import { bringLimits } from '../endpoint/request-limits.ts';
import { newCompletion } from './completion/completion.ts';
import { completionRecord, wantsStored, withoutStoring } from './completion-record.ts';
import { itemsOf } from './items.ts';
import { keepResults } from './kept-results.ts';
import { offeredOnly } from './next-body.ts';
import { prepareChatHistory } from './prepare-history.ts';
import {
  chatCallRules,
  chatToolNames,
  countingUsage,
  isLegacy,
  prepareChatTools,
  wantsUsage,
  withFound,
} from './prepare-tools.ts';
import { readUploads, uploadsForCode } from './read-uploads.ts';
import type { ChatTurn } from './run-chat.ts';
import { type ChatBody, validateChat } from './schema.ts';

/** The settings of a router whose upstream itself implements Chat Completions. */
export interface ChatSettings
  extends PrepareSettings,
    KeepSettings,
    EndpointSettings,
    BudgetSettings,
    GuardingSettings {
  readonly hooks: Reports;
  readonly upstream: Upstream & Required<Pick<Upstream, 'chat'>>;
  readonly heartbeat: WantedHeartbeat;
}

/** Throws `ApiError` for an invalid request; `signal` ends the turn. */
export async function prepareChat(
  given: EndpointRequest,
  settings: ChatSettings,
  signal: AbortSignal,
): Promise<ChatTurn> {
  const { upstream, limits } = settings;
  const whose = { scope: given.scope, signal };
  const valid = validateChat(given.body, bringLimits(given, limits));
  const isStored = wantsStored(valid);
  // The cast: both are optional.
  const sent = isStored ? (withoutStoring(valid) as ChatBody) : valid;
  const checked = await readUploads(sent, whose, settings);
  const guards = guardsOf({ ...given, signal }, settings);
  const allowed = guards ? await guardedMessages(checked, guards, given.context?.history?.loaded) : checked;
  // Files stay named by their ids, unless guards have changed what the client sent.
  const stored = guards ? allowed.messages : valid.messages;
  const record = isStored ? completionRecord(given, valid, stored, settings) : undefined;
  const withTools = await withGuardedErrors(prepareChatTools({ ...given, body: allowed, signal }, settings), guards);
  const toolset = withTools.context?.tools?.toolset ?? new Map();
  const request = needsStore(checked, toolset) ? await prepareChatHistory(withTools, settings) : withTools;
  // The cast: the steps only added to the validated body.
  const body = request.body as ChatBody;
  const tools = request.context?.tools?.client ?? [];
  // Messages have no containers: the code of each request runs in a new one, unless the request names one.
  const conversation = await uploadsForCode(tools, toolset, whose, settings);
  const seed = randomSeed();
  const workspaceCase = {
    toolset,
    tools,
    conversation,
    seed,
    scope: request.scope,
    hasUploads: settings.files !== undefined,
  };
  const workspace = await workspaceOf(workspaceCase, settings.store);
  const images = conversationImages(toolset, body.messages, itemsOf);
  const hidden = hiddenTools(toolset, chatToolNames(body));
  const callRules = { ...chatCallRules(checked, toolset), deniedTools: withTools.context?.tools?.denied };
  const offered = settings.offeredTools === 'allowed' ? offeredOnly(body, callRules, OFFERS_ALLOWED_ONLY) : body;
  const hidesCalls = toolset.size > 0 || canRefuse(callRules);
  const isCounted = toolset.size > 0 || settings.isMetered === true;
  const { onStep } = settings.hooks.recorder ?? NO_STEPS;
  const onAttempt = attemptsOf(request.requestId, settings.hooks);
  const run = toolRunner({ toolset, workspace, images, tools }, request, settings, signal);
  return {
    body: isCounted ? countingUsage(offered) : offered,
    completion: newCompletion({ wantsUsage: wantsUsage(checked) || !isCounted, legacy: isLegacy(checked) }),
    chat: guards ? guardedChat(chatOf(upstream, request, onStep), guards) : chatOf(upstream, request, onStep),
    call: { signal, headers: passedHeaders(request), limits, note: noteOf(request, settings), onAttempt },
    limits,
    hidesCalls,
    callRules,
    wantsWhole: checked.stream !== true,
    isOwned: (name) => toolset.has(name),
    newCallId: () => `call_${randomSeed()}`,
    runCall: guards ? guardedCalls(run, guards, signal) : run,
    withFound: (body, names) =>
      withFound(
        body,
        names.flatMap((name) => hidden(name)?.definition ?? []),
      ),
    record,
    keepResults: (round) => keepResults(settings, request, round),
  };
}

const NO_STEPS = { onStep: undefined };

function chatOf(
  upstream: ChatSettings['upstream'],
  { requestId }: EndpointRequest,
  onStep: OnStep | undefined,
): ChatTurn['chat'] {
  if (!onStep) return (body, call) => upstream.chat(body, call);
  const hasData = ({ data }: ChatBatch) => data.length > 0;
  return (body, call) => withFirstOutput(upstream.chat(body, call), hasData, requestId, onStep);
}

/** A router without tools of its own passes everything on and calls no provider. */
function needsStore({ previous_response_id: id }: ChatBody, toolset: Toolset): boolean {
  return toolset.size > 0 || typeof id === 'string';
}
