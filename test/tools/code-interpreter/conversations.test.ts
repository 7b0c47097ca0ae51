/** Code over several responses: where it runs, which files it finds, and what clients and models receive of it again. */

import type { RouterOptions } from '../../../src/index.ts';
import { memoryStore } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { calls, chatBody, says, type ToolsApp, toolTexts, withTools } from '../../engine/tools/support.ts';
import { openaiClient, post } from '../../support/responses-client.ts';
import type { WireResponse } from '../../support/wire-schemas.ts';
import { ASKING, interpreter, type Ran, runs } from './interpreter.ts';

type Item = WireResponse['output'][number] & JsonObject;

/** Runs with an app that interprets code. */
function withCode<Result>(
  run: (app: ToolsApp & { readonly ran: Ran }) => Promise<Result>,
  options: RouterOptions = {},
): Promise<Result> {
  const { tools, ran } = interpreter();
  return withTools({ tools, ...options }, (app) => run({ ...app, ran }));
}

/** One response in which the model runs this code. */
async function runOnce({ url, fake }: ToolsApp, code: string, body: JsonObject = {}): Promise<WireResponse> {
  fake.reply(runs(code), says('Done.'));
  const { status, text } = await post(url, { ...ASKING, ...body });
  if (status !== 200) throw new Error(text);
  return JSON.parse(text);
}

/** The run in a response. */
function runIn({ output }: WireResponse): Item | undefined {
  // The cast: the test looks at its fields by name.
  return output.find(({ type }) => type === 'code_interpreter_call') as Item | undefined;
}

function logsOf(response: WireResponse): unknown {
  const outputs = runIn(response)?.outputs;
  return Array.isArray(outputs) && outputs.map(({ logs }) => logs).join('\n');
}

/** The results of calls in the last request to the model. */
function lastReported({ fake }: ToolsApp): readonly unknown[] {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return Object.values(toolTexts(last ?? { messages: [] }));
}

/** The user's words, the last time the model was asked. */
function lastRequested({ fake }: ToolsApp): unknown {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return last?.messages.find(({ role }) => role === 'user')?.content;
}

/** What the error of a refused request says. */
async function refused(url: string, body: JsonObject): Promise<unknown> {
  const { status, text } = await post(url, body);
  const { code, param } = JSON.parse(text).error;
  return [status, code, param];
}

it('[V-37] runs no code that breaks off in the middle, and shows the model what it wrote', async () => {
  await withCode(async (app) => {
    app.fake.reply(calls(['call_0', 'code_interpreter', '{"code":"print(1); print(']), says('Done.'));
    const { text } = await post(app.url, ASKING);
    expect([runIn(JSON.parse(text))?.status, app.ran.begun()]).toEqual(['failed', 0]);
    const { messages = [] } = app.fake.requests.slice(-1).map(chatBody)[0] ?? {};
    expect(JSON.stringify(messages.at(-2))).toContain('print(1); print(');
    expect(lastReported(app)).toEqual([expect.stringContaining('not a JSON object')]);
  });
});

const inContainer = (container: unknown): JsonObject => ({
  ...ASKING,
  tools: [{ type: 'code_interpreter', container }],
});
const file = (filename: string, text: string, type = 'text/csv'): JsonObject => ({
  type: 'input_file',
  filename,
  file_data: `data:${type};base64,${Buffer.from(text).toString('base64')}`,
});
const asking = (...parts: readonly JsonObject[]): JsonObject => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'Sum it.' }, ...parts] }],
});

const isUsers = ({ role }: JsonObject): boolean => role === 'user';

