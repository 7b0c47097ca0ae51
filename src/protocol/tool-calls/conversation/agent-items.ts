/** The items of a conversation that has several agents: whose each is, and what one agent has seen of it. */
import { modelCallOfItem } from '../../ids.ts';
import type { Item, ToolOutput } from '../../items.ts';
import { objectIn } from '../../json/json-text.ts';
import { isRecord, plainText } from '../../record.ts';
import { answeredId, isClientAnswer, isClientAnsweredCall, isOpenClientCall } from '../kinds.ts';
import { toolOutputText } from '../results/output-text.ts';

/** The agent that answers the request; the names of all others begin with its name. */
export const ROOT_AGENT = '/root';

/** How much of its parent's conversation a new agent is given: `all`, `none`, or the number of the user's last messages. */
export type Fork = 'all' | 'none' | number;

/** Whether the item is of a conversation with several agents, and has not been gathered for one of them. */
function isAgentItem(item: Item): boolean {
  if (item.type === 'multi_agent_call') return item.output === undefined;
  return item.agent !== undefined || item.type === 'agent_message' || item.type === 'multi_agent_call_output';
}

/** What the arguments of `spawn_agent` say of it; models write numbers as texts, too. */
export function forkIn(value: unknown): Fork | undefined {
  if (value === undefined || value === null || value === 'all') return 'all';
  if (value === 'none') return 'none';
  const turns = typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value;
  return typeof turns === 'number' && Number.isInteger(turns) && turns > 0 ? turns : undefined;
}

/** The last part of an agent's name from the name that the model gave its task; empty if nothing is left of it. */
export function agentNamePart(taskName: unknown): string {
  return plainText(taskName)
    .slice(0, MAX_NAME_PART)
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .join('_');
}

const MAX_NAME_PART = 64;
/** Deeper agents of a conversation that a client has made up are not looked for. */
const MAX_DEPTH = 16;
const NO_FORKS: ReadonlyMap<string, Fork> = new Map();

/**
 * What one agent has seen of the conversation, in the forms that every model takes: its own items, after what it was given
 * of its parent's. `forks` are those of agents whose `spawn_agent` has not ended; those of others are read from it.
 */
export function itemsOfAgent(
  items: readonly Item[],
  agent: string = ROOT_AGENT,
  forks: ReadonlyMap<string, Fork> = NO_FORKS,
): readonly Item[] {
  if (!items.some(isAgentItem)) return agent === ROOT_AGENT ? items : [];
  if (agent.split('/').length > MAX_DEPTH + 2) return [];
  return seenBy({ items, owners: itemOwners(items), forks, messages: new Set() }, agent);
}

/** The items of one agent as they are; the same list where there is no other. */
export function ownItems(items: readonly Item[], agent: string): readonly Item[] {
  if (!items.some(isAgentItem)) return agent === ROOT_AGENT ? items : [];
  const owners = itemOwners(items);
  return items.filter((_, index) => owners[index] === agent);
}

/** The agents of each item, in the same order; an answer of the client's belongs to the agent that it answers. */
export function itemOwners(items: readonly Item[]): readonly string[] {
  const asking = new Map<unknown, string>();
  return items.map((item) => {
    const answered = isClientAnswer(item)
      ? asking.get(answeredId(item))
      : item.type === 'mcp_approval_response'
        ? asking.get(item.approval_request_id)
        : undefined;
    const { agent } = item;
    const named = isRecord(agent) && typeof agent.agent_name === 'string' ? agent.agent_name : undefined;
    const owner = named ?? answered ?? ROOT_AGENT;
    if (item.type === 'mcp_approval_request') asking.set(item.id, owner);
    else if (mayBeClients(item)) asking.set(item.call_id, owner);
    return owner;
  });
}

/** Whether a client may have to answer the call. */
function mayBeClients(item: Item): boolean {
  return isClientAnsweredCall(item) || isOpenClientCall(item);
}

interface Conversation {
  readonly items: readonly Item[];
  readonly owners: readonly string[];
  readonly forks: ReadonlyMap<string, Fork>;
  /** What agents have said, in the form of the user's messages. */
  readonly messages: Set<Item>;
}

