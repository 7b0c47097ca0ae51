/** A checked body as items, as a plan for its tools, and as a request to a model. */

import { modelRequest } from '../../../src/apis/responses/steps/to-model-request.ts';
import { planTools, type ToolPlan } from '../../../src/apis/responses/steps/tools/plan-tools.ts';
import type { Note } from '../../../src/protocol/note.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { inputItems } from '../../../src/protocol/responses/input-items.ts';

function plan({ tools = [], tool_choice: choice }: JsonObject): ToolPlan & { notes: readonly Note['code'][] } {
  const notes: Note['code'][] = [];
  const given = { tools: tools as readonly JsonObject[], choice };
  return { ...planTools(given, new Map(), ({ code }) => notes.push(code)), notes };
}

const ADD = { type: 'function', name: 'add', description: 'Adds.', parameters: { type: 'object' }, strict: true };
const OFFERED_ADD = { name: 'add', description: 'Adds.', parameters: { type: 'object' }, strict: true };
const NOW = { type: 'function', name: 'now', description: null, parameters: null, strict: null };
const OFFERED_NOW = { name: 'now' };

describe('inputItems', () => {
  it('[S-03] [S-13] [D-18] makes each item whole: a type, an id of ours where it has none, a status, a list of parts', () => {
    const items = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', phase: 'commentary' },
      { type: 'message', role: 'system', content: null, id: '' },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'd', status: 'incomplete' },
      { type: 'reasoning', summary: [], encrypted_content: null },
      { type: 'acme:thing', any: { thing: 1 } },
    ];
    expect(inputItems(items, 'SEED')).toEqual([
      {
        id: 'msg_SEEDi0000',
        type: 'message',
        role: 'user',
        status: 'completed',
        content: [{ type: 'input_text', text: 'a' }],
      },
      {
        id: 'msg_SEEDi0001',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'b', annotations: [], logprobs: [] }],
      },
      { id: 'msg_SEEDi0002', type: 'message', role: 'system', status: 'completed', content: [] },
      { id: 'fc_SEEDi0003', type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { id: 'fco_SEEDi0004', type: 'function_call_output', call_id: 'c', output: 'd', status: 'incomplete' },
      { id: 'rs_SEEDi0005', type: 'reasoning', summary: [], encrypted_content: null },
      { id: 'item_SEEDi0006', type: 'acme:thing', any: { thing: 1 } },
    ]);
  });

  it('[S-03] keeps the fields of an item, including unknown ones', () => {
    const item = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'incomplete',
      content: [{ type: 'output_text', text: 'a', annotations: [], parsed: { a: 1 } }],
      phase: 'final_answer',
    };
    expect(inputItems([item], 'SEED')).toEqual([item]);
  });

  it('[S-03] takes a string for one user message, and nothing for no items', () => {
    const [message] = inputItems('a', 'SEED');
    expect([message?.role, message?.content, inputItems(null, 'SEED'), inputItems(undefined, 'SEED')]).toEqual([
      'user',
      [{ type: 'input_text', text: 'a' }],
      [],
      [],
    ]);
  });
});

