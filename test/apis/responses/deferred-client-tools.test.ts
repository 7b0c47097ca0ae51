/** Tools of the client that the model is not offered before it has found them: by a search of this server's, or of the client's. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeToolCall, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { type RequestApp, requestAppPerTest } from '../../support/request-app.ts';
import { askForStream } from '../../support/responses-client.ts';

let app: RequestApp;
requestAppPerTest((started) => {
  app = started;
});

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: true,
  defer_loading: true,
};
const SEND = { type: 'function', name: 'send', description: 'Sends a letter.', parameters: {}, defer_loading: true };
const MAIL = { type: 'namespace', name: 'mail', description: 'Mail.', tools: [SEND] };
const ADD = { type: 'function', name: 'add', parameters: { type: 'object' } };
const CLIENTS = {
  type: 'tool_search',
  execution: 'client',
  description: 'Looks for tools.',
  parameters: { type: 'object', properties: { goal: {} } },
};

const called = (name: string, args: unknown): FakeToolCall => ({
  id: `call_${name}`,
  name,
  arguments: JSON.stringify(args),
});
const calling = (name: string, args: unknown) => ({ body: toolCallStream([called(name, args)]) });
const ANSWER = { body: textStream('Done.') };

/** The names of the tools in each request to the model. */
function offered(): readonly unknown[] {
  return app.upstream.requests.map(({ body }) =>
    ((body as JsonObject).tools as readonly { readonly function: JsonObject }[] | undefined)?.map(
      ({ function: tool }) => tool.name,
    ),
  );
}

describe('a deferred tool of the client', () => {
  it('[X-13] [K-01] is found by this server’s search, and called in the next step, with itself as namespace', async () => {
    app.upstream.reply(calling('tool_search', { query: 'weather' }), calling('get_weather', { city: 'Oslo' }));
    const tools = [{ type: 'tool_search' }, WEATHER, MAIL, ADD];
    const { response } = await askForStream(app.url, { tools });
    expect([offered(), response.output.map(({ id: _, ...item }) => item)]).toEqual([
      [
        ['add', 'tool_search'],
        ['add', 'tool_search', 'get_weather'],
      ],
      [
        {
          type: 'tool_search_call',
          status: 'completed',
          call_id: null,
          execution: 'server',
          arguments: { query: 'weather' },
        },
        { type: 'tool_search_output', status: 'completed', call_id: null, execution: 'server', tools: [WEATHER] },
        {
          type: 'function_call',
          status: 'completed',
          call_id: 'call_get_weather',
          name: 'get_weather',
          namespace: 'get_weather',
          arguments: '{"city":"Oslo"}',
        },
      ],
    ]);
  });

  it('[X-13] of a namespace is found with it, and stays on offer in later turns', async () => {
    app.upstream.reply(calling('tool_search', { query: 'letter' }), calling('mail__send', {}), ANSWER);
    const tools = [{ type: 'tool_search' }, WEATHER, MAIL];
    const { body } = await app.create({ input: 'Go.', tools });
    const output = [{ type: 'function_call_output', call_id: 'call_mail__send', output: 'Sent.' }];
    await app.create({ input: output, tools, previous_response_id: body.id });
    const [, found, call] = body.output;
    expect([offered(), found?.tools, call?.namespace]).toEqual([
      [['tool_search'], ['tool_search', 'mail__send'], ['mail__send', 'tool_search']],
      [{ type: 'namespace', name: 'mail', description: 'Mail.', tools: [SEND] }],
      'mail',
    ]);
  });

  it('[X-13] is found by the client’s own search, whose call it answers', async () => {
    app.upstream.reply(calling('tool_search', { goal: 'weather' }), calling('get_weather', {}));
    const { body } = await app.create({ input: 'Go.', tools: [CLIENTS, WEATHER, ADD] });
    const [search] = body.output;
    const answer = { type: 'tool_search_output', call_id: 'call_tool_search', execution: 'client', tools: [WEATHER] };
    const next = await app.create({ input: [answer], tools: [CLIENTS, WEATHER, ADD], previous_response_id: body.id });
    const whole = [{ role: 'user', content: 'Go.' }, search, answer];
    app.upstream.reply(ANSWER);
    await app.create({ input: whole, tools: [CLIENTS, WEATHER, ADD] });
    const [continued, sent] = app.upstream.requests
      .slice(1)
      .map(({ body: request }) => (request as JsonObject).messages);
    expect([search, next.body.output[0]?.type, offered(), continued, app.notes]).toEqual([
      {
        id: search?.id,
        type: 'tool_search_call',
        status: 'completed',
        call_id: 'call_tool_search',
        execution: 'client',
        arguments: { goal: 'weather' },
      },
      'function_call',
      [
        ['tool_search', 'add'],
        ['tool_search', 'get_weather', 'add'],
        ['tool_search', 'get_weather', 'add'],
      ],
      sent,
      [],
    ]);
    expect((continued as readonly JsonObject[]).at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'call_tool_search',
      content: '{"found":["get_weather"]}',
    });
  });

  it('[X-13] that the search of the client brings is offered, though the request did not name it', async () => {
    app.upstream.reply(calling('tool_search', { goal: 'weather' }), ANSWER);
    const { body } = await app.create({ input: 'Go.', tools: [CLIENTS] });
    const answer = {
      type: 'tool_search_output',
      call_id: 'call_tool_search',
      execution: 'client',
      tools: [WEATHER, MAIL],
    };
    await app.create({ input: [answer], tools: [CLIENTS], previous_response_id: body.id });
    expect(offered()).toEqual([['tool_search'], ['tool_search', 'get_weather', 'mail__send']]);
  });

  it('[X-13] of a namespace is sent to the model by the name under which it is offered, now and later', async () => {
    const sentToModel = () =>
      app.upstream.requests.map(({ body }) => ((body as JsonObject).messages as readonly JsonObject[])[2]);
    const search = calling('tool_search', { query: 'letter' });
    app.upstream.reply(search, ANSWER, ANSWER, search, ANSWER);
    for (const searching of [{ type: 'tool_search' }, CLIENTS]) {
      const tools = [searching, WEATHER, MAIL];
      const { body } = await app.create({ input: 'Go.', tools });
      const answer = { type: 'tool_search_output', call_id: 'call_tool_search', execution: 'client', tools: [MAIL] };
      const input = searching === CLIENTS ? [answer] : 'Again.';
      await app.create({ input, tools, previous_response_id: body.id });
    }
    const named = expect.objectContaining({ content: '{"found":["mail__send"]}' });
    expect(sentToModel()).toEqual([undefined, named, named, undefined, named]);
  });

  it('[X-13] is offered at once without a search, or where tool_choice names it', async () => {
    await app.create({ input: 'Go.', tools: [WEATHER, MAIL] });
    const choice = { type: 'function', name: 'get_weather' };
    await app.create({ input: 'Go.', tools: [{ type: 'tool_search' }, WEATHER, MAIL], tool_choice: choice });
    expect(offered()).toEqual([
      ['get_weather', 'mail__send'],
      ['get_weather', 'tool_search'],
    ]);
  });

  it('[X-13] that allowed_tools leaves out is not found', async () => {
    app.upstream.reply(calling('tool_search', { query: 'letter' }), ANSWER);
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'none' }] };
    await app.create({ input: 'Go.', tools: [{ type: 'tool_search' }, WEATHER, MAIL], tool_choice: allowed });
    expect(offered()).toEqual([undefined]);
  });
});

