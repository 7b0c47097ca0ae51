/** Programs and the server's tools that are not there at once: deferred ones, and the hosted shell with its container. */

import type { ToolProvider } from '../../../../src/index.ts';
import { IMAGE_MADE } from '../../../../src/protocol/tool-calls/image-generation-call.ts';
import { imageGeneration } from '../../../../src/tools/image-generation/index.ts';
import { bubblewrapRuntime, shell } from '../../../../src/tools/shell/index.ts';
import { calls, chatBody, says, withTools } from '../../../engine/tools/support.ts';
import { describeWith, findProgram } from '../../../support/services.ts';
import { type ImagesServer, json, startImages } from '../../image-generation/images-server.ts';
import { SENT_RESULTS, searching } from '../../web-search/support.ts';
import { interpreter } from '../interpreter.ts';
import { PATIENCE } from '../support.ts';
import { answerTo, itemsOf, PROGRAMS, provider, respond, SECRET, writes } from './app.ts';

const BOTH = ['direct', 'programmatic'];

describe('a deferred tool', () => {
  const ran: unknown[] = [];
  const crm: ToolProvider = {
    name: 'crm',
    list: () => [
      { server: 'crm', name: 'find', description: 'Finds a customer.', parameters: { type: 'object' }, deferred: true },
      { server: 'crm', name: 'count', description: 'Counts customers.', parameters: { type: 'object' } },
    ],
    call: async ({ name, arguments: args }) => {
      ran.push({ name, ...args });
      return { content: `${name} ran` };
    },
  };

  it(
    '[E-12] is not there for a program until the model has found it',
    async () => {
      await withTools({ tools: [provider, crm], secret: SECRET }, async (app) => {
        const tools = [PROGRAMS, { type: 'mcp', server_label: 'crm', allowed_callers: BOTH }];
        app.fake.reply(
          writes('text([typeof tools.find, typeof tools.count]); await tools.find({ n: 1 });', 'call_1'),
          calls(['call_s', 'tool_search', '{"query":"find a customer","limit":1}']),
          writes('text(await tools.find({ n: 2 }));', 'call_2'),
          says('Done.'),
        );
        const response = await respond(app, { tools });
        expect(itemsOf(response, 'program_output')).toMatchObject([
          {
            status: 'incomplete',
            result: expect.stringMatching(/^\["undefined","function"\]\n?Error: .*not a function/),
          },
          { status: 'completed', result: 'find ran' },
        ]);
        expect(ran).toEqual([{ name: 'find', n: 2 }]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] of the client is called by a program of the same turn that has found it, and its result comes in the next request',
    async () => {
      await withTools({ tools: [provider], secret: SECRET }, async (app) => {
        const stock = { type: 'function', name: 'get_stock', description: 'The units of a product.', parameters: {} };
        const tools = [
          PROGRAMS,
          { type: 'tool_search', execution: 'server' },
          { ...stock, strict: null, defer_loading: true, allowed_callers: BOTH },
        ];
        app.fake.reply(
          writes('text(typeof tools.get_stock)', 'call_1'),
          calls(['call_s', 'tool_search', '{"query":"units of a product"}']),
          writes('text((await tools.get_stock({})).units);', 'call_2'),
          says('Seven.'),
        );
        const first = await respond(app, { tools });
        const input = itemsOf(first, 'function_call').map((call) => answerTo(call, { units: 7 }));
        const second = await respond(app, { tools, previous_response_id: first.id, input });
        const results = [first, second].flatMap((response) => itemsOf(response, 'program_output'));
        expect(results.map(({ result }) => result)).toEqual(['undefined', '7']);
        expect(JSON.stringify(chatBody(app.fake.requests[0] as never).tools)).toContain('a search for tools has found');
      });
    },
    PATIENCE,
  );
});

describeWith(findProgram('bwrap'), 'bubblewrap')('the hosted shell', () => {
  it(
    '[E-12] runs the commands of a program in one container, and the program reads what each wrote',
    async () => {
      const hosted = shell({ runtime: bubblewrapRuntime() });
      await withTools({ tools: [provider, hosted], secret: SECRET }, async (app) => {
        const code = `await tools.shell({ commands: ['echo seven > n'] });
          text(await tools.shell({ commands: ['cat n', 'exit 3'] }));`;
        app.fake.reply(writes(code), says('Done.'));
        const response = await respond(app, {
          tools: [
            PROGRAMS,
            { type: 'shell', environment: { type: 'container_auto' }, allowed_callers: ['programmatic'] },
          ],
        });
        const [program] = itemsOf(response, 'program');
        const caller = { type: 'program', caller_id: program?.call_id };
        const made = itemsOf(response, 'shell_call');
        expect([...made, ...itemsOf(response, 'shell_call_output')]).toMatchObject(Array(4).fill({ caller }));
        expect(new Set(made.map(({ environment }) => JSON.stringify(environment))).size).toBe(1);
        expect(itemsOf(response, 'program_output')).toMatchObject([
          { status: 'completed', result: 'seven\n\n[exit code 0]\n\n[exit code 3]' },
        ]);
      });
    },
    PATIENCE,
  );
});

describe('hosted tools', () => {
  const programmatic = { allowed_callers: ['programmatic'] };
  const getStock = { type: 'function', name: 'get_stock', parameters: {}, strict: null, ...programmatic };

  let images: ImagesServer;
  afterEach(() => images.close());

  it.each([
    ['web_search', "text(await tools.web_search({ query: 'one' }));", SENT_RESULTS],
    ['code_interpreter', "text(await tools.code_interpreter({ code: 'print(7)' }));", '7'],
    [
      'image_generation',
      "text(await tools.image_generation({ prompt: 'a cat' }));",
      `${IMAGE_MADE}\n[image/png, 68 bytes]`,
    ],
    [
      'image_generation',
      "await tools.image_generation({ prompt: 'fails' }).catch(() => text('No image.'));",
      'No image.',
    ],
  ])(
    '[E-12] %s gives a program what it gives the model, also where the program goes on in a later request: %s',
    async (type, code, result) => {
      images = await startImages();
      if (code.includes('fails')) images.answer(json({ error: { message: 'No.' } }, 400));
      const hosted = [searching().tools, interpreter().tools, imageGeneration({ baseURL: images.url, model: 'm' })];
      await withTools({ tools: [provider, ...hosted], secret: SECRET }, async (app) => {
        const container = type === 'code_interpreter' ? { container: { type: 'auto' } } : {};
        const tools = [PROGRAMS, getStock, { type, ...container, ...programmatic }];
        for (const store of [true, false]) {
          app.fake.reply(writes(`${code} await tools.get_stock({});`), says('Done.'));
          const first = await respond(app, { tools, store });
          const made = itemsOf(first, `${type}_call`);
          expect(made).toMatchObject([{ caller: { type: 'program' } }]);
          const answers = itemsOf(first, 'function_call').map((call) => answerTo(call, { units: 7 }));
          const second = await respond(app, {
            tools,
            store,
            ...(store
              ? { previous_response_id: first.id, input: answers }
              : { input: [{ role: 'user', content: 'Hi' }, ...first.output, ...answers] }),
          });
          expect(itemsOf(second, 'program_output')).toMatchObject([{ status: 'completed', result }]);
        }
      });
    },
    PATIENCE,
  );
});
