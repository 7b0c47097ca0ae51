/** Agents that write programs: each goes on with its own, whatever the others do. */

import type { RouterOptions, ToolProvider } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { programs } from '../../src/tools/code-interpreter/index.ts';
import { PATIENCE } from '../tools/code-interpreter/support.ts';
import { type AgentsApp, type Asked, call, lastSaid, type Script, type Shown, withAgents } from './app.ts';
import { connected } from './socket.ts';

let provider: ToolProvider;
beforeAll(() => {
  provider = programs({ limits: { runMs: 5000 }, warm: 2 });
});
afterAll(() => provider.close?.());

const ROOT = '/root';
const CHILD = '/root/reader';
const CALLERS = { allowed_callers: ['programmatic'] };
const TOOLS = [
  { type: 'programmatic_tool_calling' },
  { type: 'mcp', server_label: 'files', ...CALLERS },
  { type: 'function', name: 'ask', parameters: { type: 'object', properties: {} }, ...CALLERS },
];
const SECRET = 'a secret of more than sixteen bytes';

/** Runs with programs, and with what the server's tools were called with. */
async function withPrograms(
  scripts: Readonly<Record<string, Script>>,
  run: (app: AgentsApp, read: readonly JsonObject[]) => Promise<void>,
  options: RouterOptions = {},
): Promise<void> {
  const read: JsonObject[] = [];
  const files: ToolProvider = {
    name: 'files',
    list: () => [{ server: 'files', name: 'read' }],
    call: async ({ arguments: args }) => {
      read.push(args);
      return { content: JSON.stringify({ read: args.n }) };
    },
  };
  await withAgents(scripts, (app) => run(app, read), { tools: [provider, files], secret: SECRET, ...options });
}

/** Both agents' models give their calls the same id, as some servers do. */
const writes = (code: string) => call('programmatic_tool_calling', { code }, 'call_p');

/** What the model has been told of its program. */
function resultIn({ messages }: Asked): string | undefined {
  const { content } = messages.findLast(({ role }) => role === 'tool') ?? {};
  return content === undefined ? undefined : String(content);
}

/** Begins the agent, writes a program of its own, and repeats what both have given. */
const both =
  (code: string): Script =>
  (asked, round) => {
    if (round === 1) return call('spawn_agent', { task_name: 'reader', message: 'Read.', fork_turns: 'none' });
    if (round === 2) return writes(code);
    const said = lastSaid(asked);
    const told = asked.messages.find(({ content }) => String(content).startsWith('Message to /root from'));
    if (told) return { text: `Child: ${told.content}` };
    return said === '' ? { text: 'nothing' } : call('wait_agent', {}, `wait_${round}`);
  };
const delegating: Script = (asked, round) => {
  if (lastSaid(asked).startsWith('Message to /root from')) return { text: lastSaid(asked) };
  if (round === 1) return call('spawn_agent', { task_name: 'reader', message: 'Read.', fork_turns: 'none' });
  return call('wait_agent', {}, `wait_${round}`);
};
const writing =
  (code: string): Script =>
  (asked) => {
    const result = resultIn(asked);
    return result === undefined ? writes(code) : { text: `Gave ${result}` };
  };

const outputsIn = (output: readonly Shown[]) =>
  output.flatMap(({ type, agent, result }) => (type === 'program_output' ? [[agent?.agent_name, result]] : []));
const callsIn = (output: readonly Shown[]) => output.filter(({ type }) => type === 'function_call');
const answerTo = ({ call_id, caller }: Shown, text: string): JsonObject => ({
  type: 'function_call_output',
  ...{ call_id, caller, output: text },
});

