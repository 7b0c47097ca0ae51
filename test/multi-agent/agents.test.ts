/** Agents of one response: what they may not do, what a model server does to them, and what their client sees. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { calling } from '../apis/chat-completions/script.ts';
import { gate } from '../support/gate.ts';
import { type AgentsApp, call, inShort, lastSaid, type Script, type Shown, withAgents } from './app.ts';

const ROOT = '/root';
const CHILD = '/root/reader';
const SPAWN = { task_name: 'reader', message: 'Read it.', fork_turns: 'none' };

/** Spawns, waits, and answers with what it was told. */
const delegating: Script = (asked, round) => {
  if (round === 1) return call('spawn_agent', SPAWN);
  if (round === 2) return call('wait_agent');
  return { text: `I was told: ${lastSaid(asked)}` };
};

const ASK = { type: 'function', name: 'ask', parameters: { type: 'object', properties: {} } };

/** What the first agent says last. */
function answerIn(output: readonly Shown[]): string {
  return inShort(output).findLast((text) => text.startsWith(`${ROOT} message final_answer`)) ?? '';
}

describe('a request that does not ask for agents as the beta does', () => {
  const askedNames = ({ asked }: AgentsApp) => asked[0]?.tools?.map(({ function: { name } }) => name);
  const plain = { nobody: () => ({ text: 'Alone.' }) };

  it('[E-13] has one agent and a note without the header', async () => {
    await withAgents(plain, async (app) => {
      const response = await app.post({}, {});
      const { output } = (await response.json()) as { output: readonly Shown[] };
      expect([askedNames(app), output[0]?.agent, output[0]?.phase]).toEqual([['read', 'write'], undefined, undefined]);
      expect(app.notes.map(({ code }) => code)).toEqual(['unknown_field']);
    });
  });

  it('[E-13] has one agent and a note where the host has not switched it on', async () => {
    await withAgents(
      plain,
      async (app) => {
        await app.ask();
        expect([askedNames(app), app.notes.map(({ code }) => code)]).toEqual([['read', 'write'], ['unknown_field']]);
      },
      { multiAgent: false },
    );
  });

  it('[E-13] has one agent where it is not enabled', async () => {
    await withAgents(plain, async (app) => {
      await app.ask({ multi_agent: { enabled: false } });
      expect([askedNames(app), app.notes]).toEqual([['read', 'write'], []]);
    });
  });

  it.each([{ allowed_tools: [] }, { max_total_subagents: 0 }, { safety_policy: { max: 1 } }])(
    '[O-03] is refused where nothing here keeps to it: %j',
    async (term) => {
      await withAgents(plain, async (app) => {
        const refused = await app.post({ multi_agent: { enabled: true, ...term } });
        const { error } = (await refused.json()) as { error: { param: string } };
        const [name] = Object.keys(term);
        expect([refused.status, error.param, app.asked]).toEqual([400, `multi_agent.${name}`, []]);
        const without = await app.post({ multi_agent: { enabled: true, allowed_tools: null, colour: 'red' } });
        expect(without.status).toBe(200);
      });
    },
  );

  it.each([
    [{ multi_agent: true }, 'multi_agent'],
    [{ multi_agent: {} }, 'multi_agent.enabled'],
    [{ multi_agent: { enabled: 'yes' } }, 'multi_agent.enabled'],
    [{ multi_agent: { enabled: true, max_concurrent_subagents: 0 } }, 'multi_agent.max_concurrent_subagents'],
    [{ tools: [{ ...ASK, name: 'spawn_agent' }] }, 'tools'],
  ])('[E-13] is refused where the field is wrong: %j', async (body, param) => {
    await withAgents(plain, async (app) => {
      const response = await app.post(body);
      const { error } = (await response.json()) as { error: { param: string } };
      expect([response.status, error.param, app.asked]).toEqual([400, param, []]);
    });
  });
});

