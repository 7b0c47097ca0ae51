/** Several agents beside other features of a response: how calls are shown, tools that are found, compaction. */

import type { ToolProvider } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type Asked, BETA, call, inShort, lastSaid, type Script, type Shown, withAgents } from './app.ts';

const ROOT = '/root';
const CHILD = '/root/reader';

const spawns = (fork = 'none') => call('spawn_agent', { task_name: 'reader', message: 'Read.', fork_turns: fork });
const delegating: Script = (asked, round) => {
  if (lastSaid(asked).startsWith('Message to /root from')) return { text: lastSaid(asked) };
  return round === 1 ? spawns() : call('wait_agent', {}, `wait_${round}`);
};
const offered = ({ tools = [] }: Asked) => tools.map(({ function: { name } }) => name);
const isCompacting = ({ messages }: Asked) => String(JSON.stringify(messages.at(-1))).includes('Summarise');

it('[E-13] agents go on with the results of the server’s tools where these are shown as calls of functions', async () => {
  const reads: Script = (asked) =>
    lastSaid(asked) === 'ran read' ? { text: 'It is read.' } : call('read', {}, 'call_read');
  const both: Script = (asked, round) => (round === 1 ? call('read', {}, 'call_read') : delegating(asked, round - 1));
  await withAgents(
    { [ROOT]: both, [CHILD]: reads },
    async (app) => {
      const { status, output } = await app.ask();
      expect([status, app.ran]).toEqual(['completed', ['read', 'read']]);
      expect(inShort(output).at(-1)).toContain('It is read.');
    },
    { show: { toolCalls: 'function_call' } },
  );
});

describe('tools that an agent has found', () => {
  const crm: ToolProvider = {
    name: 'crm',
    list: () => [{ server: 'crm', name: 'find', description: 'Finds a customer.', deferred: true }],
    call: async () => ({ content: 'Ada' }),
  };
  const search = call('tool_search', { query: 'find a customer' });

  it('[E-13] are there in its next task', async () => {
    const asking: Script = (asked, round) => {
      const said = lastSaid(asked);
      if (said.includes('Ada')) return { text: 'Ada.' };
      if (round === 1) return spawns();
      if (said.includes('Found.')) return call('followup_task', { target: 'reader', message: 'Use it.' });
      return call('wait_agent', {}, `wait_${round}`);
    };
    const finding: Script = (asked, round) => {
      if (round === 1) return search;
      if (round === 2) return { text: 'Found.' };
      return lastSaid(asked) === 'Ada' ? { text: 'It is Ada.' } : call('find');
    };
    await withAgents(
      { [ROOT]: asking, [CHILD]: finding },
      async (app) => {
        await app.ask();
        const ofChild = app.asked.filter((_, at) => app.agents[at] === CHILD).map(offered);
        expect(ofChild.map((names) => names.includes('find'))).toEqual([false, true, true, true]);
      },
      { tools: crm },
    );
  });

  it('[E-13] are there for those that it begins with its conversation, and not for others', async () => {
    for (const fork of ['all', 'none']) {
      const finding: Script = (asked, round) => {
        if (lastSaid(asked).startsWith('Message to /root from')) return { text: 'Done.' };
        return [search, spawns(fork)][round - 1] ?? call('wait_agent', {}, `wait_${round}`);
      };
      await withAgents(
        { [ROOT]: finding, [CHILD]: () => ({ text: 'Yes.' }) },
        async (app) => {
          await app.ask();
          const ofChild = app.asked.filter((_, at) => app.agents[at] === CHILD).map(offered);
          expect(ofChild.map((names) => names.includes('find'))).toEqual([fork === 'all']);
        },
        { tools: crm },
      );
    }
  });
});

