/** Outputs that are submitted to a response go on with it: the same engine as a next request, under the same settings. */

import { memoryStore } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatStream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { CLIENT_TOOLS } from './scenarios.ts';
import { type Answer, ask, type DialectApp, finalOf, outputOf, typesOf, withDialect } from './support.ts';

const CALLS = [
  { id: 'call_1', name: 'look', arguments: '{"at":1}' },
  { id: 'call_2', name: 'find', arguments: '{}' },
];
const DONE = { body: textStream('Done.') };

/** A response that waits for two outputs. */
async function waiting(app: DialectApp, body: JsonObject = {}, calls = CALLS): Promise<JsonObject> {
  app.fake.reply({ body: toolCallStream(calls) }, DONE);
  return finalOf(await ask(app.url, { body }));
}

function submit(
  { url }: DialectApp,
  id: unknown,
  outputs: unknown,
  more: JsonObject = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return ask(url, { path: `/responses/${id}/submit_tool_outputs`, body: { tool_outputs: outputs, ...more } }, headers);
}

const OUTPUTS = [
  { tool_call_id: 'call_1', output: 'one' },
  { tool_call_id: 'call_2', output: 'two' },
];

function errorOf({ status, text }: Answer): readonly unknown[] {
  const { code, message, param } = JSON.parse(text).error;
  return [status, code, message, param];
}

/** The last body that the model server was sent. */
function requested({ fake }: DialectApp): JsonObject {
  return fake.requests.at(-1)?.body as JsonObject;
}

