/** Servers of tools that a request names, by their URL or by the label of one that the host has. */

import { type ApprovalQuestion, memoryStore, type ProvidedTool, type StoredResponse } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { until } from '../../support/mcp-client.ts';
import { post } from '../../support/responses-client.ts';
import { answered, answerTo, refused, requestIn, requestsIn } from './approvals-support.ts';
import { entry, fakeRemote, trusted, URL_A, URL_B, URL_DOWN } from './remote-support.ts';
import { calls, play, played, providerOf, says, shape, streamOf, typesOf, withTools } from './support.ts';

const SECRET = 'tok-3f9a';
const files = providerOf('files', ['read', 'write']);

const SECRETS = { authorization: SECRET, headers: { 'X-Key': SECRET } };
const GO = { role: 'user', content: 'Go.' };

function secretEntry(): JsonObject {
  return trusted('c', URL_A, SECRETS);
}

function inNamespace(...tools: readonly JsonObject[]): JsonObject {
  return { type: 'namespace', name: 'crm', description: 'Customers.', tools };
}

/** Tools as an item of the input. */
function written(...tools: readonly JsonObject[]): JsonObject {
  return { type: 'additional_tools', tools };
}

/** The names of the tools that the model was offered. */
function offered(
  requested: { readonly tools?: readonly { readonly function: { readonly name: string } }[] } | undefined,
) {
  return (requested?.tools ?? []).map((tool) => tool.function.name);
}