/** The calls that the model was shown last, by its names for them. */
function callsSent(): readonly unknown[] {
  return app
    .requested()
    .messages.flatMap(({ tool_calls: calls = [] }) => calls as readonly { readonly function: JsonObject }[])
    .map(({ function: made }) => made.name);
}

const answeredCall = (name: string, namespace: string) => [
  { type: 'function_call', call_id: `call_${name}`, name, namespace, arguments: '{}' },
  { type: 'function_call_output', call_id: `call_${name}`, output: 'Done.' },
];

describe('a call with a namespace in the input', () => {
  it('[K-01] of a found tool is shown to the model by the name under which it is offered, which stays on offer', async () => {
    for (const search of [{ type: 'tool_search' }, CLIENTS]) {
      const found = {
        type: 'tool_search_output',
        call_id: search === CLIENTS ? 'call_search' : null,
        execution: search === CLIENTS ? 'client' : 'server',
        tools: [WEATHER],
      };
      const searched = { type: 'tool_search_call', call_id: found.call_id, execution: found.execution, arguments: {} };
      const input = [{ role: 'user', content: 'Go.' }, searched, found, ...answeredCall('get_weather', 'get_weather')];
      expect((await app.create({ input, tools: [search, WEATHER, ADD] })).status).toBe(200);
      expect(callsSent()).toEqual(['tool_search', 'get_weather']);
      expect(offered().at(-1)).toContain('get_weather');
    }
  });

  it('[K-01] of a found tool that the client’s search brought names itself as namespace when it is called', async () => {
    app.upstream.reply(calling('get_weather', {}));
    const search = { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} };
    const found = { type: 'tool_search_output', call_id: 'c', execution: 'client', tools: [WEATHER] };
    const input = [{ role: 'user', content: 'Go.' }, search, found];
    const { body } = await app.create({ input, tools: [CLIENTS, ADD] });
    expect(body.output).toMatchObject([{ type: 'function_call', name: 'get_weather', namespace: 'get_weather' }]);
  });

  it('[V-36] has its prefix only where the request has that namespace', async () => {
    const input = [
      { role: 'user', content: 'Go.' },
      ...answeredCall('send', 'mail'),
      ...answeredCall('add', 'gone'),
      ...answeredCall('look', 'look'),
    ];
    await app.create({ input, tools: [MAIL, ADD] });
    expect(callsSent()).toEqual(['mail__send', 'add', 'look']);
    await app.create({ input, tools: [{ ...MAIL, name: 'look', tools: [{ ...SEND, name: 'look' }] }, ADD] });
    expect(callsSent()).toEqual(['send', 'add', 'look__look']);
  });

  it('[K-01] may be forced by the name that its calls have', async () => {
    const choice = { type: 'function', name: 'get_weather', namespace: 'get_weather' };
    await app.create({ input: 'Go.', tools: [{ type: 'tool_search' }, WEATHER], tool_choice: choice });
    expect(app.requested().tool_choice).toMatchObject({ function: { name: 'get_weather' } });
  });
});

describe('the description of a namespace', () => {
  it('[K-08] is shown to the model with the search, is searched, and comes back with what was found', async () => {
    const LETTERS = { ...MAIL, name: 'post', description: 'Letters and parcels of the office.' };
    app.upstream.reply(calling('tool_search', { query: 'parcels' }), ANSWER);
    const { body } = await app.create({ input: 'Go.', tools: [{ type: 'tool_search' }, LETTERS, WEATHER] });
    const [first] = app.upstream.requests;
    expect(JSON.stringify(Object(first?.body).tools)).toContain('post: Letters and parcels of the office.');
    expect(body.output[1]?.tools).toEqual([{ ...LETTERS, tools: [SEND] }]);
  });

  it('[K-08] is bounded in what the model reads', async () => {
    const tools = [{ type: 'tool_search' }, { ...MAIL, description: 'x'.repeat(100_000) }];
    await app.create({ input: 'Go.', tools });
    expect(JSON.stringify(app.requested().tools).length).toBeLessThan(3000);
  });
});
