/** The program `express-open-responses`, as a process of the build. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../../src/protocol/version.ts';
import { itBuilt, run, type Served, serve } from '../../examples/support.ts';

const PROGRAM = 'dist/cjs/hosts/cli/bin.js';
const itProgram = itBuilt(PROGRAM);
const folder = mkdtempSync(join(tmpdir(), 'open-responses-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const READY_LINES = 11;
const start = (...args: readonly string[]) => serve([PROGRAM, '--port', '0', ...args], READY_LINES);

/** What stands behind a name in the facts, or under a heading. */
function printed({ lines }: Served, name: string): string {
  const fact = lines.find((line) => line.startsWith(`  ${name} `));
  return (fact?.slice(name.length + 2) ?? lines[lines.indexOf(`${name}:`) + 1] ?? '').trim();
}

/** Runs the program until it ends by itself: its status, and what it wrote to the terminal. */
function ended(args: readonly string[], env = {}): Promise<readonly [status: unknown, text: string]> {
  return new Promise((resolve) => {
    const options = { timeout: 30_000, env: { ...process.env, ...env } };
    execFile(process.execPath, [PROGRAM, ...args], options, (error, stdout, stderr) =>
      resolve([error?.code ?? 0, stdout + stderr]),
    );
  });
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const EVERYTHING = join(import.meta.dirname, '../../support/mcp-stdio-server.mjs');

describe('the program', () => {
  itProgram('[X-16] prints a request that works as it is printed, and stops when it is asked to', async () => {
    const app = await start('--inspect');
    const answer = JSON.parse(await run('sh', ['-c', `${printed(app, 'A request')} --silent`]));
    const page = await fetch(printed(app, 'inspector'));
    expect([
      answer.output[0].content[0].text,
      printed(app, 'models'),
      page.status,
      app.errors,
      await app.stop(),
    ]).toEqual(['Hello from the demo model. You wrote "Say hello."', 'demo', 200, [], 0]);
  });

  itProgram(
    '[X-16] bounds the young generation where Node can start itself again, unless the host has chosen',
    async () => {
      const [plain, chosen] = [
        await start(),
        await serve(['--max-semi-space-size=2', PROGRAM, '--port', '0'], READY_LINES),
      ];
      const flags = ({ process: { pid } }: Served) => run('ps', ['-o', 'args=', '-p', String(pid)]);
      const seen = [await flags(plain), await flags(chosen)].map((line) => /--max-semi-space-size=\d+/.exec(line)?.[0]);
      const bound = 'execve' in process ? '--max-semi-space-size=8' : undefined;
      expect([seen, await plain.stop(), await chosen.stop()]).toEqual([[bound, '--max-semi-space-size=2'], 0, 0]);
    },
  );

  itProgram('[X-16] prints the variables by which OpenAI’s SDK finds it', async () => {
    const app = await start();
    const script = `import OpenAI from 'openai';
      console.log((await new OpenAI().responses.create({ model: 'demo', input: 'Hi.' })).output_text);`;
    const command = `${printed(app, "OpenAI's SDKs")} && '${process.execPath}' --input-type=module -e "$0"`;
    const text = await run('sh', ['-c', command, script]);
    expect([text, await app.stop()]).toEqual(['Hello from the demo model. You wrote "Hi."\n', 0]);
  });

  itProgram('[X-16] prints a line for Codex that a shell takes apart as Codex wants it', async () => {
    const app = await start();
    const line = printed(app, 'Codex').replace(/^codex/, "printf '%s\\n'");
    const baseURL = printed(app, 'API');
    expect([(await run('sh', ['-c', line])).split('\n'), await app.stop()]).toEqual([
      [
        ...['-c', 'model_provider=local', '-c'],
        `model_providers.local={name="local",base_url="${baseURL}",model_catalog_url="${baseURL}/models",experimental_bearer_token="unused",wire_api="responses"}`,
        ...['-m', 'demo', ''],
      ],
      0,
    ]);
  });

  itProgram('[X-16] names the models of the model server, which gets the key of the variable', async () => {
    let authorization: string | undefined;
    const models = createServer((req, res) => {
      authorization = req.headers.authorization;
      res
        .setHeader('content-type', 'application/json')
        .end('{"object":"list","data":[{"id":"it\'s"},{"id":"b\\u001b"}]}');
    }).listen(0, '127.0.0.1');
    await once(models, 'listening');
    const { port } = models.address() as AddressInfo;
    process.env.TEST_MODEL_KEY = 'secret-key';
    const app = await start('--upstream', `http://127.0.0.1:${port}/v1`, '--key-env', 'TEST_MODEL_KEY');
    delete process.env.TEST_MODEL_KEY;
    const line = printed(app, 'A request').replace(/^curl/, "printf '%s\\n'");
    const words = (await run('sh', ['-c', line])).split('\n');
    await app.stop();
    models.close();
    expect([printed(app, 'models'), words.at(-2), authorization, app.lines.join('\n').includes('secret')]).toEqual([
      "it's, b?",
      '{"model":"it\'s","input":"Say hello."}',
      'Bearer secret-key',
      false,
    ]);
  });

  itProgram('[X-16] serves all the same where the model server does not answer, and reports it', async () => {
    const app = await start('--upstream', 'http://127.0.0.1:1/v1');
    const health = await fetch(printed(app, 'API').replace(/v1$/, 'health'));
    await app.stop();
    expect([health.status, app.errors.join('')]).toEqual([
      200,
      'Warning: http://127.0.0.1:1 did not list its models: The model server could not be reached. Requests are sent to it all the same.\n',
    ]);
  });

  itProgram('[X-16] keeps responses in a file over a restart', async () => {
    const place = join(folder, 'responses.db');
    const before = await start('--store', place);
    const first = JSON.parse(await run('sh', ['-c', `${printed(before, 'A request')} --silent`]));
    await before.stop();
    const after = await start('--store', place);
    const found = await fetch(`${printed(after, 'API')}/responses/${first.id}`);
    await after.stop();
    expect([existsSync(place), printed(after, 'store'), found.status]).toEqual([true, 'sqlite', 200]);
  });

  itProgram('[X-16] starts the MCP servers of a file, and warns of those that do not start', async () => {
    const mcpServers = {
      there: { command: process.execPath, args: [EVERYTHING] },
      gone: { command: 'no-such-program' },
    };
    const app = await start('--mcp', file('mcp.json', JSON.stringify({ mcpServers })));
    await app.stop();
    expect([printed(app, 'MCP servers'), app.errors.join('')]).toEqual([
      expect.stringMatching(/^there \([1-9]\d*\), gone \(0\)$/),
      expect.stringMatching(/^Warning: --mcp: server 'gone' is unavailable .*ENOENT\n$/),
    ]);
  });

  itProgram('[X-16] answers no page whose domain was made to resolve to this machine', async () => {
    const app = await start('--inspect');
    const asked = await run('sh', ['-c', `${printed(app, 'A request')} --silent -H 'host: evil.example'`]);
    await app.stop();
    expect(JSON.parse(asked).error.message).toBe(
      'This server accepts only a Host header that names its own machine, such as localhost.',
    );
  });

  itProgram('[X-16] warns where it listens to other machines', async () => {
    const app = await start('--host', '0.0.0.0');
    await app.stop();
    expect([printed(app, 'API'), app.errors]).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1$/),
      ['Warning: everyone who reaches 0.0.0.0 may use the model server through this one.\n'],
    ]);
  });

  itProgram('[X-16] lets a running stream finish when it is asked to stop', async () => {
    const app = await start();
    const answer = await fetch(`${printed(app, 'API')}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo', input: 'word '.repeat(50), stream: true }),
    });
    const stopped = app.stop();
    expect([(await answer.text()).endsWith('data: [DONE]\n\n'), await stopped]).toEqual([true, 0]);
  });

  itProgram('[X-16] prints its version, and a help that fits on a screen', async () => {
    const [, help] = await ended(['--help']);
    const lines = help.trimEnd().split('\n');
    expect([await ended(['-v']), lines.length <= 30, Math.max(...lines.map((line) => line.length)) <= 80]).toEqual([
      [0, `${VERSION}\n`],
      true,
      true,
    ]);
  });

  const usage = (text: string) => `express-open-responses: ${text}. See --help.\n`;
  const bad = (name: string, text: string) => ['--mcp', file(name, text)];
  it.each([
    [['--nope'], usage("Unknown option '--nope'")],
    [['serve'], usage("Unexpected argument 'serve'")],
    [['codex', '--inspect'], usage("codex is started by 'run codex'")],
    [['--store', ''], usage('--store needs a value')],
    [['--port', '70000'], usage("--port must be a number from 0 to 65535, got '70000'")],
    [['--upstream', 'ftp://x'], usage("--upstream must be an http(s) URL, got 'ftp://x'")],
    [['--upstream', 'http://u:secret@x'], usage('--upstream must hold no credentials; use --key-env')],
    [['--key-env', 'NOPE'], usage('--key-env needs --upstream')],
    [
      ['--upstream', 'http://x', '--key-env', 'NO_SUCH'],
      usage('--key-env: the environment variable NO_SUCH is not set'),
    ],
    [['--upstream', 'http://x', '--key-env', 'sk-secret'], usage('--key-env must be the name of a variable')],
    [
      ['--store', 'mysql://me:secret@x'],
      usage("--store must be a file, redis://... or postgres://..., got 'mysql://...'"),
    ],
    [['--mcp', '/no/file'], usage("--mcp: there is no file '/no/file'")],
    [bad('bad.json', '{'), usage(`--mcp: '${join(folder, 'bad.json')}' is not valid JSON`)],
  ])('[X-16] %j is a wrong command line', async (args, text) => {
    if (existsSync(PROGRAM)) expect(await ended(['--port', '0', ...args])).toEqual([2, text]);
  });

  it.each([
    [
      'redis://me:secret@127.0.0.1:1',
      /^express-open-responses: --store cannot be used: connect ECONNREFUSED 127.0.0.1:1\n$/,
    ],
    [
      'postgres://me:secret@127.0.0.1:1/x',
      /^express-open-responses: --store cannot be used: connect ECONNREFUSED .*:1\n$/,
    ],
    ['/no/folder/x.db', /^express-open-responses: --store cannot be used: .+\n$/],
  ])('[X-16] ends with status 1 where the store %s cannot be used', async (place, text) => {
    if (existsSync(PROGRAM))
      expect(await ended(['--port', '0', '--store', place])).toEqual([1, expect.stringMatching(text)]);
  });

  itProgram('[X-16] ends with status 1 where its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const result = await ended(['--port', String(port)]);
    other.close();
    expect(result).toEqual([
      1,
      `express-open-responses: port ${port} of 127.0.0.1 is in use: choose another with --port, 0 for a free one\n`,
    ]);
  });
});
