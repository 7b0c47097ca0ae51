/** The agents of a response that has several: their tools, and what each of their turns is made of. */

import { type AgentLimits, AgentTree } from '../../../engine/agents/agent-tree.ts';
import { AgentsTurn, type InjectFailure, type SharedByAgents } from '../../../engine/agents/agents-turn.ts';
import { guardItems } from '../../../engine/guarding/request/guarded-body.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import type { CallCount } from '../../../engine/tools/rounds.ts';
import type { Workspaces } from '../../../engine/tools/workspace.ts';
import type { Turn } from '../../../engine/turn/run-turn.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { responseIdOfItem } from '../../../protocol/ids.ts';
import type { Item } from '../../../protocol/items.ts';
import { isRecord, plainText } from '../../../protocol/record.ts';
import { itemOwners, ROOT_AGENT } from '../../../protocol/tool-calls/conversation/agent-items.ts';
import { answeredId, isClientAnswer, isOpenClientCall } from '../../../protocol/tool-calls/kinds.ts';
import type { PreparedRequest } from '../steps/request.ts';
import { type AgentSettings, type AgentTurnSources, type Approved, agentTurn, withAgentTools } from './agent-turn.ts';
import { requestedAgents } from './requested-agents.ts';
import type { ResponsesApiSettings } from './settings.ts';

/** The agents of a response, from its request to its last turn. */
export class ResponseAgents {
  /** The calls of all of them. */
  readonly counted: CallCount = { calls: 0 };
  /** Ends the first agent's turn, and with it all others, also where the client has not left. */
  readonly signal: AbortSignal;
  private readonly stop = new AbortController();
  private readonly limits: AgentLimits;
  private readonly settings: AgentSettings;
  private running: AgentsTurn | undefined = undefined;
  private guards: PreparedRequest['guards'];

  /** `life` is the signal of the response. */
  constructor(limits: AgentLimits, settings: AgentSettings, life: AbortSignal) {
    this.limits = limits;
    this.settings = settings;
    this.signal = AbortSignal.any([life, this.stop.signal]);
  }

  /** What the first agent is asked, and what becomes of its turn. Throws as `withAgentTools` does. */
  begin(asked: PreparedRequest): FirstAgent {
    const { window, answers } = asked;
    this.guards = asked.guards;
    const earlier = window.items.flatMap(({ agent }) => (isRecord(agent) ? [plainText(agent.agent_name)] : []));
    const tree = new AgentTree(this.limits, earlier);
    const prepared = withAgentTools(asked, tree, ROOT_AGENT, this.limits.concurrent);
    const approved = approvedByAgent(asked).get(ROOT_AGENT) ?? [];
    return {
      prepared: {
        ...prepared,
        apiRequest: steeredUnlessPaused(asked.apiRequest, tree),
        answers: { ...answers, approved },
      },
      join: (turn, workspaces) => {
        const { limits, settings, stop, counted } = this;
        const sources = {
          prepared: asked,
          settings,
          limits,
          workspaces,
          call: turn.call,
          stop,
          counted,
          now: turn.now,
        };
        const agents = sharedByAgents(tree, sources);
        const runBy = (whole: Turn) => {
          this.running = new AgentsTurn(whole, agents);
          return this.running;
        };
        return { ...turn, mail: tree.mailbox(tree.root, this.signal), runBy };
      },
    };
  }

  /** Takes the client's answers to calls while the response runs, as the guards of the request leave them. */
  readonly inject = async (items: readonly Item[]): Promise<InjectFailure | undefined> => {
    const { guards } = this;
    const guarded = guards && (await guardItems(new Map(items.map((item) => [item, item])), guards));
    return this.running?.inject(guarded ? [...guarded.values()] : items);
  };

  /** Nobody waits any longer: the client has sent input for the next response. */
  readonly steer = (): void => this.running?.steer();
}

