/** Rounds of tools in one response, over HTTP: the model asks, the server runs, the model goes on until it answers. */
import { functionTool, functionTools, type ToolProvider } from '../../../src/index.ts';
import { type ChatFields, chatChunk, chatStream, type FakeAnswer } from '../../../src/testing/index.ts';
import {
  calls,
  chatBody,
  deferred,
  MESSAGE_EVENTS,
  play,
  played,
  providerOf,
  reported,
  saying,
  says,
  shape,
  sinceUser,
  streamOf,
  toolTexts,
  typesOf,
  withTools,
} from './support.ts';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

let weatherCalls = 0;
const functions = functionTools({
  weather: functionTool({
    description: 'Tells the weather.',
    parameters: SCHEMA,
    execute: ({ city }) => {
      weatherCalls += 1;
      return `Sunny in ${city}.`;
    },
  }),
  now: functionTool({ execute: () => 'noon' }),
  fall: functionTool({
    execute: () => {
      throw new Error('It fell.');
    },
  }),
  refuse: functionTool({ execute: () => ({ content: 'Not today.', isError: true }) }),
});
const OPTIONS = { tools: functions };
const ROME = '{"city":"Rome"}';

describe('one call of a tool', () => {
  it('[T-02, T-03, T-10, B-11, D-16, P-04] is run, and the model answers with its result, all in one response', async () => {
    const script = [calls(['call_a', 'weather', ROME]), says('It is sunny.')];
    const { response, events, requested } = await played(OPTIONS, script, { input: 'How is Rome?' });
    const seed = response.id.slice('resp_'.length);

    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'mcp_list_tools.in_progress',
      'mcp_list_tools.completed',
      'output_item.done',
      'output_item.added',
      'mcp_call.in_progress',
      'mcp_call_arguments.delta',
      'mcp_call_arguments.done',
      'mcp_call.completed',
      'output_item.done',
      ...MESSAGE_EVENTS,
      'completed',
    ]);
    const none = { type: 'object', properties: {} };
    expect(response.output).toEqual([
      {
        id: `mcpl_${seed}0000`,
        type: 'mcp_list_tools',
        status: 'completed',
        server_label: 'functions',
        tools: [
          { name: 'weather', description: 'Tells the weather.', input_schema: SCHEMA },
          { name: 'now', input_schema: none },
          { name: 'fall', input_schema: none },
          { name: 'refuse', input_schema: none },
        ],
      },
      {
        id: `mcp_${seed}0001`,
        type: 'mcp_call',
        status: 'completed',
        approval_request_id: null,
        arguments: ROME,
        error: null,
        name: 'weather',
        output: 'Sunny in Rome.',
        server_label: 'functions',
      },
      {
        id: `msg_${seed}0002r1`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'It is sunny.', annotations: [], logprobs: [] }],
      },
    ]);
    const question = { role: 'user', content: 'How is Rome?' };
    const call = { id: 'call_a', type: 'function', function: { name: 'weather', arguments: ROME } };
    expect(requested.map(({ messages }) => messages)).toEqual([
      [question],
      [
        question,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_a', content: 'Sunny in Rome.' },
      ],
    ]);
    const { messages: _first, ...settings } = requested[0] ?? { messages: [] };
    const { messages: _second, ...again } = requested[1] ?? { messages: [] };
    expect([again, settings.stream]).toEqual([settings, true]);
  });

  it('[A-14, T-02] is offered to the model beside the client’s tools, and only those are echoed', async () => {
    const own = { type: 'function', name: 'ask', description: null, parameters: SCHEMA, strict: true };
    const { response, requested } = await played(OPTIONS, [says('Hi')], { tools: [own] });
    expect({ offered: requested[0]?.tools, echoed: response.tools }).toEqual({
      offered: [
        { type: 'function', function: { name: 'ask', parameters: SCHEMA, strict: true } },
        {
          type: 'function',
          function: { name: 'weather', description: 'Tells the weather.', parameters: SCHEMA },
        },
        ...['now', 'fall', 'refuse'].map((name) => ({
          type: 'function',
          function: { name, parameters: { type: 'object', properties: {} } },
        })),
      ],
      echoed: [own],
    });
  });

  it('[P-05] without arguments is run with none', async () => {
    const { response } = await played(OPTIONS, [calls(['call_a', 'now', '']), says('Noon.')]);
    expect(response.output[1]).toMatchObject({ type: 'mcp_call', arguments: '{}', output: 'noon' });
  });

  it('[P-05] is run though the model server reports that the model stopped by itself', async () => {
    const stopped = calls(['call_a', 'now']);
    const round = { body: String(stopped.body).replace('"finish_reason":"tool_calls"', '"finish_reason":"stop"') };
    const { response } = await played(OPTIONS, [round, says('Noon.')]);
    expect(shape(response)).toEqual(['mcp_list_tools completed', 'mcp_call now completed', 'message completed']);
  });

  it('[P-02, S-08, P-03] keeps the thoughts and words before it, for the client and for the model', async () => {
    const round = {
      body: chatStream(
        { reasoning_content: 'The city is Rome.' },
        { content: 'Let me see.' },
        { tool_calls: [{ index: 0, id: 'call_a', function: { name: 'weather', arguments: ROME } }] },
      ),
    };
    const { response, requested } = await played(OPTIONS, [round, says('It is sunny.')]);
    const call = { id: 'call_a', type: 'function', function: { name: 'weather', arguments: ROME } };
    expect([shape(response), requested[1] && sinceUser(requested[1])]).toEqual([
      [
        'reasoning completed',
        'message completed',
        'mcp_list_tools completed',
        'mcp_call weather completed',
        'message completed',
      ],
      [
        {
          role: 'assistant',
          content: 'Let me see.',
          reasoning_content: 'The city is Rome.',
          tool_calls: [call],
        },
        { role: 'tool', tool_call_id: 'call_a', content: 'Sunny in Rome.' },
      ],
    ]);
  });
});