describe('a server by its URL', () => {
  it('[T-09, B-18] has its tools listed first, offered and run', async () => {
    const { remoteMcp, opened, ran } = fakeRemote();
    const script = [calls(['call_a', 'write', '{"x":1}']), says('Done.')];
    const { response, events, requested } = await played({ remoteMcp }, script, { tools: [trusted()] });
    expect(typesOf(events).slice(2, 6)).toEqual([
      'output_item.added',
      'mcp_list_tools.in_progress',
      'mcp_list_tools.completed',
      'output_item.done',
    ]);
    expect(response.output.slice(0, 2)).toMatchObject([
      {
        type: 'mcp_list_tools',
        server_label: 'a',
        tools: [{ name: 'look', annotations: { readOnlyHint: true } }, { name: 'write' }],
      },
      { type: 'mcp_call', server_label: 'a', name: 'write', status: 'completed', approval_request_id: null },
    ]);
    expect([offered(requested[0]), opened[0], ran[0]]).toEqual([
      ['look', 'write'],
      { label: 'a', url: URL_A, headers: {}, param: 'tools[0]', scope: 'everyone' },
      `${URL_A} write {"x":1}`,
    ]);
  });

  it('[T-09] has them listed though the model calls none, but not again in the same conversation', async () => {
    const { remoteMcp } = fakeRemote();
    await withTools({ remoteMcp }, async (app) => {
      const first = await play(app, [says('Hi.')], { tools: [trusted()] });
      expect(shape(first.response)).toEqual(['mcp_list_tools completed', 'message completed']);
      const again = await play(app, [says('Hi.')], { tools: [trusted()], previous_response_id: first.response.id });
      expect(shape(again.response)).toEqual(['message completed']);
    });
  });

  it('[T-09, T-07] stands beside another with the same tools, and beside the host’s', async () => {
    const { remoteMcp } = fakeRemote();
    const tools = [trusted('a', URL_A), trusted('b', URL_B)];
    const { requested } = await played({ remoteMcp, tools: files }, [says('Hi.')], { tools });
    expect(offered(requested[0])).toEqual([
      'read',
      'mcp__files__write',
      'mcp__a__look',
      'mcp__a__write',
      'mcp__b__look',
      'mcp__b__write',
    ]);
  });

  it('[T-09] leaves a refusal of the model server its status', async () => {
    const { remoteMcp } = fakeRemote();
    await withTools({ remoteMcp }, async (app) => {
      app.fake.reply({ status: 401, body: '{}' });
      const statuses = [
        await post(app.url, { tools: [trusted()] }),
        await post(app.url, { tools: [trusted()], stream: true }),
      ];
      expect(statuses.map(({ status }) => status)).toEqual([401, 401]);
    });
  });

  it('[T-09] refuses the request where it cannot be reached', async () => {
    const { remoteMcp } = fakeRemote();
    await withTools({ remoteMcp }, async (app) => {
      expect(await refused(app, { tools: [trusted('a', URL_DOWN)] })).toEqual([422, 'invalid_value']);
    });
  });

  it('[T-09, B-32] is given its headers, which stand nowhere else', async () => {
    const { remoteMcp, opened } = fakeRemote();
    const kept: StoredResponse[] = [];
    const store = memoryStore();
    const put: typeof store.put = (stored) => {
      kept.push(stored);
      return store.put(stored);
    };
    const tools = [
      entry('a', URL_A, { headers: { 'X-Key': SECRET } }),
      trusted('b', URL_B, { authorization: SECRET, headers: { 'x-other': '1' } }),
    ];
    const more = { type: 'additional_tools', tools: [entry('c', URL_A, { headers: { a: SECRET } })] };
    const input = [more, { role: 'user', content: 'Go.' }];
    await withTools({ remoteMcp, store: { ...store, put } }, async (app) => {
      app.fake.reply(calls(['call_a', 'mcp__a__write'], ['call_b', 'mcp__b__look']));
      const { text, response } = await streamOf(app.url, { tools, input });
      app.fake.reply(says('Hi.'));
      const whole = await post(app.url, { tools });
      expect(await refused(app, { tools, input: [{ ...more, tools: [null] }] })).toEqual([400, 'invalid_type']);
      const reported = [app.notes, app.toolCalls, app.approvals, app.fake.requests.map(({ body }) => body)];
      expect(opened.slice(0, 2).map(({ headers }) => headers)).toEqual([
        { 'x-key': SECRET },
        { authorization: `Bearer ${SECRET}`, 'x-other': '1' },
      ]);
      expect(JSON.stringify([text, whole.text, kept, reported])).not.toContain(SECRET);
      expect(response.tools).toEqual([
        { type: 'mcp', server_label: 'a', server_url: URL_A },
        { type: 'mcp', server_label: 'b', server_url: URL_B, require_approval: 'never' },
      ]);
      expect(kept.length).toBeGreaterThan(2);
    });
  });

  it.each<[string, JsonObject]>([
    ['in a namespace', { tools: [inNamespace(secretEntry())] }],
    ['in a namespace in a namespace', { tools: [inNamespace(inNamespace(secretEntry()))] }],
    ['in a namespace among tools sent as an item', { input: [written(inNamespace(secretEntry())), GO] }],
    ['in a choice', { tools: [trusted()], tool_choice: { ...trusted(), ...SECRETS } }],
    [
      'in a choice of several',
      {
        tools: [trusted()],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ ...trusted(), ...SECRETS }] },
      },
    ],
    ['in a tool of a type that nobody knows', { tools: [{ type: 'mcp_toolset', server: { url: URL_A, ...SECRETS } }] }],
    ['of a process in a tool', { tools: [{ type: 'local_mcp', command: 'x', env: { TOKEN: SECRET } }] }],
    ['in what a search for tools found', { input: [{ type: 'tool_search_output', tools: [secretEntry()] }, GO] }],
    ['beside the tools of an item', { input: [{ ...written(trusted()), ...SECRETS }, GO] }],
  ])('[F-17] leaves its secrets nowhere where it stands %s', async (_, body) => {
    const { remoteMcp } = fakeRemote();
    const store = memoryStore();
    const kept: StoredResponse[] = [];
    const put: typeof store.put = (stored) => {
      kept.push(stored);
      return store.put(stored);
    };
    await withTools({ remoteMcp, store: { ...store, put } }, async (app) => {
      app.fake.reply(says('Hi.'), says('Hi.'));
      const { text, response } = await streamOf(app.url, body);
      const background = await post(app.url, { ...body, background: true });
      const get = async (path: string) => (await fetch(`${app.url}/responses/${path}`)).text();
      const { id } = JSON.parse(background.text);
      await until(async () => JSON.parse(await get(id)).status === 'completed');
      const got = await Promise.all([response.id, id].flatMap((each) => [get(each), get(`${each}/input_items`)]));
      const reported = [app.notes, app.toolCalls, app.fake.requests.map(({ body: requested }) => requested)];
      expect(JSON.stringify([text, background.text, got, kept, reported])).not.toContain(SECRET);
      expect([response.status, kept.length > 1, got.every((each) => each.includes('"id"'))]).toEqual([
        'completed',
        true,
        true,
      ]);
    });
  });

  it('[F-17] keeps the parameters of a function that have the names of secrets', async () => {
    const { remoteMcp } = fakeRemote();
    const parameters = { type: 'object', properties: { headers: { type: 'object' }, authorization: {}, env: {} } };
    const fetches = { type: 'function', name: 'fetch', parameters };
    const tools = [fetches, inNamespace(fetches)];
    const { response } = await played({ remoteMcp }, [says('Hi.')], { tools });
    expect(response.tools).toMatchObject([{ parameters }, { tools: [{ parameters }] }]);
  });

  it('[B-32] is inherited by a continuation that names no tools, without its secrets', async () => {
    const { remoteMcp, opened, ran } = fakeRemote();
    await withTools({ remoteMcp }, async (app) => {
      const tools = [trusted('a', URL_A, { authorization: SECRET, allowed_tools: ['write'] })];
      const first = await play(app, [says('Hi.')], { tools });
      const body = { previous_response_id: first.response.id };
      const { requested, response } = await play(app, [calls(['call_a', 'write']), says('Done.')], body);
      expect([offered(requested[0]), response.tools, opened.at(-1)?.headers, ran[0]]).toEqual([
        ['write'],
        [{ type: 'mcp', server_label: 'a', server_url: URL_A, require_approval: 'never', allowed_tools: ['write'] }],
        {},
        `${URL_A} write {}`,
      ]);
    });
  });

  it.each([undefined, null])('[T-09] has calls that wait for approval if the request sets %s for it', async (none) => {
    const { remoteMcp, ran } = fakeRemote();
    const tools = [entry('a', URL_A, none === null ? { require_approval: null } : {})];
    await withTools({ remoteMcp }, async (app) => {
      app.fake.reply(calls(['call_a', 'write', '{"x":1}']));
      const { response } = await streamOf(app.url, { tools });
      expect([shape(response), ran]).toEqual([['mcp_list_tools completed', 'mcp_approval_request write'], []]);
      const body = { previous_response_id: response.id, input: [answerTo(requestIn(response))] };
      const next = await answered(app, body, true);
      expect([shape(next.response), ran]).toEqual([
        ['mcp_call write completed', 'message completed'],
        [`${URL_A} write {"x":1}`],
      ]);
      expect(app.approvals.map(({ decision, forcedByHost }) => [decision, forcedByHost])).toEqual([
        ['requested', false],
        ['approved', false],
      ]);
    });
  });

  it('[T-09] is bound to the approval: another URL, or a server of the host’s, under its label is refused', async () => {
    const { remoteMcp, ran } = fakeRemote();
    let tools = [files];
    await withTools({ remoteMcp, tools: () => tools }, async (app) => {
      app.fake.reply(calls(['call_a', 'mcp__a__write']));
      const { response } = await streamOf(app.url, { tools: [entry('a', URL_A)] });
      const input = [answerTo(requestIn(response))];
      expect(await refused(app, { input, tools: [entry('a', URL_B)] })).toEqual([400, 'approval_mismatch']);
      expect(await refused(app, { input, tools: [] })).toEqual([400, 'approval_mismatch']);
      tools = [providerOf('a', ['write'])];
      expect(await refused(app, { input, tools: [] })).toEqual([400, 'approval_mismatch']);
      tools = [];
      expect(ran).toEqual([]);
      await answered(app, { input, tools: [entry('a', URL_A)] }, false);
      expect(ran).toHaveLength(1);
    });
  });

  it('[T-09] is left out with a note where the host has not turned it on', async () => {
    const { requested, notes, response } = await played({ tools: files }, [says('Hi.')], {
      tools: [entry('a', URL_A), { type: 'mcp', server_label: 'x', connector_id: 'connector_x' }],
    });
    expect([offered(requested[0]), notes.slice(0, 2).map(({ code }) => code), shape(response)]).toEqual([
      ['read', 'write'],
      ['tool_dropped', 'tool_dropped'],
      ['message completed'],
    ]);
  });
});

