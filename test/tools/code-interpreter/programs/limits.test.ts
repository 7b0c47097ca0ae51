/** What holds inside programs: what the request forbids, the limits of calls and of the response, budgets, and approvals. */

import { memoryStore, type ToolProvider } from '../../../../src/index.ts';
import { tokenBudget } from '../../../../src/policies/budgets/index.ts';
import type { JsonObject } from '../../../../src/protocol/record.ts';
import { programs } from '../../../../src/tools/code-interpreter/index.ts';
import { calls, chatBody, providerOf, says, withTools } from '../../../engine/tools/support.ts';
import { post } from '../../../support/responses-client.ts';
import { PATIENCE } from '../support.ts';
import {
  answerTo,
  CRM,
  itemsOf,
  PROGRAMS,
  provider,
  respond,
  resultOf,
  STOCK,
  TWO_STOCKS,
  withPrograms,
  writes,
} from './app.ts';

const TOOLS = [PROGRAMS, STOCK, CRM];
const FIND_ALL =
  'text((await Promise.all([1, 2, 3].map((n) => tools.find({ n }).catch((error) => error.message)))).map(({ n }) => n));';
const allowed = (...tools: readonly JsonObject[]) => ({
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools },
});

describe('what a request forbids', () => {
  it(
    '[E-12] holds in programs: allowed_tools names what they call, too',
    async () => {
      await withPrograms(async (app) => {
        const choice = allowed(PROGRAMS, { type: 'mcp', server_label: 'crm', name: 'find' });
        const code =
          'text([typeof tools.find, typeof tools.send, typeof tools.get_stock]); await tools.find({ n: 1 });';
        expect(await resultOf(app, code, choice)).toEqual(['completed', '["function","undefined","undefined"]']);
        expect(app.ran).toEqual([{ name: 'find', n: 1 }]);
      });
    },
    PATIENCE,
  );

  it.each([
    ['tool_choice none', { tool_choice: 'none' }],
    ['allowed_tools without programs', allowed({ type: 'function', name: 'get_stock' })],
  ])(
    '[E-12] keeps a model from writing programs: %s',
    async (_, body) => {
      await withPrograms(async (app) => {
        app.fake.reply(writes('await tools.send({ n: 1 });'), says('Done.'));
        const response = await respond(app, { tools: TOOLS, ...body });
        expect([itemsOf(response, 'program'), app.ran]).toEqual([[], []]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] keeps a program that goes on from further calls under tool_choice none',
    async () => {
      await withPrograms(async (app) => {
        app.fake.reply(writes('text(await tools.get_stock({ sku: "x" })); await tools.send({ n: 1 });'), says('Done.'));
        const first = await respond(app, { tools: TOOLS });
        const [call] = itemsOf(first, 'function_call');
        const second = await respond(app, {
          ...{ tools: TOOLS, tool_choice: 'none', previous_response_id: first.id },
          input: call ? [answerTo(call, 'seven')] : [],
        });
        expect(itemsOf(second, 'program_output')).toMatchObject([
          { status: 'incomplete', result: expect.stringContaining('is not a function') },
        ]);
        expect(app.ran).toEqual([]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] makes one call at a time where parallel_tool_calls is false, of the server and of the client',
    async () => {
      let [running, most] = [0, 0];
      const crm = providerOf('crm', ['find'], async ({ arguments: { n } }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return { content: JSON.stringify({ n }) };
      });
      await withTools({ tools: [provider, crm] }, async (app) => {
        const code = `${FIND_ALL} ${TWO_STOCKS}`;
        app.fake.reply(writes(code), says('Done.'));
        const settings = { tools: TOOLS, parallel_tool_calls: false };
        let response = await respond(app, settings);
        const shown = [...response.output];
        for (const units of [3, 4]) {
          const wanted = itemsOf(response, 'function_call');
          expect(wanted.length).toBe(1);
          const input = wanted.map((call) => answerTo(call, { units }));
          response = await respond(app, { ...settings, previous_response_id: response.id, input });
          shown.push(...response.output);
        }
        expect(itemsOf(response, 'program_output')).toMatchObject([
          { status: 'completed', result: '[1,2,3]\n{"sum":7}' },
        ]);
        expect([most, shown.filter(({ type }) => type === 'mcp_call').length, app.fake.requests.length]).toEqual([
          1, 3, 2,
        ]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] leaves a program where the next request does not have programs, and the model what it had called',
    async () => {
      await withPrograms(async (app) => {
        app.fake.reply(writes('text(await tools.get_stock({ sku: "x" })); await tools.send({ n: 1 });'), says('Done.'));
        const first = await respond(app, { tools: TOOLS });
        const [call] = itemsOf(first, 'function_call');
        const input = call ? [answerTo(call, 'seven')] : [];
        const second = await respond(app, { tools: [], previous_response_id: first.id, input });
        expect([itemsOf(second, 'program_output'), app.ran]).toEqual([[], []]);
        const [, sent] = app.fake.requests.map((request) => chatBody(request).messages);
        expect(sent?.at(-1)).toMatchObject({ role: 'tool', content: '"seven"' });
      });
    },
    PATIENCE,
  );
});

describe('the limits of calls', () => {
  it(
    '[E-12] run as many at once as limits.tools.parallelCalls says',
    async () => {
      let [running, most] = [0, 0];
      const crm = providerOf('crm', ['find'], async ({ arguments: { n } }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return { content: JSON.stringify({ n }) };
      });
      await withTools({ tools: [provider, crm], limits: { tools: { parallelCalls: 2 } } }, async (app) => {
        expect(await resultOf(app, FIND_ALL)).toEqual(['completed', '[1,2,3]']);
        expect(most).toBe(2);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] end a call that takes too long, and cut off or refuse a result that is too large',
    async () => {
      const crm = providerOf('crm', ['find', 'send'], ({ name }) =>
        name === 'send' ? new Promise<never>(() => {}) : Promise.resolve({ content: 'x'.repeat(5000) }),
      );
      const limits = { tools: { timeoutMs: 50, outputBytes: 1000 } };
      await withTools({ tools: [provider, crm], limits }, async (app) => {
        const code = `
          const late = await tools.send({}).catch((error) => error.message);
          const large = await tools.find({}).catch((error) => error.message);
          text([/50 ms|time/.test(late), large.length <= 1100]);`;
        expect(await resultOf(app, code)).toEqual(['completed', '[true,true]']);
        const [status, result] = await resultOf(app, 'text("x".repeat(2000));');
        expect([status, String(result).length < 1100]).toEqual(['incomplete', true]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] count a program with all of its calls as one round',
    async () => {
      await withPrograms(
        async (app) => {
          const code = 'for (let n = 0; n < 6; n += 1) await tools.find({ n }); text("all");';
          app.fake.reply(writes(code), writes(code, 'call_q'), writes(code, 'call_r'), says('Done.'));
          const response = await respond(app, { tools: TOOLS });
          expect([response.status, response.incomplete_details, app.ran.length]).toEqual([
            'incomplete',
            { reason: 'max_tool_iterations' },
            12,
          ]);
        },
        { limits: { tools: { iterations: 2 } } },
      );
    },
    PATIENCE,
  );
});

describe('several programs at once', () => {
  const code = (n: number) => `text((await tools.find({ n: ${n} })).n + (await tools.find({ n: ${10 * n} })).n);`;
  const both = calls(
    ...[1, 2].map((n) => [`call_${n}`, 'programmatic_tool_calling', JSON.stringify({ code: code(n) })] as const),
  );

  it(
    '[E-12] do not wait for each other for ever where there are fewer places than programs',
    async () => {
      const narrow = programs({ max: 2, limits: { runMs: 60_000 } });
      const crm = providerOf('crm', ['find'], async ({ arguments: { n } }) => ({ content: JSON.stringify({ n }) }));
      try {
        await withTools({ tools: [narrow, crm], limits: { turns: { durationMs: 20_000 } } }, async (app) => {
          app.fake.reply(both, says('Done.'));
          const response = await respond(app, { tools: TOOLS });
          expect(itemsOf(response, 'program_output').map(({ result }) => result)).toEqual(['11', '22']);
          expect(response.status).toBe('completed');
        });
      } finally {
        await narrow.close?.();
      }
    },
    PATIENCE,
  );

  it(
    '[E-12] count each, and each of their calls',
    async () => {
      // Two programs, and the rest for calls.
      for (const [most, status, made] of [
        [5, 'incomplete', 3],
        [6, 'completed', 4],
      ] as const)
        await withPrograms(async (app) => {
          app.fake.reply(both, says('Done.'));
          const response = await respond(app, { tools: TOOLS, max_tool_calls: most });
          expect([response.status, app.ran.length]).toEqual([status, made]);
        });
    },
    PATIENCE,
  );

  it(
    '[E-12] wait for the client together, and go on together',
    async () => {
      await withPrograms(async (app) => {
        const asks = (n: number) => JSON.stringify({ code: `text((await tools.get_stock({ sku: '${n}' })).units);` });
        app.fake.reply(
          calls(['a', 'programmatic_tool_calling', asks(1)], ['b', 'programmatic_tool_calling', asks(2)]),
          says('Done.'),
        );
        const first = await respond(app, { tools: TOOLS });
        const wanted = itemsOf(first, 'function_call');
        const input = wanted.map((call, at) => answerTo(call, { units: at }));
        const second = await respond(app, { tools: TOOLS, previous_response_id: first.id, input });
        expect(itemsOf(second, 'program_output').map(({ result }) => result)).toEqual(['0', '1']);
      });
    },
    PATIENCE,
  );
});

describe('a runtime that programs have broken', () => {
  const call = (name: string, args = '{}') => ({ name, arguments: args });
  it.each([
    ['calls what it may not', [call('send_all')], /may not call 'send_all'/],
    ['calls a tool of the model', [call('programmatic_tool_calling')], /may not call/],
    ['makes too many calls at once', Array(21).fill(call('find')), /more than 20 calls/],
    ['makes no call', [], /waits for nothing/],
    [
      'writes too long arguments',
      [call('find', `{"n":"${'x'.repeat(2 ** 24)}"}`)],
      /arguments of a call had more than/,
    ],
  ])(
    '[E-12] ends its program where it %s',
    async (_, made, error) => {
      const ran: string[] = [];
      const crm = providerOf('crm', ['find'], async ({ name }) => {
        ran.push(name);
        return { content: '{}' };
      });
      const broken: ToolProvider = {
        ...provider,
        programs: { begin: async () => ({ goOn: async () => ({ calls: made }), close: async () => {} }) },
      };
      await withTools({ tools: [broken, crm], limits: { tools: { calls: 20 } } }, async (app) => {
        const [status, result] = await resultOf(app, 'text(1);');
        expect([status, result, ran]).toEqual(['incomplete', expect.stringMatching(error), []]);
      });
    },
    PATIENCE,
  );
});

describe('the limits of a response', () => {
  it.each([
    ['computes', 'for (;;) {}'],
    ['waits for a call', 'await tools.find({});'],
  ])(
    '[E-12] end it with its time while a program %s',
    async (_, code) => {
      const crm = providerOf('crm', ['find'], () => new Promise<never>(() => {}));
      await withTools({ tools: [provider, crm], limits: { turns: { durationMs: 700 } } }, async (app) => {
        app.fake.reply(writes(code), says('Done.'));
        const response = await respond(app, { tools: TOOLS });
        const { message } = response.error as { readonly message: string };
        expect([response.status, message, app.fake.requests.length]).toEqual([
          'failed',
          expect.stringMatching('longer than this server allows'),
          1,
        ]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] bound what programs write into it by their calls',
    async () => {
      await withPrograms(
        async (app) => {
          const code = 'for (let n = 0; n < 50; n += 1) await tools.find({ n, long: "x".repeat(1000) });';
          app.fake.reply(writes(code), says('Done.'));
          const { text } = await post(app.url, { tools: TOOLS });
          expect(text).toContain('output_too_large');
          expect(app.ran.length).toBeLessThan(20);
        },
        { limits: { model: { outputBytes: 20_000 } } },
      );
    },
    PATIENCE,
  );

  it(
    '[E-12] count the tokens and the cost of both calls of the model, and not of those that a program has saved',
    async () => {
      const budget = tokenBudget({ scope: () => 'everyone', cost: ({ usage }) => usage.output_tokens / 8 });
      await withPrograms(
        async (app) => {
          app.fake.reply(writes('for (let n = 0; n < 9; n += 1) await tools.find({ n }); text("all");'), says('Done.'));
          const response = await respond(app, { tools: TOOLS });
          const [row] = await budget.report({ scope: 'everyone' });
          const { usage } = response as unknown as {
            usage: { readonly input_tokens: number; readonly output_tokens: number };
          };
          expect(row).toMatchObject({
            requests: 1,
            inputTokens: usage.input_tokens,
            outputTokens: usage.output_tokens,
            cost: usage.output_tokens / 8,
          });
        },
        { budget },
      );
    },
    PATIENCE,
  );

  it(
    '[E-12] do not let a tenant without a budget go on with a program',
    async () => {
      const budget = tokenBudget({ scope: () => 'everyone', limits: { requests: { points: 1, duration: 60 } } });
      await withPrograms(
        async (app) => {
          app.fake.reply(writes('await tools.get_stock({ sku: "x" }); await tools.send({ n: 1 });'), says('Done.'));
          const first = await respond(app, { tools: TOOLS });
          const [call] = itemsOf(first, 'function_call');
          const input = call ? [answerTo(call, 'seven')] : [];
          const { status } = await post(app.url, { tools: TOOLS, previous_response_id: first.id, input });
          expect([status, app.ran]).toEqual([429, []]);
        },
        { budget, store: memoryStore() },
      );
    },
    PATIENCE,
  );
});

describe('approvals', () => {
  const code = `
    const all = await Promise.all([tools.find({ n: 1 }), tools.send({ n: 2 }), tools.send({ n: 3 })]
      .map((call) => call.then(({ n }) => n, (error) => error.message)));
    text(all);`;
  const DENIED = 'The user did not approve this call, so it was not run.';

  it.each([
    ['stored', true],
    ['sent back', false],
  ])(
    '[E-12] of several calls at once are each waited for, as the entry of the server requires; %s',
    async (_, isStored) => {
      await withPrograms(async (app) => {
        const tools = [PROGRAMS, { ...CRM, require_approval: { always: { tool_names: ['send'] } } }];
        app.fake.reply(writes(code), says('Done.'));
        const first = await respond(app, { tools, store: isStored });
        const requests = itemsOf(first, 'mcp_approval_request');
        expect([requests.map(({ arguments: text }) => text), app.ran]).toEqual([
          ['{"n":2}', '{"n":3}'],
          [{ name: 'find', n: 1 }],
        ]);
        const answers = requests.map(({ id }, at) => ({
          type: 'mcp_approval_response',
          approval_request_id: id,
          approve: at === 1,
        }));
        const second = await respond(app, {
          tools,
          ...(isStored
            ? { previous_response_id: first.id, input: answers }
            : { store: false, input: [{ role: 'user', content: 'Hi' }, ...first.output, ...answers] }),
        });
        expect(itemsOf(second, 'program_output')).toMatchObject([{ result: JSON.stringify([1, DENIED, 3]) }]);
        expect(app.ran.map(({ n }) => n)).toEqual([1, 3]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] without an answer are a denial, and nothing runs',
    async () => {
      await withPrograms(
        async (app) => {
          app.fake.reply(writes(code), says('Done.'));
          const first = await respond(app, { tools: TOOLS });
          const second = await respond(app, { tools: TOOLS, previous_response_id: first.id, input: 'Go on.' });
          expect(itemsOf(second, 'program_output')).toMatchObject([{ result: JSON.stringify([1, DENIED, DENIED]) }]);
          expect(app.ran.map(({ n }) => n)).toEqual([1]);
        },
        { approval: ({ name }) => name === 'send' },
      );
    },
    PATIENCE,
  );

  it(
    '[E-12] of a call with other arguments do not let the program go on',
    async () => {
      await withPrograms(
        async (app) => {
          app.fake.reply(writes('await tools.send({ n: 2 }); text("sent");'), says('Done.'));
          const first = await respond(app, { tools: TOOLS, store: false });
          const shown = first.output.map((item) =>
            item.type === 'mcp_approval_request' ? { ...item, arguments: '{"n":999}' } : item,
          );
          const [request] = itemsOf(first, 'mcp_approval_request');
          const answer = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true };
          const { status, text } = await post(app.url, {
            ...{ tools: TOOLS, store: false },
            input: [{ role: 'user', content: 'Hi' }, ...shown, answer],
          });
          expect([status, text]).not.toEqual([200, expect.stringContaining('"result":"sent"')]);
          expect(app.ran.filter(({ n }) => n === 999)).toEqual([]);
        },
        { approval: ({ name }) => name === 'send' },
      );
    },
    PATIENCE,
  );
});
