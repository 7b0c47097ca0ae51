/** The agents of one response: which there are, what each does, and what they say to each other. */

import type { Item, MultiAgentAction, ToolCallResult } from '../../protocol/items.ts';
import { type JsonObject, plainText } from '../../protocol/record.ts';
import {
  agentNamePart,
  type Fork,
  forkIn,
  itemsOfAgent,
  ROOT_AGENT,
} from '../../protocol/tool-calls/conversation/agent-items.ts';
import { INVALID_PARAMS, protocolError } from '../../protocol/tool-calls/results/call-error.ts';
import type { AgentMail } from '../turn/tool-loop.ts';

/** How many agents there may be. */
export interface AgentLimits {
  /** Agents besides the first that may work at the same time. */
  readonly concurrent: number;
  /** Agents besides the first in a conversation. */
  readonly agents: number;
  /** How far an agent may be from the first. */
  readonly depth: number;
}

/** What an agent does: it works, its client must act first, or its last turn has ended. */
export type AgentStatus = 'running' | 'waiting_for_client' | 'completed' | 'failed' | 'interrupted';

/** What one agent tells another: `answer` is the result of its task, which the other one needs to go on. */
export interface AgentLetter {
  readonly author: string;
  readonly recipient: string;
  readonly text: string;
  readonly kind: 'task' | 'message' | 'answer';
}

/** One agent. */
export interface Agent {
  readonly name: string;
  status: AgentStatus;
  /** Its last task. */
  task: string;
  /** What it has not received yet. */
  mail: AgentLetter[];
  /** Whether it waits for other agents. */
  isWaiting: boolean;
  /** Whether it cannot go on before the client has acted. */
  mustPause: boolean;
  /** How often it has waited in vain. */
  waits: number;
}

/** What runs the turns of agents. */
export interface AgentRunner {
  /** Begins a turn of the agent, which has what its mailbox holds. */
  begin(agent: Agent): void;
  /** Ends the turn of the agent. */
  interrupt(agent: Agent): void;
  /** Shows the letter to the client, and returns its item. */
  deliver(letter: AgentLetter): Item;
  /** Whether the response stays open for the client's answers to calls, now that nobody works. */
  staysOpen(): boolean;
}

/** Letters that wait for one agent. */
const MAX_LETTERS = 64;
/** Milliseconds that a wait may take. */
const WAIT = { least: 10_000, most: 30 * 60_000 };
/** Characters of a task in the list of agents. */
const MAX_TASK = 200;

const FULL = 'As many agents as may are working: wait for one of them, or do this task yourself.';

/** The agents, by their names; `/root` is always there. */
export class AgentTree {
  readonly root: Agent = newAgent(ROOT_AGENT, 'running');
  /** What agents that began in this response were given of their parents' conversations. */
  readonly forks = new Map<string, Fork>();
  readonly agents = new Map<string, Agent>([[ROOT_AGENT, this.root]]);
  private readonly limits: AgentLimits;
  /** Whether the client has sent input that the next response goes on with. */
  isSteered = false;
  private readonly watchers = new Set<() => void>();
  private runner: AgentRunner | undefined = undefined;

  /** `names` are those of agents that earlier responses have begun; what is beyond the limits is forgotten. */
  constructor(limits: AgentLimits, names: Iterable<string>) {
    this.limits = limits;
    for (const name of names) {
      if (this.agents.size > limits.agents) break;
      const isName = /^\/root(?:\/[a-z0-9_]{1,64})+$/.test(name) && agentDepth(name) <= limits.depth;
      if (isName && !this.agents.has(name)) this.agents.set(name, newAgent(name, 'completed'));
    }
  }

  /** From now on this runs them. */
  runBy(runner: AgentRunner): void {
    this.runner = runner;
  }

  /** An agent of an earlier response waits for its client. */
  pause(name: string): void {
    const agent = this.agents.get(name);
    if (agent && agent !== this.root) agent.status = 'waiting_for_client';
  }

  /** Those that cannot go on before the client has acted. */
  get paused(): readonly Agent[] {
    return [...this.agents.values()].filter(({ status, mustPause }) => status === 'waiting_for_client' || mustPause);
  }

  /** Those of a status. */
  having(status: AgentStatus): readonly Agent[] {
    return [...this.agents.values()].filter((agent) => agent.status === status);
  }

  /** Does what the agent wants. Rejects only with the signal's reason. */
  act(
    name: string,
    action: MultiAgentAction,
    args: JsonObject,
    signal: AbortSignal,
  ): ToolCallResult | Promise<ToolCallResult> {
    const caller = this.agents.get(name);
    if (!caller || !this.runner) return failure('There is no such agent any more.');
    switch (action) {
      case 'spawn_agent':
        return this.spawn(caller, args, this.runner);
      case 'send_message':
        return this.send(caller, args);
      case 'followup_task':
        return this.followUp(caller, args, this.runner);
      case 'wait_agent':
        return this.wait(caller, args, signal, this.runner);
      case 'interrupt_agent':
        return this.interrupt(caller, args, this.runner);
      case 'list_agents': {
        const agents = [...this.agents.values()].map(({ name, status, task }) => {
          const text = task.length > MAX_TASK ? `${task.slice(0, MAX_TASK)}…` : task;
          return { agent_name: name, agent_status: status, last_task_message: text === '' ? null : text };
        });
        return success({ agents });
      }
    }
  }

