/** The snippets of docs/ really run, and print what the pages say. */
import { execPath } from 'node:process';
import { type DemoModel, startDemoModel } from 'express-open-responses/testing';
import type { Example } from '../../examples/express/start.ts';
import { codeBlocks, itBuilt, readProject, run, serve, startExample } from './support.ts';

const [client] = codeBlocks('docs/clients.md', 'js');
const [clientPrinted] = codeBlocks('docs/clients.md', 'text');
const [mount] = codeBlocks('docs/mounting.md', 'ts');
// The second is no file of the example.
const [tools, , , mcpServers] = codeBlocks('docs/tools.md', 'ts');
const [broughtServers] = codeBlocks('docs/remote-mcp.md', 'ts');
/** The snippets as the build makes JavaScript of them. */
const built = (name: string) => `build/examples/express/${name}.js`;

let example: Example;

beforeAll(async () => {
  example = await startExample();
});
afterAll(() => example.close());

/** The code with the example's address in place of the page's. */
function here(code = ''): string {
  return code.replaceAll('http://localhost:3000', example.url);
}

/** Runs JavaScript as a file in the project would be run. */
function runModule(code: string): Promise<string> {
  return run(execPath, ['--input-type=module', '--eval', code]);
}

describe('the snippets of docs/', () => {
  it('[S-01] [S-12] print what docs/clients.md shows', async () => {
    expect(`${await runModule(here(client))}\n`).toBe(clientPrinted);
  });

  it('are files of the example', () => {
    const files = ['client.mjs', 'mount.ts', 'tools.ts', 'mcp-servers.ts', 'remote-mcp.ts'].map((name) =>
      readProject(`examples/express/${name}`),
    );
    expect([client, mount, tools, mcpServers, broughtServers]).toEqual(files);
  });
});

describe('the servers in docs/', () => {
  let demo: DemoModel;

  beforeAll(async () => {
    demo = await startDemoModel();
  });
  afterAll(() => demo.close());

  /** Runs the snippet with the demo model, on a free port that it prints. */
  function serveSnippet(name: string, local = (code: string) => code) {
    const anyPort = 'listen(0, function () { console.log("http://localhost:" + this.address().port) })';
    const changed = local(readProject(built(name)))
      .replace('http://localhost:8000/v1', demo.baseURL)
      .replace('listen(3000)', anyPort);
    return serve(['--input-type=module', '--eval', changed], 1, { OPENAI_BASE_URL: demo.baseURL, OPENAI_API_KEY: 'k' });
  }

  function ask(url: string, input: string, user = 'ada') {
    const headers = { authorization: `Bearer key-of-${user}`, 'content-type': 'application/json' };
    return fetch(url, { method: 'POST', headers, body: JSON.stringify({ model: 'm', input }) });
  }

  itBuilt(built('mount'))('[X-01] [P-13] keep an app’s users apart, and stop at SIGTERM', async () => {
    const app = await serveSnippet('mount');
    const url = `${app.lines[0]}/v1/responses`;
    const { id } = JSON.parse(await (await ask(url, 'Hi.')).text());
    const get = (user: string) => fetch(`${url}/${id}`, { headers: { authorization: `Bearer key-of-${user}` } });
    const answers = await Promise.all(['ada', 'bob', 'eve'].map(get));
    expect([answers.map(({ status }) => status), await app.stop()]).toEqual([[200, 404, 401], 0]);
  });

  itBuilt(built('tools'))('[T-10] run a tool of the host before the model answers', async () => {
    const app = await serveSnippet('tools');
    const answer = await ask(`${app.lines[0]}/v1/responses`, 'What is the status of order "7"?');
    const { output } = JSON.parse(await answer.text());
    await app.stop();
    expect([output.at(-2)?.output, output.at(-1)?.content[0].text]).toEqual([
      'Order 7 is on its way.',
      'The tool answered "Order 7 is on its way.". Before that you wrote "What is the status of order "7"?"',
    ]);
  });

  itBuilt(built('mcp-servers'))('[T-01] [S-19] run the tools of MCP servers on the Chat Completions API', async () => {
    const script = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
    const local = (code: string) =>
      code
        .replace("command: 'npx'", `command: '${execPath}'`)
        .replace("'-y', '@modelcontextprotocol/server-everything'", `'${script}'`)
        .replace('https://mcp.example.com/mcp', 'http://127.0.0.1:1/mcp');
    const app = await serveSnippet('mcp-servers', local);
    const messages = [{ role: 'user', content: 'Please call the echo tool.' }];
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'm', messages });
    const answer = await fetch(`${app.lines[0]}/v1/chat/completions`, { method: 'POST', headers, body });
    const { choices } = JSON.parse(await answer.text());
    const states = JSON.parse(await (await fetch(`${app.lines[0]}/health`)).text());
    await app.stop();
    expect([choices[0].message.content, states.map(({ state }: { state: string }) => state)]).toEqual([
      expect.stringContaining('Echo: '),
      ['ready', 'failed'],
    ]);
  });

  itBuilt(built('remote-mcp'))(
    '[T-09] [B-19] let requests bring MCP servers from where the host says, and stop',
    async () => {
      const app = await serveSnippet('remote-mcp');
      const headers = { 'content-type': 'application/json' };
      const ask = async (server_url: string) => {
        const body = JSON.stringify({
          model: 'm',
          input: 'Hi.',
          tools: [{ type: 'mcp', server_label: 'a', server_url }],
        });
        const answer = await fetch(`${app.lines[0]}/v1/responses`, { method: 'POST', headers, body });
        return [answer.status, JSON.parse(await answer.text()).error.message];
      };
      // Alike, so that nobody learns what there is in the host's network.
      const unreachable =
        "The MCP server 'a' cannot be reached: its host is not known, does not answer, or is not one that this server may go to.";
      const answers = [await ask('https://169.254.169.254/latest'), await ask('https://mcp.example.org/mcp')];
      expect([answers, await app.stop()]).toEqual([
        [
          [422, unreachable],
          [422, unreachable],
        ],
        0,
      ]);
    },
  );
});
