/** Calls that the server ran in earlier turns: they reach the model again, however the client brings them back. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { askForJson } from '../../support/responses-client.ts';
import { calls, play, providerOf, says, shape, sinceUser, type ToolsApp, toolTexts, withTools } from './support.ts';

const OPTIONS = {
  tools: providerOf('files', ['look.up', 'fall'], ({ name }) =>
    name === 'fall' ? Promise.reject(new Error('It fell.')) : Promise.resolve({ content: 'Found.' }),
  ),
};
const QUESTION = { type: 'message', role: 'user', content: 'Go.' };
const AGAIN = { type: 'message', role: 'user', content: 'And now?' };

/** A turn with a call that succeeds, one that fails in a second round, and an answer. */
const SCRIPT = [calls(['call_a', 'look_up', '{"q":1}']), calls(['call_b', 'fall']), says('Done.')];

/** What the model receives of that turn in the next one. */
function replay(idA: string, idB: string): readonly JsonObject[] {
  const call = (id: string, name: string, args: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
  });
  return [
    { role: 'user', content: 'Go.' },
    call(idA, 'look_up', '{"q":1}'),
    { role: 'tool', tool_call_id: idA, content: 'Found.' },
    call(idB, 'fall', '{}'),
    { role: 'tool', tool_call_id: idB, content: 'It fell.' },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'And now?' },
  ];
}

/** The id of an item as the id of a call, of which some model servers take no more than 40 letters. */
function callId(id: unknown): string {
  return String(id).slice(-40);
}

async function firstTurn(app: ToolsApp, body: JsonObject = {}) {
  app.fake.reply(...SCRIPT);
  const response = await askForJson(app.url, body);
  const [, a, b] = response.output.map(({ id }) => id);
  return { response, messages: replay(callId(a), callId(b)) };
}

describe('a conversation that goes on', () => {
  const ways: readonly [string, (items: readonly JsonObject[], id: string) => JsonObject][] = [
    ['by previous_response_id', (_, id) => ({ previous_response_id: id, input: 'And now?' })],
    ['by its full history', (items) => ({ input: [QUESTION, ...items, AGAIN] })],
    [
      'by its history without the lists of tools, which some clients drop',
      (items) => ({ input: [QUESTION, ...items.filter(({ type }) => type !== 'mcp_list_tools'), AGAIN] }),
    ],
    [
      'by its history without the results, which some clients lose',
      (items) => ({
        input: [
          QUESTION,
          ...items.map((item) => (item.type === 'mcp_call' ? { ...item, output: undefined, error: null } : item)),
          AGAIN,
        ],
      }),
    ],
    [
      'by references to its items',
      (items) => ({ input: [QUESTION, ...items.map(({ id }) => ({ type: 'item_reference', id })), AGAIN] }),
    ],
  ];

  it.each(ways)(
    '[D-17, D-15, S-12] %s reaches the model with the server’s calls, round by round',
    async (_, bodyFor) => {
      await withTools(OPTIONS, async (app) => {
        const { response, messages } = await firstTurn(app);
        const { requested } = await play(app, [says('Still done.')], bodyFor(response.output, response.id));
        expect(requested[0]?.messages).toEqual(messages);
      });
    },
  );

  it('[D-17] by its full history needs no store', async () => {
    await withTools(OPTIONS, async (app) => {
      const { response, messages } = await firstTurn(app, { store: false });
      const input = [QUESTION, ...response.output, AGAIN];
      const { requested } = await play(app, [says('Still done.')], { input, store: false });
      expect(requested[0]?.messages).toEqual(messages);
    });
  });

  it('[D-17, B-33] reaches the model though the server’s tools are gone', async () => {
    const { response, messages } = await withTools(OPTIONS, (app) => firstTurn(app));
    await withTools({}, async (app) => {
      const input = [QUESTION, ...response.output, AGAIN];
      const { requested } = await play(app, [says('Still done.')], { input });
      expect([requested[0]?.messages, requested[0]?.tools]).toEqual([messages, undefined]);
    });
  });

  it('[D-17, T-07] reaches the model under the name that it knows the tool by now', async () => {
    const { response } = await withTools(OPTIONS, (app) => firstTurn(app));
    const tools = [providerOf('files', ['look.up']), providerOf('web', ['look.up'])];
    await withTools({ tools }, async (app) => {
      const { requested } = await play(app, [says('Still done.')], { input: [QUESTION, ...response.output, AGAIN] });
      const made = requested[0]?.messages.flatMap(({ tool_calls: made }) => (made as { function: JsonObject }[]) ?? []);
      expect(made?.map((call) => call.function.name)).toEqual(['mcp__files__look_up', 'fall']);
    });
  });

  it('[D-17] takes calls of a server that was never ours, such as OpenAI’s own, and skips their lists', async () => {
    await withTools({}, async (app) => {
      const input = [
        QUESTION,
        { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'deepwiki', tools: [] },
        {
          type: 'mcp_call',
          id: 'mcp_1',
          server_label: 'deepwiki',
          name: 'ask_question',
          arguments: '{"q":1}',
          output: 'An answer.',
          error: null,
          approval_request_id: null,
        },
        {
          type: 'mcp_call',
          id: 'mcp_2',
          server_label: 'deepwiki',
          name: 'ask_question',
          arguments: '{"q":2}',
          output: null,
          error: { type: 'http_error', code: 500, message: 'No.' },
        },
        AGAIN,
      ];
      const { requested } = await play(app, [says('Hi')], { input });
      expect([requested[0] && toolTexts(requested[0]), app.notes]).toEqual([{ mcp_1: 'An answer.', mcp_2: 'No.' }, []]);
    });
  });

  it('[P-13, D-17] does not restore another user’s results', async () => {
    const scope = (request: { headers: Readonly<Record<string, unknown>> }) => String(request.headers['x-request-id']);
    await withTools({ ...OPTIONS, scope }, async (app) => {
      const asUser = async (user: string, body: JsonObject) => {
        const headers = { 'content-type': 'application/json', 'x-request-id': user };
        const init = { method: 'POST', headers, body: JSON.stringify({ model: 'm', ...body }) };
        return JSON.parse(await (await fetch(`${app.url}/responses`, init)).text());
      };
      app.fake.reply(...SCRIPT);
      const { output } = await asUser('alice', { input: 'Go.' });
      app.fake.reply(says('Hi'));
      await asUser('mallory', { input: [{ ...output[1], output: null }, AGAIN] });
      const stolen = JSON.stringify(app.fake.requests.at(-1)?.body).includes('Found.');
      expect(stolen).toBe(false);
    });
  });

  it('[C-03] gives the model’s server call ids that it takes: OpenAI and Azure refuse more than 40 letters', async () => {
    await withTools(OPTIONS, async (app) => {
      const { response } = await firstTurn(app);
      const body = { previous_response_id: response.id, input: 'And now?' };
      const { requested } = await play(app, [calls(['', 'look_up']), says('Still done.')], body);
      const ids = requested[1]?.messages.flatMap(({ tool_call_id: id }) => (typeof id === 'string' ? [id.length] : []));
      expect(ids).toHaveLength(3);
      expect(Math.max(...(ids ?? []))).toBeLessThanOrEqual(40);
    });
  });
});

