/** The body of a Messages request: every part of a request, and the rules that no conversation may break. */
import { type AnthropicOptions, anthropicUpstream, BUDGET_THINKING } from 'express-open-responses/upstreams/anthropic';
import fc from 'fast-check';
import type { Item } from '../../src/protocol/items.ts';
import type { ModelRequest } from '../../src/protocol/model-request.ts';
import type { Note } from '../../src/protocol/note.ts';
import { toMessagesBody } from '../../src/upstreams/anthropic/body.ts';
import { anthropicSettings } from '../../src/upstreams/anthropic/options.ts';
import { expectMessagesRequest, type MessagesRequest } from './messages-schema.ts';

interface Written {
  readonly body: MessagesRequest;
  readonly notes: readonly string[];
}

/** The body of a request, which a server would take, and the codes of what was left out. */
function write(request: Partial<ModelRequest>, options: AnthropicOptions = {}): Written {
  const notes: Note[] = [];
  const whole = { model: 'a-model', items: [written('user', 'Hi.')], tools: [], ...request };
  const body = toMessagesBody(whole, anthropicSettings(options), (note) => notes.push(note));
  // By way of JSON, as it is sent.
  return {
    body: expectMessagesRequest(JSON.parse(JSON.stringify(body))),
    notes: notes.map(
      ({ code, message }) => `${code}: ${/no field for (.+?)[;,]|type '(.+?)'/.exec(message)?.slice(1).join('')}`,
    ),
  };
}

function messagesOf(...items: readonly Item[]): MessagesRequest['messages'] {
  return write({ items, tools: [LOOK] }, { lastMessage: 'any' }).body.messages;
}

function written(role: string, ...content: readonly (string | object)[]): Item {
  const parts = content.map((part) => (typeof part === 'string' ? { type: 'input_text', text: part } : part));
  return { type: 'message', role, content: parts };
}

function call(id: string, modelCall?: string, text = '{}'): Item {
  const item = { type: 'function_call', call_id: id, name: 'look', arguments: text };
  return modelCall === undefined ? item : { ...item, id: `fc_${SEED}0000r${modelCall}` };
}

function output(id: string, value: unknown = 'Seen.'): Item {
  return { type: 'function_call_output', call_id: id, output: value };
}

const SEED = 'a'.repeat(32);
const LOOK = { name: 'look', description: 'Looks.', parameters: { properties: { at: { type: 'string' } } } };
const text = (words: string) => ({ type: 'text', text: words });
const used = (id: string, input = {}) => ({ type: 'tool_use', id, name: 'look', input });
const result = (id: string, words = 'Seen.') => ({ type: 'tool_result', tool_use_id: id, content: [text(words)] });

const THOUGHT = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };
const thought: Item = {
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Hm.' }],
  providerState: THOUGHT,
};

function search(id: number): Item {
  const use = { type: 'server_tool_use', id: `srvtoolu_${id}`, name: 'web_search', input: { query: 'fog' } };
  const found = { type: 'web_search_tool_result', tool_use_id: use.id, content: [] };
  return { type: 'web_search_call', status: 'completed', providerState: [use, found] };
}

