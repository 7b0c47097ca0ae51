/** A newcomer's walk: an empty folder, the packed package, llama.cpp, and Codex with a tool of an MCP server, by the first command of docs/quick-start.md. Prints how long each step takes. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { itBuilt } from '../examples/support.ts';
import { freePort } from '../support/services.ts';
import { describeWhere } from '../support/skipping.ts';
import { type LlamaServer, startLlama, whyNoModel } from './llama-server.ts';

const missing = await whyNoModel();
const execute = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const CODEX = 'codex@npm:@openai/codex@0.171.0-linux-x64';
const WITHIN_MS = 900_000;

describeWhere(missing === undefined, missing ?? '')('a walk from nothing to Codex', () => {
  // As people's homes, not in the folder for temporary files, of which Codex warns.
  const home = mkdtempSync('/var/tmp/walk-');
  const work = join(home, 'work');
  const closers: (() => unknown)[] = [() => rmSync(home, { recursive: true, force: true })];
  let llama: LlamaServer | undefined;

  afterAll(async () => {
    await llama?.kill();
    for (const close of closers) await close();
  });

  async function step<Result>(what: string, run: () => Promise<Result>): Promise<Result> {
    const from = performance.now();
    const result = await run();
    process.stderr.write(
      `A walk from nothing to Codex: ${what}: ${((performance.now() - from) / 1000).toFixed(1)} s\n`,
    );
    return result;
  }

  itBuilt('dist/cjs/hosts/cli/bin.js')(
    '[E-14] leads from an empty folder to Codex over llama.cpp, which is offered the tool of an MCP server',
    async () => {
      mkdirSync(join(work, 'bin'), { recursive: true });
      const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', home], {
        cwd: root,
      });
      const tarball = join(home, stdout.trim().split('\n').at(-1) ?? '');
      const packages = ['@modelcontextprotocol/client', '@modelcontextprotocol/server-everything', CODEX];
      const flags = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'];
      await step('the package, the MCP client and server, and Codex are installed', () =>
        execute('npm', ['install', ...flags, tarball, ...packages], { cwd: work, timeout: WITHIN_MS }),
      );
      const port = await freePort();
      // One conversation at a time, as long as Codex's instructions need, and answers that a small model ends some day.
      llama = await step('llama.cpp loads its model', () =>
        startLlama(port, {
          more: [
            ...['-c', '32768', '--override-kv', 'llama.context_length=int:32768'],
            ...['-np', '1', '-n', '64', '-t', '2'],
          ],
        }),
      );
      const seen: string[] = [];
      const door = await openDoor(llama.origin, seen);
      closers.push(door.close);
      const vendor = join(work, 'node_modules/codex/vendor/x86_64-unknown-linux-musl/bin');
      const env = {
        PATH: [vendor, join(work, 'node_modules/.bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
        HOME: home,
      };
      const args = ['run', 'codex', '--upstream', `${door.origin}/v1`, '--mcp', 'mcp-server-everything stdio', '--'];
      const prompt = ['exec', '--skip-git-repo-check', '--json', 'Echo "Good morning" with the tool echo.'];
      const { status, said, errors } = await step('Codex answers, started by express-open-responses run', async () => {
        const child = spawn('npx', ['express-open-responses', ...args, ...prompt], {
          ...{ cwd: work, env },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        const [written, complained, [code]] = await Promise.all([
          ...[text(child.stdout), text(child.stderr)],
          once(child, 'close'),
        ] as const);
        return { status: code, said: written, errors: complained };
      });
      const tools = seen.flatMap((body) => JSON.parse(body).tools ?? []).map(({ function: { name } }) => String(name));
      expect([status, said, errors]).toEqual([
        ...[0, expect.stringMatching(/^(?!.*"type":"error").*"type":"turn\.completed"/s)],
        expect.not.stringMatching(/WARNING|Model metadata|failed/),
      ]);
      expect(tools).toContain('echo');
    },
    WITHIN_MS,
  );
});

/** Passes everything on to the model server, and keeps the bodies. */
async function openDoor(origin: string, seen: string[]) {
  const server = createServer(async (req, res) => {
    const body = await text(req);
    if (body !== '') seen.push(body);
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${origin}${req.url}`, { method: req.method ?? 'GET', headers, body: body || null });
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
    for await (const piece of answer.body ?? []) res.write(piece);
    res.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The cast: a server that listens to a port has the address of one.
  const { port } = server.address() as { readonly port: number };
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close().closeAllConnections() };
}