it('[O-04] is never silent while an agent works behind the answer of the first', async () => {
  const done = gate();
  const scripts: Readonly<Record<string, Script>> = {
    [ROOT]: (_, round) =>
      round === 1 ? { calls: [calling('spawn_agent', SPAWN, 'c1'), calling('ask', {}, 'c2')] } : { text: 'Done.' },
    [CHILD]: async () => {
      await done.opened;
      return { text: 'Read.' };
    },
  };
  await withAgents(
    scripts,
    async (app) => {
      const answer = await app.post({ stream: true, tools: [ASK] });
      const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      const readUntil = async (isEnough: () => boolean) => {
        while (!isEnough()) {
          const { done: isOver, value } = await reader.read();
          if (isOver) return;
          text += value;
        }
      };
      const beats = () => text.match(/^: heartbeat|^event: keepalive/gm)?.length ?? 0;
      // The child has begun, and the first agent's call waits for the client.
      await readUntil(() => app.agents.includes(CHILD) && text.includes('"call_id":"c2"'));
      const before = beats();
      await readUntil(() => beats() >= before + 8);
      expect(text).toContain('event: keepalive');
      done.open();
      await readUntil(() => false);
      expect(text).toContain('event: response.completed');
      const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
      expect(numbers).toEqual(numbers.map((_, index) => index));
    },
    { heartbeat: { intervalMs: 20 } },
  );
});

describe('what a request forbids', () => {
  it('[E-13] begins no agent under tool_choice none', async () => {
    const disobeying: Script = (asked) =>
      lastSaid(asked).startsWith('Not run') ? { text: 'Done.' } : call('spawn_agent', SPAWN);
    await withAgents({ nobody: disobeying, [ROOT]: disobeying }, async (app) => {
      const { output } = await app.ask({ tool_choice: 'none' });
      expect(output.map(({ type }) => type)).toEqual(['message']);
      expect(app.agents).not.toContain(CHILD);
    });
  });

  it('[E-13] runs no tool for an agent that allowed_tools leaves out', async () => {
    const scripts = { nobody: () => call('spawn_agent', SPAWN) };
    await withAgents(
      scripts,
      async (app) => {
        const { output } = await app.ask({
          tools: [ASK],
          tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'ask' }] },
        });
        expect([output, app.ran]).toEqual([[], []]);
        expect(app.agents).not.toContain(CHILD);
      },
      { limits: { tools: { iterations: 2 } } },
    );
  });

  it('[E-13] counts the calls of all agents against max_tool_calls', async () => {
    const reading: Script = (_, round) => call('read', {}, `call_${round}`);
    await withAgents({ [ROOT]: delegating, [CHILD]: reading }, async (app) => {
      const { output } = await app.ask({ max_tool_calls: 4 });
      // The first agent's two actions are calls, too.
      expect(app.ran).toEqual(['read', 'read']);
      expect(answerIn(output)).toContain('it was stopped: max_tool_calls');
    });
  });

  it('[E-13] lets an agent make one call at a time without parallel_tool_calls', async () => {
    const both = { calls: ['read', 'write'].map((name) => ({ id: name, name, arguments: '{}' })) };
    const reading: Script = (_, round) => (round === 1 ? both : { text: 'Read.' });
    await withAgents({ [ROOT]: delegating, [CHILD]: reading }, async (app) => {
      await app.ask({ parallel_tool_calls: false });
      expect(app.ran).toEqual(['read']);
    });
  });

  it.each([
    ['alone', (id: string, answer: JsonObject) => ({ previous_response_id: id, input: [answer] })],
    [
      'in front of what other agents have written since',
      (_: string, answer: JsonObject, output: readonly Shown[]) => ({
        store: false,
        input: [
          { role: 'user', content: 'Go.' },
          ...output.flatMap((item) => (item.type === 'mcp_approval_request' ? [item, answer] : [item])),
        ],
      }),
    ],
  ])('[E-13] [T-09] waits for the approval of an agent’s call, and runs it for that agent, %s', async (_, bodyWith) => {
    const reading: Script = (asked, round) => (round === 1 ? call('write') : { text: `It says: ${lastSaid(asked)}` });
    const waiting: Script = (asked, round) =>
      round === 1
        ? call('spawn_agent', SPAWN)
        : lastSaid(asked).includes('It says')
          ? { text: lastSaid(asked) }
          : call('wait_agent', {}, `wait_${round}`);
    await withAgents(
      { [ROOT]: waiting, [CHILD]: reading },
      async (app) => {
        const first = await app.ask();
        const request = first.output.find(({ type }) => type === 'mcp_approval_request') as Shown & { id: string };
        expect([first.status, request.agent?.agent_name, app.ran]).toEqual(['completed', CHILD, []]);
        const answer = { type: 'mcp_approval_response', approval_request_id: request.id, approve: true };
        const second = await app.ask(bodyWith(first.id, answer, first.output));
        expect(app.ran).toEqual(['write']);
        expect(answerIn(second.output)).toContain('It says: ran write');
        expect(inShort(second.output)).toContain(`${CHILD} mcp_call write: ran write`);
      },
      { approval: ({ name }) => name === 'write' },
    );
  });
});

