/** Programs beside other features: approvals of every kind of tool, compaction, and a request that allows no more calls. */

import type { JsonObject } from '../../../../src/protocol/record.ts';
import { calls, chatBody, providerOf, says, type ToolsApp, withTools } from '../../../engine/tools/support.ts';
import { SENT_RESULTS, searching } from '../../web-search/support.ts';
import { interpreter } from '../interpreter.ts';
import { PATIENCE } from '../support.ts';
import {
  answerTo,
  CRM,
  itemsOf,
  PROGRAMS,
  provider,
  type Response,
  respond,
  SECRET,
  STOCK,
  withPrograms,
  writes,
} from './app.ts';

/** The next request of a client that has its conversation stored, or that sends all of it back. */
function next(
  app: ToolsApp,
  tools: readonly JsonObject[],
  before: Response,
  input: readonly JsonObject[],
  isStored: boolean,
) {
  const all = [{ role: 'user', content: 'Hi' }, ...before.output, ...input];
  return respond(
    app,
    isStored ? { tools, previous_response_id: before.id, input } : { tools, store: false, input: all },
  );
}

function approvals(response: Response, approve = true): readonly JsonObject[] {
  return itemsOf(response, 'mcp_approval_request').map(({ id }) => ({
    type: 'mcp_approval_response',
    approval_request_id: id,
    approve,
  }));
}

