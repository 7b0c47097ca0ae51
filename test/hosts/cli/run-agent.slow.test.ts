/** `express-open-responses run`: a coding agent over a server of its own, as processes of the build. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { itBuilt } from '../../examples/support.ts';

const PROGRAM = join(import.meta.dirname, '../../../dist/cjs/hosts/cli/bin.js');
const itProgram = itBuilt('dist/cjs/hosts/cli/bin.js');
const EVERYTHING = join(import.meta.dirname, '../../support/mcp-stdio-server.mjs');
const NAMES = ['codex', 'claude', 'opencode', 'pi'];

const folder = mkdtempSync(join(tmpdir(), 'open-responses-run-'));
const installed = join(folder, 'bin');
const cache = join(folder, 'cache');
mkdirSync(installed);
for (const name of NAMES) {
  const path = join(installed, name);
  copyFileSync(join(import.meta.dirname, 'fake-agent.mjs'), path);
  chmodSync(path, 0o755);
}
// So that Node reads them as modules.
writeFileSync(join(installed, 'package.json'), '{ "type": "module" }');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let model: FakeUpstream;
beforeEach(async () => {
  model = await startFakeUpstream({ models: ['text-embedding-small', 'my-model', 'other'] });
});
afterEach(() => model.close());

/** Starts the program. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const path = [installed, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
  const variables = { PATH: path, HOME: folder, XDG_CACHE_HOME: cache, ...env };
  return spawn(process.execPath, [PROGRAM, 'run', ...args], { cwd: folder, env: variables });
}

/** Runs it until it ends: its status, what the agent said, and what came on the other stream. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = start(args, env);
  const [texts, errors] = [[] as string[], [] as string[]];
  child.stdout.on('data', (text) => texts.push(String(text)));
  child.stderr.on('data', (text) => errors.push(String(text)));
  const [status] = await once(child, 'close');
  const text = texts.join('');
  return { status, said: text.startsWith('{') ? JSON.parse(text) : text, errors: errors.join('') };
}

const upstream = () => ['--upstream', model.baseURL];
/** The folders of agents that are left. */
const left = () =>
  existsSync(join(cache, 'express-open-responses')) ? readdirSync(join(cache, 'express-open-responses')) : [];