/** Where the client has to answer calls first, its input waits for that, and the response ends as it would have. */
function steeredUnlessPaused(request: EndpointRequest, tree: AgentTree): EndpointRequest {
  const { isSteered } = request;
  return isSteered ? { ...request, isSteered: () => isSteered() && tree.paused.length === 0 } : request;
}

/** The first agent's request, and its turn as one of several agents. */
interface FirstAgent {
  readonly prepared: PreparedRequest;
  join(turn: Turn, workspaces: Workspaces): Turn;
}

/** The agents that the request wants; undefined for one that wants none. Throws `ApiError`, also where another process `hasBegun` it. */
export function responseAgents(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  life: AbortSignal,
  hasBegun: boolean,
): ResponseAgents | undefined {
  const { multiAgent } = settings;
  const limits = requestedAgents(request, multiAgent);
  if (!limits || !multiAgent) return undefined;
  // What the others had begun is in no store.
  if (hasBegun) throw new ApiError('server_error', 'The process that ran the agents of this response was lost.');
  return new ResponseAgents(limits, { ...settings, multiAgent }, life);
}

/** What runs the turns of all agents. `tree` is that of the tools of the first. */
function sharedByAgents(tree: AgentTree, sources: AgentTurnSources): SharedByAgents {
  const { prepared, settings, call, stop } = sources;
  const { taskMs, injectWaitMs } = settings.multiAgent;
  const { answered, waiting } = pausedAgents(prepared);
  for (const name of waiting) tree.pause(name);
  // Each answer is used once.
  const approvals = approvedByAgent(prepared);
  return {
    tree,
    conversation: prepared.window.items,
    stop,
    signal: call.signal,
    answered,
    taskMs,
    injectWaitMs: prepared.apiRequest.isInjectable ? injectWaitMs : undefined,
    injectBytes: settings.limits.bodyBytes,
    prepareTurn: (parts) => {
      const approved = approvals.get(parts.agent) ?? [];
      approvals.delete(parts.agent);
      return agentTurn(tree, parts, approved, sources);
    },
  };
}

function approvedByAgent({ answers, conversation }: PreparedRequest): Map<string, Approved> {
  const approved = new Map<string, Approved>();
  if (answers.approved.length === 0) return approved;
  const owners = itemOwners(conversation);
  const agents = new Map(conversation.map((item, index) => [item.id, owners[index]]));
  for (const call of answers.approved) {
    const agent = agents.get(call.id) ?? ROOT_AGENT;
    approved.set(agent, [...(approved.get(agent) ?? []), call]);
  }
  return approved;
}

/** What an agent asked of the client, and in which response. */
interface ClientCall {
  readonly owner: string;
  readonly response: string | undefined;
}

/** Those besides the first that waited for what the request brings, and wait for nothing more; and those that still wait. */
function pausedAgents({ conversation, input }: PreparedRequest) {
  const owners = itemOwners(conversation);
  const brought = new Set<Item>(input);
  const open = new Map<unknown, ClientCall>();
  const answered = new Map<string, ClientCall>();
  for (const [index, item] of conversation.entries()) {
    const owner = owners[index] ?? ROOT_AGENT;
    const response = responseIdOfItem(String(item.id));
    if (isClientAnswer(item) || item.type === 'mcp_approval_response') {
      const id = answeredId(item) ?? item.approval_request_id;
      const call = open.get(id);
      open.delete(id);
      if (call && owner !== ROOT_AGENT && brought.has(item)) answered.set(owner, call);
      continue;
    }
    // It has gone on since: clients that send the whole conversation send the old answers, too.
    const isLater = item.phase === 'final_answer' || answered.get(owner)?.response !== response;
    if (isLater && item.type !== 'agent_message') answered.delete(owner);
    if (item.type === 'mcp_approval_request') open.set(item.id, { owner, response });
    else if (isOpenClientCall(item)) open.set(item.call_id, { owner, response });
  }
  const waiting = new Set([...open.values()].map(({ owner }) => owner));
  return { answered: [...answered.keys()].filter((owner) => !waiting.has(owner)), waiting };
}
