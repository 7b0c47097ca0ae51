/** Prepares a request before the model is called: validates it, runs the steps, and sets up the turn. */

import { dropPending, keepPending } from '../../engine/approvals/pending-call.ts';
import { reportApproval } from '../../engine/approvals/report-approval.ts';
import { useAnswers } from '../../engine/approvals/use-answers.ts';
import { weightOf } from '../../engine/compaction/truncate.ts';
import { truncatingUpstream, weightThatFits } from '../../engine/compaction/truncating-upstream.ts';
import { type CompactionWish, turnCompaction } from '../../engine/compaction/turn-compaction.ts';
import { guardedCalls } from '../../engine/guarding/guarded-calls.ts';
import { guardedUpstream } from '../../engine/guarding/guarded-upstream.ts';
import type { RequestGuards } from '../../engine/guarding/request/request-guards.ts';
import { withdrawTurn } from '../../engine/history/conversation.ts';
import { type Extension, extend, keepEnd, keepTurn, TurnOverruled } from '../../engine/history/keep-turn.ts';
import type { ClientRequest, EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { reportedTokens } from '../../engine/tokens/reported-tokens.ts';
import { conversationImages } from '../../engine/tools/conversation-images.ts';
import { withoutRepeats } from '../../engine/tools/interrupted-calls.ts';
import { type RunCall, toolRounds } from '../../engine/tools/rounds.ts';
import { toolRunner } from '../../engine/tools/tool-runner.ts';
import { forModel, hiddenTools, newLists, ownersOf, serversNamed } from '../../engine/tools/toolset.ts';
import { workspaceOf } from '../../engine/tools/workspace.ts';
import { ranHere } from '../../engine/turn/call-items.ts';
import { refusalOf } from '../../engine/turn/call-permission.ts';
import { type ResumedResponse, restoredState } from '../../engine/turn/checkpoint.ts';
import { filesShown } from '../../engine/turn/cited-files.ts';
import { holdsOutput, withFirstOutput } from '../../engine/turn/first-output.ts';
import type { Lifetime } from '../../engine/turn/lifetime.ts';
import { observer } from '../../engine/turn/observe.ts';
import type { Turn } from '../../engine/turn/run-turn.ts';
import type { PendingToolCall, TurnPlan, TurnState } from '../../engine/turn/state.ts';
import type { ResumedTurn } from '../../engine/turn/tool-loop.ts';
import type { RoundCall } from '../../engine/turn/tool-rounds.ts';
import { attemptsOf, observed, type RequestInfo } from '../../ports/hooks.ts';
import type { Limits } from '../../ports/limits.ts';
import { isUntracked, needTenant } from '../../ports/scope.ts';
import type { OnStep } from '../../ports/step.ts';
import { type ResponseKey, type StoredResponse, type TurnFence, versionOf } from '../../ports/store.ts';
import { findTool, type Toolset } from '../../ports/toolset.ts';
import type { LoadedHistory } from '../../ports/turn-context.ts';
import type { ApprovedCall } from '../../protocol/events.ts';
import { responseId } from '../../protocol/ids.ts';
import type { Item, OutputItem } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isPromise, isRecord, type JsonObject } from '../../protocol/record.ts';
import { keptFields, startedFields, startedResource } from '../../protocol/responses/resource.ts';
import type { CreateBody } from '../../protocol/responses/schema.ts';
import { itemPresenter, type PresentItem } from '../../protocol/tool-calls/kinds.ts';
import { UNFILLED } from '../../streams/heartbeats.ts';
import { passedHeaders } from '../endpoint/endpoint.ts';
import { heartbeatOf, noteOf, silenceOf } from '../endpoint/prepare.ts';
import type { ProviderStates } from '../endpoint/provider-state.ts';
import { prepareRequest } from './pipeline.ts';
import type { ResponsesApiSettings } from './settings.ts';
import type { PreparedRequest } from './steps/request.ts';
import { refuseEmpty } from './steps/to-model-request.ts';
import { noteUnknownFields } from './unknown-fields.ts';

