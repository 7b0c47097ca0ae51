/** The client's tools beside the server's: mixed turns, their continuation, and names that meet. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import type { FakeAnswer } from '../../../src/testing/index.ts';
import { askForJson } from '../../support/responses-client.ts';
import {
  calls,
  play,
  played,
  providerOf,
  reported,
  says,
  shape,
  sinceUser,
  type ToolsApp,
  withTools,
} from './support.ts';

const OPTIONS = { tools: providerOf('files', ['read', 'write']) };
const ASK = { type: 'function', name: 'ask', parameters: { type: 'object', properties: {} } };
const QUESTION = { type: 'message', role: 'user', content: 'Go.' };

/** A call as the model's message has it. */
const chatCall = (id: string, name: string, args = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const answer = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });

describe('a turn with calls of both', () => {
  const mixed = calls(['call_r', 'read', '{"path":"a"}'], ['call_a', 'ask', '{"q":1}'], ['call_w', 'write']);

  it('[T-04, A-10, A-13, B-10] runs the server’s calls, hands back the client’s, and does not ask the model again', async () => {
    const { response, requested, toolCalls } = await played(OPTIONS, [mixed], { tools: [ASK] });
    expect({
      status: response.status,
      items: shape(response),
      reported: response.output.slice(1).map(reported),
      models: requested.length,
      ran: [...new Set(toolCalls.map(({ name }) => name))],
    }).toEqual({
      status: 'completed',
      items: [
        'mcp_list_tools completed',
        'mcp_call read completed',
        'function_call ask completed',
        'mcp_call write completed',
      ],
      reported: ['files ran read.', '{"q":1}', 'files ran write.'],
      models: 1,
      ran: ['read', 'write'],
    });
  });

  it('[T-04, C-03] keeps the id that the model gave the client’s call', async () => {
    const { response } = await played(OPTIONS, [mixed], { tools: [ASK] });
    expect(response.output[2]).toMatchObject({ type: 'function_call', call_id: 'call_a', name: 'ask' });
  });

  it('[T-04] may begin with the client’s call', async () => {
    const script = [calls(['call_a', 'ask'], ['call_r', 'read'])];
    const { response } = await played(OPTIONS, script, { tools: [ASK] });
    expect(shape(response)).toEqual([
      'function_call ask completed',
      'mcp_list_tools completed',
      'mcp_call read completed',
    ]);
  });

  it('[T-04] may come after rounds of the server’s own', async () => {
    const script = [calls(['call_r', 'read']), calls(['call_w', 'write'], ['call_a', 'ask'])];
    const { response } = await played(OPTIONS, script, { tools: [ASK] });
    expect(shape(response)).toEqual([
      'mcp_list_tools completed',
      'mcp_call read completed',
      'mcp_call write completed',
      'function_call ask completed',
    ]);
  });

  it('[T-04] of the client’s only is no round of the server’s', async () => {
    const { response, toolCalls } = await played(OPTIONS, [calls(['call_a', 'ask'])], { tools: [ASK] });
    expect([shape(response), toolCalls]).toEqual([['function_call ask completed'], []]);
  });

  describe('goes on', () => {
    const output = { type: 'function_call_output', call_id: 'call_a', output: 'Yes.' };

    /** Runs the mixed turn, then the next one with the input that is made of its output. */
    async function next(
      app: ToolsApp,
      bodyFor: (response: { id: string; output: readonly JsonObject[] }) => JsonObject,
    ) {
      app.fake.reply(mixed);
      const first = await askForJson(app.url, { tools: [ASK] });
      const second = await play(app, [says('Done.')], { tools: [ASK], ...bodyFor(first) });
      const ids = first.output.map(({ id }) => id);
      return { ...second, ids };
    }

    const byId = ({ id }: { readonly id: string }) => ({ previous_response_id: id, input: [output] });
    const byHistory = ({ output: items }: { readonly output: readonly JsonObject[] }) => ({
      input: [QUESTION, ...items, output],
    });

    it.each([
      ['by previous_response_id', byId],
      ['by its full history', byHistory],
    ])(
      '[T-04, A-11, A-13, D-15, D-17] %s, with the results of both in one round of the model’s',
      async (_, bodyFor) => {
        const { response, requested, ids } = await withTools(OPTIONS, (app) => next(app, bodyFor));
        const [, read = '', , write = ''] = ids;
        expect({ items: shape(response), messages: requested[0]?.messages }).toEqual({
          items: ['message completed'],
          messages: [
            { role: 'user', content: 'Go.' },
            {
              role: 'assistant',
              content: null,
              tool_calls: [
                chatCall(read, 'read', '{"path":"a"}'),
                chatCall('call_a', 'ask', '{"q":1}'),
                chatCall(write, 'write'),
              ],
            },
            answer(read, 'files ran read.'),
            answer('call_a', 'Yes.'),
            answer(write, 'files ran write.'),
          ],
        });
      },
    );

    it('[T-04] with both results though calls are shown as function calls', async () => {
      const options = { ...OPTIONS, show: { toolCalls: 'function_call' } } as const;
      const results = await Promise.all(
        [byId, byHistory].map((bodyFor) => withTools(options, (app) => next(app, bodyFor))),
      );
      const messages = [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            chatCall('call_r', 'read', '{"path":"a"}'),
            chatCall('call_a', 'ask', '{"q":1}'),
            chatCall('call_w', 'write'),
          ],
        },
        answer('call_r', 'files ran read.'),
        answer('call_a', 'Yes.'),
        answer('call_w', 'files ran write.'),
      ];
      expect(results.map(({ requested }) => requested[0] && sinceUser(requested[0]))).toEqual([messages, messages]);
    });

    it('[T-04, P-06] not without the output of the client’s call', async () => {
      await withTools(OPTIONS, async ({ url, fake }) => {
        fake.reply(mixed);
        const { id } = await askForJson(url, { tools: [ASK] });
        await expect(askForJson(url, { previous_response_id: id, input: 'And?' })).rejects.toThrow(
          'No tool output found for function call call_a.',
        );
      });
    });

    it('[S-12, T-04] with the client’s tools inherited, beside the server’s', async () => {
      const { requested } = await withTools(OPTIONS, async (app) => {
        app.fake.reply(mixed);
        const { id } = await askForJson(app.url, { tools: [ASK] });
        return play(app, [says('Done.')], { previous_response_id: id, input: [output] });
      });
      expect(requested[0]?.tools?.map((tool) => tool.function.name)).toEqual(['ask', 'read', 'write']);
    });
  });
});