describe('submitted outputs', () => {
  it('[C-10, M-05] go on as a new response that follows the first, and reach the model behind its calls', () =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app);
      const next = await submit(app, first.id, OUTPUTS);
      const messages = requested(app).messages as readonly JsonObject[];
      expect([
        next.status,
        finalOf(next).previous_response_id,
        finalOf(next).status,
        outputOf(next)[0]?.content,
      ]).toEqual([200, first.id, 'completed', [{ type: 'output_text', text: 'Done.', annotations: [], logprobs: [] }]]);
      expect(messages.slice(1)).toEqual([
        expect.objectContaining({ role: 'assistant' }),
        { role: 'tool', tool_call_id: 'call_1', content: 'one' },
        { role: 'tool', tool_call_id: 'call_2', content: 'two' },
      ]);
    }));

  it('[C-10] are answered with a stream where the body asks for one, and with JSON otherwise', () =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app, { stream: true });
      const streamed = await submit(app, first.id, OUTPUTS, { stream: true });
      const plain = await submit(app, first.id, OUTPUTS);
      expect([streamed.type, typesOf(streamed.text).at(-1), plain.type]).toEqual([
        'text/event-stream',
        'completed',
        'application/json; charset=utf-8',
      ]);
    }));

  it.each<readonly [string, (calls: readonly JsonObject[]) => readonly JsonObject[]]>([
    ['call_id', (calls) => calls.map(({ call_id }) => ({ call_id, output: 'x' }))],
    ['the item’s id as tool_call_id', (calls) => calls.map(({ id }) => ({ tool_call_id: id, output: 'x' }))],
    ['the item’s id as call_id', (calls) => calls.map(({ id }) => ({ call_id: id, output: 'x' }))],
    ['another order', (calls) => calls.map(({ call_id }) => ({ tool_call_id: call_id, output: 'x' })).toReversed()],
  ])('[C-10] may name their calls by %s', (_what, outputsOf) =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app);
      const next = await submit(app, first.id, outputsOf(first.output as readonly JsonObject[]));
      const tools = (requested(app).messages as readonly JsonObject[]).filter(({ role }) => role === 'tool');
      const ids = tools.map(({ tool_call_id: id }) => id);
      expect([next.status, ids.toSorted()]).toEqual([200, ['call_1', 'call_2']]);
    }),
  );

  it('[C-10] may be text, parts, nothing, or values that are then sent as JSON', () =>
    withDialect('tokligence', async (app) => {
      const written = ['text', [{ type: 'input_text', text: 'part' }], null, { a: 1 }];
      const calls = written.map((_, index) => ({ id: `call_${index}`, name: 'look', arguments: '{}' }));
      const first = await waiting(app, {}, calls);
      await submit(
        app,
        first.id,
        written.map((output, index) => ({ tool_call_id: `call_${index}`, output })),
      );
      const tools = (requested(app).messages as readonly JsonObject[]).filter(({ role }) => role === 'tool');
      expect(tools.map(({ content }) => content)).toEqual(['text', 'part', '', '{"a":1}']);
    }));

  it('[C-08, C-10] answer tools of free text too', () =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app, {}, [{ id: 'call_1', name: 'write', arguments: '{"input":"x"}' }]);
      const next = await submit(app, first.id, [{ tool_call_id: 'call_1', output: 'written' }]);
      const message = (requested(app).messages as readonly JsonObject[]).at(-1);
      expect([next.status, message]).toEqual([200, { role: 'tool', tool_call_id: 'call_1', content: 'written' }]);
    }));

  it('[C-10, A-13] follow what the server ran in the same turn', () =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app, {}, [
        { id: 'call_1', name: 'read', arguments: '{}' },
        { id: 'call_2', name: 'look', arguments: '{}' },
      ]);
      const next = await submit(app, first.id, [{ tool_call_id: 'call_2', output: 'seen' }]);
      const tools = (requested(app).messages as readonly JsonObject[]).filter(({ role }) => role === 'tool');
      expect([next.status, tools.map(({ content }) => content)]).toEqual([200, ['a\nb', 'seen']]);
    }));

  it('[C-10] go on under the settings that the first request named, and under no others', () =>
    withDialect('tokligence', async (app) => {
      const written = { instructions: 'Be brief.', temperature: 0.2, max_output_tokens: 99, metadata: { a: 'b' } };
      const first = await waiting(app, { ...written, tool_choice: 'required' });
      const { messages: _, ...before } = (app.fake.requests[0]?.body ?? {}) as JsonObject;
      const next = finalOf(await submit(app, first.id, OUTPUTS));
      const { messages, ...after } = requested(app);
      expect(after).toEqual({ ...before, tool_choice: 'auto' });
      expect([(messages as readonly JsonObject[])[0], next]).toMatchObject([{ content: 'Be brief.' }, written]);
    }));

  it('[C-10, A-25] invent no setting that the first request left out', () =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app);
      await submit(app, first.id, OUTPUTS);
      const keys = [app.fake.requests[0]?.body, requested(app)].map((body) =>
        Object.keys(body as JsonObject).toSorted(),
      );
      expect(keys[1]).toEqual([...(keys[0] ?? []), 'tool_choice'].toSorted());
    }));

  it('[C-10, D-13] keep the tools allowed that were', () =>
    withDialect('tokligence', async (app) => {
      const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'look' }] };
      const first = await waiting(app, { tool_choice: allowed }, CALLS.slice(0, 1));
      const next = finalOf(await submit(app, first.id, OUTPUTS.slice(0, 1)));
      expect([next.tool_choice, requested(app).tool_choice]).toEqual([{ ...allowed, mode: 'auto' }, 'auto']);
    }));

  it('[C-10] go on in the conversation that the response belongs to', () =>
    withDialect('tokligence', async (app) => {
      const created = await fetch(`${app.url}/conversations`, { method: 'POST' });
      const { id } = JSON.parse(await created.text());
      const first = await waiting(app, { conversation: id });
      const next = finalOf(await submit(app, first.id, OUTPUTS));
      const items = JSON.parse(await (await fetch(`${app.url}/conversations/${id}/items?order=asc`)).text());
      expect([next.conversation, items.data.map(({ type }: JsonObject) => type)]).toEqual([
        { id },
        ['message', 'function_call', 'function_call', 'function_call_output', 'function_call_output', 'message'],
      ]);
    }));

  it('[C-09, C-10] may lead to further calls, which are submitted to the response that made them', () =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app);
      app.fake.reply({ body: toolCallStream([{ id: 'call_3', name: 'look', arguments: '{}' }]) }, DONE);
      // What was queued before comes first.
      const words = finalOf(await submit(app, first.id, OUTPUTS));
      const second = finalOf(await submit(app, first.id, OUTPUTS));
      const third = finalOf(await submit(app, second.id, [{ tool_call_id: 'call_3', output: 'three' }]));
      expect([words, second, third].map(({ status }) => status)).toEqual(['completed', 'incomplete', 'completed']);
    }));
});

