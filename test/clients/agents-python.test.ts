/** openai-agents, the Python SDK: agents whose tools this server runs, and whose commands and patches the SDK runs. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brought, echoesOf, startRemoteApp, wireTool } from '../engine/tools/remote-app.ts';
import { calls, chatBody, says, type ToolsApp, toolTexts, withTools } from '../engine/tools/support.ts';
import { closeAll } from '../support/mcp-client.ts';
import { pythonPackage } from '../support/python-package.ts';
import { draws, withImages } from '../tools/image-generation/images-server.ts';
import { describeRemote, remoteFor, startRemote } from '../tools/mcp/remote-support.ts';
import { SENT_RESULTS, searches, searching } from '../tools/web-search/support.ts';
import { type PythonClient, startPythonClient } from './python-client.ts';

const agents = await pythonPackage('openai-agents', '0.24.0', { imported: 'agents', along: ['openai==3.54.0'] });

let client: PythonClient;
let folder: string;

/** An answer of the model that makes this call. */
function called(id: string, name: string, args: unknown) {
  return calls([id, name, JSON.stringify(args)]);
}

/** What the tools answered, as in the last request to the model. */
function lastTexts({ fake }: Pick<ToolsApp, 'fake'>): readonly unknown[] {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return Object.values(toolTexts(last ?? { messages: [] }));
}

