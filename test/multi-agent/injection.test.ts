/** Answers to calls of agents while their response runs, over a WebSocket. */
import { pii } from '../../src/policies/guards/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { calling } from '../apis/chat-completions/script.ts';
import { type AgentsApp, BETA, call, lastSaid, type Script, type Shown, withAgents } from './app.ts';
import { type Client, connected } from './socket.ts';

const ROOT = '/root';
const CHILD = '/root/reader';
const ASK = { type: 'function', name: 'ask', parameters: { type: 'object', properties: {} } };
const SPAWN = { task_name: 'reader', message: 'Ask.', fork_turns: 'none' };

const delegating: Script = (asked, round) => {
  if (round === 1) return call('spawn_agent', SPAWN);
  const said = asked.messages.find(({ role, content }) => role === 'user' && String(content).includes('Answered'));
  return said ? { text: String(said.content) } : call('wait_agent', {}, `wait_${round}`);
};
const asking: Script = (asked, round) => (round === 1 ? call('ask') : { text: `Answered: ${lastSaid(asked)}` });

const CREATE = {
  type: 'response.create',
  model: 'fake-model',
  input: 'Go.',
  tools: [ASK],
  multi_agent: { enabled: true },
};
const ENDS = ['response.completed', 'response.failed', 'response.incomplete', 'error'];

/** Creates a response, and reads until an agent calls the client's tool. */
async function untilAsked({ send, next }: Client, tool: JsonObject = ASK): Promise<{ id: string; callId: unknown }> {
  send({ ...CREATE, tools: [tool] });
  const { response } = (await next('response.created')) as Shown & { response: { id: string } };
  for (;;) {
    const { item } = (await next('response.output_item.done', ...ENDS)) as Shown & { item: Shown };
    if (['function_call', 'local_shell_call', 'apply_patch_call', 'tool_search_call'].includes(item.type))
      return { id: response.id, callId: item.call_id };
  }
}

const output = (callId: unknown, text = 'forty-two') => ({
  type: 'function_call_output',
  call_id: callId,
  output: text,
});

