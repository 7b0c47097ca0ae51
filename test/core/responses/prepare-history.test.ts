/** What a request that continues another takes over from it. */
import type { Call } from '../../../src/core/call.ts';
import { DEFAULT_LIMITS } from '../../../src/core/limits.ts';
import type { Prepare } from '../../../src/core/prepare/prepare.ts';
import { prepareHistory } from '../../../src/core/responses/prepare-history.ts';
import { prepareTools } from '../../../src/core/responses/prepare-tools.ts';
import { functionTool, functionTools, memoryStore } from '../../../src/index.ts';

type Fields = Readonly<Record<string, unknown>>;

const NOW = { type: 'function', name: 'now', description: null, parameters: null, strict: null };
const ADD = { type: 'function', name: 'add', description: 'Adds.', parameters: { type: 'object' }, strict: true };
const OURS = { type: 'function', name: 'clock', description: null, parameters: { type: 'object' }, strict: null };
const ASKED = { type: 'message', id: 'msg_1', role: 'user', content: 'a' };
const TOLD = { type: 'message', id: 'msg_2', role: 'assistant', content: 'b' };

const host = functionTools({
  clock: functionTool({ parameters: { type: 'object' }, execute: () => '12:00' }),
  now: functionTool({ parameters: { type: 'object' }, execute: () => '12:00' }),
});

/** The body after the steps, for a request that continues a response with NOW and a required choice. */
async function after(steps: readonly Prepare[], body: Fields): Promise<Fields> {
  const store = memoryStore();
  const resource = { tools: [NOW], tool_choice: 'required' };
  store.put({ scope: 's', id: 'resp_1', createdAt: 1, input: [ASKED], output: [TOLD], resource });
  const settings = { store, limits: DEFAULT_LIMITS, hooks: {}, toolsOf: () => [host] };
  let call: Call = {
    body: { model: 'm', input: 'c', previous_response_id: 'resp_1', ...body },
    params: {},
    query: {},
    headers: new Headers(),
    scope: 's',
    requestId: 'req_1',
    signal: new AbortController().signal,
  };
  for (const step of steps) call = await step(call, settings);
  return call.body as Fields;
}

async function toolsAfter(steps: readonly Prepare[], body: Fields): Promise<Fields> {
  const { tools, tool_choice } = await after(steps, body);
  return { tools, tool_choice };
}

describe('prepareHistory', () => {
  it('[S-03] [D-15] puts the earlier input and output in front and drops the id that nobody else knows', async () => {
    expect(await after([prepareHistory], { tools: [] })).toEqual({
      model: 'm',
      tools: [],
      input: [ASKED, TOLD, { type: 'message', role: 'user', content: 'c' }],
    });
  });

  it('[S-12] [B-31] inherits tools and choice where tools are omitted, or null, and neither where they are given', async () => {
    const asked = [{}, { tools: null, tool_choice: null }, { tool_choice: 'none' }, { tools: [ADD] }, { tools: [] }];
    expect(await Promise.all(asked.map((body) => toolsAfter([prepareHistory], body)))).toEqual([
      { tools: [NOW], tool_choice: 'required' },
      { tools: [NOW], tool_choice: 'required' },
      { tools: [NOW], tool_choice: 'none' },
      { tools: [ADD], tool_choice: undefined },
      { tools: [], tool_choice: undefined },
    ]);
  });

  it('[X-02] [B-31] inherits the same whichever of history and tools comes first, the client’s tool before ours', async () => {
    const both = (body: Fields) =>
      Promise.all([toolsAfter([prepareHistory, prepareTools], body), toolsAfter([prepareTools, prepareHistory], body)]);
    const inherited = { tools: [NOW, OURS], tool_choice: 'required' };
    expect(await both({})).toEqual([inherited, inherited]);
    const own = { tools: [OURS, { ...NOW, parameters: { type: 'object' } }], tool_choice: undefined };
    expect(await both({ tools: [] })).toEqual([own, own]);
  });
});