describe('require_approval', () => {
  const only = (...names: readonly string[]) => ({ tool_names: names });
  it.each<[string, unknown, readonly string[], readonly string[]]>([
    ['always', 'always', ['look', 'write'], ['read', 'write']],
    ['never', 'never', [], []],
    ['nothing', undefined, ['look', 'write'], []],
    ['an empty object', {}, ['look', 'write'], []],
    ['never some', { never: only('look') }, ['write'], ['read', 'write']],
    ['never what reads', { never: { read_only: true } }, ['write'], ['read', 'write']],
    ['always some', { always: only('write') }, ['look', 'write'], ['write']],
    ['always what writes', { always: { read_only: false } }, ['look', 'write'], ['read', 'write']],
    ['both of one tool', { always: only('write'), never: only('write', 'look') }, ['write'], ['read', 'write']],
    ['each of one', { always: only('write'), never: only('look', 'read') }, ['write'], ['write']],
  ])('[T-09] says %s', async (_, approval, remote, hosted) => {
    const { remoteMcp } = fakeRemote();
    const written = approval === undefined ? {} : { require_approval: approval };
    const gatedIn = (tool: JsonObject, names: readonly string[]) =>
      withTools({ remoteMcp, tools: files }, async (app) => {
        const made = names.map((name, index) => [`call_${index}`, name] as const);
        app.fake.reply(calls(...made), says('Done.'));
        const { response } = await streamOf(app.url, { tools: [tool] });
        return requestsIn(response).map(({ name }) => name);
      });
    expect([
      await gatedIn(entry('a', URL_A, written), ['look', 'mcp__a__write']),
      await gatedIn(entry('files', undefined, written), ['read', 'write']),
    ]).toEqual([remote, hosted]);
  });
});

