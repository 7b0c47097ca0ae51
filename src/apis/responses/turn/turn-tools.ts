/** The tools of a turn: which calls run, how many of them, and what the client is shown of the tools. */

import { guardedCalls } from '../../../engine/guarding/guarded-calls.ts';
import { ProgramRuns } from '../../../engine/programs/program-runs.ts';
import { conversationImages } from '../../../engine/tools/conversation-images.ts';
import { type CallCount, type RunCall, toolRounds, withoutRepeats } from '../../../engine/tools/rounds.ts';
import { toolRunner } from '../../../engine/tools/tool-runner.ts';
import {
  conversationForModel,
  foundTools,
  hiddenTools,
  namesServing,
  requestedServers,
  toolNameReader,
  unlistedTools,
} from '../../../engine/tools/toolset.ts';
import type { Workspaces } from '../../../engine/tools/workspace.ts';
import { isServerExecuted } from '../../../engine/turn/machine/call-items.ts';
import type { PendingToolCall, TurnState } from '../../../engine/turn/machine/state.ts';
import type { Turn } from '../../../engine/turn/run-turn.ts';
import type { ResumedTurn } from '../../../engine/turn/tool-loop.ts';
import type { Limits } from '../../../ports/limits.ts';
import type { Item } from '../../../protocol/items.ts';
import type { ToolDefinition } from '../../../protocol/model-request.ts';
import { additionalTools } from '../../../protocol/responses/input-items.ts';
import { callingProgram, PROGRAMS } from '../../../protocol/tool-calls/program-call.ts';
import type { PreparedRequest } from '../steps/request.ts';
import { readClientTools } from '../steps/tools/client-tools.ts';
import type { ResponsesApiSettings } from './settings.ts';

const NO_LISTS: Turn['lists'] = new Map();

/** `state` is where another process left the turn; undefined for a turn that begins here. `counted` are the calls of turns that share a limit. */
export function turnTools(
  prepared: PreparedRequest,
  {
    workspaces,
    state,
    counted,
  }: {
    readonly workspaces: Workspaces;
    readonly state: TurnState | undefined;
    readonly counted?: CallCount | undefined;
  },
  settings: ResponsesApiSettings,
  signal: AbortSignal,
): Pick<Turn, 'resumed' | 'lists' | 'deferred' | 'named' | 'approved' | 'programs' | 'beginRounds'> {
  const { apiRequest, body, toolset, brought, conversation, answers, guards, states } = prepared;
  const { findable, known } = prepared.tools;
  const { isSteered } = apiRequest;
  const images = conversationImages(toolset, conversation, (items) => items);
  // Created here: a function that creates it would retain the request, and with it the whole history.
  const programs = prepared.tools.programs && programRuns(prepared, settings, signal);
  const run = toolRunner(
    { toolset, workspaces, images, tools: brought, programs: programs?.runs },
    apiRequest,
    settings,
    signal,
  );
  const guarded = guards ? guardedCalls(run, guards, signal) : run;
  // Calls that ran when their process was lost do not run again.
  const interrupted = state?.finish === undefined ? undefined : state.pending;
  const runCall: RunCall<PendingToolCall> = interrupted
    ? withoutRepeats<PendingToolCall>(guarded, toolset, ({ index }) => interrupted.has(index))
    : guarded;
  const limits = remainingLimits(settings.limits, body.max_tool_calls, state);
  const output = state?.output.from(0) ?? [];
  const hasBegun = output.length > 0 || (state?.pending.size ?? 0) > 0;
  // Strict Open Responses has no item type for the lists of tools.
  const showsLists = settings.mcpItems === 'mcp_call' && settings.listsTools;
  const resumed: ResumedTurn | undefined = state && {
    state,
    modelView: (items) => states.opened(conversationForModel(items, toolset, state.plan.forms)),
  };
  return {
    resumed,
    lists: showsLists ? unlistedTools(toolset, { conversation, output, known }) : NO_LISTS,
    deferred: hiddenTools(findable, known),
    named: requestedServers(toolset),
    // Of those that another process ran something is written already.
    approved: output.length === 0 ? answers.approved : [],
    // Those that run have nothing written before their first calls.
    programs: programs && { ...programs.loop, waiting: hasBegun ? [] : programs.waiting },
    beginRounds: () => toolRounds<PendingToolCall>(limits, runCall, isSteered, counted),
  };
}

/**
 * The plan with the tools that an agent has found in this response, or was given of another's searches, and the definitions of
 * those that the request has not offered. What its client has found for it meanwhile the plan does not know at all.
 */
export function planWithFoundTools(
  { tools, toolset }: PreparedRequest,
  items: readonly Item[],
): Pick<PreparedRequest, 'tools'> & { readonly definitions: readonly ToolDefinition[] } {
  const { known, definitions } = foundTools(items, tools);
  const isNew = (name: string) => !tools.forms.has(name) && !toolset.has(name) && tools.allowed?.has(name) !== false;
  const byClient = [...readClientTools(additionalTools(items)).known].filter(([name]) => isNew(name));
  const forms = new Map([...tools.forms, ...byClient.map(([name, { form }]) => [name, form] as const)]);
  const added = byClient.map(([, { definition }]) => definition);
  return { tools: { ...tools, known, forms }, definitions: [...definitions, ...added] };
}

/** The programs of the turn, and those of earlier turns that go on; undefined where nothing runs them. */
function programRuns(
  { toolset, tools, approvalRules, programs: open = [], apiRequest: { scope }, body }: PreparedRequest,
  { limits }: ResponsesApiSettings,
  signal: AbortSignal,
) {
  const [name = ''] = namesServing(toolset, PROGRAMS);
  const runtime = toolset.get(name)?.provider.programs;
  if (!runtime) return undefined;
  const hidden = hiddenTools(tools.findable, tools.known);
  const runs = new ProgramRuns({
    name,
    runtime,
    callable: [...(tools.programs?.keys() ?? [])],
    isHidden: (called) => hidden(called) !== undefined,
    isRunHere: (called) => toolset.has(called) && !approvalRules.has(called),
    nameOf: toolNameReader(toolset, tools.forms),
    open,
    isSingle: body.parallel_tool_calls === false,
    scope,
    limits,
    signal,
  });
  const loop: Pick<NonNullable<Turn['programs']>, 'readTurn' | 'close'> = {
    readTurn: (state) => runs.readTurn(state),
    close: () => runs.close(),
  };
  return { runs, loop, waiting: open.map(({ callId, code }) => ({ name, callId, code })) };
}

/** What the process that began the turn has left of its limits. */
function remainingLimits(
  limits: Limits,
  maxToolCalls: number | null | undefined,
  state: TurnState | undefined,
): Limits {
  const toolCalls = Math.min(limits.toolCalls, maxToolCalls ?? limits.toolCalls);
  if (!state) return toolCalls === limits.toolCalls ? limits : { ...limits, toolCalls };
  const finished = state.output.from(0).filter((item) => isServerExecuted(state.plan, item)).length;
  const pending = state.pending.values();
  const callers = new Set(pending.flatMap(({ fields = {} }) => callingProgram(fields) ?? []));
  // A program that waits for its calls, or is of an earlier turn, is not counted when it goes on.
  const again = pending.filter(({ index, callId }) => index >= 0 && !callers.has(callId)).length;
  return {
    ...limits,
    toolCalls: Math.max(toolCalls - finished + again, 0),
    toolIterations: Math.max(limits.toolIterations - state.round + (pending.length > 0 ? 1 : 0), 0),
  };
}
