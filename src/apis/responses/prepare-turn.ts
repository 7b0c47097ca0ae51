/** Prepares a turn: the steps over the request, then each part of the turn from what they have found. */

import { useAnswers } from '../../engine/approvals/use-answers.ts';
import type { ClientRequest, EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { findWorkspaces } from '../../engine/tools/workspace.ts';
import { restoredState } from '../../engine/turn/checkpoint.ts';
import type { Lifetime } from '../../engine/turn/lifetime.ts';
import { observer } from '../../engine/turn/observe.ts';
import type { Turn } from '../../engine/turn/run-turn.ts';
import { attemptReporter, observed } from '../../ports/hooks.ts';
import { unixSeconds } from '../../protocol/reply.ts';
import { pairCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { passedHeaders } from '../endpoint/endpoint.ts';
import { noteReporter, requestHeartbeat, requestSilence } from '../endpoint/prepare.ts';
import { prepareAnswerable } from './pipeline.ts';
import { turnPersister } from './turn/persist-turn.ts';
import { type ResponseAgents, responseAgents } from './turn/response-agents.ts';
import { type ResponseStart, responseStart, type TurnDurability } from './turn/response-start.ts';
import type { ResponsesApiSettings } from './turn/settings.ts';
import { turnModel } from './turn/turn-model.ts';
import { turnPlan } from './turn/turn-plan.ts';
import { turnTools } from './turn/turn-tools.ts';

/** A request that is ready to run. */
export interface PreparedTurn extends ResponseStart {
  /** The fields of items that the client asks for. */
  readonly include: unknown;
  readonly turn: Turn;
  /** Take the client's answers to their calls while they work, and are told of its further input; undefined for a response of one agent. */
  readonly agents?: Pick<ResponseAgents, 'inject' | 'steer'>;
}

/** Throws `ApiError` for an invalid request; the lifetime ends the turn. */
export async function prepareTurn(
  apiRequest: EndpointRequest,
  settings: ResponsesApiSettings,
  { signal: life, place, leave }: Lifetime,
  durability: TurnDurability = {},
): Promise<PreparedTurn> {
  const note = noteReporter(apiRequest, settings);
  const agents = responseAgents(apiRequest, settings, life, (durability.resumed?.events.length ?? 0) > 0);
  const signal = agents?.signal ?? life;
  const asked = await prepareAnswerable(
    signal === apiRequest.signal ? apiRequest : { ...apiRequest, signal },
    settings,
    note,
  );
  const first = agents?.begin(asked);
  const prepared = first?.prepared ?? asked;
  const { request, body, states, toolset, brought, conversation, seed } = prepared;
  const { scope, requestId } = apiRequest;
  const { hooks, limits } = settings;
  const start = responseStart(prepared, asked.answers, durability);
  const { background } = start.info;

  const code = { toolset, tools: brought, conversation, seed, scope, hasUploads: settings.files !== undefined };
  const workspaces = await findWorkspaces(code, settings.store);
  const plan = turnPlan(prepared, workspaces, settings);
  const { resumed } = durability;
  const state = resumed && restoredState(plan, resumed);
  const call = {
    signal,
    headers: passedHeaders(prepared.apiRequest),
    limits,
    note: noteReporter(apiRequest, settings, start.info.responseId),
    onAttempt: attemptReporter(requestId, hooks),
  };
  const tools = turnTools(prepared, { workspaces, state, counted: agents?.counted }, settings, signal);
  const model = await turnModel(prepared, plan, call, settings);

  // The start of a resumed turn has been sent.
  const silence = requestSilence(apiRequest, settings, body.stream === true);
  const hasBegun = background || resumed !== undefined;
  const sent: ClientRequest = apiRequest.asSent ?? { api: 'responses', body: apiRequest.body };
  const turn: Turn = {
    plan,
    resumed: tools.resumed,
    lists: tools.lists,
    deferred: tools.deferred,
    named: tools.named,
    approved: tools.approved,
    programs: tools.programs,
    takeRequest: takeOnce(request),
    upstream: model.upstream,
    opened: states.opened,
    call,
    compaction: model.compaction,
    beginRounds: tools.beginRounds,
    silence: hasBegun ? { ...silence, openAfterMs: undefined } : silence,
    heartbeatComments: requestHeartbeat(apiRequest, settings).style === 'comment',
    now: unixSeconds,
    onEvents: observer(
      start.info,
      hooks,
      observed(() => ({ ...start.info, ...sent, signal }), hooks),
    ),
    leave,
    keep: turnPersister(start, prepared, settings),
    startsAtOnce: background,
    place: background ? place : undefined,
  };
  // A conversation that no model server takes is refused here, or the calls would run, and their results be lost. A server that knows more
  // types of items judges it itself, and other agents may go on while one waits for the client.
  if (asked.answers.approved.length > 0 && !agents && !request.native) pairCalls(request.items);
  // The last step that may be refused: an answer counts once.
  signal.throwIfAborted();
  if (!resumed) await useAnswers(asked.answers, asked, settings);
  const shown = { ...start, include: body.include };
  if (!first || !agents) return { ...shown, turn };
  return { ...shown, turn: first.join(turn, workspaces), agents };
}

/** Returns the value once, and then releases it: a long history can be freed while the model answers. */
function takeOnce<Value>(value: Value): () => Value {
  let held: Value | undefined = value;
  return () => {
    const taken = held;
    held = undefined;
    // The cast: it is requested once.
    return taken as Value;
  };
}