describe('allowed_tools of a server', () => {
  it.each<[unknown, readonly string[]]>([
    [['write'], ['write']],
    [['write', 'unheard_of'], ['write']],
    [{ tool_names: ['look'] }, ['look']],
    [{ read_only: true }, ['look']],
    [{ read_only: false }, ['write']],
    [{ tool_names: ['look', 'write'], read_only: true }, ['look']],
    [{}, ['look', 'write']],
    [null, ['look', 'write']],
  ])('[T-09, B-18] %j leaves %j, also in the list', async (allowed, left) => {
    const { remoteMcp } = fakeRemote();
    const { requested, response } = await played({ remoteMcp }, [says('Hi.')], {
      tools: [trusted('a', URL_A, { allowed_tools: allowed })],
    });
    const [list] = response.output;
    expect([offered(requested[0]), list?.type === 'mcp_list_tools' && list.tools.map(({ name }) => name)]).toEqual([
      left,
      left,
    ]);
  });

  it('[T-09, B-21] frees the name of what they leave out', async () => {
    const { remoteMcp } = fakeRemote();
    const tools = [trusted('a', URL_A, { allowed_tools: ['write'] }), trusted('b', URL_B, { allowed_tools: ['look'] })];
    const { requested } = await played({ remoteMcp }, [says('Hi.')], { tools });
    expect(offered(requested[0])).toEqual(['write', 'look']);
  });
});

