/**
 * Follows the README of each framework's example as a reader does: copies the folder, installs the packed package in it, starts it by the page's command and sends the
 * page's request. Bun and Deno are those that `npm run test:frameworks` installs, if it has.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startDemoModel } from '../../dist/esm/testing/index.js';

const START_MS = 180_000;
const ANSWER = 'Hello from the demo model. You wrote \\"Say hello.\\"';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'express-open-responses-frameworks-'));
const frameworks = join(root, 'test/frameworks/node_modules');
const programs = {
  deno: join(frameworks, `@deno/linux-${process.arch}-glibc/deno`),
  bun: join(frameworks, `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : process.arch}/bin/bun`),
};

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** The commands of the page: to install, to start, and to ask. */
function commandsOf(example) {
  const page = readFileSync(join(root, 'examples', example, 'README.md'), 'utf8');
  const [[, set = ''] = [], [, ask = ''] = []] = [...page.matchAll(/^```bash\n(.*?)^```$/gms)];
  const [install = '', start = ''] = set.trim().split('\n');
  if (!install.startsWith('npm install ') || !ask.startsWith('curl '))
    throw new Error(`examples/${example}/README.md has other commands than those that are known`);
  return { install, start, ask };
}

async function tryOut(example, tarball, baseURL) {
  const program = programs[example];
  if (program && !existsSync(program)) return console.log(`skipped: examples/${example}, there is no ${example}`);
  const cwd = join(folder, example);
  const isSource = (path) => !['node_modules', 'dist', '.next'].includes(basename(path));
  cpSync(join(root, 'examples', example), cwd, { recursive: true, filter: isSource });
  const { install, start, ask } = commandsOf(example);
  const port = await freePort();
  const env = {
    ...process.env,
    PORT: port,
    PATH: program ? `${dirname(program)}:${process.env.PATH}` : process.env.PATH,
  };
  const run = (command) => promisify(execFile)('sh', ['-e', '-c', command], { cwd, env, maxBuffer: 10_000_000 });
  await run(`${install.replace('path/to/express-open-responses-0.1.0.tgz', tarball)} --no-audit --no-fund --silent`);
  const command = start.replace('http://localhost:8000/v1', baseURL);
  const app = spawn('sh', ['-c', `exec env ${command}`], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(app, 'close');
  try {
    const asking = `${ask.trim().replace('http://localhost:3000', `http://127.0.0.1:${port}`)} --silent --fail`;
    const { stdout } = await answered(() => run(asking), app);
    if (!stdout.includes(ANSWER)) throw new Error(`examples/${example} answered ${stdout}`);
  } finally {
    process.kill(-app.pid, 'SIGTERM');
    await ended;
  }
  console.log(`ok: examples/${example} by its README`);
}

/** Tries again until the app, which may be built first, listens. */
async function answered(ask, app) {
  for (const end = Date.now() + START_MS; ; await pause(500)) {
    const answer = await ask().catch((error) => error);
    if (!(answer instanceof Error)) return answer;
    if (Date.now() > end || app.exitCode !== null) throw answer;
  }
}

const demo = await startDemoModel();
const wanted = process.argv.slice(2);
const examples = ['express4', 'fastify', 'nestjs', 'nextjs', 'deno', 'bun'];
try {
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const [{ filename }] = JSON.parse(execFileSync('npm', pack, { cwd: root, encoding: 'utf8' }));
  for (const example of wanted.length > 0 ? wanted : examples)
    await tryOut(example, join(folder, filename), demo.baseURL);
} finally {
  await demo.close();
  rmSync(folder, { recursive: true, force: true });
}