/** A request that is ready to run. */
export interface PreparedTurn {
  readonly info: RequestInfo;
  /** The resource as in `response.created`. */
  readonly started: JsonObject;
  /** The same as it is stored, without its `output`. */
  readonly keptStart: JsonObject;
  /** Which fields of an item the client is shown. */
  readonly presentItem: PresentItem;
  readonly turn: Turn;
  /** The turn as it is stored, except for its end. */
  readonly stored: Omit<StoredResponse, 'output' | 'resource'>;
}

/** How a turn outlives its request, if it does. */
export interface TurnWay {
  /** Whether its events are kept in the store's log. */
  readonly isLogged?: boolean;
  /** Set if another process began it. */
  readonly resumed?: ResumedResponse | undefined;
}

const NO_STEPS = { onStep: undefined };
const NO_LISTS: Turn['lists'] = new Map();
const now = () => Math.floor(Date.now() / 1000);

/** Throws `ApiError` for an invalid request; `life` ends the turn. */
export async function prepareTurn(
  given: EndpointRequest,
  settings: ResponsesApiSettings,
  { signal, place, leave }: Lifetime,
  way: TurnWay = {},
): Promise<PreparedTurn> {
  const { limits } = settings;
  const heartbeat = heartbeatOf(given, settings);
  const { scope, requestId } = given;
  const note = noteOf(given, settings);
  // The cast: the first step validates it.
  if (isRecord(given.body)) noteUnknownFields(given.body, note);
  const preparing = prepareRequest({ ...given, signal }, settings);
  const whole = isPromise(preparing) ? await preparing : preparing;
  refuseEmpty(whole);
  const prepared = isUntracked(scope) ? Object.assign({}, whole, { body: untrackedBody(whole.body, given) }) : whole;
  const { apiRequest, body, seed, conversation, toolset, brought, request, answers, states, guards } = prepared;
  const { resumed } = way;
  const { known, findable } = prepared.tools;
  const { info, started, keptStart, stored } = describe(prepared, way);
  const silence = body.stream ? silenceOf(given, settings) : UNFILLED;
  const isBegun = info.background || resumed !== undefined;
  const hasUploads = settings.files !== undefined;
  const code = { toolset, tools: brought, conversation, seed, scope, hasUploads };
  const looking = workspaceOf(code, settings.store);
  const workspace = isPromise(looking) ? await looking : looking;
  const images = conversationImages(toolset, conversation, (items) => items);
  const { onStep } = settings.hooks.recorder ?? NO_STEPS;
  const onAttempt = attemptsOf(requestId, settings.hooks);
  const modelCall = { signal, headers: passedHeaders(apiRequest), limits, note, onAttempt };

  const plan = planOf(prepared, workspace?.container, settings);
  const state = resumed && restoredState(plan, resumed);
  const output = state?.output.from(0) ?? [];
  const roundLimits = limitsLeft(limits, body.max_tool_calls, state);
  // Created here: a function that creates it would retain the request, and with it the whole history.
  const run = toolRunner({ toolset, workspace, images, tools: brought }, apiRequest, settings, signal);
  const runCall = onlyOnce(guards ? guardedCalls(run, guards, signal) : run, toolset, state);
  const watched = reportedTokens(settings.upstream, settings.tokenCounting);
  const guarded = guards?.guardsOutput ? behindGuards(watched.upstream, guards, plan) : watched.upstream;
  const contextLength = contextOf(prepared, modelCall, settings);
  const mayShorten = body.truncation === 'auto';
  const isMeasured = mayShorten && contextLength !== undefined;
  // The estimate: a limit that is too low would leave out what the model could have read.
  const { count } = settings.tokenCounting;
  const weight = isMeasured ? await weightThatFits(request, contextLength, count, signal) : undefined;
  const upstream = mayShorten ? shortening(guarded, prepared, weight) : guarded;
  const turn: Turn = {
    plan,
    resumed: state && resumedTurn(state, states, toolset),
    lists: listsShown(settings) ? newLists(toolset, { conversation, output, known }) : NO_LISTS,
    deferred: hiddenTools(findable, known),
    named: serversNamed(toolset),
    approved: notBegun(answers.approved, output),
    takeRequest: handedOver(request),
    upstream: onStep ? reportingModel(upstream, requestId, onStep) : upstream,
    opened: states.opened,
    call: modelCall,
    compaction: compactionOf(prepared, contextLength, modelCall, {
      ...settings,
      upstream,
      reportedInput: watched.mostInput,
    }),
    beginRounds: () => toolRounds<PendingToolCall>(roundLimits, runCall, given.isSteered),
    silence: isBegun ? { ...silence, openAfterMs: undefined } : silence,
    heartbeatComments: heartbeat.style === 'comment',
    now,
    onEvents: observerOf(info, clientRequest(given), signal, settings.hooks),
    leave,
    keep: keeper(stored, prepared, keptStart, settings),
    startsAtOnce: info.background,
    place: info.background ? place : undefined,
  };
  // The last step that may be refused: an answer counts once.
  const using = resumed ? undefined : useAnswers(answers, prepared, settings);
  if (isPromise(using)) await using;
  return { info, started, keptStart, presentItem: itemPresenter(body.include), turn, stored };
}