describe('response.inject', () => {
  const asks = [output('x', 'Write to bob@example.com'), output('x', JSON.stringify({ a: ['x\\nbob@example.com'] }))];

  it.each(asks)('[G-05] brings nothing to the model that guards of requests have not read: %j', async (answer) => {
    const guards = { input: [pii()] };
    await withAgents(
      { [ROOT]: delegating, [CHILD]: asking },
      async (app) => {
        await connected(app, async (client) => {
          const { id, callId } = await untilAsked(client);
          client.send({ type: 'response.inject', response_id: id, input: [{ ...answer, call_id: callId }] });
          const { response } = (await client.next(...ENDS)) as Shown & { response: JsonObject };
          expect([JSON.stringify(response).includes('bob@'), JSON.stringify(response).includes('[EMAIL]')]).toEqual([
            false,
            true,
          ]);
        });
        expect(JSON.stringify(app.asked)).not.toContain('bob@');
      },
      { guards },
    );
  });

  it('[G-05] is refused where a guard blocks it, and the response goes on', async () => {
    const guards = { input: [pii({ mode: 'enforce' })] };
    await withAgents(
      { [ROOT]: delegating, [CHILD]: asking },
      async (app) => {
        await connected(app, async (client) => {
          const { id, callId } = await untilAsked(client);
          const input = [{ ...output(callId), output: 'bob@example.com' }];
          client.send({ type: 'response.inject', response_id: id, input });
          const { error, status } = (await client.next('error')) as Shown & { error: { code: string } };
          expect([status, error.code]).toEqual([400, 'content_filter']);
          client.send({ type: 'response.inject', response_id: id, input: [output(callId)] });
          expect((await client.next(...ENDS)).type).toBe('response.completed');
        });
        expect(JSON.stringify(app.asked)).not.toContain('bob@');
      },
      { guards },
    );
  });

  it('[G-14] takes as many bytes of answers as a request may have, and no more', async () => {
    const many: Script = (asked, round) =>
      round === 1 ? { calls: [calling('ask', {}, 'call_1'), calling('ask', {}, 'call_2')] } : asking(asked, round);
    await withAgents(
      { [ROOT]: delegating, [CHILD]: many },
      (app) =>
        connected(app, async (client) => {
          const { id, callId } = await untilAsked(client);
          const { item } = (await client.next('response.output_item.done')) as Shown & { item: Shown };
          const long = 'x'.repeat(6000);
          client.send({ type: 'response.inject', response_id: id, input: [output(callId, long)] });
          await client.next('response.inject.created');
          client.send({ type: 'response.inject', response_id: id, input: [output(item.call_id, long)] });
          const { status } = await client.next('error');
          client.send({ type: 'response.inject', response_id: id, input: [output(item.call_id, 'short')] });
          expect([status, (await client.next(...ENDS)).type]).toEqual([413, 'response.completed']);
        }),
      { limits: { request: { bodyBytes: 10_000 } } },
    );
  });

  it('[E-13] is no message of a connection without the beta, or where the host has not switched it on', async () => {
    const refused = async (app: AgentsApp, headers: Partial<typeof BETA>) =>
      connected(
        app,
        async ({ send, next }) => {
          send({ type: 'response.inject', response_id: 'resp_1', input: [output('call_1')] });
          const { error } = (await next('error')) as Shown & { error: { code: string; param: string } };
          expect([error.code, error.param]).toEqual(['invalid_value', 'type']);
        },
        headers as typeof BETA,
      );
    await withAgents({}, (app) => refused(app, {}));
    await withAgents({}, (app) =>
      connected(app, async ({ send, next }) => {
        send({ type: 'response.cancel', response_id: 'resp_1' });
        const { error } = (await next('error')) as Shown & { error: { message: string } };
        expect(error.message).toContain("'response.create', 'response.steer' and 'response.inject'");
      }),
    );
    await withAgents({}, (app) => refused(app, BETA), { multiAgent: false });
  });

  it.each([
    ['no list', 'text'],
    ['an empty list', []],
    ['a message', [{ role: 'user', content: 'Hi' }]],
    ['an output without an id', [{ type: 'function_call_output', output: 'x' }]],
    ['an output of a call that nobody made', [output('call_of_nobody')]],
  ])('[E-13] is refused with %s, and the response goes on', async (_, input) => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, (app) =>
      connected(app, async (client) => {
        const { id, callId } = await untilAsked(client);
        client.send({ type: 'response.inject', response_id: id, input });
        const { status } = await client.next('error');
        expect(status).toBe(400);
        client.send({ type: 'response.inject', response_id: id, input: [output(callId)] });
        expect((await client.next(...ENDS)).type).toBe('response.completed');
      }),
    );
  });

  it('[E-13] commits all of its outputs or none', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, (app) =>
      connected(app, async (client) => {
        const { id, callId } = await untilAsked(client);
        client.send({ type: 'response.inject', response_id: id, input: [output(callId), output(callId, 'again')] });
        await client.next('error');
        client.send({ type: 'response.inject', response_id: id, input: [output(callId)] });
        await client.next('response.inject.created');
      }),
    );
  });

  it('[E-13] lets the agent that waits go on, and the next response has the output', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, (app) =>
      connected(app, async (client) => {
        const { id, callId } = await untilAsked(client);
        client.send({ type: 'response.inject', response_id: id, input: [output(callId)] });
        const created = await client.next('response.inject.created', ...ENDS);
        expect([created.type, created.response_id]).toEqual(['response.inject.created', id]);
        const { response } = (await client.next(...ENDS)) as Shown & { response: { output: readonly Shown[] } };
        expect(JSON.stringify(response.output.at(-1))).toContain('Answered: forty-two');
        const numbers = client.received.map(({ sequence_number: number }) => number);
        expect(numbers).toEqual(numbers.map((_, index) => index));
        expect(response.output.filter(({ type }) => type === 'function_call_output')[0]?.agent?.agent_name).toBe(CHILD);
        client.send({ ...CREATE, previous_response_id: id, input: 'And now?' });
        expect((await client.next(...ENDS)).type).toBe('response.completed');
      }),
    );
  });

  it('[E-13] is told that a response has ended, and of one that is not there', async () => {
    await withAgents(
      { [ROOT]: delegating, [CHILD]: asking },
      (app) =>
        connected(app, async (client) => {
          const { id, callId } = await untilAsked(client);
          await client.next('response.completed');
          const input = [output(callId)];
          for (const [responseId, code] of [
            [id, 'response_already_completed'],
            ['resp_none', 'response_not_found'],
          ]) {
            client.send({ type: 'response.inject', response_id: responseId, input });
            const failed = (await client.next('response.inject.failed')) as Shown & { error: { code: string } };
            expect([failed.error.code, failed.input]).toEqual([code, input]);
          }
          client.send({ ...CREATE, previous_response_id: id, input });
          const { response } = (await client.next(...ENDS)) as Shown & { response: { output: readonly Shown[] } };
          expect(JSON.stringify(response.output.at(-1))).toContain('Answered: forty-two');
        }),
      { multiAgent: { injectWaitMs: 20 } },
    );
  });

  it.each([
    [
      'a local shell, whose outputs have the ids of their calls as their own',
      'local_shell',
      { command: ['ls'] },
      (callId: unknown) => ({ type: 'local_shell_call_output', id: callId, output: 'a.md' }),
      'a.md',
    ],
    [
      'a patch that failed',
      'apply_patch',
      { type: 'create_file', path: 'a.md', diff: '+one' },
      (callId: unknown) => ({ type: 'apply_patch_call_output', call_id: callId, status: 'failed', output: 'No.' }),
      'The patch failed.\\nNo.',
    ],
  ])('[E-13] answers %s', async (_, type, args, answer, result) => {
    const working: Script = (asked, round) =>
      round === 1 ? call(type, args) : { text: `Answered: ${lastSaid(asked)}` };
    await withAgents({ [ROOT]: delegating, [CHILD]: working }, (app) =>
      connected(app, async (client) => {
        const { id, callId } = await untilAsked(client, { type });
        client.send({ type: 'response.inject', response_id: id, input: [answer(callId)] });
        const { response } = (await client.next(...ENDS)) as Shown & { response: { output: readonly Shown[] } };
        expect(JSON.stringify(response.output.at(-1))).toContain(`Answered: ${result}`);
        client.send({ ...CREATE, tools: [{ type }], previous_response_id: id, input: 'And now?' });
        expect((await client.next(...ENDS)).type).toBe('response.completed');
      }),
    );
    await withAgents({ [ROOT]: delegating, [CHILD]: working }, async (app) => {
      const first = await app.ask({ tools: [{ type }] });
      const asked = first.output.find((item) => item.type === `${type}_call`);
      const input = [answer(asked?.call_id)];
      const second = await app.ask({ tools: [{ type }], previous_response_id: first.id, input });
      expect(JSON.stringify(second.output.at(-1))).toContain(`Answered: ${result}`);
    });
  });

  it('[E-13] brings the tools that the client has found, which the agent calls in the same response', async () => {
    const search = { type: 'tool_search', execution: 'client', parameters: { type: 'object', properties: {} } };
    const parameters = { type: 'object', properties: {} };
    const crm = { type: 'namespace', name: 'crm', description: 'Customers.', tools: [{ ...ASK, name: 'find' }] };
    const tools = [{ type: 'function', name: 'count', parameters }, crm];
    const found = (callId: unknown) => ({ type: 'tool_search_output', call_id: callId, execution: 'client', tools });
    const working: Script = ({ tools: offered = [], ...asked }, round) => {
      if (round === 1) return call('tool_search', { goal: 'count' });
      const names = offered.map(({ function: { name } }) => name);
      if (!names.includes('count')) return { text: 'I found nothing.' };
      const second = names.find((name) => name.includes('find')) ?? '';
      if (round === 2) return { calls: [calling('count', {}, 'call_count'), calling(second, {}, 'call_find')] };
      return { text: `Answered: ${lastSaid(asked)}` };
    };
    await withAgents({ [ROOT]: delegating, [CHILD]: working }, (app) =>
      connected(app, async (client) => {
        const { id, callId } = await untilAsked(client, search);
        client.send({ type: 'response.inject', response_id: id, input: [found(callId)] });
        const calls: Shown[] = [];
        while (calls.length < 2) {
          const { item } = (await client.next('response.output_item.done', ...ENDS)) as Shown & { item: Shown };
          if (item?.type === 'function_call') calls.push(item);
        }
        expect(calls.map(({ name, namespace }) => [name, namespace])).toEqual([
          ['count', 'count'],
          ['find', 'crm'],
        ]);
        const input = calls.map(({ call_id: each }) => output(each));
        client.send({ type: 'response.inject', response_id: id, input });
        const { response } = (await client.next(...ENDS)) as Shown & { response: { output: readonly Shown[] } };
        const shown = response.output.find(({ type }) => type === 'tool_search_output');
        expect([shown?.id, shown?.agent, shown?.tools]).toEqual([
          expect.stringMatching(/^tso_/),
          { agent_name: CHILD },
          tools,
        ]);
        expect(JSON.stringify(response.output.at(-1))).toContain('Answered: forty-two');
        app.restart();
        client.send({ ...CREATE, tools: [search], previous_response_id: id, input: 'And now?' });
        expect((await client.next(...ENDS)).type).toBe('response.completed');
        expect(app.asked.at(-1)?.tools?.map(({ function: { name } }) => name)).toContain('count');
      }),
    );
  });

  it('[E-13] refuses the tools of a search that this server has run', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, (app) =>
      connected(app, async (client) => {
        const { id, callId } = await untilAsked(client);
        const input = [{ type: 'tool_search_output', call_id: null, execution: 'server', tools: [] }];
        client.send({ type: 'response.inject', response_id: id, input });
        expect((await client.next('error')).status).toBe(400);
        client.send({ type: 'response.inject', response_id: id, input: [output(callId)] });
        expect((await client.next(...ENDS)).type).toBe('response.completed');
      }),
    );
  });
});