describe('an agent that goes wrong', () => {
  it('[E-13] ends where its model server refuses it, and the one above is told', async () => {
    const failing: Script = () => Promise.reject(new Error('down'));
    await withAgents({ [ROOT]: delegating, [CHILD]: failing }, async (app) => {
      const { status, output } = await app.ask();
      expect(status).toBe('completed');
      expect(answerIn(output)).toContain('The agent has not done its task: ');
    });
  });

  it('[E-13] ends where it never answers', async () => {
    let release = () => {};
    const stalling: Script = () => new Promise((resolve) => (release = () => resolve({ text: 'Too late.' })));
    await withAgents(
      { [ROOT]: delegating, [CHILD]: stalling },
      async (app) => {
        const { status, output } = await app.ask();
        release();
        expect([status, answerIn(output)]).toEqual(['completed', expect.stringContaining('longer than the 50 ms')]);
      },
      { multiAgent: { taskMs: 50 } },
    );
  });

  it('[E-13] ends where it calls tools for ever', async () => {
    const endless: Script = (_, round) => call('read', { round });
    await withAgents(
      { [ROOT]: delegating, [CHILD]: endless },
      async (app) => {
        const { output } = await app.ask();
        expect(answerIn(output)).toContain('it was stopped: max_tool_iterations');
        expect(app.ran.length).toBe(3);
      },
      { limits: { tools: { iterations: 3 } } },
    );
  });

  it('[E-13] fails the response where all agents together write too much', async () => {
    const long: Script = () => ({ text: 'x'.repeat(700) });
    await withAgents(
      {
        [ROOT]: (_, round) =>
          round < 3
            ? call('spawn_agent', { ...SPAWN, task_name: `a${round}` }, `c${round}`)
            : call('wait_agent', {}, `w${round}`),
        '/root/a1': long,
        '/root/a2': long,
      },
      async (app) => {
        const events = await app.stream();
        const { response } = events.at(-1) as Shown & { response: { status: string; error: { code: string } } };
        expect([response.status, events.at(-2)?.type, events.at(-2)?.code]).toEqual([
          'failed',
          'error',
          'output_too_large',
        ]);
      },
      { limits: { model: { outputBytes: 1200 } } },
    );
  });

  it('[E-13] ends with its response where the client leaves', async () => {
    const stalling: Script = () => new Promise(() => {});
    await withAgents({ [ROOT]: delegating, [CHILD]: stalling }, async (app) => {
      const leaving = new AbortController();
      const arrived = new Promise<void>((resolve) => {
        const look = async (): Promise<void> => {
          const { body } = await app.fake.nextRequest();
          if (JSON.stringify(body).includes(`You are the agent ${CHILD}`)) resolve();
          else await look();
        };
        void look();
      });
      const response = await fetch(`${app.url}/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'openai-beta': 'responses_multi_agent=v1' },
        body: JSON.stringify({ model: 'fake-model', input: 'Go.', stream: true, multi_agent: { enabled: true } }),
        signal: leaving.signal,
      });
      await arrived;
      const at = app.agents.indexOf(CHILD);
      leaving.abort();
      await app.fake.closed(at);
      await response.text().catch(() => {});
    });
  });

  it('[E-13] begins no more agents than may work at once, than there may be, and than deep', async () => {
    const told: string[] = [];
    const spawning: Script = (asked, round) => {
      if (round > 1) told.push(lastSaid(asked));
      return round < 4 ? call('spawn_agent', { ...SPAWN, task_name: `a ${round}` }, `c${round}`) : { text: 'Enough.' };
    };
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const deep: Script = async (asked, round) => {
      if (round === 1) return call('spawn_agent', { ...SPAWN, task_name: 'deeper' });
      told.push(`deep: ${lastSaid(asked)}`);
      await held;
      return { text: 'Deep.' };
    };
    await withAgents(
      {
        [ROOT]: (asked, round) => {
          if (round === 4) release();
          return spawning(asked, round);
        },
        '/root/a_1': deep,
        '/root/a_2': deep,
        '/root/a_3': deep,
      },
      async (app) => {
        await app.ask({ multi_agent: { enabled: true, max_concurrent_subagents: 2 } });
        expect(told.filter((text) => text.includes('As many agents as may')).length).toBe(1);
        expect(told.filter((text) => text.startsWith('deep: ')).every((text) => text.includes('at most 1 deep'))).toBe(
          true,
        );
        expect(app.agents.some((name) => name.endsWith('deeper'))).toBe(false);
      },
      { multiAgent: { maxDepth: 1 } },
    );
  });

  it('[E-13] is not waited for by agents that wait for each other', async () => {
    const waiting: Script = (asked, round) => (round === 1 ? call('wait_agent') : { text: lastSaid(asked) });
    await withAgents({ [ROOT]: delegating, [CHILD]: waiting }, async (app) => {
      const { output } = await app.ask();
      expect(inShort(output).some((text) => text.includes('No other agent is working'))).toBe(true);
      expect(answerIn(output)).not.toBe('');
    });
  });
});

describe('what a client sees', () => {
  const reading: Script = (asked, round) => (round === 1 ? call('read') : { text: `Done: ${lastSaid(asked)}` });

  it('[E-13] shows each item with its agent, actions with their results, and messages where they are received', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: reading }, async (app) => {
      const { status, output, usage } = await app.ask({ tools: [ASK] });
      expect(status).toBe('completed');
      const own = inShort(output).filter((text) => text.startsWith(`${ROOT} `));
      expect(own).toEqual([
        '/root multi_agent_call spawn_agent',
        '/root multi_agent_call_output spawn_agent: {"task_name":"/root/reader"}',
        '/root multi_agent_call wait_agent',
        expect.stringMatching(/^\/root multi_agent_call_output wait_agent: .*"timed_out":false/),
        '/root agent_message /root/reader: Done: ran read',
        '/root message final_answer: I was told: Message to /root from /root/reader:\nDone: ran read',
      ]);
      expect(inShort(output).filter((text) => text.startsWith(`${CHILD} `))).toEqual([
        '/root/reader agent_message /root: Read it.',
        '/root/reader mcp_call read: ran read',
        '/root/reader message final_answer: Done: ran read',
      ]);
      // Three calls of the first agent, and two of the other.
      expect([usage.total_tokens, app.asked.length]).toEqual([5 * 21, 5]);
      expect(new Set(output.map(({ id }) => id)).size).toBe(output.length);
    });
  });

  it('[E-13] numbers the events of all agents in one order, each with its agent', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: reading }, async (app) => {
      const events = await app.stream();
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
      const lifecycle = events.filter(({ agent }) => agent === undefined).map(({ type }) => type);
      expect(lifecycle).toEqual(['response.created', 'response.in_progress', 'response.completed']);
      const ended = events.filter(({ type }) => type === 'response.output_item.done');
      const { response } = events.at(-1) as Shown & { response: { output: readonly JsonObject[] } };
      const byIndex = ended.toSorted((one, other) => Number(one.output_index) - Number(other.output_index));
      expect(byIndex.map(({ item }) => item)).toEqual(response.output);
      expect(events.filter(({ type }) => type === 'response.output_item.added').length).toBe(ended.length);
    });
  });

  it('[E-13] asks an agent again that answers while its agents still work', async () => {
    const hasty: Script = (asked, round) =>
      round === 1
        ? call('spawn_agent', SPAWN)
        : round === 2
          ? { text: 'It is being read.' }
          : { text: lastSaid(asked) };
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow: Script = async () => {
      await held;
      return { text: 'Read.' };
    };
    await withAgents(
      {
        [ROOT]: (asked, round) => {
          if (round === 2) setImmediate(release);
          return hasty(asked, round);
        },
        [CHILD]: slow,
      },
      async (app) => {
        const { output } = await app.ask();
        expect(answerIn(output)).toContain('Read.');
        expect(app.agents.filter((name) => name === ROOT).length).toBe(3);
      },
    );
  });

  it('[E-13] goes on with all agents from the stored response, and from one that the client sends back', async () => {
    const again: Script = (asked, round) => {
      if (round <= 3) return delegating(asked, round);
      if (round === 4) return call('followup_task', { target: 'reader', message: 'Once more.' });
      return round === 5 ? call('wait_agent') : { text: lastSaid(asked) };
    };
    const remembering: Script = ({ messages }) => ({
      text: `I was given: ${messages
        .filter(({ role }) => role === 'user')
        .map(({ content }) => content)
        .join(' | ')}`,
    });
    for (const isStored of [true, false]) {
      await withAgents({ [ROOT]: again, [CHILD]: remembering }, async (app) => {
        const first = await app.ask({ store: isStored });
        const more = { role: 'user', content: 'And again?' };
        const second = await app.ask(
          isStored
            ? { previous_response_id: first.id, input: [more] }
            : { store: false, input: [{ role: 'user', content: 'Go.' }, ...first.output, more] },
        );
        expect(answerIn(second.output)).toContain('Read it.');
        expect(answerIn(second.output)).toContain('Once more.');
        // The first agent sees what it was told, and nothing that the other was.
        const { messages = [] } = app.asked[app.agents.lastIndexOf(ROOT)] ?? {};
        const own = JSON.stringify(messages.filter(({ role }) => role === 'assistant'));
        expect([own.includes('spawn_agent'), own.includes('I was told'), own.includes('"I was given')]).toEqual([
          true,
          true,
          false,
        ]);
      });
    }
  });

  it('[E-13] begins no agent again for an answer that it has gone on with, or that comes twice', async () => {
    const asks: Script = ({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? { text: 'Done.' } : call('ask');
    const root: Script = (asked, round) =>
      lastSaid(asked) === 'Thanks.' ? { text: 'Welcome.' } : delegating(asked, round);
    await withAgents({ [ROOT]: root, [CHILD]: asks }, async (app) => {
      const thanks = { role: 'user', content: 'Thanks.' };
      const first = await app.ask({ tools: [ASK] });
      const asked = first.output.find(({ type }) => type === 'function_call');
      const answer = { type: 'function_call_output', call_id: asked?.call_id, output: 'forty-two' };
      const second = await app.ask({ tools: [ASK], previous_response_id: first.id, input: [answer] });
      expect(answerIn(second.output)).toContain('Done.');
      const all = [{ role: 'user', content: 'Go.' }, ...first.output, answer, ...second.output, thanks];
      for (const next of [{ input: all }, { previous_response_id: second.id, input: [answer, thanks] }])
        expect(inShort((await app.ask({ tools: [ASK], ...next })).output)).toEqual([
          '/root message final_answer: Welcome.',
        ]);
    });
  });

  it('[E-13] gives an agent as much of the conversation as it was to be given', async () => {
    const seen: Record<string, string> = {};
    const looking: Script = (asked) => {
      seen[/Task (\w+)/.exec(lastSaid(asked))?.[1] ?? ''] = JSON.stringify(asked.messages);
      return { text: 'Seen.' };
    };
    const spawning: Script = (_, round) => {
      const forks: readonly unknown[] = ['all', 'none', 1];
      if (round > forks.length) return round === 4 ? { text: 'Wait.' } : { text: 'Done.' };
      const fork = forks[round - 1];
      return call(
        'spawn_agent',
        { task_name: `f${fork}`, message: `Task ${fork}`, fork_turns: String(fork) },
        `c${round}`,
      );
    };
    await withAgents(
      { [ROOT]: spawning, '/root/fall': looking, '/root/fnone': looking, '/root/f1': looking },
      async (app) => {
        await app.ask({
          input: [
            { role: 'user', content: 'Old.' },
            { role: 'assistant', content: 'Yes.' },
            { role: 'user', content: 'New.' },
          ],
        });
        expect([seen.all?.includes('Old.'), seen.all?.includes('New.')]).toEqual([true, true]);
        expect([seen.none?.includes('Old.'), seen.none?.includes('New.')]).toEqual([false, false]);
        expect([seen['1']?.includes('Old.'), seen['1']?.includes('New.')]).toEqual([false, true]);
      },
    );
  });

  it('[E-13] gives agents’ calls of the client’s tools to the client, and goes on with its answers', async () => {
    const asking: Script = (asked, round) =>
      round === 1 ? call('ask', {}, 'call_0') : { text: `Answered: ${lastSaid(asked)}` };
    const waiting: Script = (asked, round) =>
      round === 1
        ? call('spawn_agent', SPAWN, 'call_0')
        : lastSaid(asked).includes('Answered')
          ? { text: lastSaid(asked) }
          : call('wait_agent', {}, `call_${round}`);
    await withAgents({ [ROOT]: waiting, [CHILD]: asking }, async (app) => {
      const first = await app.ask({ tools: [ASK] });
      const asked = first.output.find(({ type }) => type === 'function_call');
      expect([first.status, asked?.agent?.agent_name]).toEqual(['completed', CHILD]);
      expect(first.output.filter(({ call_id: id }) => id === asked?.call_id).length).toBe(1);
      const second = await app.ask({
        tools: [ASK],
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: asked?.call_id, output: 'forty-two' }],
      });
      expect(answerIn(second.output)).toContain('Answered: forty-two');
    });
  });

  it('[E-13] works in the background, and shows the same items', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: reading }, async (app) => {
      const events = await app.stream({ background: true });
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
      const { response } = events.at(-1) as Shown & { response: { id: string; output: readonly Shown[] } };
      const stored = await fetch(`${app.url}/responses/${response.id}`);
      const { output } = (await stored.json()) as { output: readonly Shown[] };
      expect([output, answerIn(output)]).toEqual([response.output, expect.stringContaining('ran read')]);
    });
  });

  it('[E-13] goes on with an agent below one that had to wait for it', async () => {
    const DEEP = `${CHILD}/asker`;
    const waiting =
      (task: string): Script =>
      (asked, round) => {
        const said = lastSaid(asked);
        if (said.includes('Answered')) return { text: said };
        return round === 1 ? call('spawn_agent', { ...SPAWN, task_name: task }) : call('wait_agent', {}, `w${round}`);
      };
    const asking: Script = (asked, round) => (round === 1 ? call('ask') : { text: `Answered: ${lastSaid(asked)}` });
    await withAgents({ [ROOT]: waiting('reader'), [CHILD]: waiting('asker'), [DEEP]: asking }, async (app) => {
      const first = await app.ask({ tools: [ASK] });
      const asked = first.output.find(({ type }) => type === 'function_call');
      expect(asked?.agent?.agent_name).toBe(DEEP);
      const second = await app.ask({
        tools: [ASK],
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: asked?.call_id, output: 'forty-two' }],
      });
      expect(answerIn(second.output)).toContain('Answered: forty-two');
    });
  });
});