/** Summarises the conversation within the turn, where its window asks for it. */
function compactionOf(
  prepared: PreparedRequest,
  contextLength: number | undefined,
  call: Turn['call'],
  settings: Parameters<typeof turnCompaction>[2],
): Turn['compaction'] {
  const { request, window, apiRequest } = prepared;
  return turnCompaction(
    wishOf(prepared, contextLength),
    { request, items: window.items, scope: apiRequest.scope, call, note: call.note },
    settings,
  );
}

/** Reports the turn's events to the hooks. */
function observerOf(info: RequestInfo, sent: ClientRequest, signal: AbortSignal, hooks: ResponsesApiSettings['hooks']) {
  return observer(
    info,
    hooks,
    observed(() => ({ ...info, ...sent, signal }), hooks),
  );
}

function clientRequest({ asSent, body }: EndpointRequest): ClientRequest {
  return asSent ?? { api: 'responses', body };
}

/** Strict Open Responses has no item type for them. */
function listsShown({ mcpItems, listsTools }: ResponsesApiSettings): boolean {
  return mcpItems === 'mcp_call' && listsTools;
}

/** What identifies the response, and how it begins. */
function describe(prepared: PreparedRequest, { resumed, isLogged = false }: TurnWay) {
  const { apiRequest, body, history, seed, input, tools } = prepared;
  const { scope, requestId } = apiRequest;
  const id = responseId(seed);
  const { createdAt, version } = resumed?.stored ?? { createdAt: Date.now(), version: isLogged ? 1 : undefined };
  const started = startedResource({ id, createdAt: Math.floor(createdAt / 1000), body, tools });
  const fields = startedFields(started);
  const keptStart = isLogged ? { ...fields, logged: { include: body.include ?? null } } : fields;
  const continued = history.previous ? { previousId: history.previous.id } : {};
  const stored = { scope, id, ...continued, createdAt, input, ...(version === undefined ? {} : { version }) };
  const background = body.background === true;
  const info = { requestId, responseId: id, scope, model: body.model, stream: body.stream === true, background };
  return { info, started, keptStart, stored };
}

function resumedTurn(state: TurnState, { opened }: ProviderStates, toolset: Toolset): ResumedTurn {
  return { state, modelView: (output) => opened(forModel(output, toolset, state.plan.forms)) };
}

/** Calls that ran when their process was lost do not run again. */
function onlyOnce(
  runCall: RunCall<RoundCall>,
  toolset: Toolset,
  state: TurnState | undefined,
): RunCall<PendingToolCall> {
  if (state?.finish === undefined) return runCall;
  const { pending } = state;
  return withoutRepeats<PendingToolCall>(runCall, toolset, ({ index }) => pending.has(index));
}

/** What the process that began the turn has left of its limits. */
function limitsLeft(limits: Limits, maxToolCalls: number | null | undefined, state: TurnState | undefined): Limits {
  const toolCalls = Math.min(limits.toolCalls, maxToolCalls ?? limits.toolCalls);
  if (!state) return { ...limits, toolCalls };
  const made = state.output.from(0).filter((item) => ranHere(state.plan, item)).length;
  const isRound = state.pending.size > 0;
  return {
    ...limits,
    toolCalls: Math.max(toolCalls - made + state.pending.size, 0),
    toolIterations: Math.max(limits.toolIterations - state.round + (isRound ? 1 : 0), 0),
  };
}

/** The approved calls of which nothing is written yet. */
function notBegun(approved: readonly ApprovedCall[], output: readonly OutputItem[]): readonly ApprovedCall[] {
  return output.length === 0 ? approved : [];
}