describe('the container', () => {
  it('[T-11] stays with the conversation, and with it its variables', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'x = 41');
      const second = await runOnce(app, 'print(x + 1)', { previous_response_id: first.id });
      expect([logsOf(second), runIn(second)?.container_id]).toEqual(['42', runIn(first)?.container_id]);
      expect(lastReported(app)).toEqual(['41', '42']);
    }));

  it('[T-11] is another one for another conversation', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'x = 41');
      const other = await runOnce(app, 'typeof x');
      expect(logsOf(other)).toBe('undefined');
      expect(runIn(other)?.container_id).not.toBe(runIn(first)?.container_id);
    }));

  it('[T-11] stays where the next request sends nothing of tools, and inherits them', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'x = 41');
      expect(logsOf(await runOnce(app, 'x + 1', { tools: undefined, previous_response_id: first.id }))).toBe('42');
    }));

  it('[T-11] stays with a conversation object, too', () =>
    withCode(async (app) => {
      const conversation = await openaiClient(app.url).conversations.create();
      await runOnce(app, 'x = 41', { conversation: conversation.id });
      expect(logsOf(await runOnce(app, 'x + 1', { conversation: conversation.id }))).toBe('42');
    }));

  it('[T-11] may be named by the client that has seen it', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'x = 41');
      expect(logsOf(await runOnce(app, 'x + 1', inContainer(runIn(first)?.container_id)))).toBe('42');
    }));

  it('[T-11] may be named where the client brings the call itself, kept or not', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'x = 41', { store: false });
      const body = {
        ...inContainer(runIn(first)?.container_id),
        input: [...first.output, { role: 'user', content: 'On.' }],
      };
      expect(logsOf(await runOnce(app, 'x + 1', body))).toBe('42');
    }));

  it('[T-11] that nobody knows is refused', () =>
    withCode(async ({ url, fake }) => {
      const unknown = `cntr_${'0'.repeat(32)}`;
      const refusals = [unknown, 'cntr_other', ''].map((container) => refused(url, inContainer(container)));
      expect(await Promise.all(refusals)).toEqual(Array(3).fill([400, 'container_not_found', 'tools']));
      expect(fake.requests).toEqual([]);
    }));

  it('[T-11] of another scope is refused like one that nobody knows, and never shared', () =>
    withCode(
      async (app) => {
        const ada = { headers: { authorization: 'Bearer ada' } };
        app.fake.reply(runs('secret = 41'), says('Done.'));
        const client = openaiClient(app.url);
        const first = await client.responses.create({ model: 'm', input: 'Go.', ...ASKING } as never, ada);
        // The cast: it is a whole response.
        const mine = runIn(first as unknown as WireResponse);
        expect(await refused(app.url, inContainer(mine?.container_id))).toEqual([400, 'container_not_found', 'tools']);
        const input = [mine, { role: 'user', content: 'On.' }];
        const stolen = await runOnce(app, 'typeof secret', { ...inContainer(mine?.container_id), input });
        expect(logsOf(stolen)).toContain('undefined');
        expect(app.ran.begun()).toBe(2);
      },
      { scope: (request) => request.headers.authorization ?? 'nobody' },
    ));

  it('[T-11] that was lost between two responses is begun anew, and the model is informed', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'x = 41; die()');
      const second = await runOnce(app, 'typeof x', { previous_response_id: first.id });
      expect(logsOf(second)).toBe('(The container is new: earlier variables and files are gone.)\nundefined');
    }));

  it.each([{ container: { type: 'auto', file_ids: ['file-1'] } }])(
    '[T-11] cannot be given uploaded files: %j',
    (tool) =>
      withCode(async ({ url }) => {
        const body = { tools: [{ type: 'code_interpreter', ...tool }] };
        expect(await refused(url, body)).toEqual([400, 'unsupported_parameter', 'tools']);
      }),
  );

  it('[T-11] of a wrong type is refused by its path', () =>
    withCode(async ({ url }) => {
      expect(await refused(url, inContainer(7))).toEqual([400, 'invalid_type', 'tools[0].container']);
    }));

  it.each([undefined, null, {}])('[T-11] may be left to the server as %j', (container) =>
    withCode(async (app) => {
      expect(logsOf(await runOnce(app, '1 + 1', inContainer(container)))).toBe('2');
    }),
  );
});