/** What it has seen, or had seen when so many items were there. */
function seenBy(conversation: Conversation, agent: string, end?: number): readonly Item[] {
  const { items, owners, forks, messages } = conversation;
  const own = items.slice(0, end).filter((_, index) => owners[index] === agent);
  const seen = gathered(own, messages, end !== undefined);
  const parent = agent.slice(0, agent.lastIndexOf('/'));
  if (!parent.startsWith(ROOT_AGENT)) return seen;
  const first = owners.indexOf(agent);
  const fork = forks.get(agent) ?? spawnedFork(agent, parent, conversation);
  if (fork === 'none') return seen;
  const most = end ?? items.length;
  const base = seenBy(conversation, parent, first < 0 ? most : Math.min(first, most));
  return [...(fork === 'all' ? base : lastTurns(base, fork, messages)), ...seen];
}

/** As its parent's call has it. */
function spawnedFork(agent: string, parent: string, { items, owners }: Conversation): Fork {
  const part = agent.slice(agent.lastIndexOf('/') + 1);
  for (const [index, { type, action, arguments: text }] of items.entries()) {
    if (type !== 'multi_agent_call' || action !== 'spawn_agent' || owners[index] !== parent) continue;
    const given = objectIn(plainText(text));
    if (given && agentNamePart(given.task_name) === part) return forkIn(given.fork_turns) ?? 'none';
  }
  return 'all';
}

function lastTurns(items: readonly Item[], turns: number, messages: ReadonlySet<Item>): readonly Item[] {
  const isStart = (item: Item) => item.type === 'message' && item.role === 'user' && !messages.has(item);
  const starts = items.flatMap((item, index) => (isStart(item) ? [index] : []));
  return items.slice(starts.at(-turns) ?? 0);
}

/**
 * The items of one agent without what marks them as such: each action holds its result, and a message of another agent is
 * one of the user. `isPart` leaves out answers of the model whose calls have no results there.
 */
function gathered(items: readonly Item[], messages: Set<Item>, isPart: boolean): readonly Item[] {
  const results = new Map<unknown, unknown[]>();
  const answered = new Set<unknown>();
  for (const item of items) {
    if (isClientAnswer(item)) answered.add(answeredId(item));
    if (item.type !== 'multi_agent_call_output') continue;
    const waiting = results.get(item.call_id) ?? [];
    results.set(item.call_id, waiting);
    waiting.push(partsText(item.output));
  }
  // Ids recur in later turns: the first call has the first result.
  for (const waiting of results.values()) waiting.reverse();
  const open = new Set<unknown>();
  const seen = items.flatMap((item): readonly Item[] => {
    const { agent: _, ...own } = item;
    // The cast: an item without its agent is an item.
    const plain = own as Item;
    if (item.type === 'multi_agent_call_output') return [];
    if (item.type === 'agent_message') {
      const message = agentMessage(plain);
      if (message) messages.add(message);
      return message ? [message] : [];
    }
    if (item.type === 'multi_agent_call' && item.output === undefined) {
      const output = results.get(item.call_id)?.pop();
      if (output === undefined) open.add(modelCall(item));
      return output === undefined ? [] : [{ ...plain, output }];
    }
    if (!isPart || !mayBeClients(item) || answered.has(item.call_id)) return [plain];
    open.add(modelCall(item));
    return [];
  });
  open.delete(undefined);
  if (!isPart || open.size === 0) return seen;
  const left = seen.filter((item) => open.has(modelCall(item)) && !isResult(item));
  // A result has the number of the answer that follows it: it goes with its call.
  const gone = new Set<unknown>([...left, ...left.flatMap(({ call_id: id }) => id ?? [])]);
  return seen.filter((item) => !gone.has(item) && !(isResult(item) && gone.has(answeredId(item))));
}

function isResult({ type }: Item): boolean {
  return type.endsWith('_output');
}

function modelCall({ id }: Item): string | undefined {
  return typeof id === 'string' ? modelCallOfItem(id) : undefined;
}

function partsText(parts: unknown): string {
  // The cast: a client may have sent any, of which only texts are read.
  return typeof parts === 'string'
    ? parts
    : toolOutputText((Array.isArray(parts) ? parts.filter(isRecord) : []) as ToolOutput);
}

/** What OpenAI's agents have sealed for each other no other model reads. */
function agentMessage({ id, author, recipient, content }: Item): Item | undefined {
  const parts = Array.isArray(content) ? content.filter(isRecord) : [];
  const text = typeof content === 'string' ? content : partsText(parts.filter(({ text }) => typeof text === 'string'));
  const images = parts.filter(({ type }) => type === 'input_image');
  if (text === '' && images.length === 0) return undefined;
  const said = `Message to ${plainText(recipient)} from ${plainText(author)}:\n${text}`;
  return { type: 'message', id: id ?? null, role: 'user', content: [{ type: 'input_text', text: said }, ...images] };
}
