/** What a request that continues another takes over from it. */

import type { Prepare } from '../../../src/apis/endpoint/prepare.ts';
import { loadRequestHistory } from '../../../src/apis/responses/steps/load-history.ts';
import { injectServerTools } from '../../../src/apis/responses/steps/tools/inject-tools.ts';
import { withoutLoadedHistory } from '../../../src/engine/history/own-input.ts';
import type { EndpointRequest } from '../../../src/engine/request/endpoint-request.ts';
import { functionTool, functionTools, memoryStore } from '../../../src/index.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import type { Note } from '../../../src/protocol/note.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { endpointRequest } from '../../support/endpoint-request.ts';

const NOW = { type: 'function', name: 'now', description: null, parameters: null, strict: null };
const ADD = { type: 'function', name: 'add', description: 'Adds.', parameters: { type: 'object' }, strict: true };
const OURS = {
  type: 'function',
  name: 'clock',
  description: null,
  parameters: { type: 'object', properties: {} },
  strict: null,
};
const REQUESTED = { type: 'message', id: 'msg_1', role: 'user', content: 'a' };
const REPORTED = { type: 'message', id: 'msg_2', role: 'assistant', content: 'b' };

const host = functionTools({
  clock: functionTool({ parameters: { type: 'object' }, execute: () => '12:00' }),
  now: functionTool({ parameters: { type: 'object' }, execute: () => '12:00' }),
});

/** The call after the steps, for a request that continues a response with NOW and a required choice. */
async function callAfter(steps: readonly Prepare[], body: JsonObject, notes: Note[] = []): Promise<EndpointRequest> {
  const store = memoryStore();
  const resource = { tools: [NOW], tool_choice: 'required' };
  store.put({ scope: 's', id: 'resp_1', createdAt: 1, input: [REQUESTED], output: [REPORTED], resource });
  const hooks = { onNote: (note: Note) => void notes.push(note) };
  const settings = { store, limits: DEFAULT_LIMITS, hooks, toolsOf: () => [host] };
  let call = endpointRequest({ body: { model: 'm', input: 'c', previous_response_id: 'resp_1', ...body } });
  for (const step of steps) call = await step(call, settings);
  return call;
}

async function after(steps: readonly Prepare[], body: JsonObject): Promise<JsonObject> {
  return (await callAfter(steps, body)).body as JsonObject;
}

async function toolsAfter(steps: readonly Prepare[], body: JsonObject): Promise<JsonObject> {
  const { tools, tool_choice } = await after(steps, body);
  return { tools, tool_choice };
}

describe('loadRequestHistory', () => {
  it('[S-03] [D-15] puts the earlier input and output in front and drops the id that nobody else knows', async () => {
    expect(await after([loadRequestHistory], { tools: [] })).toEqual({
      model: 'm',
      tools: [],
      input: [REQUESTED, REPORTED, { type: 'message', role: 'user', content: 'c' }],
    });
  });

  it('[S-12] [B-31] inherits tools and choice where tools are omitted, or null, and neither where they are given', async () => {
    const requested = [
      {},
      { tools: null, tool_choice: null },
      { tool_choice: 'none' },
      { tools: [ADD] },
      { tools: [] },
    ];
    expect(await Promise.all(requested.map((body) => toolsAfter([loadRequestHistory], body)))).toEqual([
      { tools: [NOW], tool_choice: 'required' },
      { tools: [NOW], tool_choice: 'required' },
      { tools: [NOW], tool_choice: 'none' },
      { tools: [ADD], tool_choice: undefined },
      { tools: [], tool_choice: undefined },
    ]);
  });

  it('[X-02] [B-31] inherits the same whichever of history and tools comes first, the client’s tool before ours', async () => {
    const both = (body: JsonObject) =>
      Promise.all([
        toolsAfter([loadRequestHistory, injectServerTools], body),
        toolsAfter([injectServerTools, loadRequestHistory], body),
      ]);
    const inherited = { tools: [NOW, OURS], tool_choice: 'required' };
    expect(await both({})).toEqual([inherited, inherited]);
    const own = { tools: [OURS, { ...NOW, parameters: { type: 'object', properties: {} } }], tool_choice: undefined };
    expect(await both({ tools: [] })).toEqual([own, own]);
  });

  it('[S-12] [X-02] separates the client’s own items from those that were prepended', async () => {
    const own = async (input: unknown) => {
      const { body, context } = await callAfter([loadRequestHistory, injectServerTools], { input });
      return withoutLoadedHistory((body as JsonObject).input, context?.history);
    };
    const written = { type: 'message', role: 'user', content: 'c' };
    // Equal to a stored one, and yet the client's own.
    expect(await Promise.all([own('c'), own([REQUESTED]), own([]), own(undefined)])).toEqual([
      [written],
      [REQUESTED],
      [],
      [],
    ]);
  });

  it('[X-02] recognizes the client’s own items even if a host has moved, removed or preceded the loaded ones', () => {
    const history = { previous: undefined, loaded: [REQUESTED, REPORTED] };
    const rules = { type: 'message', role: 'system', content: 'd' };
    const written = { type: 'message', role: 'user', content: 'c' };
    const inputs = [
      [rules, REQUESTED, REPORTED, written],
      [REPORTED, written, REQUESTED],
      [REPORTED, written],
    ];
    expect(inputs.map((input) => withoutLoadedHistory(input, history))).toEqual([
      [rules, written],
      [written],
      [written],
    ]);
  });

  it('[S-12] puts items in the place of references to them, whatever response holds them, and notes unknown ones', async () => {
    const notes: Note[] = [];
    const input = ['msg_2', 'msg_9'].map((id) => ({ type: 'item_reference', id }));
    const { body } = await callAfter([loadRequestHistory], { input, tools: [] }, notes);
    expect({ input: (body as JsonObject).input, codes: notes.map(({ code }) => code) }).toEqual({
      input: [REQUESTED, REPORTED, REPORTED],
      codes: ['reference_skipped'],
    });
  });

  it('[S-12] leaves the body as it is where it refers to nothing, and does nothing twice', async () => {
    const body = { model: 'm', input: 'c', previous_response_id: undefined };
    const once = await callAfter([loadRequestHistory], body);
    const twice = await callAfter([loadRequestHistory, loadRequestHistory], { tools: [] });
    expect({ once: once.body, twice: (twice.body as JsonObject).input }).toEqual({
      once: body,
      twice: [REQUESTED, REPORTED, { type: 'message', role: 'user', content: 'c' }],
    });
  });
});