describe('outputs', () => {
  it('[B-38] are kept and shown only where they are asked for, wherever the item is', () =>
    withCode(async (app) => {
      const client = openaiClient(app.url);
      const conversation = await client.conversations.create();
      const { id } = await runOnce(app, 'print(7)', { include: [], conversation: conversation.id });
      const next = await runOnce(app, 'print(8)', { previous_response_id: id });
      const include = ['code_interpreter_call.outputs'] as const;
      const kept = await client.responses.retrieve(id);
      const callId = kept.output[0]?.id ?? '';
      const query = { conversation_id: conversation.id };
      const shown = [
        kept.output,
        (await client.responses.retrieve(id, { include: [...include] })).output,
        (await client.conversations.items.list(conversation.id)).data,
        (await client.conversations.items.list(conversation.id, { include: [...include] })).data,
        [await client.conversations.items.retrieve(callId, query)],
        [await client.conversations.items.retrieve(callId, { ...query, include: [...include] })],
      ].map((items) => items.flatMap((item) => (item.type === 'code_interpreter_call' ? [item.outputs] : [])));
      const outputs = [{ type: 'logs', logs: '7' }];
      expect(shown).toEqual([[null], [outputs], [null], [outputs], [null], [outputs]]);
      expect([logsOf(next), lastReported(app)]).toEqual(['8', ['7', '8']]);
    }));

  it('[B-38] of items in the input are listed in the same way', () =>
    withCode(async (app) => {
      const client = openaiClient(app.url);
      const first = await runOnce(app, 'print(7)');
      const { id } = await runOnce(app, 'print(8)', { input: [...first.output, { role: 'user', content: 'On.' }] });
      const listed = async (include?: 'code_interpreter_call.outputs') => {
        const { data } = await client.responses.inputItems.list(id, include ? { include: [include] } : {});
        return data.flatMap((item) => (item.type === 'code_interpreter_call' ? [item.outputs] : []));
      };
      const outputs = [{ type: 'logs', logs: '7' }];
      expect([await listed(), await listed('code_interpreter_call.outputs')]).toEqual([[null], [outputs]]);
    }));

  it('[B-38] of items that are put into a conversation are shown in the same way', () =>
    withCode(async ({ url }) => {
      const { conversations } = openaiClient(url);
      const { id } = await conversations.create();
      const call = {
        type: 'code_interpreter_call',
        id: 'ci_1',
        code: '7',
        container_id: 'cntr_1',
        status: 'completed',
      };
      const put = async (callId: string, include: readonly 'code_interpreter_call.outputs'[]) => {
        const item = { ...call, id: callId, outputs: [{ type: 'logs', logs: '7' }] };
        const { data } = await conversations.items.create(id, { items: [item as never], include: [...include] });
        return data.map((shown) => 'outputs' in shown && shown.outputs);
      };
      expect([await put('ci_1', []), await put('ci_2', ['code_interpreter_call.outputs'])]).toEqual([
        [null],
        [[{ type: 'logs', logs: '7' }]],
      ]);
    }));

  it('[B-38, D-17] that the client was not shown reach the model when it sends the item back', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'print(7)', { include: [] });
      expect(runIn(first)?.outputs).toBeNull();
      await runOnce(app, 'print(8)', { input: [...first.output, { role: 'user', content: 'On.' }] });
      expect(lastReported(app)).toEqual(['7', '8']);
    }));

  it('[D-17] the model receives the same of a run in every request', () =>
    withCode(async (app) => {
      const code = 'print("a"); write("p.png", "dots"); nothing';
      const first = await runOnce(app, code);
      const reported = chatBody(app.fake.requests[1] as never).messages;
      await runOnce(app, '1', { previous_response_id: first.id, input: 'On.' });
      const again = chatBody(app.fake.requests[2] as never).messages.slice(0, reported.length);
      const withoutIds = (messages: readonly JsonObject[]) =>
        JSON.stringify(messages).replace(/id":"[^"]*"/g, 'id":""');
      expect(withoutIds(again)).toEqual(withoutIds(reported));
    }));
});