describe('planTools', () => {
  it('[S-05] [D-12] [A-25] offers the function tools; the choice is auto, which is not sent to the model', () => {
    expect(plan({ tools: [ADD, NOW] })).toEqual({
      tools: [ADD, NOW],
      choice: 'auto',
      forms: new Map([
        ['add', { kind: 'function', name: 'add' }],
        ['now', { kind: 'function', name: 'now' }],
      ]),
      modelTools: [OFFERED_ADD, OFFERED_NOW],
      toolChoice: undefined,
      allowed: undefined,
      findable: new Map(),
      toolset: new Map(),
      known: new Set(),
      notes: [],
    });
  });

  it('[S-06] offers the first of two tools that the model would know by one name, and notes the other', () => {
    const inner = { ...NOW, name: 'send' };
    const { modelTools: offered, notes } = plan({
      tools: [
        { ...ADD, name: 'mail__send' },
        { type: 'namespace', name: 'mail', tools: [inner] },
      ],
    });
    expect([offered, notes]).toEqual([[{ ...OFFERED_ADD, name: 'mail__send' }], ['tool_dropped']]);
  });

  it('[A-25] notes each tool that nobody here can run', () => {
    const {
      tools,
      modelTools: offered,
      notes,
    } = plan({
      tools: [{ type: 'web_search' }, ADD, { type: 'mcp', server_label: 'x' }],
    });
    expect([tools.length, offered, notes]).toEqual([3, [OFFERED_ADD], ['tool_dropped', 'tool_dropped']]);
  });

  it.each<readonly [string, unknown, unknown, readonly string[] | undefined]>([
    ['a function', { type: 'function', name: 'now' }, { name: 'now' }, undefined],
    ['auto', { type: 'allowed_tools', mode: 'auto', tools: [{ name: 'now' }] }, 'auto', ['now']],
    ['no mode', { type: 'allowed_tools', tools: [{ name: 'now' }, { name: 'add' }] }, 'auto', ['now', 'add']],
    ['one required', { type: 'allowed_tools', mode: 'required', tools: [{ name: 'now' }] }, { name: 'now' }, ['now']],
    ['none allowed', { type: 'allowed_tools', mode: 'auto', tools: [] }, 'auto', []],
  ])('[S-05] [B-24] [D-13] settles the choice of %s, with all tools on offer', (_, choice, toolChoice, allowed) => {
    const settled = plan({ tools: [ADD, NOW], tool_choice: choice });
    expect([settled.toolChoice, settled.allowed && [...settled.allowed], settled.modelTools.length]).toEqual([
      toolChoice,
      allowed,
      2,
    ]);
  });

  it.each<readonly [unknown, unknown, string]>([
    [[ADD], { type: 'function', name: 'gone' }, "not found in 'tools' parameter."],
    [[ADD], { type: 'function' }, "Tool choice 'function' not found in 'tools' parameter."],
    [[], 'required', "Tool choice 'required' must be specified with 'tools' parameter."],
    [[ADD], { type: 'allowed_tools' }, "Missing required parameter: 'tool_choice.tools'."],
  ])('[B-26] [S-05] refuses of %j the choice %j', (tools, choice, message) => {
    expect(() => plan({ tools, tool_choice: choice })).toThrow(
      expect.objectContaining({ status: 400, param: 'tool_choice', message: expect.stringContaining(message) }),
    );
  });
});

it('[V-40] says which tool cannot be run here, where the model must call one of those alone', () => {
  expect(() => plan({ tools: [{ type: 'image_generation' }], tool_choice: 'required' })).toThrow(
    "Tool choice 'required' cannot be met: no tool of this request can be run here, such as 'image_generation'.",
  );
});

describe('modelRequest', () => {
  it('[A-25] [A-26] [S-03] holds nothing that was omitted or null', () => {
    const nulls = { instructions: null, temperature: null, reasoning: { effort: null }, text: { format: null } };
    expect(modelRequest({ model: 'm', ...nulls }, [], plan({}))).toEqual({
      model: 'm',
      items: [],
      tools: [],
    });
  });

  it('[S-07] [S-08] [S-20] holds everything that a model may know', () => {
    const body = {
      model: 'm',
      instructions: '',
      parallel_tool_calls: false,
      text: { format: { type: 'json_schema' as const, name: 'n', schema: {}, strict: null }, verbosity: 'low' },
      reasoning: { effort: 'low' },
      max_output_tokens: 16,
      temperature: 0,
      top_p: 0,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 1,
      metadata: { a: 'b' },
      service_tier: 'flex',
      safety_identifier: 's',
      prompt_cache_key: 'p',
      user: 'u',
    };
    expect(modelRequest(body, [], plan({ tools: [NOW], tool_choice: 'none' }))).toEqual({
      model: 'm',
      items: [],
      tools: [OFFERED_NOW],
      instructions: '',
      toolChoice: 'none',
      parallelToolCalls: false,
      textFormat: { type: 'json_schema', name: 'n', schema: {} },
      verbosity: 'low',
      reasoningEffort: 'low',
      maxOutputTokens: 16,
      temperature: 0,
      topP: 0,
      presencePenalty: 0,
      frequencyPenalty: 0,
      topLogprobs: 1,
      metadata: { a: 'b' },
      serviceTier: 'flex',
      safetyIdentifier: 's',
      promptCacheKey: 'p',
      user: 'u',
    });
  });
});
