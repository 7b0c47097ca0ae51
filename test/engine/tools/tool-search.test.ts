/** Deferred tools: what the model is offered before and after it has found them, and what clients are shown of it. */

import { knownTools } from '../../../src/engine/tools/deferred-tools.ts';
import { namedTools } from '../../../src/engine/tools/toolset.ts';
import { restoredState, turnCheckpoint } from '../../../src/engine/turn/checkpoint.ts';
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { RouterOptions, ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { post } from '../../support/responses-client.ts';
import {
  type ChatBody,
  calls,
  type Played,
  play,
  played,
  reported,
  says,
  shape,
  toolTexts,
  typesOf,
  withTools,
} from './support.ts';

const SCHEMA = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

/** A provider of `docs`, with one tool at once and two deferred ones, and of `mail`, with a deferred one. */
const tools: ToolProvider = {
  name: 'test',
  list: () => [
    { server: 'docs', name: 'list' },
    { server: 'docs', name: 'page.read', description: 'Reads a page.', parameters: SCHEMA, deferred: true },
    { server: 'docs', name: 'write', description: 'Writes a page.', deferred: true },
    { server: 'mail', name: 'send', description: 'Sends a mail.', deferred: true },
  ],
  call: ({ server, name }) => Promise.resolve({ content: `${server} ran ${name}.` }),
};
const OPTIONS: RouterOptions = { tools };
const SEARCH = calls(['call_s', 'tool_search', '{"query":"read a page","limit":1}']);
const FOUND = '{"found":["page_read"]}';
const SCRIPT = [SEARCH, calls(['call_r', 'page_read', '{"text":"a"}']), says('Done.')];

const READ = {
  type: 'function',
  name: 'page.read',
  description: 'Reads a page.',
  parameters: SCHEMA,
  strict: null,
  defer_loading: true,
};
const DOCS = { type: 'namespace', name: 'docs', description: "Tools of the server 'docs'.", tools: [READ] };
const SERVER = { call_id: null, execution: 'server' } as const;

function offered({ tools: given = [] }: ChatBody): string {
  return given.map(({ function: { name } }) => name).join(' ');
}

/** The tools of each request to the model. */
function offers({ requested }: Pick<Played, 'requested'>): readonly string[] {
  return requested.map(offered);
}

describe('deferred tools', () => {
  it('[T-02, T-03, T-07] are offered to the model once it has found them, under its names for them', async () => {
    const { response, events, requested } = await played(OPTIONS, SCRIPT);
    const seed = response.id.slice('resp_'.length);
    expect({
      offers: offers({ requested }),
      shape: shape(response),
      texts: toolTexts(requested[2] as ChatBody),
    }).toEqual({
      offers: ['tool_search list', 'tool_search list page_read', 'tool_search list page_read'],
      shape: [
        'tool_search_call completed',
        'tool_search_output completed',
        'mcp_list_tools completed',
        'mcp_call page.read completed',
        'message completed',
      ],
      texts: { call_s: FOUND, call_r: 'docs ran page.read.' },
    });
    expect(response.output.slice(0, 3)).toEqual([
      {
        id: `tsc_${seed}0000`,
        type: 'tool_search_call',
        status: 'completed',
        ...SERVER,
        arguments: { query: 'read a page', limit: 1 },
      },
      {
        id: expect.stringMatching(`^tso_${seed}0001`),
        type: 'tool_search_output',
        status: 'completed',
        ...SERVER,
        tools: [DOCS],
      },
      expect.objectContaining({
        type: 'mcp_list_tools',
        tools: [
          { name: 'list', input_schema: { type: 'object', properties: {} } },
          { name: 'page.read', description: 'Reads a page.', input_schema: SCHEMA },
        ],
      }),
    ]);
    expect(typesOf(events).slice(0, 7)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'output_item.done',
      'output_item.added',
      'output_item.done',
      'output_item.added',
    ]);
    const [, , added] = events as readonly JsonObject[];
    expect(added?.item).toMatchObject({ status: 'in_progress', arguments: {} });
  });

  it('[T-07] are described in the search: how many there are, and of which servers', async () => {
    const { requested } = await played(OPTIONS, [says('No.')]);
    const [search] = (requested[0]?.tools ?? []) as readonly { function: JsonObject }[];
    expect(search?.function).toMatchObject({
      name: 'tool_search',
      description: expect.stringContaining('3 more, of docs, mail.'),
      parameters: { required: ['query'] },
    });
  });

  it('[T-02] are offered at once in later turns, by reference or by value, and the model reads the search again', async () => {
    await withTools(OPTIONS, async (app) => {
      app.fake.reply(...SCRIPT, says('Again.'), says('Again.'));
      const first = JSON.parse((await post(app.url)).text);
      await post(app.url, { previous_response_id: first.id });
      const input = [{ role: 'user', content: 'Go.' }, ...first.output, { role: 'user', content: 'More.' }];
      await post(app.url, { input, store: false });
      const [byId, byValue] = app.fake.requests.slice(3).map(({ body }) => body as ChatBody);
      expect([byId, byValue].map((body) => body && offered(body))).toEqual([
        'tool_search list page_read',
        'tool_search list page_read',
      ]);
      expect([byId, byValue].map((body) => body && Object.values(toolTexts(body)))).toEqual([
        [FOUND, 'docs ran page.read.'],
        [FOUND, 'docs ran page.read.'],
      ]);
    });
  });

  it('[T-02] are found in searches that run beside each other, and each has its own result', async () => {
    await withTools(OPTIONS, async (app) => {
      const both = calls(['a', 'tool_search', '{"query":"mail"}'], ['b', 'tool_search', '{"query":"write"}']);
      app.fake.reply(both, says('Done.'), says('Again.'));
      const first = JSON.parse((await post(app.url)).text);
      await post(app.url, { previous_response_id: first.id });
      const bodies = app.fake.requests.slice(1).map(({ body }) => body as ChatBody);
      expect([shape(first), bodies.map(offered), bodies.map((body) => Object.values(toolTexts(body)))]).toEqual([
        [
          'tool_search_call completed',
          'tool_search_call completed',
          'tool_search_output completed',
          'tool_search_output completed',
          'message completed',
        ],
        ['tool_search list send write', 'tool_search list write send'],
        [
          ['{"found":["send"]}', '{"found":["write"]}'],
          ['{"found":["send"]}', '{"found":["write"]}'],
        ],
      ]);
    });
  });

  it('[M-06] are shown as functions and outputs to clients that know nothing else, and found in later turns', async () => {
    await withTools({ ...OPTIONS, show: { toolCalls: 'function_call' } }, async (app) => {
      const { response } = await play(app, SCRIPT);
      app.fake.reply(says('Again.'));
      await post(app.url, { previous_response_id: response.id });
      expect([
        shape(response),
        reported(response.output[1]),
        offered(app.fake.requests.at(-1)?.body as ChatBody),
      ]).toEqual([
        [
          'function_call tool_search completed',
          'function_call_output completed',
          'function_call page_read completed',
          'function_call_output completed',
          'message completed',
        ],
        FOUND,
        'tool_search list page_read',
      ]);
    });
  });

  it.each(['openai', 'open-responses-server', 'vllm-responses', 'tokligence'] as const)(
    '[M-06] are found by clients of %s',
    async (dialect) => {
      await withTools({ ...OPTIONS, dialect }, async (app) => {
        app.fake.reply(...SCRIPT, ...SCRIPT);
        const json = JSON.parse((await post(app.url)).text);
        const { text } = await post(app.url, { stream: true });
        const bodies = app.fake.requests.map(({ body }) => body as ChatBody);
        expect([json.output.at(-1).content[0].text, text.includes('Done.'), bodies.map(offered)[5]]).toEqual([
          'Done.',
          true,
          'tool_search list page_read',
        ]);
      });
    },
  );

  it('[T-03] can be called by name without a search, as a model does that remembers them', async () => {
    const { requested } = await played(OPTIONS, [calls(['c', 'send']), says('Sent.')]);
    expect(toolTexts(requested[1] as ChatBody)).toEqual({ c: 'mail ran send.' });
  });

  it.each<[string, string, string]>([
    [
      'nothing that fits',
      '{"query":"spaceship"}',
      '{"found":[],"note":"No tool fits. Search again with other words."}',
    ],
    ['nothing', '{"query":" "}', 'input_validation_error: the query is empty'],
    ['no query', '{}', 'input_validation_error: Instance does not have required property "query". (path=#)'],
    [
      'no words',
      '{"query":7}',
      'input_validation_error: Instance type "number" is invalid. Expected "string". (path=#/query)',
    ],
    ['more than all', '{"query":"page write mail","limit":999999}', '{"found":["write","page_read","send"]}'],
    ['fewer than one', '{"query":"mail","limit":-1}', '{"found":["send"]}'],
  ])('[T-06] report to the model what became of a search for %s', async (_, query, expected) => {
    const { response, requested } = await played(OPTIONS, [calls(['c', 'tool_search', query]), says('So.')]);
    expect(toolTexts(requested[1] as ChatBody)).toEqual({ c: expected });
    expect(shape(response)).toEqual([
      'tool_search_call completed',
      'tool_search_output completed',
      'message completed',
    ]);
  });
});