describe('names that meet', () => {
  /** What each side saw of the names in a script of one round; the host is informed once for each of three answers. */
  async function names(round: FakeAnswer, options: Parameters<typeof played>[0], body: JsonObject = {}, rounds = 2) {
    const { response, requested, notes, toolCalls } = await played(
      options,
      [round, says('Done.')].slice(0, rounds),
      body,
    );
    const made = requested[1]?.messages.flatMap(
      ({ tool_calls: made }) => (made as { function: JsonObject }[] | undefined) ?? [],
    );
    return {
      offered: requested[0]?.tools?.map((tool) => tool.function.name),
      calls: response.output.flatMap((item) => ('name' in item ? [[item.type, labelOf(item), item.name]] : [])),
      // What the model receives of its own calls in the next round.
      replayed: made?.map((call) => call.function.name),
      notes: [...new Set(notes.map(({ message }) => message))],
      ran: [...new Set(toolCalls.map(({ server, name }) => `${server}/${name}`))],
    };
  }

  it('[T-07, A-34, B-21] of two servers are distinct for the model, and have their own in the items', async () => {
    const tools = [providerOf('files', ['search', 'read']), providerOf('mail', ['search'])];
    const round = calls(['a', 'mcp__files__search'], ['b', 'mcp__mail__search'], ['c', 'read']);
    expect(await names(round, { tools })).toEqual({
      offered: ['mcp__files__search', 'read', 'mcp__mail__search'],
      calls: [
        ['mcp_call', 'files', 'search'],
        ['mcp_call', 'mail', 'search'],
        ['mcp_call', 'files', 'read'],
      ],
      replayed: ['mcp__files__search', 'mcp__mail__search', 'read'],
      notes: [],
      ran: ['files/search', 'mail/search', 'files/read'],
    });
  });

  it('[T-04, T-07, A-14] of the client’s tool and the server’s are the client’s: the server’s is noted, not offered, never run', async () => {
    const round = calls(['a', 'read']);
    const own = { type: 'function', name: 'read' };
    expect(await names(round, OPTIONS, { tools: [own] }, 1)).toEqual({
      offered: ['read', 'write'],
      calls: [['function_call', undefined, 'read']],
      replayed: undefined,
      notes: ["The client brings its own tool 'read', so the server's is not offered."],
      ran: [],
    });
  });

  it('[T-07, B-21] that model servers do not take are written otherwise for the model, and restored in the items', async () => {
    const long = `${'deep.'.repeat(20)}search`;
    const tools = providerOf('files', ['look.up', long]);
    const seen = await names(calls(['a', 'look_up']), { tools });
    const safe = String(seen.offered?.[1]);
    const again = await names(calls(['a', 'look_up'], ['b', safe]), { tools });
    expect({ offered: seen.offered, calls: again.calls, replayed: again.replayed }).toEqual({
      offered: ['look_up', expect.stringMatching(/^(deep_)+\w+$/)],
      calls: [
        ['mcp_call', 'files', 'look.up'],
        ['mcp_call', 'files', long],
      ],
      replayed: ['look_up', safe],
    });
    expect(safe.length).toBeLessThanOrEqual(64);
  });

  it('[P-14] of parts of an object are names like any other', async () => {
    const tools = providerOf('files', ['__proto__', 'constructor']);
    const { calls: shown, ran } = await names(calls(['a', '__proto__'], ['b', 'constructor']), { tools });
    expect([shown, ran]).toEqual([
      [
        ['mcp_call', 'files', '__proto__'],
        ['mcp_call', 'files', 'constructor'],
      ],
      ['files/__proto__', 'files/constructor'],
    ]);
  });

  it('[T-04] that are unknown are left to the client, since it may have more tools than it sent', async () => {
    const { calls: shown, ran } = await names(calls(['a', 'unheard_of']), OPTIONS, {}, 1);
    expect([shown, ran]).toEqual([[['function_call', undefined, 'unheard_of']], []]);
  });
});

function labelOf(item: object): unknown {
  return 'server_label' in item ? item.server_label : undefined;
}