describe('a response without calls', () => {
  it('[T-03] mentions no tools that the client did not bring', async () => {
    const { response } = await played(OPTIONS, [says('Hi')]);
    expect([shape(response), response.tools]).toEqual([['message completed'], []]);
  });
});

describe('several rounds', () => {
  it('[T-02, P-04] are one response: one id, one beginning, one end, and a model call for each round', async () => {
    const script = [
      calls(['call_a', 'now']),
      calls(['call_b', 'weather', ROME]),
      calls(['call_c', 'weather', '{"city":"Oslo"}']),
      says('Sunny everywhere.'),
    ];
    const { response, requested } = await played(OPTIONS, script);
    const seed = response.id.slice('resp_'.length);
    expect(response.output.map(({ id }) => id)).toEqual([
      `mcpl_${seed}0000`,
      `mcp_${seed}0001`,
      `mcp_${seed}0002r1`,
      `mcp_${seed}0003r2`,
      `msg_${seed}0004r3`,
    ]);
    expect(requested.map(toolTexts)).toEqual([
      {},
      { call_a: 'noon' },
      { call_a: 'noon', call_b: 'Sunny in Rome.' },
      { call_a: 'noon', call_b: 'Sunny in Rome.', call_c: 'Sunny in Oslo.' },
    ]);
  });

  it('[T-02, P-06] are sent to the model as rounds, each call directly followed by its result', async () => {
    const script = [calls(['a', 'now']), calls(['b', 'now'], ['c', 'weather', ROME]), says('Noon.')];
    const { requested } = await played(OPTIONS, script);
    const roles = requested[2]?.messages.map(({ role, tool_calls: called, tool_call_id: id }) =>
      Array.isArray(called) ? `${role} ${called.map((call) => call.id)}` : [role, id].filter(Boolean).join(' '),
    );
    expect(roles).toEqual(['user', 'assistant a', 'tool a', 'assistant b,c', 'tool b', 'tool c']);
  });

  it('[T-02, P-06] are sent to the model as rounds though tool lists separate parallel calls', async () => {
    const tools = [providerOf('files', ['read']), providerOf('mail', ['send'])];
    const script = [calls(['a', 'read'], ['b', 'send'], ['c', 'read', '{"p":2}']), says('Done.')];
    const { response, requested } = await played({ tools }, script);
    expect([shape(response), requested[1]?.messages.map(({ role }) => role)]).toEqual([
      [
        'mcp_list_tools completed',
        'mcp_call read completed',
        'mcp_list_tools completed',
        'mcp_call send completed',
        'mcp_call read completed',
        'message completed',
      ],
      ['user', 'assistant', 'tool', 'tool', 'tool'],
    ]);
  });

  it('[P-05, C-03] keep calls apart though the model server gives each round the same call ids', async () => {
    const script = [calls(['call_0', 'now']), calls(['call_0', 'weather', ROME]), says('Noon.')];
    const { response, requested } = await withTools(OPTIONS, async (app) => {
      app.fake.reply(...script);
      return { ...(await streamOf(app.url)), requested: app.fake.requests.map(chatBody) };
    });
    const ours = `call_${response.id.slice('resp_'.length)}002`;
    expect(requested.map(toolTexts)).toEqual([{}, { call_0: 'noon' }, { call_0: 'noon', [ours]: 'Sunny in Rome.' }]);
  });

  it('[S-10, B-42] [F-26] sum the usage of all model calls, field by field', async () => {
    const used = (input: number, cached: number, output: number, reasoning: number) => ({
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: 2 * cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
    });
    const withUsage = ({ body }: FakeAnswer, usage: object): FakeAnswer => ({
      body: String(body).replace(/"usage":\{[^}]*\}/, `"usage":${JSON.stringify(usage)}`),
    });
    const script = [
      withUsage(calls(['a', 'now']), used(100, 10, 20, 5)),
      withUsage(calls(['b', 'now']), used(1000, 100, 200, 50)),
      withUsage(says('Noon.'), used(1, 0, 2, 0)),
    ];
    const { response } = await played(OPTIONS, script);
    expect(response.usage).toEqual({
      input_tokens: 1101,
      input_tokens_details: { cached_tokens: 110, cache_write_tokens: 220 },
      output_tokens: 222,
      output_tokens_details: { reasoning_tokens: 55 },
      total_tokens: 1323,
    });
  });

  it('[A-26] ask the model for reasoning only where the client did, in every round', async () => {
    const script = [calls(['a', 'now']), says('Noon.')];
    const efforts = async (reasoning: object) =>
      (await played(OPTIONS, script, { reasoning })).requested.map((body) => [
        body.reasoning_effort,
        'reasoning' in body,
      ]);
    expect([await efforts({ effort: null, summary: null }), await efforts({ effort: 'low' })]).toEqual([
      [
        [undefined, false],
        [undefined, false],
      ],
      [
        ['low', false],
        ['low', false],
      ],
    ]);
  });

  it('[P-12, B-28] are stored whole: the stored response is the one that was sent', async () => {
    const script = [calls(['a', 'now']), calls(['b', 'fall']), says('Noon.')];
    await withTools(OPTIONS, async (app) => {
      const { response } = await play(app, script);
      const stored = await fetch(`${app.url}/responses/${response.id}`);
      expect(JSON.parse(await stored.text())).toEqual(response);
    });
  });
});

