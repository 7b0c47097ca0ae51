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
  it('[X-13] is found by this server’s search, and called in the next step', async () => {
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
      [{ type: 'namespace', name: 'mail', description: "Tools of the namespace 'mail'.", tools: [SEND] }],
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