  /** The mailbox of an agent, for its turn. */
  mailbox(agent: Agent, signal: AbortSignal): AgentMail {
    return {
      take: () => this.take(agent),
      more: () => this.awaitAnswers(agent, signal),
      mustPause: () => agent.mustPause,
    };
  }

  /** Whether the agent will be asked again when it has answered. */
  goesOn(agent: Agent): boolean {
    return agent.mail.length > 0 || this.below(agent).some(({ status }) => status === 'running');
  }

  /** Its turn has ended; `answer` is what its parent is told. */
  ended(agent: Agent, status: AgentStatus, answer: string | undefined): void {
    agent.status = status;
    agent.isWaiting = false;
    const parent = this.agents.get(agent.name.slice(0, agent.name.lastIndexOf('/')));
    if (parent && answer !== undefined) {
      parent.mail.push({ author: agent.name, recipient: parent.name, text: answer, kind: 'answer' });
      // It was begun by an earlier response, where its parent could not wait for it.
      if (parent !== this.root && parent.status === 'completed') this.runner?.begin(parent);
    }
    this.changed();
  }

  /** Whether the first agent has ended, and has since been told the answer of one that it began. */
  get isRootAnswered(): boolean {
    const { status, mustPause, mail } = this.root;
    return status === 'completed' && !mustPause && mail.some(({ kind }) => kind === 'answer');
  }

  /** Whoever waits looks again. */
  changed(): void {
    const waiting = [...this.watchers];
    this.watchers.clear();
    for (const wake of waiting) wake();
  }

  private spawn(caller: Agent, { task_name: taskName, message, fork_turns: turns }: JsonObject, runner: AgentRunner) {
    const { agents, depth } = this.limits;
    const part = agentNamePart(taskName);
    const fork = forkIn(turns);
    const name = `${caller.name}/${part}`;
    if (part === '') return failure('The task_name must have letters or digits.');
    if (fork === undefined) return failure("fork_turns must be 'all', 'none' or a whole number from 1.");
    if (this.agents.has(name)) return failure(`There is already an agent ${name}: give it a followup_task.`);
    if (agentDepth(name) > depth) return failure(`Agents may be at most ${depth} deep: do this task yourself.`);
    if (this.agents.size > agents) return failure(`There are already ${agents} agents: use those, or do it yourself.`);
    if (this.isFull()) return failure(FULL);
    const agent = newAgent(name, 'running');
    this.agents.set(name, agent);
    this.forks.set(name, fork);
    this.assign(caller, agent, plainText(message), runner);
    return success({ task_name: name });
  }

  private send(caller: Agent, { target, message }: JsonObject): ToolCallResult {
    const agent = this.resolve(caller, target);
    if (!agent) return this.unknown(target);
    if (agent.mail.length >= MAX_LETTERS) return failure(`The mailbox of ${agent.name} is full.`);
    agent.mail.push({ author: caller.name, recipient: agent.name, text: plainText(message), kind: 'message' });
    this.changed();
    return success({ task_name: agent.name, status: agent.status });
  }

  private followUp(caller: Agent, { target, message }: JsonObject, runner: AgentRunner): ToolCallResult {
    const agent = this.resolve(caller, target);
    if (!agent) return this.unknown(target);
    if (agent === this.root || agent === caller) return failure('A followup_task is for another agent than /root.');
    if (agent.status === 'waiting_for_client')
      return failure(`${agent.name} waits for the client, so it can take no task.`);
    const isRunning = agent.status === 'running';
    if (!isRunning && this.isFull()) return failure(FULL);
    if (agent.mail.length >= MAX_LETTERS) return failure(`The mailbox of ${agent.name} is full.`);
    this.assign(caller, agent, plainText(message), isRunning ? undefined : runner);
    return success({ task_name: agent.name, status: 'running' });
  }

  /** Tells the agent its task; `runner` begins its turn. */
  private assign(caller: Agent, agent: Agent, text: string, runner: AgentRunner | undefined): void {
    agent.task = text;
    agent.mail.push({ author: caller.name, recipient: agent.name, text, kind: 'task' });
    if (runner) {
      agent.status = 'running';
      runner.begin(agent);
    }
    this.changed();
  }