describe('the messages', () => {
  it('[X-07] [P-07] have instructions, system and developer words at the front, in order', () => {
    const { system, messages } = write({
      instructions: 'Be kind.',
      items: [written('system', 'One.'), written('user', 'Hi.'), written('developer', 'Two.')],
    }).body;
    expect({ system, messages }).toEqual({
      system: [text('Be kind.'), text('One.'), text('Two.')],
      messages: [{ role: 'user', content: [text('Hi.')] }],
    });
  });

  it('[X-07] have nothing but words at the front', () => {
    const image = { type: 'input_image', image_url: 'https://example.com/a.png' };
    expect(write({ items: [written('system', 'One.', image), written('user', 'Hi.')] }).body.system).toEqual([
      text('One.'),
    ]);
  });

  it('[X-07] [P-06] join neighbours of one role, and leave out what is empty', () => {
    const items = [written('user', 'a', ''), written('user', 'b'), written('assistant', ' '), written('user', 'c')];
    expect(messagesOf(...items)).toEqual([{ role: 'user', content: [text('a'), text('b'), text('c')] }]);
  });

  it('[X-07] end in no white space where the model goes on with its own words', () => {
    expect(messagesOf(written('user', 'a'), written('assistant', 'b \n')).at(-1)?.content).toEqual([text('b')]);
  });

  it('[X-07] [S-04] give images by address and by data', () => {
    const data = { type: 'input_image', image_url: 'data:image/PNG;base64,AAAA' };
    const address = { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' };
    expect(messagesOf(written('user', data, address))[0]?.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ]);
  });

  it('[X-07] [S-04] give files as documents', () => {
    const source = (part: object) => messagesOf(written('user', { type: 'input_file', ...part }))[0]?.content[0];
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBE' };
    expect([
      source({ filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' }),
      source({ file_data: 'JVBE' }),
      source({ file_url: 'https://example.com/a.pdf' }),
      source({ filename: 'a.csv', file_data: 'data:text/csv;base64,w6QsYg==' }),
      source({ file_data: 'data:,a%20b' }),
    ]).toEqual([
      { type: 'document', source: pdf, title: 'a.pdf' },
      { type: 'document', source: pdf },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ä,b' }, title: 'a.csv' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a b' } },
    ]);
  });

  it.each([
    { type: 'input_audio', input_audio: { data: '', format: 'wav' } },
    { type: 'input_video', video_url: 'https://example.com/a.mp4' },
    { type: 'input_file', file_data: 'data:application/zip;base64,AAAA' },
  ])('[X-07] [S-04] refuse what the wire does not know: %j', (part) => {
    expect(() => messagesOf(written('user', part))).toThrow(expect.objectContaining({ status: 400, param: 'input' }));
  });

  it('[X-07] [P-06] put all results of parallel calls first in the next user message, images kept', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
    const parts = [{ type: 'input_text', text: 'A map.' }, image];
    const items = [call('a', '0', '{"at":1}'), call('b', '0'), output('b', parts), output('a', '')];
    expect(messagesOf(written('user', 'Hi.'), ...items, written('user', 'And?')).slice(1)).toEqual([
      { role: 'assistant', content: [used('a', { at: 1 }), used('b')] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a' },
          {
            type: 'tool_result',
            tool_use_id: 'b',
            content: [
              text('A map.'),
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
          text('And?'),
        ],
      },
    ]);
  });

  it('[X-07] [P-06] keep the calls of two rounds apart, and words beside the calls of their round', () => {
    const items = [call('a', '0'), output('a'), call('b', '1'), output('b'), written('assistant', 'Done.')];
    const words = { ...written('assistant', 'Wait.'), id: `msg_${SEED}0000r1` };
    expect(messagesOf(written('user', 'Hi.'), ...items.slice(0, 3), words, ...items.slice(3)).slice(1)).toEqual([
      { role: 'assistant', content: [used('a')] },
      { role: 'user', content: [result('a')] },
      { role: 'assistant', content: [used('b'), text('Wait.')] },
      { role: 'user', content: [result('b')] },
      { role: 'assistant', content: [text('Done.')] },
    ]);
  });

  it('[X-07] [P-05] take call ids of other servers, odd and repeated ones too', () => {
    const items = [call('functions.look:0'), output('functions.look:0'), written('user', 'Again.')];
    const ids = messagesOf(written('user', 'Hi.'), ...items, ...items).flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
    );
    expect(ids).toEqual(['functions_look_0', 'functions_look_0_2']);
  });

  it('[X-07] [V-35] give arguments that are no object as a text in one', () => {
    const inputs = messagesOf(
      written('user', 'Hi.'),
      call('a', '0', '[1]'),
      call('b', '0', '{"at'),
      output('a'),
      output('b'),
    );
    expect(inputs[1]?.content).toEqual([used('a', { invalid_json: '[1]' }), used('b', { invalid_json: '{"at' })]);
  });

  it('[X-07] [T-03] give the results of tools that ran here, failures as such', () => {
    const run = (id: string, more: object): Item => ({ type: 'mcp_call', id, name: 'look', arguments: '{}', ...more });
    const items = [run('m1', { output: 'Seen.' }), run('m2', { error: 'Fog.' }), run('m3', {})];
    expect(messagesOf(written('user', 'Hi.'), ...items)[2]?.content).toEqual([
      result('m1'),
      { ...result('m2', 'Fog.'), is_error: true },
      result('m3', '(no output was recorded)'),
    ]);
  });

  it('[X-07] [S-06] give custom calls and code as calls of tools', () => {
    const items = [
      { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: '+x' },
      {
        type: 'code_interpreter_call',
        id: 'ci_1',
        code: '1+1',
        outputs: [{ type: 'logs', logs: '2' }, { type: 'image' }],
      },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'ok' },
    ];
    expect(messagesOf(written('user', 'Hi.'), ...items).slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'patch', input: { input: '+x' } },
          { type: 'tool_use', id: 'ci_1', name: 'code_interpreter', input: { code: '1+1' } },
        ],
      },
      { role: 'user', content: [result('a', 'ok'), result('ci_1', '2\n[image]')] },
    ]);
  });

  it('[X-07] [S-03] note items that have no place', () => {
    const items = [
      written('user', 'Hi.'),
      { type: 'acme:thing' },
      { type: 'mcp_list_tools' },
      { type: 'additional_tools' },
      { type: 'mcp_approval_request', id: 'mcpr_1', name: 'send', arguments: '{}' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
      call('a'),
      output('a'),
    ];
    expect(write({ items }).notes).toEqual(['item_skipped: acme:thing']);
  });
});