describe('parallel calls', () => {
  /** A tool that answers once so many of its calls run at the same time, and counts how many did at most. */
  function gathering(count: number): ToolProvider & { readonly most: () => number } {
    let running = 0;
    let most = 0;
    let full = deferred();
    const run: ToolProvider['call'] = async ({ arguments: { n } }) => {
      running += 1;
      most = Math.max(most, running);
      if (running === count) full.resolve();
      await full.promise;
      running -= 1;
      if (running === 0) full = deferred();
      return saying(`answer ${n}`);
    };
    return { ...providerOf('gather', ['gather'], run), most: () => most };
  }

  const many = (count: number) =>
    calls(...Array.from({ length: count }, (_, n) => [`call_${n}`, 'gather', `{"n":${n}}`] as const));

  it('[T-05, S-05] of three overlap, and their results come in the order of the calls', async () => {
    const tools = gathering(3);
    const { response, requested } = await played({ tools, limits: { tools: { timeoutMs: 5_000 } } }, [
      many(3),
      says('Done.'),
    ]);
    const answers = { call_0: 'answer 0', call_1: 'answer 1', call_2: 'answer 2' };
    expect({
      outputs: response.output.slice(1, 4).map(reported),
      requested: requested[1] && toolTexts(requested[1]),
    }).toEqual({
      outputs: Object.values(answers),
      requested: answers,
    });
  });

  it('[T-05] overlap as far as limits.tools.parallelCalls allows, and no further', async () => {
    // Six calls, two at a time: each pair answers only together, so a smaller number would run out of time.
    const tools = gathering(2);
    const limits = { tools: { parallelCalls: 2, timeoutMs: 5_000 } };
    const { response } = await played({ tools, limits }, [many(6), says('Done.')]);
    expect({ most: tools.most(), outputs: response.output.slice(1, 7).map(reported) }).toEqual({
      most: 2,
      outputs: [0, 1, 2, 3, 4, 5].map((n) => `answer ${n}`),
    });
  });

  it('[T-05] are reported in the order of the calls though the first is the last to end', async () => {
    const run: ToolProvider['call'] = async ({ name }) => {
      if (name === 'slow') for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      return saying(name);
    };
    const script = [calls(['a', 'slow'], ['b', 'fast']), says('Done.')];
    const { events } = await played({ tools: providerOf('race', ['slow', 'fast'], run) }, script);
    const ends = events.flatMap((event) => (event.type === 'response.mcp_call.completed' ? [event.output_index] : []));
    expect(ends).toEqual([1, 2]);
  });

  it('[T-05, B-12] all run though one of them fails', async () => {
    const script = [calls(['a', 'now'], ['b', 'fall'], ['c', 'weather', ROME]), says('Done.')];
    const { response } = await played(OPTIONS, script);
    expect(response.output.slice(1, 4).map((item) => [shape({ output: [item] })[0], reported(item)])).toEqual([
      ['mcp_call now completed', 'noon'],
      ['mcp_call fall failed', 'It fell.'],
      ['mcp_call weather completed', 'Sunny in Rome.'],
    ]);
  });
});