describe('outputs that do not fit', () => {
  it.each<readonly [string, readonly JsonObject[], string]>([
    [
      'an unknown call',
      [...OUTPUTS, { tool_call_id: 'call_9', output: '' }],
      "No open tool call with the id 'call_9'.",
    ],
    ['no id', [...OUTPUTS, { output: '' }], "No open tool call with the id 'undefined'."],
    ['one of two calls', OUTPUTS.slice(0, 1), "No tool output found for function call 'call_2'."],
    [
      'a call twice',
      [...OUTPUTS, { call_id: 'call_1', output: '' }],
      "More than one tool output for function call 'call_1'.",
    ],
  ])('[C-10] are refused, by name, where they are for %s', (_what, outputs, message) =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app);
      expect(errorOf(await submit(app, first.id, outputs))).toEqual([400, 'invalid_value', message, 'tool_outputs']);
    }),
  );

  it.each<readonly [string, unknown, number]>([
    ['an empty list', [], 400],
    ['no list', undefined, 400],
    ['a text', 'x', 400],
  ])('[C-10] are refused where they are %s', (_what, outputs, status) =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app);
      const [seen, , , param] = errorOf(await submit(app, first.id, outputs));
      expect([seen, param]).toEqual([status, 'tool_outputs']);
    }),
  );

  it('[C-10] are refused for a response that waits for none', () =>
    withDialect('tokligence', async (app) => {
      app.fake.reply(DONE);
      const first = finalOf(await ask(app.url, {}));
      expect(errorOf(await submit(app, first.id, OUTPUTS)).slice(0, 2)).toEqual([400, 'invalid_value']);
    }));

  it('[C-10] are refused for a call that was cut off', () =>
    withDialect('tokligence', async (app) => {
      const call = { index: 0, id: 'call_1', function: { name: 'look', arguments: '{"a' } };
      app.fake.reply({ body: chatStream({ tool_calls: [call] }).replace('"tool_calls"}', '"length"}') });
      const first = finalOf(await ask(app.url, {}));
      const refused = await submit(app, first.id, OUTPUTS.slice(0, 1));
      expect([first.status, first.required_action, errorOf(refused)[0]]).toEqual(['incomplete', undefined, 400]);
    }));

  it.each(['resp_gone', 'chat_call_1'])('[C-10] have no response to go to at %s, whatever else is kept', (id) => {
    const store = memoryStore();
    const output = CALLS.map(({ id: call_id, ...call }) => ({ type: 'function_call', call_id, ...call }));
    // What a chat needs is kept beside the responses.
    const kept = { scope: 'anonymous', id: 'chat_call_1', createdAt: Date.now(), input: [], output };
    return withDialect(
      'tokligence',
      async (app) => {
        await store.put({ ...kept, resource: { status: 'completed', model: 'm' } });
        const message = `Response with id '${id}' not found.`;
        expect(errorOf(await submit(app, id, OUTPUTS))).toEqual([404, 'response_not_found', message, 'response_id']);
      },
      { store },
    );
  });

  it('[C-10, C-23] find no response of another scope, nor one that was not to be stored', () =>
    withDialect('tokligence', async (app) => {
      const first = await waiting(app);
      const others = await submit(app, first.id, OUTPUTS, {}, { authorization: 'Bearer other' });
      app.fake.reply({ body: toolCallStream(CALLS) });
      const unstored = finalOf(await ask(app.url, { body: { store: false } }));
      const statuses = [others, await submit(app, unstored.id, OUTPUTS)].map(({ status }) => status);
      expect(statuses).toEqual([404, 404]);
    }));

  it.each(['openai', 'open-responses-server', 'vllm-responses'] as const)(
    '[M-05] have no such route in %s',
    (dialect) =>
      withDialect(dialect, async (app) => {
        const first = await waiting(app, { tools: CLIENT_TOOLS });
        expect(errorOf(await submit(app, first.id, OUTPUTS)).slice(0, 2)).toEqual([404, 'not_found']);
      }),
  );
});
