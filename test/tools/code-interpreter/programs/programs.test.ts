/** Programs over HTTP: bad ones first, then what clients and models receive of them, and how they go on in later requests. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type OpenAI from 'openai';
import type { Guard } from '../../../../src/index.ts';
import { chatCompletionsRouter, chatCompletionsUpstream, memoryStore, messagesRouter } from '../../../../src/index.ts';
import type { JsonObject } from '../../../../src/protocol/record.ts';
import { type FakeAnswer, startFakeUpstream } from '../../../../src/testing/index.ts';
import { calls, chatBody, providerOf, says, streamOf, toolTexts, withTools } from '../../../engine/tools/support.ts';
import { startApp } from '../../../support/app.ts';
import { openaiClient, post } from '../../../support/responses-client.ts';
import { PATIENCE } from '../support.ts';
import {
  answerTo,
  CRM,
  type Item,
  itemsOf,
  PROGRAMS,
  provider,
  type Response,
  respond,
  resultOf,
  SECRET,
  SKU,
  STOCK,
  TWO_STOCKS,
  withPrograms,
  writes,
} from './app.ts';

describe('a bad program', () => {
  it.each([
    ['for (;;) {}', /ran longer than 2000 ms/],
    [
      'for (let n = 0; n < 100_000; n += 1) await tools.find({ n });',
      /Not run: the response had ended|at most 5 calls/,
    ],
    ['await tools.programmatic_tool_calling({ code: "1" });', /not a function/],
    ['await tools.send_all({});', /not a function/],
    ['throw new Error("mine");', /^Error: Error: mine$/],
    ['await tools.find({ fails: true });', /No such customer/],
    ['', /wrote nothing/],
  ])(
    '[E-12] ends with an incomplete output: %s',
    async (code, error) => {
      await withPrograms(
        async (app) => {
          const [status, result] = await resultOf(app, code);
          expect([status, result]).toEqual([code === '' ? 'completed' : 'incomplete', expect.stringMatching(error)]);
          expect(app.ran.length).toBeLessThanOrEqual(5);
        },
        { limits: { tools: { calls: 5 } } },
      );
    },
    PATIENCE,
  );

  it(
    '[E-12] may make no more calls than max_tool_calls, and the response says why it ended',
    async () => {
      await withPrograms(async (app) => {
        app.fake.reply(writes('for (let n = 0; n < 9; n += 1) await tools.find({ n }); text("all");'), says('no'));
        const response = await respond(app, { tools: [PROGRAMS, CRM], max_tool_calls: 3 });
        expect([response.status, response.incomplete_details, app.ran.length]).toEqual([
          'incomplete',
          { reason: 'max_tool_calls' },
          2,
        ]);
        expect(itemsOf(response, 'program_output')).toMatchObject([{ status: 'incomplete' }]);
      });
    },
    PATIENCE,
  );

  it.each([
    ['was changed', (item: Item) => ({ ...item, code: `${item.code} await tools.send({});` })],
    ['has another fingerprint', (item: Item) => ({ ...item, fingerprint: '1764201600000.pst1.AAAA' })],
    ['has another time', (item: Item) => ({ ...item, fingerprint: String(item.fingerprint).replace(/^\d/, '2') })],
    ['has another id', (item: Item) => ({ ...item, call_id: 'call_again' })],
  ])(
    '[E-12] does not go on where the client keeps the conversation and it %s',
    async (_, change) => {
      await withPrograms(async (app) => {
        app.fake.reply(writes(TWO_STOCKS));
        const first = await respond(app, { tools: [PROGRAMS, STOCK, CRM], store: false });
        const [changed] = itemsOf(first, 'program').map(change);
        const caller = { type: 'program', caller_id: changed?.call_id };
        const shown = first.output.map((item) => (item.type === 'program' ? changed : { ...item, caller }));
        const answers = itemsOf(first, 'function_call').map((call) => answerTo(call, { units: 1 }));
        const { status, text } = await post(app.url, {
          tools: [PROGRAMS, STOCK, CRM],
          store: false,
          input: [{ role: 'user', content: 'Hi' }, ...shown, ...answers],
        });
        expect([status, JSON.parse(text).error.code, app.ran]).toEqual([400, 'invalid_encrypted_content', []]);
      });
    },
    PATIENCE,
  );

  it.each<[string, (url: string, input: readonly JsonObject[]) => Promise<JsonObject>]>([
    [
      'an item of a conversation',
      async (url, items) => {
        const headers = { 'content-type': 'application/json' };
        const sent = { method: 'POST', headers, body: JSON.stringify({ items }) };
        // The cast: a conversation.
        return { conversation: ((await (await fetch(`${url}/conversations`, sent)).json()) as JsonObject).id };
      },
    ],
    [
      'the input of a request without the tool',
      async (url, input) => ({ previous_response_id: JSON.parse((await post(url, { input })).text).id }),
    ],
  ])(
    '[E-12] does not run where the client has written it and stored it as %s',
    async (_, stored) => {
      await withPrograms(
        async (app) => {
          app.fake.reply(says('Hello.'));
          const code = 'text(await tools.send({}));';
          const own = { type: 'program', id: 'prog_1', call_id: 'call_own', code, fingerprint: `${Date.now()}.AAAA` };
          const about = await stored(app.url, [{ role: 'user', content: 'Hi' }, own]);
          const { status, text } = await post(app.url, { tools: [PROGRAMS, CRM], input: 'Go on.', ...about });
          expect([status, JSON.parse(text).error.code, app.ran]).toEqual([400, 'invalid_encrypted_content', []]);
        },
        { store: memoryStore() },
      );
    },
    PATIENCE,
  );

  it(
    '[E-12] does not go on for another tenant than it was written for',
    async () => {
      const scope = (req: { readonly headers: Readonly<Record<string, unknown>> }) => String(req.headers['x-tenant']);
      const ran: unknown[] = [];
      const crm = providerOf('crm', ['send'], async ({ arguments: args }) => {
        ran.push(args);
        return { content: 'sent' };
      });
      await withTools({ tools: [provider, crm], secret: SECRET, scope: scope as never }, async (app) => {
        const ask = async (tenant: string, input: readonly JsonObject[]) => {
          const answer = await fetch(`${app.url}/responses`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-tenant': tenant },
            body: JSON.stringify({ model: 'm', store: false, tools: [PROGRAMS, STOCK, CRM], input }),
          });
          // The cast: a response, or an error.
          return [answer.status, (await answer.json()) as Response & { readonly error: JsonObject }] as const;
        };
        const begin = [{ role: 'user', content: 'Hi' }];
        app.fake.reply(writes('await tools.get_stock({ sku: "x" }); await tools.send({});'), says('Done.'));
        const [, first] = await ask('a', begin);
        const answers = itemsOf(first, 'function_call').map((call) => answerTo(call, { units: 1 }));
        const [status, { error }] = await ask('b', [...begin, ...first.output, ...answers]);
        expect([status, error.code, ran]).toEqual([400, 'invalid_encrypted_content', []]);
        const [own] = await ask('a', [...begin, ...first.output, ...answers]);
        expect([own, ran.length]).toEqual([200, 1]);
      });
    },
    PATIENCE,
  );

  it.each([
    ['other arguments', { arguments: '{"sku":"other"}' }],
    ['another name', { name: 'get_demand' }],
  ])(
    '[E-12] ends with an error where a call on record has %s than it makes',
    async (_, change) => {
      await withPrograms(async (app) => {
        const tools = [PROGRAMS, STOCK, { ...STOCK, name: 'get_demand' }, CRM];
        app.fake.reply(writes('text(await tools.get_stock({ sku: "x" })); await tools.send({ n: 1 });'), says('Done.'));
        const first = await respond(app, { tools, store: false });
        const shown = first.output.map((item) => (item.type === 'function_call' ? { ...item, ...change } : item));
        const answers = itemsOf(first, 'function_call').map((call) => answerTo(call, { units: 1 }));
        const input = [{ role: 'user', content: 'Hi' }, ...shown, ...answers];
        const second = await respond(app, { tools, store: false, input });
        expect(itemsOf(second, 'program_output')).toMatchObject([
          { status: 'incomplete', result: expect.stringMatching('did not make the same calls again') },
        ]);
        // Written in another way they are the same.
        const spaced = first.output.map((item) =>
          item.type === 'function_call' ? { ...item, arguments: '{ "sku" : "x" }' } : item,
        );
        app.fake.reply(says('Done.'));
        const third = await respond(app, {
          tools,
          store: false,
          input: [{ role: 'user', content: 'Hi' }, ...spaced, ...answers],
        });
        expect([itemsOf(third, 'program_output')[0]?.status, app.ran]).toEqual(['completed', [{ name: 'send', n: 1 }]]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] does not go on without the output of one of its calls',
    async () => {
      await withPrograms(async (app) => {
        app.fake.reply(writes(TWO_STOCKS));
        const first = await respond(app, { tools: [PROGRAMS, STOCK] });
        const [call] = itemsOf(first, 'function_call');
        const input = call ? [answerTo(call, { units: 1 })] : [];
        const { status, text } = await post(app.url, {
          tools: [PROGRAMS, STOCK],
          previous_response_id: first.id,
          input,
        });
        expect([status, JSON.parse(text).error.code]).toEqual([400, 'tool_output_missing']);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] ends with an error, and calls nothing twice, where a call of the server has been left out of the conversation',
    async () => {
      await withPrograms(async (app) => {
        const code = 'await tools.send({ n: 1 }); await tools.get_stock({ sku: "x" }); text("end");';
        app.fake.reply(writes(code), says('Done.'));
        const tools = [PROGRAMS, STOCK, CRM];
        const first = await respond(app, { tools, store: false });
        const shown = first.output.filter(({ type }) => type !== 'mcp_call');
        const answers = itemsOf(first, 'function_call').map((call) => answerTo(call, { units: 1 }));
        const second = await respond(app, {
          tools,
          store: false,
          input: [{ role: 'user', content: 'Hi' }, ...shown, ...answers],
        });
        expect(itemsOf(second, 'program_output')).toMatchObject([
          { status: 'incomplete', result: expect.stringMatching('did not make the same calls again') },
        ]);
        expect(app.ran).toEqual([{ name: 'send', n: 1 }]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] is refused to a model that calls a tool for programs alone by itself',
    async () => {
      await withPrograms(async (app) => {
        app.fake.reply(calls(['c', 'find', '{"n":1}'], ['d', 'get_stock', '{"sku":"x"}']), says('Done.'));
        const response = await respond(app, { tools: [PROGRAMS, STOCK, CRM] });
        expect([response.output.map(({ type }) => type), app.ran]).toEqual([['message'], []]);
      });
    },
    PATIENCE,
  );
});

describe('parallel_tool_calls false', () => {
  const ONE = { parallel_tool_calls: false };

  it.each([true, false])(
    '[O-03] shows the client one call at a time, whatever the program calls at once, with store %s',
    async (store) => {
      await withPrograms(async (app) => {
        app.fake.reply(writes(TWO_STOCKS), says('Three.'));
        const tools = [PROGRAMS, STOCK, CRM];
        let response = await respond(app, { tools, store, ...ONE });
        let shown: readonly Item[] = response.output;
        const seen: unknown[] = [];
        for (const units of [1, 2]) {
          const called = itemsOf(response, 'function_call');
          seen.push(called.map(({ arguments: text }) => text));
          const answers = called.map((call) => answerTo(call, { units }));
          const input = store ? answers : [{ role: 'user', content: 'Hi' }, ...shown, ...answers];
          response = await respond(app, {
            ...{ tools, store, ...ONE, input },
            ...(store ? { previous_response_id: response.id } : {}),
          });
          // The casts: what was sent are items.
          shown = [...shown, ...(answers as unknown as Item[]), ...response.output];
        }
        expect(seen).toEqual([['{"sku":"x"}'], ['{"sku":"y"}']]);
        expect(itemsOf(response, 'program_output')).toMatchObject([{ result: '{"sum":3}', status: 'completed' }]);
        expect(app.fake.requests.length).toBe(2);
      });
    },
    PATIENCE,
  );

  it(
    '[O-03] runs one call of the server at a time, too',
    async () => {
      let running = 0;
      let most = 0;
      const crm = providerOf('crm', ['find'], async ({ arguments: args }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return { content: JSON.stringify({ n: args.n }) };
      });
      await withTools({ tools: [provider, crm], secret: SECRET }, async (app) => {
        const code =
          'const all = await Promise.all([1, 2, 3].map((n) => tools.find({ n }))); text(all.map(({ n }) => n));';
        app.fake.reply(writes(code), says('Done.'));
        const response = await respond(app, { tools: [PROGRAMS, CRM], ...ONE });
        expect([itemsOf(response, 'program_output').map(({ result }) => result), most]).toEqual([['[1,2,3]'], 1]);
        expect(itemsOf(response, 'mcp_call').length).toBe(3);
      });
    },
    PATIENCE,
  );
});

describe('a program that calls tools of the server', () => {
  it(
    '[E-12] runs in one response; its calls say whose they are, and the model receives what it wrote alone',
    async () => {
      await withPrograms(async (app) => {
        const code = 'let sum = 0; for (const n of [1, 2, 3]) sum += (await tools.find({ n })).n; text({ sum });';
        app.fake.reply(writes(code), says('Six.'));
        const response = await respond(app, { tools: [PROGRAMS, CRM] });
        const [{ call_id } = { call_id: '' }] = itemsOf(response, 'program');
        const caller = { type: 'program', caller_id: call_id };
        const call = { type: 'mcp_call', status: 'completed', name: 'find', server_label: 'crm', caller };
        expect(response.output.filter(({ type }) => type !== 'mcp_list_tools')).toMatchObject([
          { type: 'program', call_id, code, fingerprint: expect.stringMatching(/^\d+\.pst1\./) },
          { ...call, arguments: '{"n":1}' },
          { ...call, arguments: '{"n":2}' },
          { ...call, arguments: '{"n":3}' },
          { type: 'program_output', call_id, result: '{"sum":6}', status: 'completed' },
          { type: 'message' },
        ]);
        const asked = app.fake.requests.map(chatBody);
        expect(asked.map(({ tools = [] }) => tools.map(({ function: { name } }) => name))).toEqual([
          ['programmatic_tool_calling'],
          ['programmatic_tool_calling'],
        ]);
        expect(JSON.stringify(asked[0]?.tools)).toContain('tools.find(arguments)');
        expect(asked.at(-1)?.messages.slice(-2)).toMatchObject([
          { role: 'assistant', tool_calls: [{ id: call_id, function: { name: 'programmatic_tool_calling' } }] },
          { role: 'tool', tool_call_id: call_id, content: '{"sum":6}' },
        ]);
        expect(app.toolCalls.map(({ name }) => name)).toEqual(['find', 'find', 'find', 'programmatic_tool_calling']);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] is streamed by the laws of every stream, and its items end in the order in which they follow one another',
    async () => {
      await withPrograms(async (app) => {
        const code = 'await tools.find({ n: 1 }); text("end");';
        app.fake.reply(writes(code), says('Done.'));
        const { events } = await streamOf(app.url, { tools: [PROGRAMS, CRM] });
        const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item.type] : []));
        expect(done.filter((type) => type !== 'mcp_list_tools')).toEqual([
          'program',
          'mcp_call',
          'program_output',
          'message',
        ]);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] is the same in the next turn, stored or sent back',
    async () => {
      await withPrograms(async (app) => {
        const tools = [PROGRAMS, CRM];
        app.fake.reply(writes('text((await tools.find({ n: 7 })).n)'), says('Seven.'), says('Yes.'), says('Yes.'));
        const first = await respond(app, { tools });
        await respond(app, { tools, previous_response_id: first.id, input: 'Sure?' });
        const input = [{ role: 'user', content: 'Hi' }, ...first.output, { role: 'user', content: 'Sure?' }];
        await respond(app, { tools, input });
        const texts = app.fake.requests.slice(1).map((request) => toolTexts(chatBody(request)));
        const [{ call_id = '' } = {}] = itemsOf(first, 'program');
        expect(texts).toEqual(Array(3).fill({ [call_id]: '7' }));
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] waits for the user where a call needs approval, and goes on with what was decided',
    async () => {
      for (const approve of [true, false]) {
        await withPrograms(
          async (app) => {
            const code =
              'await tools.find({ n: 1 }); try { text((await tools.send({ n: 2 })).name) } catch (error) { text(error.message) }';
            app.fake.reply(writes(code), says('Done.'));
            const tools = [PROGRAMS, CRM];
            const first = await respond(app, { tools });
            const [request] = itemsOf(first, 'mcp_approval_request');
            expect([request?.name, app.ran.length, itemsOf(first, 'program_output')]).toEqual(['send', 1, []]);
            const answer = { type: 'mcp_approval_response', approval_request_id: request?.id, approve };
            const second = await respond(app, { tools, previous_response_id: first.id, input: [answer] });
            expect(itemsOf(second, 'program_output')).toMatchObject([
              {
                call_id: itemsOf(first, 'program')[0]?.call_id,
                result: approve ? 'send' : 'The user did not approve this call, so it was not run.',
              },
            ]);
            expect(app.ran.map(({ name }) => name)).toEqual(approve ? ['find', 'send'] : ['find']);
          },
          { approval: ({ name }) => name === 'send' },
        );
      }
    },
    PATIENCE,
  );

  it(
    '[E-12] is guarded as calls of the model are',
    async () => {
      const guard: Guard = {
        name: 'words',
        inspect: ({ text }) =>
          text.includes('secret') ? { action: 'block', reason: 'No secrets.' } : { action: 'pass' },
      };
      const hidden = '["sec", "ret"].join("")';
      for (const [code, guards] of [
        [`await tools.find({ n: ${hidden} });`, { tools: [guard] }],
        [`await tools.find({ n: ${hidden} });`, { output: [guard] }],
        [`await tools.get_stock({ sku: ${hidden} });`, { output: [guard] }],
        [`text(${hidden});`, { tools: [guard] }],
      ] as const) {
        await withPrograms(
          async (app) => {
            expect(await resultOf(app, code)).toEqual(['incomplete', expect.stringMatching(/policy/)]);
            expect(app.ran).toEqual([]);
          },
          { guards },
        );
      }
    },
    PATIENCE,
  );
});

describe('a program that calls tools of the client', () => {
  it.each([
    ['from the store, in another process', true],
    ['from what the client sends back', false],
  ])(
    '[E-12] goes on %s, and calls nothing twice',
    async (_, isStored) => {
      const store = memoryStore();
      const tools = [PROGRAMS, STOCK, CRM];
      const code = `
        const [found, stock] = await Promise.all([tools.find({ n: Math.random() }), tools.get_stock({ sku: 'x' })]);
        const more = await tools.get_stock({ sku: 'y', at: Date.now() });
        const sent = await tools.send({ n: stock.units + more.units });
        text({ found: found.made, sent: sent.n });`;
      let input: readonly JsonObject[] = [{ type: 'message', role: 'user', content: 'Hi' }];
      let previous: string | undefined;
      const ran: JsonObject[] = [];
      const outputs: Item[] = [];
      for (const [round, scripted] of [[writes(code)], [], [says('Done.')]].entries()) {
        await withPrograms(
          async (app) => {
            app.fake.reply(...scripted);
            const continued = previous === undefined ? {} : { previous_response_id: previous };
            const response = await respond(app, { tools, input, ...(isStored ? continued : { store: false }) });
            expect(app.fake.requests.length).toBe(scripted.length);
            const own = response.output.filter(({ type }) => type !== 'mcp_list_tools');
            outputs.push(...own);
            ran.push(...app.ran);
            const answers = itemsOf(response, 'function_call').map((call) => answerTo(call, { units: 20 + round }));
            input = isStored ? answers : [...input, ...response.output, ...answers];
            previous = response.id;
          },
          { store },
        );
      }
      const call_id = outputs[0]?.call_id;
      const caller = { type: 'program', caller_id: call_id };
      expect(outputs).toMatchObject([
        { type: 'program', call_id },
        { type: 'mcp_call', name: 'find', caller },
        { type: 'function_call', name: 'get_stock', arguments: '{"sku":"x"}', caller },
        { type: 'function_call', name: 'get_stock', caller },
        { type: 'mcp_call', name: 'send', arguments: '{"n":41}', caller },
        { type: 'program_output', call_id, result: '{"found":1,"sent":41}', status: 'completed' },
        { type: 'message' },
      ]);
      expect(ran.map(({ name }) => name)).toEqual(['find', 'send']);
    },
    PATIENCE,
  );

  it.each([
    ['stored', true],
    ['sent back', false],
  ])(
    '[E-12] goes on where the model server gives every program the same id, %s',
    async (_, isStored) => {
      await withPrograms(async (app) => {
        const waiting = 'text((await tools.get_stock({ sku: "x" })).units);';
        app.fake.reply(writes('text((await tools.find({ n: 1 })).n);'), writes(waiting), says('Done.'));
        app.fake.reply(writes(waiting), says('Done.'));
        let conversation: readonly JsonObject[] = [];
        let previous: string | undefined;
        const ask = async (input: readonly JsonObject[]) => {
          const about = isStored ? { previous_response_id: previous, input } : { input: [...conversation, ...input] };
          const response = await respond(app, { tools: [PROGRAMS, STOCK, CRM], store: isStored, ...about });
          conversation = [...conversation, ...input, ...response.output];
          previous = response.id;
          return response;
        };
        const results: unknown[] = [];
        for (const units of [7, 8]) {
          const asked = await ask([{ role: 'user', content: 'Hi' }]);
          const answered = await ask(itemsOf(asked, 'function_call').map((call) => answerTo(call, { units })));
          for (const each of [asked, answered])
            results.push(...itemsOf(each, 'program_output').map(({ result }) => result));
        }
        expect(results).toEqual(['1', '7', '8']);
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] runs as the guide of OpenAI shows it, with its SDK',
    async () => {
      await withPrograms(async (app) => {
        const code =
          'const [stock, demand] = await Promise.all([tools.get_stock({ sku: "s" }), tools.get_demand({ sku: "s" })]); text(JSON.stringify({ short: Math.max(demand.units - stock.units, 0) }));';
        app.fake.reply(writes(code), says('Three are missing.'));
        const client = openaiClient(app.url);
        const tool = (name: string): OpenAI.Responses.FunctionTool => ({
          type: 'function',
          name,
          parameters: SKU,
          strict: null,
          output_schema: { type: 'object' },
          allowed_callers: ['programmatic'],
        });
        const tools: OpenAI.Responses.Tool[] = [
          tool('get_stock'),
          tool('get_demand'),
          { type: 'programmatic_tool_calling' },
        ];
        const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Compare stock and demand.' }];
        const seen: string[] = [];
        for (let round = 0; round < 4; round += 1) {
          const tool_choice = { type: 'programmatic_tool_calling' } as const;
          const streamed = client.responses.stream({
            model: 'm',
            store: false,
            input,
            tools,
            ...(round === 0 ? { tool_choice } : {}),
          });
          const response = await streamed.finalResponse();
          seen.push(...response.output.map(({ type }) => type));
          input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]));
          const wanted = response.output.filter((item) => item.type === 'function_call');
          if (wanted.length === 0) {
            expect(response.output_text).toBe('Three are missing.');
            break;
          }
          for (const { call_id, name, caller } of wanted) {
            const output = JSON.stringify({ units: name === 'get_stock' ? 4 : 7 });
            input.push({ type: 'function_call_output', call_id, output, caller: caller ?? null });
          }
        }
        expect(seen).toEqual(['program', 'function_call', 'function_call', 'program_output', 'message']);
        const [program] = input.filter((item) => item.type === 'program');
        const [result] = input.filter((item) => item.type === 'program_output');
        // The types of the SDK: what they name is there.
        expect([program?.code, result?.result, result?.status]).toEqual([code, '{"short":3}', 'completed']);
        expect(chatBody(app.fake.requests[0] as never).tool_choice).toMatchObject({
          function: { name: 'programmatic_tool_calling' },
        });
      });
    },
    PATIENCE,
  );
});

describe('a request without programs', () => {
  it('[E-12] is answered as without the provider, and without tools for programs the model is offered none', async () => {
    await withPrograms(async (app) => {
      app.fake.reply(says('Hi.'), says('Hi.'));
      await respond(app, { tools: [{ ...STOCK, allowed_callers: ['direct'] }] });
      await respond(app, { tools: [PROGRAMS, { ...STOCK, allowed_callers: ['direct'] }] });
      const offered = app.fake.requests.map((request) =>
        (chatBody(request).tools ?? []).map((each) => each.function.name),
      );
      // The host's other tools are offered as ever.
      expect(offered).toEqual([
        ['get_stock', 'find', 'send'],
        ['get_stock', 'find', 'send'],
      ]);
      expect(app.notes.map(({ message }) => message)).toContain(
        "No tool has 'programmatic' among its 'allowed_callers', so the model is offered no programs.",
      );
    });
  });
});

describe('another API', () => {
  it('[E-12] offers its model no programs, which have no items there', async () => {
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key' });
    const options = { upstream, tools: provider };
    const app = await startApp({ others: [chatCompletionsRouter(options), messagesRouter(options)] });
    const ask = async (path: string, rest: JsonObject) => {
      fake.reply(says('Hi.'));
      const body = { model: 'm', max_tokens: 99, messages: [{ role: 'user', content: 'Hi' }], ...rest };
      const headers = { 'content-type': 'application/json' };
      const { status } = await fetch(`${app.url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return status;
    };
    const look = { name: 'look', input_schema: { type: 'object' } };
    const statuses = [
      await ask('chat/completions', { tools: [PROGRAMS, { type: 'function', function: { name: 'look' } }] }),
      await ask('messages', { tools: [look, { ...PROGRAMS, name: 'programmatic_tool_calling' }] }),
    ];
    const sent = JSON.stringify(fake.requests.map(({ body }) => body));
    await app.close();
    await upstream.close?.();
    await fake.close();
    expect([statuses[0], sent.includes('look'), sent.includes('JavaScript')]).toEqual([200, true, false]);
  });
});

describe('fifty calls', () => {
  it(
    '[E-12] cost the model a fraction of what they cost without a program',
    async () => {
      const big = (n: unknown) => JSON.stringify({ n, text: 'lorem ipsum '.repeat(50) });
      const crm = providerOf('crm', ['find'], async ({ arguments: { n } }) => ({ content: big(n) }));
      // Four characters are about one token.
      const tokens = async (tools: readonly JsonObject[], script: readonly FakeAnswer[]) =>
        withTools({ tools: [provider, crm] }, async (app) => {
          app.fake.reply(...script);
          await respond(app, { tools });
          return Math.ceil(app.fake.requests.reduce((sum, { body }) => sum + JSON.stringify(body).length, 0) / 4);
        });
      const code = 'let sum = 0; for (let n = 0; n < 50; n += 1) sum += (await tools.find({ n })).n; text(sum);';
      const withProgram = await tokens([PROGRAMS, CRM], [writes(code), says('1225')]);
      const fifty = Array.from({ length: 50 }, (_, n) => [`call_${n}`, 'find', JSON.stringify({ n })] as const);
      const [oneByOne, atOnce] = [
        await tokens([], [...chunks(fifty, 5).map((some) => calls(...some)), says('1225')]),
        await tokens([], [calls(...fifty), says('1225')]),
      ];
      // The figures that the documentation shows.
      const page = readFileSync(join(import.meta.dirname, '../../../../docs/programs.md'), 'utf8');
      for (const [what, requests, figure] of [
        ['one program', 2, withProgram],
        ['fifty calls at once', 2, atOnce],
        ['five calls at a time', 11, oneByOne],
      ] as const)
        expect(page).toContain(`| ${what} | ${requests} | ${figure.toLocaleString('en')} |`);
      if (process.env.FIGURES)
        console.info(`tokens of all requests: ${withProgram}, at once ${atOnce}, by fives ${oneByOne}`);
      expect([withProgram * 10 < atOnce, withProgram * 50 < oneByOne]).toEqual([true, true]);
    },
    PATIENCE,
  );
});

function chunks<Member>(members: readonly Member[], size: number): readonly (readonly Member[])[] {
  return Array.from({ length: Math.ceil(members.length / size) }, (_, at) => members.slice(at * size, (at + 1) * size));
}
