/** What a model is told of other agents, and the tools by which it works with them. */

import type { ToolProvider } from '../../ports/tool-provider.ts';
import type { ToolsetEntry } from '../../ports/toolset.ts';
import type { MultiAgentAction } from '../../protocol/items.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { ROOT_AGENT } from '../../protocol/tool-calls/conversation/agent-items.ts';
import { AGENT_ACTIONS, MULTI_AGENT } from '../../protocol/tool-calls/multi-agent-call.ts';
import type { AgentTree } from './agent-tree.ts';

/** Nobody calls it: the actions run where the agents are. */
const NO_PROVIDER: ToolProvider = {
  name: MULTI_AGENT,
  list: () => [],
  call: () => Promise.reject(new Error('The actions of agents have no provider.')),
};

const text = (description: string) => ({ type: 'string', description });
const TARGET = text('The name of the agent, such as /root/reviewer.');

interface ActionTool {
  readonly description: string;
  readonly parameters: JsonObject;
}

const TOOLS: Readonly<Record<MultiAgentAction, ActionTool>> = {
  spawn_agent: {
    description:
      'Begins another agent with a task of its own. It works while you go on, and its answer comes as a message.',
    parameters: parameters(['task_name', 'message'], {
      task_name: text('A short name for the agent, of lower-case letters, digits and underscores.'),
      message: text('The task, with all that the agent must know.'),
      fork_turns: text(
        "How much of this conversation it sees: 'all', 'none', or the number of the user's last messages. Default: all.",
      ),
    }),
  },
  send_message: {
    description: 'Sends a message to an agent, which reads it in its next step. It does not begin to work for it.',
    parameters: parameters(['target', 'message'], { target: TARGET, message: text('The message.') }),
  },
  followup_task: {
    description: 'Gives an agent that has answered another task; it still knows what it did before.',
    parameters: parameters(['target', 'message'], { target: TARGET, message: text('The task.') }),
  },
  wait_agent: {
    description: 'Waits until a message comes, such as the answer of an agent.',
    parameters: parameters([], {
      timeout_ms: {
        type: 'integer',
        description: 'Milliseconds after which the wait ends, at least 10000. Default: none.',
      },
    }),
  },
  interrupt_agent: {
    description: 'Stops what an agent is doing. It can be given another task.',
    parameters: parameters(['target'], { target: TARGET }),
  },
  list_agents: { description: 'Lists all agents, with what they do.', parameters: parameters([], {}) },
};

function parameters(required: readonly string[], properties: JsonObject): JsonObject {
  return { type: 'object', properties, required };
}

/** The tools of the agent of this name, by the model's names for them. */
export function agentTools(tree: AgentTree, agent: string): ReadonlyMap<string, ToolsetEntry> {
  return new Map(
    AGENT_ACTIONS.map((action): [string, ToolsetEntry] => [
      action,
      {
        provider: NO_PROVIDER,
        tool: { server: MULTI_AGENT, name: action, requestedBy: MULTI_AGENT, ...TOOLS[action] },
        inside: (args, signal) => tree.act(agent, action, args, signal),
      },
    ]),
  );
}

/** What the model is told beside the instructions of the request. */
export function agentInstructions(agent: string, concurrent: number): string {
  const who =
    agent === ROOT_AGENT
      ? 'You are the agent /root. You answer the user, and may share the work with other agents.'
      : `You are the agent ${agent}, which works on a task for the agent above it. Your answer goes to that agent, not to the user.`;
  return `${who}
spawn_agent begins an agent for an independent part of the work; all agents have the same tools and the same model. \
At most ${concurrent} agents besides /root work at once, so do small or dependent steps yourself. \
Messages of agents begin with "Message to … from …"; wait_agent waits for the next one. \
Do not repeat the work of an agent that you have begun: wait for its answer, and use it.`;
}