/** The summary of what was compacted stays: it stands for all that came before. */
function shortening(
  upstream: Turn['upstream'],
  { window }: PreparedRequest,
  weight: number | undefined,
): Turn['upstream'] {
  const { summary } = window;
  return truncatingUpstream(upstream, (item) => item === summary, weight);
}

/** Characters that every model reads: a shorter conversation is sent without asking how long it may be. */
const ANY_CONTEXT = 8192;

/** The tokens of the model's context, where the request asks for something that depends on them, and they are known. */
function contextOf(
  { body, request }: PreparedRequest,
  call: Turn['call'],
  { upstream }: ResponsesApiSettings,
): number | undefined {
  if (body.truncation !== 'auto' && !body.context_management?.length) return undefined;
  if (weightOf(request) < ANY_CONTEXT) return undefined;
  return upstream.facts?.(request.model, call).contextLength;
}

/** A call that the request does not allow, or that waits for approval, leaves the text before it open. */
function behindGuards(upstream: Turn['upstream'], guards: RequestGuards, plan: TurnPlan): Turn['upstream'] {
  return guardedUpstream(upstream, guards, ({ toolChoice }) => {
    const answer = { isForced: typeof toolChoice === 'object', hasCall: false };
    return (name) => {
      if (refusalOf(plan, name, answer)) return false;
      answer.hasCall = true;
      return !plan.owners.get(name)?.needsApproval;
    };
  });
}

function reportingModel(upstream: Turn['upstream'], requestId: string, onStep: OnStep): Turn['upstream'] {
  return {
    stream: (request, call) => withFirstOutput(upstream.stream(request, call), holdsOutput, requestId, onStep),
  };
}

/**
 * The body of a client whose tenant is unknown, for whom nothing is stored. Throws `tenant_unknown` for features that
 * need storage.
 */
function untrackedBody(body: CreateBody, { scope, body: sent }: EndpointRequest): CreateBody {
  if (body.background) needTenant(scope, 'A response in the background', 'background');
  if (body.context_management) needTenant(scope, 'Compaction', 'context_management');
  const input = isRecord(sent) && Array.isArray(sent.input) ? sent.input : [];
  if (input.at(-1)?.type === 'compaction_trigger') needTenant(scope, 'Compaction', 'input');
  return { ...body, store: false };
}

/** The threshold if a client requests compaction without one: below the context of most models. */
const DEFAULT_THRESHOLD = 100_000;
/** The part of a known context beyond which no threshold makes sense: the answer and the summary need room, too. */
const COMPACTED_SHARE = 0.8;

function wishOf({ body, input }: PreparedRequest, contextLength = Number.POSITIVE_INFINITY): CompactionWish {
  const thresholds = body.context_management?.map((entry) => entry.compact_threshold ?? DEFAULT_THRESHOLD) ?? [];
  const [least] = thresholds.toSorted((one, other) => one - other);
  const threshold = least === undefined ? undefined : Math.min(least, Math.floor(contextLength * COMPACTED_SHARE));
  return { triggered: input.at(-1)?.type === 'compaction_trigger', threshold };
}

/** Returns the value once, and then releases it. */
function handedOver<Value>(value: Value): () => Value {
  let held: Value | undefined = value;
  return () => {
    const taken = held;
    held = undefined;
    // The cast: it is requested once.
    return taken as Value;
  };
}

/**
 * Stores the results of the turn. Until then it retains nothing of the history, which can be freed while the model
 * answers.
 */
