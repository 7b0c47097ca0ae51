/** Anthropic's SDK for Python and LangChain, as clients of the Messages API over each upstream. */
import { codeInterpreter } from 'express-open-responses/code-interpreter';
import { demoSearch } from 'express-open-responses/testing';
import { webSearch } from 'express-open-responses/web-search';
import { functionTools } from '../../src/index.ts';
import { chatStream, codeScript, textStream, toolCallStream } from '../../src/testing/index.ts';
import { type MessagesApp, startMessages } from '../apis/messages/messages-app.ts';
import { pythonPackage } from '../support/python-package.ts';
import { fakeRuntime } from '../tools/code-interpreter/fake-runtime.ts';
import { type PythonClient, startPythonClient } from './python-client.ts';
import { SPEECHES, type Speech, startSpeaking } from './speeches.ts';

const anthropic = await pythonPackage('anthropic', '2.12.0');
const langchain = await pythonPackage('langchain-anthropic', '1.7.7', {
  imported: 'langchain_anthropic',
  along: ['langchain-core==1.7.2'],
});

const LOOK = toolCallStream([{ id: 'call_1', name: 'look', arguments: '{"at":"this"}' }]);

anthropic.describe('Anthropic for Python', () => {
  let app: MessagesApp;
  let client: PythonClient;
  beforeAll(async () => {
    const code = codeInterpreter({ runtime: fakeRuntime() });
    const tools = functionTools({ weather: { execute: () => 'Sunny.' } });
    app = await startMessages({
      tools: [tools, webSearch({ engine: demoSearch() }), code],
      show: { toolCallsInMessages: true },
    });
    client = startPythonClient(anthropic.python, 'anthropic_client.py');
  });
  afterAll(() => Promise.all([app.close(), client.close()]));

  const run = (name: string, ...bodies: readonly string[]) => {
    app.fake.reply(...bodies.map((body) => ({ body })));
    return client.run({ name, url: app.url });
  };

  it('[X-12] streams thought and text, to the letter of its types', async () => {
    const { events, ...message } = await run('stream', chatStream({ reasoning_content: 'Hm.' }, { content: 'Hello.' }));
    expect(message).toEqual({
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: expect.stringMatching(/^pst1\./) },
        { type: 'text', text: 'Hello.' },
      ],
      stop: 'end_turn',
      usage: [9, 12],
    });
    expect(events).toEqual(expect.arrayContaining(['thinking', 'text', 'content_block_stop', 'message_stop']));
  });

  it("[X-12] reads the calls of the server's tools", async () => {
    const weather = toolCallStream([{ id: 'call_1', name: 'weather', arguments: '{}' }]);
    expect(await run('create', weather, textStream('Sunny.'))).toMatchObject({
      content: [{ type: 'mcp_tool_use' }, { type: 'mcp_tool_result' }, { type: 'text', text: 'Sunny.' }],
    });
  });

  it('[X-12] asks for searches, pages and code, and sends them back', async () => {
    const call = (id: string, name: string, args: object) => ({ id, name, arguments: JSON.stringify(args) });
    const all = toolCallStream([
      call('call_1', 'web_search', { query: 'tea' }),
      call('call_2', 'open_page', { url: 'https://example.com/tea/1' }),
      call('call_3', 'code_interpreter', { code: codeScript.value }),
    ]);
    expect(await run('use_server_tools', all, textStream('Tea.'), textStream('Done.'))).toEqual({
      texts: [
        [
          ...['server_tool_use', 'web_search_tool_result', 'server_tool_use', 'web_fetch_tool_result'],
          ...['server_tool_use', 'code_execution_tool_result', 'text'],
        ],
        ['text'],
      ],
    });
    const sentToModel = JSON.stringify(app.fake.requests.at(-1)?.body);
    for (const text of ['the demo says of tea', '"42"']) expect(sentToModel).toContain(text);
  });

  it('[X-12] runs its tools until the model answers', async () => {
    expect(await run('run_tools', LOOK, textStream('It is a cat.'))).toEqual({ seen: ['this'], text: 'It is a cat.' });
    expect(JSON.stringify(app.fake.requests.at(-1)?.body)).toContain('A cat.');
  });

  it('[X-12] has errors, counts and models', async () => {
    expect(await run('fail')).toEqual({
      refused: [400, 'invalid_request_error', true],
      count: expect.any(Number),
      models: ['fake-model'],
    });
  });
});

const WAYS = Object.entries(SPEECHES);

/** The client's tool is called with `at`, and then the model answers. */
const lookedAt = ({ calls, says }: Speech) => [calls('look', { at: 'this' }), says('It is a cat.')] as const;

anthropic.describe('Anthropic for Python over each upstream', () => {
  it.each(WAYS)('[X-12] runs its tools until the model answers: %s', async (_name, speech) => {
    const app = await startSpeaking(speech, ...lookedAt(speech));
    const client = startPythonClient(anthropic.python, 'anthropic_client.py');
    const done = await client.run({ name: 'run_tools', url: app.url });
    await Promise.all([app.close(), client.close()]);
    expect(done).toEqual({ seen: ['this'], text: 'It is a cat.' });
  });
});

langchain.describe('LangChain over each upstream', () => {
  it.each(WAYS)('[X-12] calls tools, and sums up the usage: %s', async (_name, speech) => {
    const app = await startSpeaking(speech, ...lookedAt(speech));
    const client = startPythonClient(langchain.python, 'langchain_anthropic_client.py');
    const done = await client.run({ url: app.url });
    await Promise.all([app.close(), client.close()]);
    expect(done).toEqual({ called: [['look', { at: 'this' }]], text: 'It is a cat.', usage: [9, 12] });
  });
});