describe('an agent that writes a program', () => {
  it(
    '[E-12] [E-13] has it run; its calls say whose they are, and no other agent’s model sees them',
    async () => {
      const code = 'const { read } = await tools.read({ n: 4 }); text([read, typeof tools.spawn_agent]);';
      await withPrograms({ [ROOT]: delegating, [CHILD]: writing(code) }, async (app, read) => {
        const { output } = await app.ask({ tools: TOOLS });
        const inner = output.filter(({ agent }) => agent?.agent_name === CHILD).map(({ type }) => type);
        expect(inner).toEqual(['agent_message', 'program', 'mcp_call', 'program_output', 'message']);
        const caller = { type: 'program', caller_id: output.find(({ type }) => type === 'program')?.call_id };
        expect(output.find(({ type }) => type === 'mcp_call')).toMatchObject({ caller, agent: { agent_name: CHILD } });
        expect([outputsIn(output), read]).toEqual([[[CHILD, '[4,"undefined"]']], [{ n: 4 }]]);
        expect(JSON.stringify(output.at(-1))).toContain('Gave [4,\\"undefined\\"]');
        const ofRoot = app.asked.filter((_, at) => app.agents[at] === ROOT);
        expect(JSON.stringify(ofRoot.map(({ messages }) => messages))).not.toContain('tools.read');
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] [E-13] counts its calls with those of all agents',
    async () => {
      const code = 'for (let n = 0; n < 9; n += 1) await tools.read({ n });';
      await withPrograms({ [ROOT]: delegating, [CHILD]: writing(code) }, async (app, read) => {
        await app.ask({ tools: TOOLS, max_tool_calls: 6 });
        // Two actions, a program, and three calls.
        expect(read.length).toBeLessThanOrEqual(4);
      });
    },
    PATIENCE,
  );

  const WAITING = `
    const { read } = await tools.read({ n: 1 });
    const answer = await tools.ask({ read });
    text({ answer, more: (await tools.read({ n: 2 })).read });`;

  it.each([
    ['from the store', true],
    ['from what the client sends back', false],
  ])(
    '[E-12] [E-13] goes on with it in the next response, %s, and calls nothing twice',
    async (_, isStored) => {
      await withPrograms({ [ROOT]: delegating, [CHILD]: writing(WAITING) }, async (app, read) => {
        const first = await app.ask({ tools: TOOLS, store: isStored });
        const asked = callsIn(first.output);
        expect(asked).toMatchObject([{ name: 'ask', agent: { agent_name: CHILD }, caller: { type: 'program' } }]);
        const answers = asked.map((each) => answerTo(each, 'forty-two'));
        const second = await app.ask({
          tools: TOOLS,
          ...(isStored
            ? { previous_response_id: first.id, input: answers }
            : { store: false, input: [{ role: 'user', content: 'Go.' }, ...first.output, ...answers] }),
        });
        expect(outputsIn(second.output)).toEqual([[CHILD, '{"answer":"forty-two","more":2}']]);
        expect(JSON.stringify(second.output.at(-1))).toContain('forty-two');
        expect(read).toEqual([{ n: 1 }, { n: 2 }]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] [E-13] goes on with it as soon as its answer is injected',
    async () => {
      await withPrograms({ [ROOT]: delegating, [CHILD]: writing(WAITING) }, (app, read) =>
        connected(app, async ({ send, next }) => {
          send({
            ...{ type: 'response.create', model: 'fake-model', input: 'Go.', tools: TOOLS },
            multi_agent: { enabled: true },
          });
          let item: Shown;
          // The casts: the events hold them.
          const { response } = (await next('response.created')) as Shown & {
            readonly response: { readonly id: string };
          };
          do item = (await next('response.output_item.done')).item as Shown;
          while (item.type !== 'function_call');
          send({ type: 'response.inject', response_id: response.id, input: [answerTo(item, 'forty-two')] });
          const ended = (await next('response.completed', 'response.failed')) as Shown & {
            readonly response: { readonly output: readonly Shown[] };
          };
          const { output } = ended.response;
          expect(outputsIn(output)).toEqual([[CHILD, '{"answer":"forty-two","more":2}']]);
          // One program, and its output has its id.
          const ids = output.flatMap(({ type, call_id }) => (/^program/.test(type) ? [call_id] : []));
          expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
          expect(read).toEqual([{ n: 1 }, { n: 2 }]);
        }),
      );
    },
    PATIENCE,
  );

  it.each([
    ['from the store', true],
    ['from what the client sends back', false],
  ])(
    '[E-12] [E-13] is not mistaken for another that writes one under the same id; both go on, %s',
    async (_, isStored) => {
      const ofRoot = 'const answer = await tools.ask({ who: "root" }); text({ root: answer });';
      const ofChild = 'const answer = await tools.ask({ who: "child" }); text({ child: answer });';
      await withPrograms({ [ROOT]: both(ofRoot), [CHILD]: writing(ofChild) }, async (app) => {
        const first = await app.ask({ tools: TOOLS, store: isStored });
        const made = first.output.filter(({ type }) => type === 'program');
        const asked = callsIn(first.output);
        expect([made.length, new Set(made.map(({ call_id }) => call_id)).size, asked.length]).toEqual([2, 2, 2]);
        for (const { agent, caller } of asked) {
          const own = made.find((each) => each.agent?.agent_name === agent?.agent_name);
          expect(caller).toEqual({ type: 'program', caller_id: own?.call_id });
        }
        const answers = asked.map((each) => answerTo(each, `for ${each.agent?.agent_name}`));
        const second = await app.ask({
          tools: TOOLS,
          ...(isStored
            ? { previous_response_id: first.id, input: answers }
            : { store: false, input: [{ role: 'user', content: 'Go.' }, ...first.output, ...answers] }),
        });
        expect(outputsIn(second.output).toSorted()).toEqual([
          [ROOT, '{"root":"for /root"}'],
          [CHILD, '{"child":"for /root/reader"}'],
        ]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] [E-13] waits for the user where a call of its program needs approval',
    async () => {
      const code = 'text((await tools.read({ n: 3 })).read);';
      await withPrograms(
        { [ROOT]: delegating, [CHILD]: writing(code) },
        async (app, read) => {
          const first = await app.ask({ tools: TOOLS });
          const request = first.output.find(({ type }) => type === 'mcp_approval_request');
          expect([request?.agent?.agent_name, read]).toEqual([CHILD, []]);
          const answer = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true };
          const second = await app.ask({ tools: TOOLS, previous_response_id: first.id, input: [answer] });
          expect([outputsIn(second.output), read]).toEqual([[[CHILD, '3']], [{ n: 3 }]]);
        },
        { approval: ({ name }) => name === 'read' },
      );
    },
    PATIENCE,
  );

  it(
    '[E-12] [E-13] does not go on with a program that the client has changed, and the one above is told',
    async () => {
      await withPrograms({ [ROOT]: delegating, [CHILD]: writing(WAITING) }, async (app, read) => {
        const first = await app.ask({ tools: TOOLS, store: false });
        const shown = first.output.map((item) =>
          item.type === 'program'
            ? { ...item, code: 'await tools.ask({ read: 1 }); await tools.read({ n: 666 });' }
            : item,
        );
        const answers = callsIn(first.output).map((each) => answerTo(each, 'x'));
        const body = { tools: TOOLS, store: false, input: [{ role: 'user', content: 'Go.' }, ...shown, ...answers] };
        const answer = await app.post(body);
        const text = await answer.text();
        expect([text.includes('cannot go on'), read]).toEqual([true, [{ n: 1 }]]);
      });
    },
    PATIENCE,
  );
});
