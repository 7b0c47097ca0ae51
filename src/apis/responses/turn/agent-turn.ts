/** One turn of an agent: its request to the model, its tools, and the limits that it shares with others. */

import { agentInstructions, agentTools } from '../../../engine/agents/agent-tools.ts';
import type { AgentLimits, AgentTree } from '../../../engine/agents/agent-tree.ts';
import type { AgentTurnParts } from '../../../engine/agents/agents-turn.ts';
import type { MultiAgentSettings } from '../../../engine/agents/settings.ts';
import type { CallCount } from '../../../engine/tools/rounds.ts';
import { conversationForModel, toolDefinitions } from '../../../engine/tools/toolset.ts';
import type { Workspaces } from '../../../engine/tools/workspace.ts';
import type { Turn } from '../../../engine/turn/run-turn.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { randomSeed } from '../../../protocol/ids.ts';
import type { ModelRequest } from '../../../protocol/model-request.ts';
import { ROOT_AGENT } from '../../../protocol/tool-calls/conversation/agent-items.ts';
import { UNFILLED } from '../../../streams/heartbeats.ts';
import type { PreparedRequest } from '../steps/request.ts';
import { resumePrograms } from '../steps/resume-programs.ts';
import type { ResponsesApiSettings } from './settings.ts';
import { turnModel } from './turn-model.ts';
import { turnPlan } from './turn-plan.ts';
import { planWithFoundTools, turnTools } from './turn-tools.ts';

/** The settings where requests may have several agents. */
export type AgentSettings = ResponsesApiSettings & { readonly multiAgent: MultiAgentSettings };

/** What the turns of the agents of one response share. */
export interface AgentTurnSources {
  readonly prepared: PreparedRequest;
  readonly settings: AgentSettings;
  readonly limits: AgentLimits;
  readonly workspaces: Workspaces;
  readonly call: Turn['call'];
  readonly stop: AbortController;
  readonly counted: CallCount;
  readonly now: () => number;
}

/** Calls that the user has approved. */
export type Approved = PreparedRequest['answers']['approved'];

/** The request with the tools and the instructions of an agent. Throws `invalid_value` if the client's tools have those names. */
export function withAgentTools(
  prepared: PreparedRequest,
  tree: AgentTree,
  agent: string,
  concurrent: number,
): PreparedRequest {
  const { request, toolset, tools } = prepared;
  // A choice that names the tools that may be called names none of these.
  if (tools.allowed) return prepared;
  const own = agentTools(tree, agent);
  const taken = [...request.tools.map(({ name }) => name), ...toolset.keys(), ...tools.forms.keys()].find((name) =>
    own.has(name),
  );
  if (taken !== undefined) {
    const message = `A tool cannot be called '${taken}' where 'multi_agent' is enabled.`;
    throw new ApiError('invalid_value', message, { param: 'tools' });
  }
  const told = agentInstructions(agent, concurrent);
  const instructions = request.instructions ? `${request.instructions}\n\n${told}` : told;
  return {
    ...prepared,
    toolset: new Map([...toolset, ...own]),
    request: { ...request, instructions, tools: [...request.tools, ...toolDefinitions(own)] },
  };
}

/** A turn of an agent that is not the first turn of the response: of a task, or with answers of the client. */
export async function agentTurn(
  tree: AgentTree,
  { agent, items, made, signal, mail }: AgentTurnParts,
  approved: Approved,
  { prepared, settings, limits, workspaces, call, counted, now }: AgentTurnSources,
): Promise<Turn> {
  const { states, toolset, apiRequest, request: first } = prepared;
  // What is forced, the first agent is forced to; and what the client wants as JSON, that agent writes.
  const { toolChoice, textFormat, ...rest } = first;
  const isRoot = agent === ROOT_AGENT;
  const answers = { approved, denied: [] };
  const { programs } = resumePrograms({ ...prepared, answers }, settings, { agent, made });
  const resumed = new Set(programs?.map(({ callId }) => callId));
  const { tools, definitions } = planWithFoundTools(prepared, items);
  const request: ModelRequest = {
    ...rest,
    tools: [...rest.tools, ...definitions],
    items: states.opened(conversationForModel(items, toolset, tools.forms, undefined, resumed)),
    ...(toolChoice === 'none' || toolChoice === 'auto' ? { toolChoice } : {}),
    ...(isRoot && textFormat ? { textFormat } : {}),
  };
  const own = withAgentTools(
    {
      ...prepared,
      request,
      tools,
      ...(programs ? { programs } : {}),
      apiRequest: { ...apiRequest, signal, isSteered: undefined },
      answers,
      conversation: items,
    },
    tree,
    agent,
    limits.concurrent,
  );
  const free = { forcedTool: undefined, needsCall: undefined, queuedEvent: false };
  const plan = { ...turnPlan(own, workspaces, settings), ...free, seed: randomSeed() };
  const context = { ...call, signal };
  const turn = turnTools(own, { workspaces, state: undefined, counted }, settings, signal);
  const { upstream } = await turnModel(own, plan, context, settings);
  return {
    ...turn,
    plan,
    lists: new Map(),
    takeRequest: () => own.request,
    upstream,
    opened: states.opened,
    call: context,
    mail,
    compaction: undefined,
    silence: UNFILLED,
    heartbeatComments: true,
    now,
    onEvents: () => {},
    leave: () => {},
    keep: async () => {},
    startsAtOnce: true,
  };
}