describe('the choice of tools', () => {
  const choose = (choice: unknown, more: JsonObject = {}) =>
    played(OPTIONS, [says('Fine.')], { tool_choice: choice, ...more });
  const allowed = (...chosen: readonly JsonObject[]) => ({ type: 'allowed_tools', mode: 'auto', tools: chosen });
  const mcp = (server_label: string, name?: string) => ({ type: 'mcp', server_label, ...(name ? { name } : {}) });

  it.each<[string, unknown, string]>([
    ['none', 'none', 'list'],
    ['required', 'required', 'tool_search list'],
    ['a deferred tool', { type: 'function', name: 'send' }, 'tool_search list send'],
    ['a deferred tool of a server', mcp('mail', 'send'), 'list send'],
    ['a server all of whose tools are deferred', mcp('mail'), 'list send'],
    ['servers', allowed(mcp('docs'), mcp('mail')), 'tool_search list'],
    ['a tool that is not deferred', allowed({ type: 'function', name: 'list' }), 'list'],
    ['the search', { type: 'tool_search' }, 'tool_search list'],
    ['the search alone, which could find nothing', allowed({ type: 'tool_search' }), 'list'],
  ])('[S-05] of %s is respected', async (_, choice, expected) => {
    expect(offers(await choose(choice))).toEqual([expected]);
  });

  it('[S-05] may force the search, which is not asked for where there is nothing to find', async () => {
    const forced = await choose({ type: 'tool_search' });
    const useless = await choose({ type: 'allowed_tools', mode: 'required', tools: [{ type: 'tool_search' }] });
    expect([forced.requested[0]?.tool_choice, useless.requested[0]?.tool_choice]).toEqual([
      { type: 'function', function: { name: 'tool_search' } },
      'none',
    ]);
  });

  it('[S-05] finds only what may be called', async () => {
    const script = [calls(['c', 'tool_search', '{"query":"page mail"}']), says('So.')];
    const { requested } = await played(OPTIONS, script, { tool_choice: allowed(mcp('mail'), mcp('docs', 'list')) });
    expect(toolTexts(requested[1] as ChatBody)).toEqual({ c: '{"found":["send"]}' });
  });

  it.each<[string, JsonObject, string]>([
    ['names tools', { allowed_tools: ['write', 'list'] }, 'tool_search list write'],
    ['names tools and defers them', { allowed_tools: ['write', 'list'], defer_loading: true }, 'tool_search'],
    ['defers nothing', { defer_loading: false }, 'tool_search list page_read write'],
    ['names only what it reads', { allowed_tools: { read_only: false } }, 'tool_search list'],
  ])('[T-09] is that of an entry that %s', async (_, terms, expected) => {
    const entry = { type: 'mcp', server_label: 'docs', require_approval: 'never', ...terms };
    expect(offers(await played(OPTIONS, [says('Fine.')], { tools: [entry] }))).toEqual([expected]);
  });

  it('[A-25] takes a tool of type tool_search for this search, unless the client wants to run it', async () => {
    const asked = async (tool: JsonObject) => (await played(OPTIONS, [says('Fine.')], { tools: [tool] })).notes.length;
    expect([await asked({ type: 'tool_search' }), await asked({ type: 'tool_search', execution: 'client' })]).toEqual([
      0, 3,
    ]);
  });
});