describe('thoughts', () => {
  it('[X-07] [S-08] come back as they were, before the call that they led to', () => {
    const hidden = { type: 'redacted_thinking', data: 'c2VjcmV0' };
    const redacted: Item = { type: 'reasoning', summary: [], providerState: hidden };
    const items = [written('user', 'Hi.'), thought, redacted, call('a'), output('a')];
    expect(messagesOf(...items)[1]?.content).toEqual([THOUGHT, hidden, used('a')]);
  });

  it('[X-07] [S-08] come back whole where the client lost the summary', () => {
    const items = [
      written('user', 'Hi.'),
      { ...thought, summary: [] },
      written('assistant', 'Ho.'),
      written('user', '?'),
    ];
    expect(messagesOf(...items)[1]?.content).toEqual([THOUGHT, text('Ho.')]);
  });

  it.each([
    ['none', undefined],
    ['null', null],
    ['a text', 'gAAAAABo'],
    ['no block', { type: 'text', text: 'x' }],
    ['half a block', { type: 'thinking', thinking: 'x' }],
  ])('[X-07] [P-14] stay away where the state is %s', (_what, state) => {
    const items = [written('user', 'Hi.'), { ...thought, providerState: state }, written('assistant', 'Ho.')];
    expect(messagesOf(...items)[1]?.content).toEqual([text('Ho.')]);
  });

  it('[X-07] stay away where nothing came of them', () => {
    expect(messagesOf(written('user', 'Hi.'), thought, written('user', 'Well?'))).toEqual([
      { role: 'user', content: [text('Hi.'), text('Well?')] },
    ]);
  });
});