  private async wait(caller: Agent, { timeout_ms: timeout }: JsonObject, signal: AbortSignal, runner: AgentRunner) {
    const ms = Math.min(Math.max(Number(timeout ?? WAIT.most) || WAIT.most, WAIT.least), WAIT.most);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.changed();
    }, ms).unref();
    try {
      return await this.waiting(caller, signal, () => {
        if (caller.mail.length > 0) return success({ message: 'New messages have come.', timed_out: false });
        const why = this.nothingComes(caller, runner) ?? this.steered(caller);
        if (why !== undefined) return success({ message: why, timed_out: false });
        if (!isLate) return undefined;
        // The number: a model that waits does not repeat itself.
        caller.waits += 1;
        return success({ message: 'No message has come.', timed_out: true, waits: caller.waits });
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Why nobody can send a message; undefined if somebody can. */
  private nothingComes(caller: Agent, runner: AgentRunner): string | undefined {
    const others = [...this.agents.values()].filter((agent) => agent !== caller);
    const isWorking = others.some(
      ({ status, isWaiting, mail }) => status === 'running' && (!isWaiting || mail.length > 0),
    );
    if (isWorking) return undefined;
    const paused = this.paused.filter((agent) => agent !== caller);
    if (paused.length === 0) return 'No other agent is working, so no message will come.';
    if (runner.staysOpen()) return undefined;
    caller.mustPause = true;
    return `Paused until the client answers calls of ${paused.map(({ name }) => name).join(', ')}.`;
  }

  /** Why the first agent waits no longer, although others work; undefined if it does. */
  private steered(caller: Agent): string | undefined {
    if (!this.isSteered || caller !== this.root) return undefined;
    caller.mustPause = this.paused.length > 0;
    return 'The user has sent a message, so the wait is over.';
  }

  private interrupt(caller: Agent, { target }: JsonObject, runner: AgentRunner): ToolCallResult {
    const agent = this.resolve(caller, target);
    if (!agent) return this.unknown(target);
    if (agent === caller || caller.name.startsWith(`${agent.name}/`))
      return failure('An agent cannot interrupt itself, or an agent above it.');
    const { status } = agent;
    if (status === 'running') {
      agent.status = 'interrupted';
      runner.interrupt(agent);
      this.changed();
    }
    return success({ task_name: agent.name, previous_status: status });
  }

  /** Shows the agent's letters to the client, and returns them as the agent receives them. */
  take(agent: Agent): readonly Item[] {
    const { mail, name } = agent;
    agent.mail = [];
    return mail.flatMap((letter) => (this.runner ? itemsOfAgent([this.runner.deliver(letter)], name) : []));
  }

  private async awaitAnswers(agent: Agent, signal: AbortSignal): Promise<boolean> {
    return this.waiting(agent, signal, () => {
      const isOver = this.isSteered && agent === this.root;
      if (!isOver && this.below(agent).some(({ status }) => status === 'running')) return undefined;
      return !isOver && agent.mail.length > 0;
    });
  }

  /** The first answer that is not undefined. Rejects with the signal's reason. */
  private async waiting<Answer>(agent: Agent, signal: AbortSignal, look: () => Answer | undefined): Promise<Answer> {
    const stop = () => this.changed();
    signal.addEventListener('abort', stop, { once: true });
    agent.isWaiting = true;
    // Others may have waited for this one.
    this.changed();
    try {
      for (;;) {
        signal.throwIfAborted();
        const answer = look();
        if (answer !== undefined) return answer;
        await new Promise<void>((resolve) => this.watchers.add(resolve));
      }
    } finally {
      agent.isWaiting = false;
      signal.removeEventListener('abort', stop);
    }
  }

  private below({ name }: Agent): readonly Agent[] {
    return [...this.agents.values()].filter((agent) => agent.name.startsWith(`${name}/`));
  }

  /** Whether no further agent may work now. */
  private isFull(): boolean {
    const working = this.having('running').filter((agent) => agent !== this.root);
    return working.length >= this.limits.concurrent;
  }

  /** Models name agents by their whole names, by the ends of them, or by their tasks. */
  private resolve(caller: Agent, target: unknown): Agent | undefined {
    const name = plainText(target).trim();
    const own = this.agents.get(name) ?? this.agents.get(`${caller.name}/${agentNamePart(name)}`);
    if (own) return own;
    if (name === 'root') return this.root;
    const ending = [...this.agents.values()].filter((agent) => agent.name.endsWith(`/${agentNamePart(name)}`));
    return ending.length === 1 ? ending[0] : undefined;
  }

  private unknown(target: unknown): ToolCallResult {
    const names = [...this.agents.keys()].join(', ');
    return failure(`There is no agent '${plainText(target).slice(0, MAX_TASK)}'. There are: ${names}.`);
  }
}

function newAgent(name: string, status: AgentStatus): Agent {
  return { name, status, task: '', mail: [], isWaiting: false, mustPause: false, waits: 0 };
}

/** Zero for the first. */
function agentDepth(name: string): number {
  return name.split('/').length - 2;
}

function success(result: JsonObject): ToolCallResult {
  return { output: JSON.stringify(result), failed: false };
}

function failure(text: string): ToolCallResult {
  return { output: `Not done: ${text}`, failed: true, error: protocolError(INVALID_PARAMS, text) };
}
