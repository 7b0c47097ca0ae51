/** The limits of the agents of a response, by what each of them may do to the others. */
import { type Agent, type AgentLimits, AgentTree } from '../../src/engine/agents/agent-tree.ts';
import type { MultiAgentAction } from '../../src/protocol/items.ts';
import type { JsonObject } from '../../src/protocol/record.ts';

const NEVER = new AbortController().signal;
const CHILD = '/root/reader';

/** A tree whose agents work for ever, and what was begun and interrupted. */
function treeOf(limits: Partial<AgentLimits> = {}, names: readonly string[] = []) {
  const tree = new AgentTree({ concurrent: 8, agents: 16, depth: 3, ...limits }, names);
  const interrupted: string[] = [];
  tree.runBy({
    begin: (agent: Agent) => {
      agent.status = 'running';
    },
    interrupt: ({ name }) => void interrupted.push(name),
    deliver: ({ text }) => ({ type: 'message', role: 'user', content: text }),
    staysOpen: () => false,
  });
  const act = async (agent: string, action: MultiAgentAction, args: JsonObject) =>
    String((await tree.act(agent, action, args, NEVER)).output);
  const spawn = (agent: string, name: string) => act(agent, 'spawn_agent', { task_name: name, message: 'Read.' });
  return { tree, interrupted, act, spawn };
}

describe('the agents of a response', () => {
  it('[E-13] are no more than there may be in a conversation, those that have ended included', async () => {
    const { tree, spawn } = treeOf({ agents: 2 });
    await spawn('/root', 'a');
    tree.ended(tree.agents.get('/root/a') as Agent, 'completed', 'Read.');
    expect(await spawn('/root', 'b')).toContain('/root/b');
    expect(await spawn('/root', 'c')).toContain('There are already 2 agents');
    expect([...tree.agents.keys()]).toEqual(['/root', '/root/a', '/root/b']);
  });

  it('[E-13] of earlier responses count, and those beyond the limits, or with names that are none, are forgotten', async () => {
    const deep = `/root${'/a'.repeat(4)}`;
    const names = [
      '/root',
      CHILD,
      deep,
      '/other',
      '/root/Bad Name',
      '/root//',
      ...['b', 'c'].map((each) => `/root/${each}`),
    ];
    const { tree, spawn } = treeOf({ agents: 2 }, names);
    expect([...tree.agents.keys()]).toEqual(['/root', CHILD, '/root/b']);
    expect(await spawn('/root', 'd')).toContain('There are already 2 agents');
  });

  it('[E-13] receive no more letters than a mailbox holds, by whatever action', async () => {
    const { tree, spawn, act } = treeOf();
    await spawn('/root', 'reader');
    for (let sent = 0; sent < 100; sent += 1) await act('/root', 'send_message', { target: CHILD, message: 'More.' });
    expect(tree.agents.get(CHILD)?.mail.length).toBe(64);
    expect(await act('/root', 'send_message', { target: CHILD, message: 'More.' })).toContain('is full');
    expect(await act('/root', 'followup_task', { target: CHILD, message: 'More.' })).toContain('is full');
    expect(tree.agents.get(CHILD)?.mail.length).toBe(64);
  });

  it('[E-13] interrupt neither themselves nor those above them', async () => {
    const { spawn, act, interrupted } = treeOf();
    await spawn('/root', 'reader');
    await spawn(CHILD, 'helper');
    for (const target of ['/root', CHILD, `${CHILD}/helper`])
      expect(await act(`${CHILD}/helper`, 'interrupt_agent', { target })).toContain('cannot interrupt itself');
    expect(interrupted).toEqual([]);
    await act('/root', 'interrupt_agent', { target: `${CHILD}/helper` });
    expect(interrupted).toEqual([`${CHILD}/helper`]);
  });

  it('[E-13] take no further task while they wait for the client, or if they are the first', async () => {
    const { tree, act } = treeOf({}, [CHILD]);
    tree.pause(CHILD);
    const task = { message: 'Read more.' };
    expect(await act('/root', 'followup_task', { ...task, target: CHILD })).toContain('waits for the client');
    expect(await act(CHILD, 'followup_task', { ...task, target: '/root' })).toContain('another agent than /root');
    expect([tree.agents.get(CHILD)?.status, tree.agents.get(CHILD)?.mail]).toEqual(['waiting_for_client', []]);
  });
});