function keeper(
  turn: Omit<StoredResponse, 'output' | 'resource'>,
  prepared: PreparedRequest,
  started: JsonObject,
  settings: ResponsesApiSettings,
): Turn['keep'] {
  const { scope, input } = turn;
  const { requestId } = prepared.apiRequest;
  const conversation = conversationOf(prepared.history);
  const awaitingApproval = prepared.approvalRules.size > 0 ? prepared : undefined;
  const { store: isStored, background } = prepared.body;
  // In the background no client waits for the answer: it is stored for a while all the same.
  const isKept = isStored !== false || background || settings.keepsUnstored;
  const mayBeOverruled = background === true || turn.version !== undefined;
  const keepResponse = mayBeOverruled ? keepEnd : keepTurn;
  const note = noteOf(prepared.apiRequest, settings);
  return async (end) => {
    // First the write that may be refused: a response that the client sees as failed must not be found.
    if (conversation) {
      const fence = mayBeOverruled ? { id: turn.id, epoch: versionOf(turn) } : undefined;
      const items = newIn(conversation.known, [...input, ...end.output]);
      const extension = extensionOf({ scope, id: conversation.id }, items, fence, settings);
      // The answer is paid for, and its client may retrieve it and go on from it.
      if (!(await extend(settings, extension, requestId))) note(CONVERSATION_GONE);
    }
    if (awaitingApproval) await keepPendingCalls(end.output, awaitingApproval, settings);
    if (!isKept) return;
    try {
      await keepResponse(turn, { resource: keptFields(started, end), output: end.output }, settings, requestId);
    } catch (error) {
      if (error instanceof TurnOverruled && !error.isTakenOver) {
        await withdrawTurn(settings.store, { ...turn, resource: started });
        await dropPending(settings.store, scope, end.output);
      }
      throw error;
    }
  };
}

/** The items that a conversation lacks, each once: its pages continue after an id, so no two of its items may share one. */
function newIn(known: ReadonlySet<unknown>, items: readonly Item[]): readonly Item[] {
  const taken = new Set(known);
  return items.filter(({ id }) => {
    const isNew = !taken.has(id);
    taken.add(id);
    return isNew;
  });
}

/**
 * Beyond the size that a turn may load there is room for its answer: the next one is refused, and no output is lost.
 */
function extensionOf(
  conversation: ResponseKey,
  items: readonly Item[],
  turn: TurnFence | undefined,
  { limits }: ResponsesApiSettings,
): Extension {
  return { conversation, items, turn, maxBytes: limits.historyBytes + limits.outputBytes };
}

const CONVERSATION_GONE: Note = {
  code: 'conversation_gone',
  message: 'The conversation was deleted during the turn: the response is stored without it.',
};

/** The conversation that the turn belongs to, and the ids of its existing items, which the request only references. */
function conversationOf({ conversation: id, loaded }: LoadedHistory) {
  if (!id) return undefined;
  return { id, known: new Set((loaded as readonly Item[]).map((item): unknown => item.id)) };
}

/** Also if the client wants nothing stored: its later approvals are bound to these. */
async function keepPendingCalls(
  output: readonly OutputItem[],
  prepared: PreparedRequest,
  settings: ResponsesApiSettings,
): Promise<void> {
  for (const request of output) {
    if (request.type !== 'mcp_approval_request') continue;
    const [, entry] = findTool(prepared.toolset, request.server_label, request.name) ?? [];
    await keepPending(settings, prepared.apiRequest, { request, url: entry?.url ?? null });
    reportApproval({ id: request.id, request }, 'requested', prepared, settings);
  }
}

/** Asked for by clients that keep the history themselves, and of a thought nothing but this. */
const SEALED_THOUGHTS = 'reasoning.encrypted_content';

function planOf(
  {
    seed,
    tools: { allowed, denied, forms, toolChoice },
    toolset,
    approvalRules,
    body,
    states,
    conversation,
  }: PreparedRequest,
  container: string | undefined,
  settings: ResponsesApiSettings,
): TurnPlan {
  const { reasoning, mcpItems, queuedEvent, limits } = settings;
  return {
    seed,
    reasoning: reasoning === 'summary' ? 'summary_text' : 'reasoning_text',
    ...(allowed ? { allowedTools: allowed } : {}),
    ...(denied ? { deniedTools: denied } : {}),
    ...(typeof toolChoice === 'object' ? { forcedTool: toolChoice.name } : {}),
    ...(body.parallel_tool_calls === false ? { singleCall: true } : {}),
    ...(toolChoice === 'required' ? { needsCall: true } : {}),
    owners: ownersOf(toolset, { approvalRules, container }),
    forms,
    files: filesShown(conversation),
    ownedAs: mcpItems,
    queuedEvent: queuedEvent || body.background === true,
    outputBytes: limits.outputBytes,
    argumentBytes: limits.argumentBytes,
    seal: states.seal,
    ...(body.include?.includes(SEALED_THOUGHTS) ? { sealThought: states.sealThought } : {}),
  };
}