describe('a call that fails', () => {
  /** The failed item, what its events were, and what the model received. */
  async function failure(call: FakeAnswer, options: Parameters<typeof played>[0] = OPTIONS) {
    const { response, events, requested } = await played(options, [call, says('I could not.')]);
    const item = response.output[1];
    const events1 = events.filter((event) => 'output_index' in event && event.output_index === 1);
    return {
      status: response.status,
      item,
      types: typesOf(events1),
      reportedToModel: requested[1] && toolTexts(requested[1]).a,
    };
  }

  const FAILED = [
    'output_item.added',
    'mcp_call.in_progress',
    'mcp_call_arguments.delta',
    'mcp_call_arguments.done',
    'mcp_call.failed',
    'output_item.done',
  ];

  it.each<[string, FakeAnswer, string]>([
    ['[B-12, T-10] because the function throws', calls(['a', 'fall']), 'It fell.'],
    ['[B-12, T-08] because the tool says so', calls(['a', 'refuse']), 'Not today.'],
    [
      '[T-06] because its arguments are no JSON',
      calls(['a', 'weather', '{"city":"Ro']),
      'input_validation_error: the arguments are not a JSON object: {"city":"Ro',
    ],
    [
      '[T-06, B-13] because its arguments break the schema',
      calls(['a', 'weather', '{"city":7}']),
      'input_validation_error: Instance type "number" is invalid. Expected "string". (path=#/city)',
    ],
  ])('%s is reported to the model, which answers all the same', async (_, call, message) => {
    const { item, ...rest } = await failure(call);
    expect(item).toMatchObject({ type: 'mcp_call', status: 'failed', output: null });
    expect(reported(item)).toBe(message);
    expect(rest).toEqual({ status: 'completed', types: FAILED, reportedToModel: message });
  });

  it('[T-06] because its arguments are no JSON does not bring them back: vLLM answers such a history with 400', async () => {
    const { requested } = await played(OPTIONS, [calls(['a', 'weather', '{"city":"Ro']), says('I could not.')]);
    const sent = requested[1]?.messages.flatMap(({ tool_calls: made }) => (made as { function: ChatFields }[]) ?? []);
    expect(sent).toHaveLength(1);
    expect(() => JSON.parse(String(sent?.[0]?.function.arguments))).not.toThrow();
  });

  it('[T-06, B-13] because of its arguments never reaches the tool', async () => {
    const before = weatherCalls;
    await failure(calls(['a', 'weather', '{}']));
    await failure(calls(['a', 'weather', '[]']));
    expect(weatherCalls).toBe(before);
  });

  it('[B-14, T-05] because it timed out is reported likewise, and the next call of the same tool is answered', async () => {
    let count = 0;
    const run: ToolProvider['call'] = () =>
      count++ % 2 === 0 ? new Promise(() => {}) : Promise.resolve(saying('Here I am.'));
    const options = { tools: providerOf('lazy', ['wake'], run), limits: { tools: { timeoutMs: 30 } } };
    const script = [calls(['a', 'wake']), calls(['b', 'wake']), says('Awake.')];
    const { response } = await played(options, script);
    expect([
      response.status,
      ...response.output.slice(1, 3).map((item) => [shape({ output: [item] })[0], reported(item)]),
    ]).toEqual([
      'completed',
      ['mcp_call wake failed', 'The tool did not answer within 30 ms.'],
      ['mcp_call wake completed', 'Here I am.'],
    ]);
  });

  it('[T-05] because its result is too large is reported likewise', async () => {
    const options = {
      tools: providerOf('big', ['big'], () => Promise.resolve(saying('x'.repeat(101)))),
      limits: { tools: { outputBytes: 100 } },
    };
    const { item } = await failure(calls(['a', 'big']), options);
    expect(reported(item)).toBe('The tool answered with 101 bytes, more than the 100 that are allowed.');
  });

  it('[B-12, M-21] has an event with only its position, or every SDK takes the stream for failed', async () => {
    const { events } = await played(OPTIONS, [calls(['a', 'fall']), says('No.')]);
    const failed = events.filter(({ type }) => type === 'response.mcp_call.failed');
    const added = events.findLast((event) => event.type === 'response.output_item.added' && event.output_index === 1);
    expect(failed).toEqual([
      {
        type: 'response.mcp_call.failed',
        sequence_number: expect.any(Number),
        output_index: 1,
        item_id: added?.type === 'response.output_item.added' ? added.item.id : 'missing',
      },
    ]);
  });

  it('[P-14] because its provider returns an invalid result is reported likewise', async () => {
    // The cast: a provider written in JavaScript.
    const run = () => Promise.resolve({ content: [null] } as unknown as { content: string });
    const { status, item } = await failure(calls(['a', 'odd']), { tools: providerOf('odd', ['odd'], run) });
    expect([status, shape({ output: item ? [item] : [] })]).toEqual(['completed', ['mcp_call odd failed']]);
  });
});