describe('the list of a server’s tools', () => {
  const round = (n: number) => [calls([`call_${n}`, 'look_up', `{"q":${n}}`]), says('Done.')];
  const lists = (response: { readonly output: readonly { readonly type: string }[] }) =>
    response.output.filter(({ type }) => type === 'mcp_list_tools').length;

  it('[T-03, B-23] is sent once in a chain of responses', async () => {
    await withTools(OPTIONS, async (app) => {
      let previous: string | null = null;
      const reported: number[] = [];
      for (const n of [1, 2, 3]) {
        const { response } = await play(app, round(n), { previous_response_id: previous });
        reported.push(lists(response));
        previous = response.id;
      }
      expect(reported).toEqual([1, 0, 0]);
    });
  });

  it('[T-03, B-23] is sent once in one response, before the first call', async () => {
    await withTools(OPTIONS, async (app) => {
      const script = [calls(['a', 'look_up', '{"q":1}']), calls(['b', 'look_up', '{"q":2}']), says('Done.')];
      const { response } = await play(app, script);
      expect(shape(response)).toEqual([
        'mcp_list_tools completed',
        'mcp_call look.up completed',
        'mcp_call look.up completed',
        'message completed',
      ]);
    });
  });

  it('[T-03, B-23] is not sent again to a client that brings it back, and is to one that does not', async () => {
    await withTools(OPTIONS, async (app) => {
      const { response } = await play(app, round(1));
      const whole = await play(app, round(2), { input: [QUESTION, ...response.output, AGAIN] });
      const cut = await play(app, round(2), { input: [QUESTION, ...response.output.slice(1), AGAIN] });
      expect([lists(whole.response), lists(cut.response)]).toEqual([0, 1]);
    });
  });

  it('[T-03] is invisible to the model', async () => {
    await withTools(OPTIONS, async (app) => {
      const { response } = await play(app, round(1));
      const { requested } = await play(app, [says('Hi')], { previous_response_id: response.id, input: 'And now?' });
      expect(requested[0] && sinceUser(requested[0])).toEqual([]);
      expect(JSON.stringify(requested[0]?.messages)).not.toContain('mcp_list_tools');
    });
  });
});
