/** Input for a response of several agents that runs: the agents stop at once, and the next response goes on with it. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { gate } from '../support/gate.ts';
import { type AgentsApp, call, lastSaid, type Script, type Shown, withAgents } from './app.ts';
import { type Client, connected } from './socket.ts';

const ROOT = '/root';
const CHILD = '/root/reader';
const ASK = { type: 'function', name: 'ask', parameters: { type: 'object', properties: {} } };
const ENDS = ['response.completed', 'response.failed', 'response.incomplete', 'error'];
const SPAWN = { task_name: 'reader', message: 'Read.', fork_turns: 'none' };

type Ended = Shown & { readonly response: JsonObject & { readonly id: string; readonly output: readonly Shown[] } };

const delegating: Script = (asked, round) => {
  const said = lastSaid(asked);
  if (said.includes('In French.')) return { text: 'Bien.' };
  if (said.startsWith('Message to /root from')) return { text: said };
  return round === 1 ? call('spawn_agent', SPAWN) : call('wait_agent', {}, `wait_${round}`);
};
const asking: Script = (asked, round) => (round === 1 ? call('ask') : { text: `Answered: ${lastSaid(asked)}` });

function create({ send }: Client): void {
  const multi_agent = { enabled: true };
  send({ type: 'response.create', model: 'fake-model', input: 'Go.', tools: [ASK], multi_agent });
}

function steer({ send }: Client, id: unknown, input = 'In French.'): void {
  send({ type: 'response.steer', previous_response_id: id, input });
}

/** The first item of this type of an agent, once it has ended. */
async function itemOf({ next }: Client, agent: string, ...types: readonly string[]): Promise<Shown> {
  for (;;) {
    // The cast: the event of an item holds it.
    const { item } = (await next('response.output_item.done', ...ENDS)) as Shown & { item: Shown };
    if (item.agent?.agent_name === agent && types.includes(item.type)) return item;
  }
}

// The cast: what these events are.
const ended = async ({ next }: Client) => (await next(...ENDS)) as Ended;

/** Steers a response whose agent waits for the client, who is told to answer first, and does so in the next response. */
async function steeredAndAnswered(client: Client) {
  create(client);
  const { response } = (await client.next('response.created')) as Ended;
  const asked = await itemOf(client, CHILD, 'function_call');
  steer(client, response.id);
  const first = await ended(client);
  const pending = await client.next('response.steer.pending', ...ENDS);
  expect([first.response.status, pending.type]).toEqual(['completed', 'response.steer.pending']);
  const output = { type: 'function_call_output', call_id: asked.call_id, output: 'forty-two' };
  client.send({
    ...{ type: 'response.create', model: 'fake-model', tools: [ASK], multi_agent: { enabled: true } },
    ...{ previous_response_id: response.id, input: [output] },
  });
  return { asked, pending, second: await ended(client) };
}

describe('a response of several agents that is steered', () => {
  it('[E-13] ends while its first agent waits for another that works on, and the next one goes on with the input', async () => {
    const never = new Promise<never>(() => {});
    await withAgents({ [ROOT]: delegating, [CHILD]: () => never }, (app: AgentsApp) =>
      connected(app, async (client) => {
        create(client);
        const { response } = (await client.next('response.created')) as Ended;
        let action: Shown;
        do action = await itemOf(client, ROOT, 'multi_agent_call_output');
        while (action.action !== 'spawn_agent');
        steer(client, response.id);
        const first = await ended(client);
        expect([first.response.status, first.response.incomplete_details]).toEqual([
          'incomplete',
          { reason: 'steered' },
        ]);
        const second = await ended(client);
        expect([second.response.status, second.response.previous_response_id]).toEqual(['completed', response.id]);
        expect(JSON.stringify(second.response.output.at(-1))).toContain('Bien.');
      }),
    );
  });

  it('[E-13] ends at once where all agents wait for the client, who is told to answer first', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, (app: AgentsApp) =>
      connected(app, async (client) => {
        const { asked, pending, second } = await steeredAndAnswered(client);
        expect(pending.required_input).toMatchObject([{ call_id: asked.call_id }]);
        expect([second.response.status, JSON.stringify(app.asked.at(-1))]).toEqual([
          'completed',
          expect.stringContaining('In French.'),
        ]);
      }),
    );
  });

  it('[E-13] ends where one agent waits for the client and another works on, and nobody’s answer is lost', async () => {
    const never = new Promise<never>(() => {});
    const both: Script = (asked, round) =>
      round === 1 ? call('spawn_agent', { ...SPAWN, task_name: 'worker' }) : delegating(asked, round - 1);
    const scripts = { [ROOT]: both, [CHILD]: asking, '/root/worker': () => never };
    await withAgents(scripts, (app: AgentsApp) =>
      connected(app, async (client) => {
        const { second } = await steeredAndAnswered(client);
        const ofChild = second.response.output.filter(({ agent }) => agent?.agent_name === CHILD);
        expect([second.response.status, JSON.stringify(ofChild)]).toEqual([
          'completed',
          expect.stringContaining('Answered: forty-two'),
        ]);
      }),
    );
  });

  it('[E-13] takes an answer that is injected before, and none after', async () => {
    const reached = gate();
    const slow: Script = async (asked, round) => {
      if (round === 1) return call('ask');
      reached.open();
      return { text: `Answered: ${lastSaid(asked)}` };
    };
    await withAgents({ [ROOT]: delegating, [CHILD]: slow }, (app: AgentsApp) =>
      connected(app, async (client) => {
        create(client);
        const { response } = (await client.next('response.created')) as Ended;
        const asked = await itemOf(client, CHILD, 'function_call');
        const output = { type: 'function_call_output', call_id: asked.call_id, output: 'forty-two' };
        const inject = { type: 'response.inject', response_id: response.id, input: [output] };
        client.send(inject);
        await reached.opened;
        steer(client, response.id);
        await client.next('response.steer.accepted');
        client.send(inject);
        const refused = await client.next('response.inject.failed', 'error');
        expect(['response.inject.failed', 'error']).toContain(refused.type);
        await ended(client);
      }),
    );
  });
});