describe('the settings', () => {
  const settings = (request: Partial<ModelRequest>, options?: AnthropicOptions) => {
    const { body, notes } = write(request, options);
    const { model, messages, stream, ...rest } = body;
    return { ...rest, notes };
  };

  it('[X-07] are only those that were asked for', () => {
    expect(write({}).body).toEqual({
      model: 'a-model',
      max_tokens: 8192,
      stream: true,
      messages: [{ role: 'user', content: [text('Hi.')] }],
    });
  });

  it('[X-07] bound the answer as the client says, or as the host does', () => {
    const bounds = [write({ maxOutputTokens: 20 }, { maxTokens: 99 }), write({}, { maxTokens: 99 })];
    expect(bounds.map(({ body }) => body.max_tokens)).toEqual([20, 99]);
  });

  const TOOL = { name: 'look', description: 'Looks.', input_schema: { type: 'object', ...LOOK.parameters } };

  it.each<readonly [Partial<ModelRequest>, unknown]>([
    [{}, undefined],
    [{ toolChoice: 'auto' }, { type: 'auto' }],
    [{ toolChoice: 'none' }, { type: 'none' }],
    [{ toolChoice: 'required' }, { type: 'any' }],
    [{ toolChoice: { name: 'look' } }, { type: 'tool', name: 'look' }],
    [{ parallelToolCalls: true }, undefined],
    [{ parallelToolCalls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [
      { parallelToolCalls: false, toolChoice: 'required' },
      { type: 'any', disable_parallel_tool_use: true },
    ],
    [
      { parallelToolCalls: false, toolChoice: { name: 'look' } },
      { type: 'tool', name: 'look', disable_parallel_tool_use: true },
    ],
  ])('[X-07] [S-05] choose tools: %j', (request, choice) => {
    const { tools, tool_choice } = settings({ ...request, tools: [LOOK] });
    expect([tools, tool_choice]).toEqual([[TOOL], choice]);
  });

  it('[X-07] [S-05] give a tool without parameters an empty schema', () => {
    expect(settings({ tools: [{ name: 'now', strict: true }] }).tools).toEqual([
      { name: 'now', input_schema: { type: 'object', properties: {} } },
    ]);
  });

  it('[X-07] name the tools of the history where none is offered', () => {
    const items = [written('user', 'Hi.'), call('a'), output('a')];
    const { tools, tool_choice } = settings({ items });
    expect([tools, tool_choice]).toEqual([[{ name: 'look', input_schema: { type: 'object' } }], { type: 'none' }]);
  });

  it.each<readonly [effort: string, AnthropicOptions, body: object]>([
    ['high', {}, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' }, max_tokens: 8192 }],
    ['minimal', {}, { thinking: { type: 'adaptive' }, output_config: { effort: 'low' }, max_tokens: 8192 }],
    ['none', {}, { thinking: { type: 'disabled' }, max_tokens: 8192 }],
    [
      'low',
      { thinkingDisplay: 'summarized' },
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' }, max_tokens: 8192 },
    ],
    [
      'medium',
      { thinking: BUDGET_THINKING },
      { thinking: { type: 'enabled', budget_tokens: 8192 }, max_tokens: 16_384 },
    ],
    [
      'odd',
      { thinking: (model) => (model === 'a-model' ? { odd: 2000 } : {}), maxTokens: 10 },
      { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 2010 },
    ],
  ])('[X-07] [S-08] spell the effort %s as the table does: %j', (reasoningEffort, options, body) => {
    expect(settings({ reasoningEffort }, options)).toEqual({ ...body, notes: [] });
  });

  it("[X-07] [S-08] keep a budget to half of the client's own limit, or leave it", () => {
    const thinking = { thinking: BUDGET_THINKING };
    const half = settings({ reasoningEffort: 'high', maxOutputTokens: 4000 }, thinking);
    const less = settings({ reasoningEffort: 'high', maxOutputTokens: 2000 }, thinking);
    expect([half, less]).toEqual([
      { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 4000, notes: [] },
      { max_tokens: 2000, notes: ['setting_dropped: reasoning.effort with so small a max_output_tokens'] },
    ]);
  });

  it('[X-07] [S-08] note an effort that the table lacks, the names of every object included', () => {
    const notes = ['ultra', 'constructor'].map((reasoningEffort) => settings({ reasoningEffort }));
    expect(notes).toEqual(
      ['ultra', 'constructor'].map((effort) => ({
        max_tokens: 8192,
        notes: [`setting_dropped: reasoning.effort '${effort}'`],
      })),
    );
  });

  it('[X-07] [S-08] do not think where a call is forced', () => {
    const request = { reasoningEffort: 'high', tools: [LOOK], toolChoice: 'required' } as const;
    const { thinking, notes } = settings(request);
    expect([thinking, notes]).toEqual([undefined, ['setting_dropped: thinking together with a forced tool_choice']]);
  });

  it('[X-07] [S-08] do not begin to think on a budget in the middle of a turn', () => {
    const options = { thinking: BUDGET_THINKING };
    const requested = (items: readonly Item[]) => settings({ items, reasoningEffort: 'low', tools: [LOOK] }, options);
    const turn = [written('user', 'Hi.'), call('a', '0'), output('a'), call('b', '1'), output('b')];
    const [question, ...rest] = turn as [Item, ...Item[]];
    const begun = [question, { ...thought, id: `rs_${SEED}0000` }, ...rest];
    expect([
      requested(turn).thinking,
      requested(begun).thinking,
      requested([...turn, written('user', 'So?')]).thinking?.type,
    ]).toEqual([undefined, { type: 'enabled', budget_tokens: 2048 }, undefined]);
  });

  it('[X-07] [S-07] ask for structured output', () => {
    const schema = { type: 'object', properties: {} };
    const textFormat = { type: 'json_schema', name: 'a', schema, strict: true } as const;
    expect(settings({ textFormat, reasoningEffort: 'low' }).output_config).toEqual({
      effort: 'low',
      format: { type: 'json_schema', schema },
    });
  });

  it('[X-07] sample by one of temperature and top_p, within the range of the wire', () => {
    const sampled = (request: Partial<ModelRequest>) => {
      const { temperature, top_p, notes } = settings(request);
      return [temperature, top_p, notes];
    };
    expect([
      sampled({ temperature: 0.2, topP: 1 }),
      sampled({ temperature: 1, topP: 0.5 }),
      sampled({ temperature: 0, topP: 0.5 }),
      sampled({ temperature: 1.5 }),
      sampled({ temperature: 0.2, topP: 0.5, reasoningEffort: 'low' }),
      sampled({ temperature: 0.2, reasoningEffort: 'none' }),
    ]).toEqual([
      [0.2, undefined, []],
      [undefined, 0.5, []],
      [0, undefined, ['setting_dropped: top_p beside temperature']],
      [undefined, undefined, ['setting_dropped: a temperature over 1']],
      [
        undefined,
        undefined,
        ['setting_dropped: temperature beside thinking', 'setting_dropped: top_p beside thinking'],
      ],
      [0.2, undefined, []],
    ]);
  });

  it('[X-07] [S-20] pass on who asks, and note what the wire has no field for', () => {
    const request: Partial<ModelRequest> = {
      safetyIdentifier: 'user-1',
      user: 'user-2',
      presencePenalty: 0.5,
      frequencyPenalty: 0.5,
      topLogprobs: 0,
      verbosity: 'low',
      textFormat: { type: 'json_object' },
      promptCacheKey: 'key',
      promptCacheOptions: { mode: 'explicit' },
      promptCacheRetention: '24h',
      moderation: { model: 'omni' },
    };
    expect(settings(request)).toEqual({
      max_tokens: 8192,
      metadata: { user_id: 'user-1' },
      notes: [
        'presence_penalty',
        'frequency_penalty',
        'top_logprobs',
        'text.verbosity',
        'prompt_cache_options',
        'prompt_cache_retention',
        'moderation',
        "text.format 'json_object' without a schema",
      ].map((name) => `setting_dropped: ${name}`),
    });
  });

  it('[X-07] mark what is cached: tools, system and the last message', () => {
    const mark = { cache_control: { type: 'ephemeral' } };
    const request = { instructions: 'Be kind.', tools: [{ name: 'now' }, LOOK], items: [written('user', 'a', 'b')] };
    const { tools, system, messages } = write(request, { promptCache: true }).body;
    expect({ tools: tools?.slice(1), system, messages }).toEqual({
      tools: [{ ...TOOL, ...mark }],
      system: [{ ...text('Be kind.'), ...mark }],
      messages: [{ role: 'user', content: [text('a'), { ...text('b'), ...mark }] }],
    });
  });
});

describe('any conversation', () => {
  const kinds = fc.constantFrom(
    'user',
    'assistant',
    'developer',
    'thought',
    'foreign',
    'call',
    'mcp',
    'search',
    'empty',
  );
  const steps = fc.array(fc.record({ kind: kinds, round: fc.nat(2), id: fc.nat(3) }), { maxLength: 14 });
  const requested = fc.record({
    reasoningEffort: fc.constantFrom(undefined, 'none', 'low', 'high', 'odd'),
    toolChoice: fc.constantFrom(undefined, 'auto', 'none', 'required', { name: 'look' }),
    parallelToolCalls: fc.constantFrom(undefined, true, false),
    maxOutputTokens: fc.constantFrom(undefined, 16, 3000, 100_000),
    temperature: fc.constantFrom(undefined, 0, 1, 2),
    topP: fc.constantFrom(undefined, 0.5, 1),
    tools: fc.constantFrom([], [LOOK]),
  });
  const options = fc.record({
    thinking: fc.constantFrom(undefined, BUDGET_THINKING),
    promptCache: fc.boolean(),
    maxTokens: fc.constantFrom(undefined, 1, 8000),
    serverTools: fc.constantFrom(undefined, [{ type: 'web_search_20250305', name: 'web_search' }]),
  });

  it('[X-07] [P-06] [Q-06] becomes a request that a Messages server takes', () => {
    fc.assert(
      fc.property(steps, requested, options, (chosen, request, made) => {
        const items = [written('user', 'Hi.'), ...chosen.flatMap(itemsOf)];
        // What was not chosen is absent in a request.
        const given = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
        write({ ...given, items }, made);
      }),
      { numRuns: 2000 },
    );
  });

  function itemsOf({ kind, round, id }: { kind: string; round: number; id: number }, index: number): readonly Item[] {
    const place = `${SEED}${index.toString(16).padStart(4, '0')}r${round}`;
    if (kind === 'thought') return [{ ...thought, id: `rs_${place}` }];
    if (kind === 'foreign') return [{ type: 'reasoning', id: `rs_${place}`, summary: [{ text: 'Hm.' }] }];
    if (kind === 'mcp')
      return [{ type: 'mcp_call', id: `mcp_${place}`, name: 'look', arguments: '{}', output: 'Seen.' }];
    if (kind === 'call') return [{ ...call(`call:${id}`), id: `fc_${place}` }, output(`call:${id}`)];
    if (kind === 'search') return [{ ...search(id), id: `ws_${place}` }];
    if (kind === 'empty') return [written('assistant', '')];
    return [{ ...written(kind, 'Words. '), id: `msg_${place}` }];
  }
});

describe('anthropicUpstream', () => {
  it.each<readonly [object, string]>([
    [{ unheardOf: 1 }, "anthropicUpstream: unknown option 'unheardOf'"],
    [{ maxTokens: 0 }, 'anthropicUpstream: maxTokens must be a positive whole number, got 0'],
    [{ version: 1 }, 'anthropicUpstream: version must be a string, got 1'],
    [{ promptCache: 'yes' }, "anthropicUpstream: promptCache must be true or false, got 'yes'"],
    [{ retries: -1 }, 'anthropicUpstream: retries must be a whole number from 0, got -1'],
    [{ thinking: { low: 12 } }, 'anthropicUpstream: thinking must be a function, or an object of'],
    [{ thinkingDisplay: 'all' }, "anthropicUpstream: thinkingDisplay must be 'summarized' or 'omitted', got 'all'"],
    [{ baseURL: 'example.com' }, "anthropicUpstream: baseURL must be an http(s) URL, got 'example.com'"],
    [{ baseURL: 'https://a:b@example.com' }, 'anthropicUpstream: baseURL must hold no credentials'],
  ])('[X-07] refuses a bad option: %j', (options, expected) => {
    const refused = expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(expected) });
    expect(() => anthropicUpstream(options)).toThrow(refused);
  });

  it('[X-07] takes undefined for omitted', async () => {
    const options = { apiKey: undefined, baseURL: undefined, thinking: undefined, promptCache: undefined };
    const upstream = anthropicUpstream(options);
    await upstream.close?.();
    expect([upstream.name, 'chat' in upstream]).toEqual(['anthropic', false]);
  });
});