describe('a tool choice', () => {
  const tools = [trusted('a', URL_A), trusted('b', URL_B, { allowed_tools: ['look'] })];

  it.each<[string, unknown, unknown]>([
    ['of a server', { type: 'mcp', server_label: 'a' }, 'required'],
    [
      'of a tool of a server',
      { type: 'mcp', server_label: 'a', name: 'write' },
      { type: 'function', function: { name: 'write' } },
    ],
  ])('[S-05] %s is sent to the model', async (_, choice, reported) => {
    const { remoteMcp } = fakeRemote();
    const { requested } = await played({ remoteMcp }, [says('Hi.')], { tools, tool_choice: choice });
    expect((requested[0] as JsonObject).tool_choice).toEqual(reported);
  });

  it.each<[string, JsonObject, readonly string[]]>([
    [
      'a label admits all tools of the server',
      { server_label: 'a' },
      ['mcp_call look completed', 'mcp_call write completed'],
    ],
    ['a label with a name admits that one', { server_label: 'a', name: 'write' }, ['mcp_call write completed']],
    ['another label admits none of them', { server_label: 'b' }, []],
  ])('[S-05, B-25] by allowed_tools: %s', async (_, which, ran) => {
    const { remoteMcp } = fakeRemote();
    const choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp', ...which }] };
    const script = [calls(['call_a', 'mcp__a__look'], ['call_b', 'write']), says('Done.')];
    await withTools({ remoteMcp }, async (app) => {
      app.fake.reply(...script);
      const { response } = await streamOf(app.url, { tools, tool_choice: choice });
      expect(shape(response).filter((each) => each.startsWith('mcp_call'))).toEqual(ran);
    });
  });

  it('[S-05] of a server that the request does not name is refused', async () => {
    const { remoteMcp } = fakeRemote();
    await withTools({ remoteMcp }, async (app) => {
      const choice = { type: 'mcp', server_label: 'c' };
      expect(await refused(app, { tools, tool_choice: choice })).toEqual([400, 'invalid_value']);
    });
  });
});