describe('a search of the client', () => {
  const own = { type: 'function', name: 'tool_search', parameters: { type: 'object', properties: {} } };

  it('[T-04] wins, and deferred tools are offered at once', async () => {
    const chosen = { tools: [own], tool_choice: { type: 'function', name: 'tool_search' } };
    const { notes, ...rest } = await played(OPTIONS, [calls(['c', 'tool_search', '{}'])], chosen);
    expect(rest.requested[0]?.tool_choice).toEqual({ type: 'function', function: { name: 'tool_search' } });
    expect([offers(rest), shape(rest.response), notes[0]]).toEqual([
      ['tool_search list page_read write send'],
      ['function_call tool_search completed'],
      {
        code: 'tool_dropped',
        message: "The client has a tool 'tool_search' of its own, so deferred tools are offered at once.",
      },
    ]);
  });

  it('[T-04] leaves out what is more than a model server takes, with a note', async () => {
    const many = { ...tools, list: () => deferredTools(600) };
    const { requested, notes } = await played({ tools: many }, [says('So.')], { tools: [own] });
    expect([requested[0]?.tools?.length, notes[0]?.message]).toEqual([
      513,
      "The client has a tool 'tool_search' of its own, so deferred tools are offered at once, except 88, which the model cannot call.",
    ]);
  });

  it('[T-07] of a server is another tool', async () => {
    const list = [
      { server: 'docs', name: 'tool_search' },
      { server: 'docs', name: 'a', deferred: true },
    ];
    expect(offers(await played({ tools: { ...tools, list: () => list } }, [says('So.')]))).toEqual([
      'tool_search mcp__docs__tool_search',
    ]);
  });
});