describe('run', () => {
  itProgram('[E-14] starts Codex with settings of its own, and leaves nothing behind', async () => {
    const { status, said, errors } = await run(['codex', ...upstream(), '--', 'exec', 'Say hello.']);
    expect([status, said.args, said.status, said.answer.status, errors, left()]).toEqual([
      0,
      ['exec', 'Say hello.'],
      200,
      'completed',
      '',
      [],
    ]);
    const [, origin] = /base_url = "(.*)\/v1"/.exec(said.files['config.toml']) ?? [];
    expect(said.files['config.toml']).toBe(`model = "my-model"
model_provider = "local"

[model_providers.local]
name = "express-open-responses"
base_url = "${origin}/v1"
model_catalog_url = "${origin}/v1/models"
wire_api = "responses"
env_key = "OPEN_RESPONSES_KEY"
`);
    expect([origin, said.folder]).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      expect.stringContaining(join(cache, 'express-open-responses', 'codex-')),
    ]);
  });

  itProgram('[E-14] starts Claude Code, without the key and the models that the user has for Anthropic', async () => {
    const env = { ANTHROPIC_API_KEY: 'sk-ant-mine', CLAUDE_CODE_USE_BEDROCK: '1', EDITOR: 'vi' };
    const { status, said, errors } = await run(['claude', ...upstream(), '--model', 'other', '--', '-p', 'Hi.'], env);
    expect([status, said.status, said.answer.type, said.answer.model, errors]).toEqual([
      0,
      200,
      'message',
      'other',
      '',
    ]);
    expect([said.args, said.files, said.env]).toEqual([
      ['-p', 'Hi.'],
      { '.claude.json': '{"hasCompletedOnboarding":true}' },
      expect.objectContaining({
        ANTHROPIC_BASE_URL: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        ANTHROPIC_MODEL: 'other',
        CLAUDE_CODE_MAX_CONTEXT_TOKENS: '100000',
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'other',
        EDITOR: 'vi',
      }),
    ]);
    expect(Object.keys(said.env)).not.toEqual(expect.arrayContaining(['ANTHROPIC_API_KEY']));
    expect(Object.keys(said.env)).not.toEqual(expect.arrayContaining(['CLAUDE_CODE_USE_BEDROCK']));
  });

  itProgram('[E-14] prints what Claude Code complains of, but not that it does not know the model', async () => {
    const { errors } = await run(['claude', ...upstream(), '--', 'complain', '-p']);
    expect(errors).toBe('Something is wrong.\n[claude-code: that is all');
  });

  itProgram('[E-14] starts opencode and pi', async () => {
    const opencode = await run(['opencode', ...upstream(), '--', 'run', 'Hi.']);
    const pi = await run(['pi', ...upstream(), '--', '-p', 'Hi.']);
    expect([opencode, pi].map(({ status, said, errors }) => [status, said.status, said.args, errors])).toEqual([
      [0, 200, ['run', 'Hi.'], ''],
      [0, 200, ['--provider', 'local', '--model', 'my-model', '-p', 'Hi.'], ''],
    ]);
    expect([JSON.parse(opencode.said.files['opencode.json']).model, Object.keys(pi.said.files), left()]).toEqual([
      'openai/my-model',
      ['models.json'],
      [],
    ]);
  });

  itProgram('[E-14] gives opencode its settings where those of the project do not replace them', async () => {
    const { said } = await run(['opencode', ...upstream()]);
    expect(said.env.OPENCODE_CONFIG_CONTENT).toBe(said.files['opencode.json']);
  });

  itProgram(
    '[E-14] gives each agent the whole name of the model, such as the path by which llama.cpp calls it',
    async () => {
      const path = `/models/${'a-folder-with-a-long-name/'.repeat(4)}Modell-grün-Q4_K_M.gguf`;
      const llama = await startFakeUpstream({ models: [path] });
      const answers = await Promise.all(NAMES.map((name) => run([name, '--upstream', llama.baseURL, '--', 'Hi.'])));
      const asked = llama.requests.flatMap(({ body }) =>
        Object(body).model === undefined ? [] : [Object(body).model],
      );
      await llama.close();
      expect([answers.map(({ said }) => said.status), asked]).toEqual([
        [200, 200, 200, 200],
        [path, path, path, path],
      ]);
    },
  );

  itProgram('[E-14] ends as the agent ends: with its status, or by its signal', async () => {
    expect((await run(['codex', ...upstream(), '--', 'exit', '7'])).status).toBe(7);
    expect((await run(['codex', ...upstream(), '--', 'die'])).status).toBe(128 + 9);
    expect(left()).toEqual([]);
  });

  itProgram('[E-14] passes a signal on, and takes the server and the folder down after the agent', async () => {
    const child = start(['codex', ...upstream(), '--', 'wait']);
    const [first] = await once(child.stdout, 'data');
    const { folder: home, files } = JSON.parse(String(first));
    const [, url = ''] = /base_url = "(.*)"/.exec(files['config.toml']) ?? [];
    expect([existsSync(home), (await fetch(`${url}/models`)).status]).toEqual([true, 200]);
    const ended = once(child, 'close');
    const [[last]] = await Promise.all([once(child.stdout, 'data'), child.kill('SIGTERM')]);
    const [status] = await ended;
    expect([String(last), status, existsSync(home)]).toEqual(['stopped\n', 9, false]);
  });

  itProgram('[E-14] offers the tools of MCP servers, by their command or a file', async () => {
    const file = join(folder, 'mcp.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { ofFile: { command: process.execPath, args: [EVERYTHING] } } }));
    const places = ['--mcp', `${process.execPath} "${EVERYTHING}"`, '--mcp', file];
    const { said, errors } = await run(['codex', ...upstream(), ...places, '--', 'Hi.']);
    const tools = model.requests.flatMap(({ body }) => (Array.isArray(Object(body).tools) ? Object(body).tools : []));
    const names = tools.map((tool: { function: { name: string } }) => tool.function.name);
    expect([said.status, errors, names]).toEqual([
      200,
      '',
      expect.arrayContaining(['mcp__mcp-stdio-server__echo', 'mcp__ofFile__echo']),
    ]);
  });

  itProgram('[E-14] prints what the server had to warn of when the agent has ended', async () => {
    const { status, errors } = await run(['codex', '--upstream', 'http://127.0.0.1:1/v1', '--model', 'm', '--', 'Hi.']);
    expect([status, errors.split('\n')[0], errors]).toEqual([
      0,
      'Warning: http://127.0.0.1:1 did not list its models: The model server could not be reached. Requests are sent to it all the same.',
      expect.stringContaining('upstream_unavailable'),
    ]);
  });

  const usage = (text: string) => `express-open-responses: ${text}. See --help.\n`;
  it.each([
    [[], 2, usage('run needs an agent, such as codex')],
    [['vim'], 2, usage("there is no agent 'vim': known are codex, claude, opencode, pi")],
    [['codex', 'exec'], 2, usage("'exec' is no option of run: write the arguments of codex behind --")],
    [['codex', '--port', '1'], 2, usage("Unknown option '--port'")],
    [['codex', '--model', ''], 2, usage('--model needs a value')],
    [
      ['codex', '--upstream', 'http://127.0.0.1:1/v1'],
      1,
      'Warning: http://127.0.0.1:1 did not list its models: The model server could not be reached. Requests are sent to it all the same.\n' +
        'express-open-responses: http://127.0.0.1:1/v1 lists no model: name one with --model\n',
    ],
  ])('[E-14] says what is wrong with %j', async (args, status, errors) => {
    if (existsSync(PROGRAM)) expect(await run(args)).toEqual({ status, said: '', errors });
  });

  itProgram('[E-14] says how an agent is installed that is not', async () => {
    const names = {
      codex: '@openai/codex',
      claude: '@anthropic-ai/claude-code',
      opencode: 'opencode-ai',
      pi: '@mariozechner/pi-coding-agent',
    };
    for (const [name, pack] of Object.entries(names)) {
      const { status, errors } = await run([name], { PATH: '/nowhere' });
      expect([status, errors]).toEqual([
        1,
        expect.stringMatching(
          `^express-open-responses: .+ is not installed, as there is no '${name}' on PATH: npm install -g ${pack}\n$`,
        ),
      ]);
    }
  });
});
