/** A model that writes the names of tools wrong, beside tools that the server runs. */
import { functionTools } from '../../../src/index.ts';
import { ask, askJson, startMessages } from '../../apis/messages/messages-app.ts';
import { askForJson } from '../../support/responses-client.ts';
import { calls, chatBody, played, providerOf, says, shape, sinceUser, withTools } from './support.ts';

const OPTIONS = { tools: providerOf('files', ['read', 'write']) };
const CLIENTS = [{ type: 'function', name: 'ask', parameters: {} }];

/** What the model is told of the call. */
const toldOf = (name: string) => `Not run: there is no tool '${name}'. Call one of: ask, read, write`;

describe('a call of a tool by a name that none can have', () => {
  it('[O-05, T-02] is neither shown nor left to the client: the model is told which tools there are, and goes on', async () => {
    const script = [calls(['a', 'READ']), calls(['b', 'read']), says('Done.')];
    const { response, requested, notes } = await played(OPTIONS, script, { tools: CLIENTS });
    expect(shape(response)).toEqual(['mcp_list_tools completed', 'mcp_call read completed', 'message completed']);
    expect(sinceUser(requested[1] ?? { messages: [] })).toEqual([
      expect.objectContaining({
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'READ', arguments: '{}' } }],
      }),
      { role: 'tool', tool_call_id: 'a', content: toldOf('READ') },
    ]);
    expect(notes[0]).toEqual({
      code: 'call_dropped',
      message: "The model called 'READ', which does not exist.",
    });
  });

  it.each(['functions.read', 'Read', ' read '])(
    '[O-05] does not name it %j to a model server, which would refuse the conversation',
    async (name) => {
      const { response, requested } = await played(OPTIONS, [calls(['a', name]), says('Done.')], { tools: CLIENTS });
      expect(shape(response)).toEqual(['message completed']);
      expect(requested[1]?.messages.at(-2)?.tool_calls).toEqual([
        { id: 'a', type: 'function', function: { name: name.replace(/\W/g, '_'), arguments: '{}' } },
      ]);
      expect(requested[1]?.messages.at(-1)?.content).toBe(toldOf(name));
    },
  );

  it('[O-05, T-04] is told to the model beside a call that runs, and only noted beside one that the client must run', async () => {
    const beside = (name: string) => calls(['a', name], ['b', 'files.read']);
    const ran = await played(OPTIONS, [beside('read'), says('Done.')], { tools: CLIENTS });
    expect(shape(ran.response)).toEqual(['mcp_list_tools completed', 'mcp_call read completed', 'message completed']);
    expect(ran.requested[1]?.messages.at(-1)?.content).toBe(toldOf('files.read'));
    const { response, notes } = await played(OPTIONS, [beside('ask')], { tools: CLIENTS });
    expect([shape(response), notes[0]?.code]).toEqual([['function_call ask completed'], 'call_dropped']);
  });

  it('[O-05, P-06] leaves a conversation that can go on, also where the model makes no other call', async () => {
    await withTools({ ...OPTIONS, limits: { tools: { iterations: 2 } } }, async ({ url, fake }) => {
      fake.reply(calls(['a', 'Read']), calls(['b', 'READ']), calls(['c', 'files.read']), says('Hello.'));
      const stopped = await askForJson(url);
      expect([stopped.status, stopped.output]).toEqual(['incomplete', []]);
      const next = await askForJson(url, { previous_response_id: stopped.id, input: 'Are you there?' });
      expect(shape(next)).toEqual(['message completed']);
    });
  });

  it('[T-04] is the client’s where the server runs none, as is one by a name that the client may know', async () => {
    const { response } = await played({}, [calls(['a', 'Ask'])], { tools: CLIENTS });
    expect(shape(response)).toEqual(['function_call Ask completed']);
    const other = await played(OPTIONS, [calls(['a', 'delete'])], { tools: CLIENTS });
    expect(shape(other.response)).toEqual(['function_call delete completed']);
  });

  it('[O-05] in the Messages API is told to the model, too', async () => {
    const app = await startMessages({ tools: functionTools({ read: { execute: () => 'words' } }) });
    app.fake.reply(calls(['a', 'Read']), says('Done.'), calls(['b', 'Read']), says('Done.'));
    const tools = [{ name: 'ask', input_schema: { type: 'object' } }];
    const { content, stop_reason } = (await askJson(app.url, { tools })).body;
    expect([content, stop_reason]).toEqual([[{ type: 'text', text: 'Done.' }], 'end_turn']);
    expect(await (await ask(app.url, { tools, stream: true })).text()).not.toContain('tool_use');
    expect(app.fake.requests.map((request) => chatBody(request).messages.at(-1)?.content)).toEqual([
      'Go.',
      "Not run: there is no tool 'Read'. Call one of: ask, read",
      'Go.',
      "Not run: there is no tool 'Read'. Call one of: ask, read",
    ]);
    await app.close();
  });
});