describe('a server by the label of one of the host’s', () => {
  it.each([true, false])('[T-09] narrows what is offered of it (remoteMcp: %s)', async (isOn) => {
    const options = {
      tools: [files, providerOf('web', ['search'])],
      ...(isOn ? { remoteMcp: fakeRemote().remoteMcp } : {}),
    };
    const { requested, notes, response } = await played(options, [calls(['call_a', 'read']), says('Hi.')], {
      tools: [entry('files', undefined, { allowed_tools: ['read'] })],
    });
    expect([offered(requested[0]), notes, shape(response)]).toEqual([
      ['read', 'search'],
      [],
      ['mcp_list_tools completed', 'mcp_call read completed', 'message completed'],
    ]);
  });

  it('[T-09] cannot do without the approval that the host wants', async () => {
    const options = { tools: files, approval: ({ name }: { readonly name: string }) => name === 'write' };
    const { response } = await played(options, [calls(['call_a', 'write'])], {
      tools: [entry('files', undefined, { require_approval: 'never' })],
    });
    expect(shape(response)).toEqual(['mcp_list_tools completed', 'mcp_approval_request write']);
  });

  it('[T-09] is distinguished from one that only has its label, by the URL that the host’s policy receives', async () => {
    let tools = [files];
    const options = {
      remoteMcp: fakeRemote().remoteMcp,
      tools: () => tools,
      approval: ({ server, url }: ApprovalQuestion) => !(server === 'files' && url === undefined),
    };
    await withTools(options, async (app) => {
      app.fake.reply(calls(['call_a', 'write']), says('Done.'));
      const own = await streamOf(app.url);
      tools = [];
      app.fake.reply(calls(['call_a', 'write']));
      const other = await streamOf(app.url, { tools: [trusted('files', URL_A)] });
      expect([shape(own.response)[1], shape(other.response)[1]]).toEqual([
        'mcp_call write completed',
        'mcp_approval_request write',
      ]);
    });
  });

  it('[T-09] is one that the host lets requests name', async () => {
    // The cast: this provider lists its tools at once.
    const listed = files.list(AbortSignal.abort()) as readonly ProvidedTool[];
    const closed = { ...files, list: () => listed.map((tool) => ({ ...tool, requestsMayName: false })) };
    const options = { tools: [closed, providerOf('web', ['search'])] };
    await withTools(options, async (app) => {
      const { requested } = await play(app, [says('Hi.')], { tools: [entry('web', undefined)] });
      expect(offered(requested[0])).toEqual(['read', 'write', 'search']);
      expect(await refused(app, { tools: [entry('files', undefined)] })).toEqual([400, 'invalid_value']);
    });
  });

  it('[T-09] that is not known is noted where the host has turned nothing on', async () => {
    const { notes } = await played({ tools: files }, [says('Hi.')], { tools: [entry('mail', undefined)] });
    expect(notes[0]?.code).toBe('tool_dropped');
  });

  it('[B-33] that a continuation inherits, and that is gone, is refused', async () => {
    const { remoteMcp } = fakeRemote();
    let tools = [files];
    await withTools({ remoteMcp, tools: () => tools }, async (app) => {
      const { response } = await play(app, [says('Hi.')], { tools: [entry('files', undefined)] });
      tools = [];
      const body = { previous_response_id: response.id, input: 'And?' };
      expect(await refused(app, body)).toEqual([400, 'invalid_value']);
    });
  });
});