describe('a call of a program that waits for approval', () => {
  const only = { allowed_callers: ['programmatic'] };
  const hosted = [
    ['web_search', { type: 'web_search', ...only }, "text(await tools.web_search({ query: 'one' }));", SENT_RESULTS],
    [
      'code_interpreter',
      { type: 'code_interpreter', container: { type: 'auto' }, ...only },
      "text(await tools.code_interpreter({ code: 'print(7)' }));",
      '7',
    ],
    ['find', CRM, 'text(await tools.find({ n: 1 }));', 'crm ran find.'],
  ] as const;

  it.each(
    hosted.flatMap((each) =>
      (['mcp_call', 'function_call'] as const).flatMap((shown) =>
        [true, false].map((isStored) => [...each, shown, isStored] as const),
      ),
    ),
  )(
    '[E-12] gives its result to the program, whatever item shows it: %s %#',
    async (name, tool, code, result, toolCalls, isStored) => {
      const tools = [provider, searching().tools, interpreter().tools, providerOf('crm', ['find'])];
      const options = {
        tools,
        secret: SECRET,
        show: { toolCalls },
        approval: (each: { readonly name: string }) => each.name === name,
      };
      await withTools(options, async (app) => {
        app.fake.reply(writes(code), says('Done.'));
        const first = await respond(app, { tools: [PROGRAMS, tool], store: isStored });
        expect(first.output.map(({ type }) => type)).toContain('mcp_approval_request');
        const second = await next(app, [PROGRAMS, tool], first, approvals(first), isStored);
        expect(itemsOf(second, 'program_output')).toMatchObject([{ status: 'completed', result }]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] gives its result to the program that then waits for the client, in a later request, too',
    async () => {
      const tools = [provider, searching().tools];
      const options = {
        tools,
        secret: SECRET,
        approval: ({ name }: { readonly name: string }) => name === 'web_search',
      };
      await withTools(options, async (app) => {
        const offered = [PROGRAMS, { type: 'web_search', ...only }, STOCK];
        const code =
          "const found = await tools.web_search({ query: 'one' }); await tools.get_stock({ sku: 'x' }); text(found);";
        for (const isStored of [true, false]) {
          app.fake.reply(writes(code), says('Done.'));
          const first = await respond(app, { tools: offered, store: isStored });
          const second = await next(app, offered, first, approvals(first), isStored);
          const answers = itemsOf(second, 'function_call').map((call) => answerTo(call, { units: 7 }));
          const all = [...first.output, ...approvals(first), ...second.output] as never;
          const third = await next(app, offered, isStored ? second : { ...first, output: all }, answers, isStored);
          expect(itemsOf(third, 'program_output')).toMatchObject([{ status: 'completed', result: SENT_RESULTS }]);
        }
      });
    },
    PATIENCE,
  );
});

describe('a program that waits while its conversation is compacted', () => {
  const MANAGED = {
    instructions: 'word '.repeat(1200),
    context_management: [{ type: 'compaction', compact_threshold: 1000 }],
  };
  const code = `const a = (await tools.get_stock({ sku: 'x' })).units;
    const b = (await tools.get_stock({ sku: 'y' })).units; text(a + b);`;

  it(
    '[E-12] [S-14] goes on, however many requests it takes',
    async () => {
      await withPrograms(async (app) => {
        const tools = [PROGRAMS, STOCK];
        app.fake.reply(writes(code), says('A summary.'));
        const first = await respond(app, { tools, ...MANAGED });
        expect(itemsOf(first, 'compaction').length).toBe(1);
        app.fake.reply(says('A summary.'));
        const body = (before: Response) => ({
          tools,
          previous_response_id: before.id,
          input: itemsOf(before, 'function_call').map((call) => answerTo(call, { units: 7 })),
        });
        const second = await respond(app, { ...body(first), ...MANAGED });
        expect(itemsOf(second, 'compaction').length).toBe(1);
        app.fake.reply(says('Done.'));
        const third = await respond(app, body(second));
        expect(itemsOf(third, 'program_output')).toMatchObject([{ status: 'completed', result: '14' }]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] [S-14] goes on where the client has answered it, and asks for the compaction first',
    async () => {
      await withPrograms(async (app) => {
        const tools = [PROGRAMS, STOCK];
        app.fake.reply(writes(code));
        const first = await respond(app, { tools });
        const answers = itemsOf(first, 'function_call').map((call) => answerTo(call, { units: 7 }));
        app.fake.reply(says('A summary.'));
        const input = [...answers, { type: 'compaction_trigger' }];
        const compacted = await respond(app, { tools, previous_response_id: first.id, input });
        expect(compacted.output.map(({ type }) => type)).toEqual(['compaction']);
        const goOn = { role: 'user', content: 'Go on.' };
        app.fake.reply(says('Done.'));
        const next = await respond(app, { tools, previous_response_id: compacted.id, input: [goOn] });
        expect(itemsOf(next, 'function_call').length).toBe(1);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] [S-14] goes on when the user has approved its call',
    async () => {
      await withPrograms(
        async (app) => {
          const tools = [PROGRAMS, CRM];
          app.fake.reply(writes('text((await tools.find({ n: 1 })).n);'), says('A summary.'));
          const first = await respond(app, { tools, ...MANAGED });
          expect(itemsOf(first, 'compaction').length).toBe(1);
          app.fake.reply(says('Done.'));
          const second = await respond(app, { tools, previous_response_id: first.id, input: approvals(first) });
          expect(itemsOf(second, 'program_output')).toMatchObject([{ status: 'completed', result: '1' }]);
        },
        { approval: ({ name }) => name === 'find' },
      );
    },
    PATIENCE,
  );
});

const NO_STOCK = { type: 'allowed_tools', mode: 'auto', tools: [PROGRAMS] };

it.each([
  ['none', '', { status: 'completed', result: '7' }],
  [NO_STOCK, '', { status: 'completed', result: '7' }],
  ['none', "await tools.get_stock({ sku: 'y' });", { result: expect.stringContaining("may not call 'get_stock'") }],
  [NO_STOCK, "await tools.get_stock({ sku: 'y' });", { result: expect.stringContaining("may not call 'get_stock'") }],
])(
  '[E-12] a program goes on with what it has called where the request allows no more calls, and makes none: %j %j',
  async (tool_choice, more, result) => {
    await withPrograms(async (app) => {
      const tools = [PROGRAMS, STOCK];
      app.fake.reply(writes(`text((await tools.get_stock({ sku: 'x' })).units); ${more}`), says('Done.'));
      const first = await respond(app, { tools });
      const input = itemsOf(first, 'function_call').map((call) => answerTo(call, { units: 7 }));
      const second = await respond(app, { tools, tool_choice, previous_response_id: first.id, input });
      expect(itemsOf(second, 'function_call')).toEqual([]);
      expect(itemsOf(second, 'program_output')).toMatchObject([result]);
    });
  },
  PATIENCE,
);

it.each([
  ['of a server', CRM, { type: 'mcp', server_label: 'crm' }],
  ['of a server, by name', CRM, { type: 'mcp', server_label: 'crm', name: 'find' }],
  ['of the client', STOCK, { type: 'function', name: 'get_stock' }],
])(
  '[E-12] a tool that only programs may call cannot be forced on the model: %s',
  async (_, tool, tool_choice) => {
    await withPrograms(async (app) => {
      app.fake.reply(calls(['call_1', 'find', '{"n":1}']), says('Done.'));
      await expect(respond(app, { tools: [PROGRAMS, tool], tool_choice })).rejects.toThrow(/^Error: 400|^400/);
      expect(app.ran).toEqual([]);
      expect(app.fake.requests.map((each) => chatBody(each).tool_choice)).toEqual([]);
    });
  },
  PATIENCE,
);

describe('where the host wants every call approved', () => {
  it.each([true, false])(
    '[E-12] a program is approved, and then each of its calls',
    async (isStored) => {
      await withPrograms(
        async (app) => {
          const tools = [PROGRAMS, CRM];
          app.fake.reply(writes('text((await tools.find({ n: 1 })).n);'), says('Done.'));
          const first = await respond(app, { tools, store: isStored });
          const second = await next(app, tools, first, approvals(first), isStored);
          const made = { ...second, output: [...first.output, ...approvals(first), ...second.output] as never };
          const third = await next(app, tools, isStored ? second : made, approvals(second), isStored);
          expect([...itemsOf(first, 'mcp_approval_request'), ...itemsOf(second, 'mcp_approval_request')]).toMatchObject(
            [{ name: 'programmatic_tool_calling' }, { name: 'find' }],
          );
          expect(itemsOf(third, 'program_output')).toMatchObject([{ status: 'completed', result: '1' }]);
          expect(app.ran).toEqual([{ name: 'find', n: 1 }]);
        },
        { approval: () => true },
      );
    },
    PATIENCE,
  );
});