agents.describe('openai-agents', () => {
  beforeAll(() => {
    client = startPythonClient(agents.python, 'agents_client.py');
  });
  afterAll(() => client.close());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agents-python-'));
    await writeFile(join(folder, 'a.md'), 'one\ntwo\n');
  });
  afterEach(async () => {
    await closeAll();
    await rm(folder, { recursive: true });
  });

  describe.each([false, true])('streamed: %s', (stream) => {
    it('[B-41] runs WebSearchTool on its terms, and sends its items back', () => {
      const { tools, asked } = searching();
      return withTools({ tools }, async (app) => {
        app.fake.reply(searches('one'), says('See [One](https://one.example.com/a).'), searches('two'), says('Done.'));
        const options = {
          filters: { allowed_domains: ['example.com', 'example.org'] },
          user_location: { type: 'approximate', city: 'Berlin' },
          search_context_size: 'high',
        };
        const inputs = ['Search.', 'Again.'];
        const { texts, items, events } = await client.run({
          url: app.url,
          tools: { web_search: options },
          inputs,
          stream,
        });
        expect([texts, items, lastTexts(app), asked[0]]).toMatchObject([
          ['See [One](https://one.example.com/a).', 'Done.'],
          Array(2).fill(['tool_call_item', 'message_output_item']),
          [SENT_RESULTS, SENT_RESULTS],
          { allowedDomains: ['example.com', 'example.org'], userLocation: { city: 'Berlin' }, maxResults: 16 },
        ]);
        if (stream) expect(events).toEqual(expect.arrayContaining(['response.web_search_call.completed']));
      });
    });

    it('[X-13] has images made with ImageGenerationTool, and sends them back', () =>
      withImages(async (app) => {
        app.fake.reply(draws('A cat.'), says('There it is.'), says('A cat.'));
        const inputs = ['Draw a cat.', 'What is it?'];
        const tools = { image_generation: { size: '1024x1024' } };
        const { texts, items } = await client.run({ url: app.url, tools, inputs, stream });
        expect([texts, items, lastTexts(app), app.images.requests.length]).toEqual([
          ['There it is.', 'A cat.'],
          [['tool_call_item', 'message_output_item'], ['message_output_item']],
          ['The image was made and shown to the user.'],
          1,
        ]);
        expect(app.images.requests[0]?.body).toContain('"size":"1024x1024"');
      }));

    it.each([false, true])('[X-13] runs the commands of ShellTool; by previous_response_id: %s', (chained) =>
      withTools({}, async (app) => {
        app.fake.reply(
          called('call_a', 'shell', { commands: ['cat a.md', 'echo bad >&2; exit 3'] }),
          says('Read.'),
          says('Known.'),
        );
        const inputs = ['Read the file.', 'Again.'];
        const { texts, items } = await client.run({
          url: app.url,
          tools: { shell: {} },
          inputs,
          stream,
          folder,
          chained,
        });
        expect([texts, items, lastTexts(app), app.notes]).toEqual([
          ['Read.', 'Known.'],
          [['tool_call_item', 'tool_call_output_item', 'message_output_item'], ['message_output_item']],
          ['one\ntwo\n\n[exit code 0]\n\n[stderr]\nbad\n\n[exit code 3]'],
          [],
        ]);
      }),
    );

    it('[X-13] runs the command of LocalShellTool', () =>
      withTools({}, async (app) => {
        app.fake.reply(called('call_a', 'local_shell', { command: ['cat', 'a.md'] }), says('Read.'), says('Known.'));
        const inputs = ['Read the file.', 'Again.'];
        const { texts, items } = await client.run({ url: app.url, tools: { local_shell: {} }, inputs, stream, folder });
        expect([texts, items, lastTexts(app), app.notes]).toEqual([
          ['Read.', 'Known.'],
          [['tool_call_item', 'tool_call_output_item', 'message_output_item'], ['message_output_item']],
          ['one\ntwo\n'],
          [],
        ]);
      }));

    it('[X-13] changes files with ApplyPatchTool, and learns of a patch that does not fit', () =>
      withTools({}, async (app) => {
        app.fake.reply(
          called('call_a', 'apply_patch', { type: 'update_file', path: 'a.md', diff: '@@\n one\n-two\n+three' }),
          called('call_b', 'apply_patch', { type: 'create_file', path: 'b.md', diff: '+new' }),
          called('call_c', 'apply_patch', { type: 'delete_file', path: 'none.md' }),
          says('Changed.'),
        );
        const { texts } = await client.run({
          url: app.url,
          tools: { apply_patch: {} },
          inputs: ['Change it.'],
          stream,
          folder,
        });
        const read = (name: string) => readFile(join(folder, name), 'utf8');
        expect([texts, await read('a.md'), await read('b.md')]).toEqual([['Changed.'], 'one\nthree\n', 'new']);
        expect(lastTexts(app)).toEqual([
          'The patch was applied.\nChanged a.md.',
          'The patch was applied.',
          expect.stringMatching(/^The patch failed.\n.*none\.md/s),
        ]);
      }));

    const answers = [
      { title: 'calls HostedMCPTool at once', approval: 'never', how: {}, ran: true, waited: 0 },
      { title: 'approves a call in its callback', approval: 'always', how: { approve: true }, ran: true, waited: 0 },
      { title: 'denies a call in its callback', approval: 'always', how: { approve: false }, ran: false, waited: 0 },
      { title: 'approves a call that waits', approval: 'always', how: { decide: true }, ran: true, waited: 1 },
      { title: 'denies a call that waits', approval: 'always', how: { decide: false }, ran: false, waited: 1 },
    ] as const;

    describeRemote('with an MCP server that it brings', () => {
      it.each(answers)('[T-09] [B-32] $title', async ({ approval, how, ran, waited }) => {
        const server = await startRemote();
        const seen = echoesOf(server);
        const app = await startRemoteApp(remoteFor([server]));
        app.fake.reply(called('call_a', 'echo', { text: 'Rome' }), says('Done.'), says('Known.'));
        const { type: _, ...mcp } = wireTool(brought(server, { approval }));
        const scene = { url: app.url, tools: { mcp }, inputs: ['Go.', 'Again.'], stream, ...how };
        const done = await client.run(scene);
        expect([done.texts, done.waited, seen, lastTexts(app)]).toEqual([
          ['Done.', 'Known.'],
          waited,
          ran ? [{ text: 'Rome' }] : [],
          [ran ? 'Rome' : 'The user did not approve this call, so it was not run.'],
        ]);
        expect([done, app.everything()].some((text) => JSON.stringify(text).includes('hunter2'))).toBe(false);
      });
    });
  });
});