describe('a shape that is refused', () => {
  const none = undefined;
  it.each<[string, readonly JsonObject[], string, RegExp]>([
    ['a connector', [entry('a', none, { connector_id: 'c' })], 'tools[0].connector_id', /^Connectors are not/],
    [
      'a bad require_approval',
      [trusted('a', URL_A, { require_approval: 'ask' })],
      'tools[0].require_approval',
      /'always', 'never'/,
    ],
    [
      'a bad filter',
      [trusted('a', URL_A, { allowed_tools: { tool_names: 'x' } })],
      'tools[0].allowed_tools',
      /'tool_names'/,
    ],
    [
      'a label twice',
      [trusted('a', URL_A), trusted('a', URL_B)],
      'tools[1].server_label',
      /^Two tools have the label 'a'/,
    ],
    ['a label of the host’s', [trusted('files', URL_A)], 'tools[0].server_label', /one of this server's own/],
    [
      'headers for the host’s server',
      [entry('files', none, { headers: { a: SECRET } })],
      'tools[0].headers',
      /'headers' has no meaning/,
    ],
    [
      'a token for the host’s server',
      [entry('files', none, { authorization: SECRET })],
      'tools[0].authorization',
      /'authorization' has no meaning/,
    ],
    [
      'two authorizations',
      [trusted('a', URL_A, { authorization: SECRET, headers: { AUTHORIZATION: SECRET } })],
      'tools[0].authorization',
      /^Mutually exclusive/,
    ],
    [
      'a header that is none',
      [trusted('a', URL_A, { headers: { 'a b': SECRET } })],
      'tools[0].headers',
      /not fit for a header/,
    ],
    [
      'a token that is none',
      [trusted('a', URL_A, { authorization: `${SECRET}\nx` })],
      'tools[0].authorization',
      /not fit for a header/,
    ],
    [
      'headers that are no text',
      [trusted('a', URL_A, { headers: { a: [SECRET] } })],
      'tools[0].headers.a',
      /expected a string/,
    ],
    ['an empty choice', [trusted('a', URL_A, { allowed_tools: ['x'] })], 'tools[0].allowed_tools', /leaves no tool/],
    [
      'an empty choice of the host’s',
      [entry('files', none, { allowed_tools: [] })],
      'tools[0].allowed_tools',
      /leaves no tool/,
    ],
    ['a namesake', [{ type: 'function', name: 'mcp__a__x', parameters: {} }, trusted()], 'tools', /'mcp__a__x'/],
    ['an unknown label', [entry('mail', none)], 'tools[0].server_label', /no tools under the label 'mail'/],
    ['no label', [{ type: 'mcp', server_url: URL_A }], 'tools[0].server_label', /^Missing required/],
    ['a bad label', [trusted('a b')], 'tools[0].server_label', /letters, digits/],
    ['a long label', [trusted('a'.repeat(65))], 'tools[0].server_label', /1 to 64/],
    [
      'a URL of more than 8 Ki characters',
      [trusted('a', `${URL_A}?${'x'.repeat(8192)}`)],
      'tools[0].server_url',
      /at most 8192 characters/,
    ],
    [
      'headers of more than 16 Ki characters',
      [trusted('a', URL_A, { headers: { a: 'x'.repeat(16_384) } })],
      'tools[0].headers',
      /at most 16384 characters/,
    ],
    [
      'a token of more than 16 Ki characters',
      [trusted('a', URL_A, { authorization: 'x'.repeat(16_385) })],
      'tools[0].authorization',
      /at most 16384 characters/,
    ],
    ['a URL that is no text', [entry('a', none, { server_url: 7 })], 'tools[0].server_url', /expected a string/],
  ])('[B-20] is %s', async (_, tools, param, message) => {
    const { remoteMcp } = fakeRemote();
    await withTools({ remoteMcp, tools: files }, async (app) => {
      const { status, text } = await post(app.url, { tools });
      const { error } = JSON.parse(text);
      expect([status, error.param]).toEqual([400, param]);
      expect(error.message).toMatch(message);
      expect(text).not.toContain(SECRET);
    });
  });

  it('[T-09, P-14] is more than 16 servers by URL, each of which would bring its list; none is opened', async () => {
    const { remoteMcp, opened } = fakeRemote();
    const many = Array.from({ length: 17 }, (_, index) => trusted(`a${index}`, URL_A));
    await withTools({ remoteMcp }, async (app) => {
      expect([await refused(app, { tools: many }), opened]).toEqual([[400, 'array_above_max_length'], []]);
      await play(app, [says('Hi.')], { tools: many.slice(1) });
      expect(opened.length).toBe(3 * 16);
    });
  });

  it('[B-20] has a message of its own each time', async () => {
    const { remoteMcp } = fakeRemote();
    const shapes = [
      [entry('a', none, { connector_id: 'c' })],
      [trusted('a', URL_A, { require_approval: 'ask' })],
      [trusted('a', URL_A), trusted('a', URL_B)],
      [trusted('files', URL_A)],
      [entry('files', none, { headers: { a: '1' } })],
      [trusted('a', URL_A, { authorization: 'x', headers: { authorization: 'x' } })],
      [trusted('a', URL_A, { allowed_tools: ['x'] })],
      [{ type: 'function', name: 'mcp__x', parameters: {} }, trusted()],
      [entry('mail', none)],
    ];
    await withTools({ remoteMcp, tools: files }, async (app) => {
      const texts = await Promise.all(shapes.map(async (tools) => (await post(app.url, { tools })).text));
      expect(new Set(texts).size).toBe(shapes.length);
    });
  });

  it.each([
    [{ remoteMcp: {} }, /^responsesRouter: remoteMcp must be an object with open, close, got \{\}/],
    [{ approval: true }, /^responsesRouter: approval must be a function, got true/],
  ])('is an option such as %j', async (options, message) => {
    await expect(withTools(options as never, () => Promise.resolve())).rejects.toThrow(message);
  });
});