const HOSTED: ToolProvider = {
  name: 'shell',
  list: () => [{ server: 'shell', name: 'shell', requestedBy: 'shell' }],
  call: async () => ({
    content: 'seven',
    commandOutputs: [{ stdout: 'seven', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  }),
};

it.each([
  ['mcp_call', 'eight; seven'],
  ['function_call', 'seven; eight'],
] as const)(
  '[E-13] [E-02] an agent that is begun with a conversation reads what its last call gave, shown as %s',
  async (toolCalls, results) => {
    const root: Script = (asked, round) => {
      if (lastSaid(asked).startsWith('Message to /root from')) return { text: lastSaid(asked) };
      const shell = call('shell', { commands: ['cat n'] });
      const both = [shell, call('read', {}, 'call_read')];
      const script = [...(results === 'seven; eight' ? both : both.reverse()), spawns('all')];
      return script[round - 1] ?? call('wait_agent', {}, `wait_${round}`);
    };
    const child: Script = ({ messages }) => ({
      text: messages
        .flatMap(({ role, content }) => (role === 'tool' ? [String(content).split('\n')[0]] : []))
        .join('; '),
    });
    const reads: ToolProvider = {
      name: 'files',
      list: () => [{ server: 'files', name: 'read' }],
      call: async () => ({ content: 'eight' }),
    };
    await withAgents(
      { [ROOT]: root, [CHILD]: child },
      async (app) => {
        const { output } = await app.ask({ tools: [{ type: 'shell', environment: { type: 'container_auto' } }] });
        expect(inShort(output).at(-1)).toContain(results);
      },
      { tools: [HOSTED, reads], show: { toolCalls } },
    );
  },
);

describe('a compaction', () => {
  const MANAGED = {
    instructions: 'word '.repeat(1200),
    context_management: [{ type: 'compaction', compact_threshold: 1000 }],
  };
  const summary = { text: 'A summary.' };
  const orSummary =
    (script: Script): Script =>
    (asked, round) =>
      isCompacting(asked) ? summary : script(asked, round);

  it('[E-13] [S-14] is the last item, and has what agents told the first one, however it ended', async () => {
    // The first answers before the other: it is asked again when that has ended.
    const root: Script = (asked, round) => {
      if (lastSaid(asked).startsWith('Message to /root from')) return { text: 'So it is slate.' };
      return round === 1 ? spawns() : { text: 'I wait.' };
    };
    await withAgents(
      { [ROOT]: orSummary(root), [CHILD]: () => ({ text: 'The word is slate.' }), nobody: () => summary },
      async (app) => {
        const answer = await app.ask(MANAGED);
        expect(answer.output.filter(({ type }) => type === 'compaction').length).toBe(1);
        expect(answer.output.at(-1)).toMatchObject({ type: 'compaction', agent: { agent_name: ROOT } });
        const sent = JSON.stringify(app.asked.find(isCompacting)?.messages);
        expect(sent).toContain('Message to /root from /root/reader:\\nThe word is slate.');
        expect(sent).toContain('So it is slate.');
        app.restart();
        const next = await app.ask({ previous_response_id: answer.id, input: 'Next.' });
        expect(next.status).toBe('completed');
        const streamed = await app.stream({ ...MANAGED });
        expect(streamed.map(({ sequence_number: number }) => number)).toEqual(streamed.map((_, at) => at));
        expect(streamed.at(-1)).toMatchObject({ type: 'response.completed' });
      },
    );
  });

  it('[E-13] [S-14] waits for agents that wait for the client', async () => {
    const tools = [{ type: 'function', name: 'ask', parameters: { type: 'object', properties: {} } }];
    const asks: Script = (asked) => (lastSaid(asked) === 'slate' ? { text: 'It is slate.' } : call('ask'));
    await withAgents({ [ROOT]: orSummary(delegating), [CHILD]: asks, nobody: () => summary }, async (app) => {
      const first = await app.ask({ tools, ...MANAGED });
      const input = first.output.flatMap(({ type, call_id }) =>
        type === 'function_call' ? [{ type: 'function_call_output', call_id, output: 'slate' } as JsonObject] : [],
      );
      expect(input.length).toBe(1);
      app.restart();
      const second = await app.ask({ tools, previous_response_id: first.id, input, ...MANAGED });
      expect(JSON.stringify(second.output)).toContain('It is slate.');
      expect([first, second].map(({ output }) => output.at(-1)?.type === 'compaction')).toEqual([false, true]);
    });
  });

  it('[E-13] [S-14] of a whole conversation has what agents told the first one, and not what they did', async () => {
    const works: Script = (asked) => (lastSaid(asked) === 'ran read' ? { text: 'It is slate.' } : call('read'));
    await withAgents({ [ROOT]: delegating, [CHILD]: works, nobody: () => summary }, async (app) => {
      const { id } = await app.ask();
      const answer = await fetch(`${app.url}/responses/compact`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', previous_response_id: id }),
      });
      expect(answer.status).toBe(200);
      const sent = JSON.stringify(app.asked.at(-1)?.messages);
      expect(sent).toContain('Message to /root from /root/reader:\\nIt is slate.');
      expect([sent.includes('ran read'), sent.includes('Called the tool spawn_agent')]).toEqual([false, true]);
    });
  });
});

it('[E-13] an agent goes on with the tools that the client has found for it', async () => {
  const tools = [{ type: 'tool_search', execution: 'client', parameters: { type: 'object', properties: {} } }];
  const found = { type: 'function', name: 'count', parameters: { type: 'object', properties: {} } };
  const finds: Script = (asked) => (offered(asked).includes('count') ? { text: 'I can count.' } : call('tool_search'));
  await withAgents({ [ROOT]: delegating, [CHILD]: finds }, async (app) => {
    const first = await app.ask({ tools });
    const input = first.output.flatMap((item: Shown) =>
      item.type === 'tool_search_call'
        ? [
            {
              type: 'tool_search_output',
              call_id: item.call_id,
              execution: 'client',
              status: 'completed',
              tools: [found],
            },
          ]
        : [],
    );
    expect(input.length).toBe(1);
    app.restart();
    const second = await app.ask({ tools, previous_response_id: first.id, input });
    expect(inShort(second.output).at(-1)).toContain('I can count.');
  });
});

it('[E-13] the tools of agents count among the input tokens of a request', async () => {
  const counted: string[] = [];
  const countTokens = (text: string) => counted.push(text);
  await withAgents(
    {},
    async ({ url }) => {
      for (const headers of [{}, BETA]) {
        await fetch(`${url}/responses/input_tokens`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ model: 'm', input: 'Go.', multi_agent: { enabled: true } }),
        });
      }
      expect(counted.map((text) => text.includes('followup_task'))).toEqual([false, true]);
    },
    { countTokens },
  );
});