describe('a model that is cut off', () => {
  /** A round in which a whole call is followed by words that are cut off. */
  const cutOff = (reason: string): FakeAnswer => ({
    body: [
      chatChunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'now', arguments: '{}' } }] }),
      chatChunk({ content: 'Let me' }),
      chatChunk({}, { finish_reason: reason }),
      'data: [DONE]\n\n',
    ].join(''),
  });

  const FAILED = ['mcp_list_tools completed', 'mcp_call now failed', 'message incomplete'];

  it.each([
    ['mcp_call', 'length', 'max_output_tokens', FAILED],
    ['mcp_call', 'content_filter', 'content_filter', FAILED],
    ['function_call', 'length', 'max_output_tokens', ['function_call now completed', 'message incomplete']],
  ] as const)(
    '[S-11, D-06, T-02] is not called again, and no call of the server’s is run though it was complete (%s, %s)',
    async (shownAs, finish, reason, items) => {
      const { response, toolCalls } = await played({ ...OPTIONS, show: { toolCalls: shownAs } }, [cutOff(finish)]);
      expect({
        status: response.status,
        details: response.incomplete_details,
        items: shape(response),
        toolCalls,
      }).toEqual({
        status: 'incomplete',
        details: { reason },
        items,
        toolCalls: [],
      });
    },
  );

  it.each(['mcp_call', 'function_call'] as const)(
    '[S-11, S-12, D-15] can go on in the next response, where calls are shown as %s',
    async (shownAs) => {
      await withTools({ ...OPTIONS, show: { toolCalls: shownAs } }, async (app) => {
        const { response } = await play(app, [cutOff('length')]);
        const body = { previous_response_id: response.id, input: 'Go on.' };
        expect(shape((await play(app, [says('On.')], body)).response)).toEqual(['message completed']);
      });
    },
  );

  it('[S-11, D-06] in the arguments of a call leaves that call incomplete and does not run it', async () => {
    const round = {
      body: [
        chatChunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'weather', arguments: '{"city":"Ro' } }] }),
        chatChunk({}, { finish_reason: 'length' }),
        'data: [DONE]\n\n',
      ].join(''),
    };
    const { response, toolCalls } = await played(OPTIONS, [round]);
    expect({ shape: shape(response), reason: response.incomplete_details, toolCalls }).toEqual({
      shape: ['mcp_list_tools completed', 'mcp_call weather incomplete'],
      reason: { reason: 'max_output_tokens' },
      toolCalls: [],
    });
  });
});