function deferredTools(count: number, name = (n: number) => `t${n}`) {
  return Array.from({ length: count }, (_, n) => ({
    server: 'many',
    name: name(n),
    description: `Does the ${n}th thing.`,
    deferred: true,
  }));
}

describe('very many tools', () => {
  const list = deferredTools(1_000);
  const many: ToolProvider = { ...tools, list: () => list };

  it('[F-04] are not all offered because a client claims that they were found', () => {
    const named = namedTools(
      list.map((tool) => ({ provider: many, tool })),
      new Set(),
      () => {},
    );
    const inner = list.map(({ name }) => ({ type: 'function', name }));
    const output = { type: 'tool_search_output', tools: [{ type: 'namespace', name: 'many', tools: inner }] };
    expect([
      knownTools([output], named).size,
      knownTools(
        [
          { type: 'tool_search_output', tools: 'all' },
          { type: 'function_call_output', output: '{"found":' },
        ],
        named,
      ).size,
    ]).toEqual([512, 0]);
  });

  it('[T-05] are cut off where a result would be larger than any may be', async () => {
    const parameters = { type: 'object', description: 'x'.repeat(400) };
    const large = deferredTools(3).map((tool) => ({ ...tool, parameters }));
    const options = { tools: { ...tools, list: () => large }, limits: { tools: { outputBytes: 1_200 } } };
    const { requested } = await played(options, [calls(['c', 'tool_search', '{"query":"thing"}']), says('So.')]);
    expect(toolTexts(requested[1] as ChatBody)).toEqual({ c: '{"found":["t0","t1"]}' });
  });
});

it('[S-18] a turn that another process continues knows what was found', () => {
  const plan: TurnPlan = {
    seed: '0'.repeat(32),
    reasoning: 'summary_text',
    owners: new Map([['tool_search', { server: 'tool_search', name: 'tool_search', shownAs: 'tool_search_call' }]]),
    ownedAs: 'mcp_call',
    queuedEvent: false,
    outputBytes: 1e6,
    argumentBytes: 1e6,
  };
  const tool = { name: 'read', input_schema: {} };
  const [state, events] = step(startState(plan), [
    { type: 'start' },
    { type: 'tool-call-delta', call: 0, name: 'tool_search', arguments: '{"query":"a"}' },
    { type: 'finish', reason: 'stop' },
    {
      type: 'tool-result',
      index: 0,
      output: '',
      failed: false,
      found: [{ modelName: 'docs_read', server: 'docs', tool }],
    },
  ]);
  const checkpoint = JSON.parse(JSON.stringify(turnCheckpoint(state)));
  const restored = restoredState(plan, { checkpoint, events, next: events.length });
  expect([restored.found.values(), restored.output.from(0)]).toEqual([['docs_read'], state.output.from(0)]);
});