describe('files', () => {
  it('[T-11] of the input are there for the code, and named to the model in the place of their bytes', () =>
    withCode(async (app) => {
      const response = await runOnce(app, 'read("data.csv")', asking(file('data.csv', '1,2')));
      expect([logsOf(response), lastRequested(app)]).toEqual([
        '1,2',
        "Sum it.\n[The file 'data.csv' is in the working directory of the code interpreter.]",
      ]);
    }));

  it('[T-11] are still there, and named alike, when the conversation goes on and brings more', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'read("a.csv")', asking(file('a.csv', '1')));
      const more = { ...asking(file('b.csv', '2')), previous_response_id: first.id };
      const second = await runOnce(app, 'read("a.csv") + read("b.csv")', more);
      expect([logsOf(second), lastRequested(app)]).toEqual([
        '12',
        "Sum it.\n[The file 'a.csv' is in the working directory of the code interpreter.]",
      ]);
    }));

  it('[T-11] of one name keep their own where they differ', () =>
    withCode(async (app) => {
      const first = await runOnce(app, 'read("a.csv")', asking(file('a.csv', '1')));
      const more = { ...asking(file('a.csv', '2'), file('a.csv', '1')), previous_response_id: first.id };
      const second = await runOnce(app, 'read("a.csv") + read("a-2.csv")', more);
      expect([logsOf(second), chatBody(app.fake.requests.at(-1) as never).messages.findLast(isUsers)?.content]).toEqual(
        [
          '12',
          [
            'Sum it.',
            "[The file 'a-2.csv' is in the working directory of the code interpreter.]",
            "[The file 'a.csv' is in the working directory of the code interpreter.]",
          ].join('\n'),
        ],
      );
    }));

  it('[T-11] that are PDFs go to the model server as well', () =>
    withCode(async (app) => {
      const pdf = file('a.pdf', '%PDF', 'application/pdf');
      await runOnce(app, 'read("a.pdf")', asking(pdf));
      expect(lastRequested(app)).toMatchObject([
        { type: 'text', text: 'Sum it.' },
        { type: 'text', text: expect.stringContaining('a.pdf') },
        { type: 'file', file: { filename: 'a.pdf', file_data: pdf.file_data } },
      ]);
    }));

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\data\\a.csv', 'a.csv'],
    ['..', 'file'],
    ['', 'file'],
    ['a\u0000\n.csv', 'a.csv'],
  ])('[T-11] have a name without folders: %j', (filename, name) =>
    withCode(async (app) => {
      expect(logsOf(await runOnce(app, `read("${name}")`, asking(file(filename, 'x'))))).toBe('x');
    }),
  );

  it.each([
    ['SGk=', 'Hi'],
    ['data:text/plain,H%69', 'Hi'],
    ['data:text/plain,100%', '100%'],
  ])('[T-11] may be written as %s', (data, text) =>
    withCode(async (app) => {
      const part = { type: 'input_file', filename: 'a.txt', file_data: data };
      expect(logsOf(await runOnce(app, 'read("a.txt")', asking(part)))).toBe(text);
    }),
  );

  it('[T-11] go to the model server as ever where no code is run', () =>
    withCode(async (app) => {
      app.fake.reply(says('Hi'));
      await post(app.url, asking(file('data.csv', '1,2')));
      expect(lastRequested(app)).toMatchObject([{ type: 'text' }, { type: 'file', file: { filename: 'data.csv' } }]);
    }));
});

describe('after a restart', () => {
  it('[T-11] the container is found by the response that began it, and is reported to be new', async () => {
    const store = memoryStore();
    const first = await withCode((app) => runOnce(app, 'x = 41'), { store });
    const id = runIn(first)?.container_id;
    const second = await withCode((app) => runOnce(app, 'typeof x', inContainer(id)), { store });
    expect([runIn(second)?.container_id, logsOf(second)]).toEqual([
      id,
      '(The container is new: earlier variables and files are gone.)\nundefined',
    ]);
  });
});

describe('a client’s function of the same name', () => {
  it('[T-11] wins, and its calls are the client’s', () =>
    withCode(async (app) => {
      const own = { type: 'function', name: 'code_interpreter', parameters: { type: 'object', properties: {} } };
      app.fake.reply(runs('1'));
      const { text } = await post(app.url, { ...ASKING, tools: [own, { type: 'code_interpreter' }] });
      expect([JSON.parse(text).output[0].type, app.notes.map(({ code }) => code)]).toEqual([
        'function_call',
        ['tool_dropped', 'tool_dropped'],
      ]);
    }));
});
