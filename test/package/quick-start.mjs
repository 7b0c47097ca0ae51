/**
 * Follows docs/quick-start.md as a reader does, in JavaScript and in TypeScript: a fresh folder, the packed package, and the page's own files and commands. Codex is
 * the one that `npm run test:agents` has installed, if it has.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startDemoModel } from '../../dist/esm/testing/index.js';

const START_MS = 30_000;
const COMMAND_MS = 120_000;
const CODEX = 'build/agents/node_modules/codex/vendor/x86_64-unknown-linux-musl/bin';
const HELLO = 'Hello from the demo model. You wrote "Say hello."';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'express-open-responses-quick-start-'));
const page = readFileSync(join(root, 'docs/quick-start.md'), 'utf8');
const demo = await startDemoModel();
const port = await freePort();

/** The page's blocks in order, with the port of this run. */
const blocks = [...page.matchAll(/^```(\w+)(?: \[([^\]\n]+)\])?\n(.*?)^```$/gms)].map(([, language, file, text]) => ({
  language,
  file,
  text: text.replaceAll('localhost:3000', `localhost:${port}`).replaceAll('listen(3000)', `listen(${port})`),
}));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** What every command of the page does, by its first words. */
const COMMANDS = [
  [/^npx express-open-responses run codex/, (reader, text) => reader.launch(text)],
  [/^mkdir my-app/, (reader, text) => reader.run(text.replace(/express-open-responses$/m, reader.tarball), folder)],
  [/^npm install/, (reader, text) => reader.run(text)],
  [/^node app\.js/, (reader, text) => reader.start(text)],
  [/^MODEL_URL=/, (reader, text) => reader.start(text.replace(/^MODEL_URL=\S+/, `MODEL_URL=${demo.baseURL}`))],
  [/^npx tsc/, (reader, text) => reader.start(text)],
  [/^node ask\.js/, (reader, text) => reader.expect(text, reader.nextText())],
  [/^curl -i/, (reader, text) => reader.expect(text, /401 Unauthorized.*invalid_api_key.*"id":"demo"/s)],
  [/^curl -N/, (reader, text) => reader.expect(text, /event: response\.completed/)],
  [/Good morning/, (reader, text) => reader.expect(text, /"type":"mcp_call".*Echo: Good morning/s)],
  [/^curl/, (reader, text) => reader.expect(text, JSON.stringify(HELLO).slice(1, -1))],
  [/^MY_KEY=\S+ codex/, (reader, text) => reader.askCodex(text)],
];

class Reader {
  cwd = join(folder, 'my-app');
  position = 0;
  /** What runs the app: the page's own words, or the compiler and then its output. */
  app = undefined;

  constructor(tarball) {
    this.tarball = tarball;
  }

  async followAll() {
    for (; this.position < blocks.length; this.position += 1) await this.follow(blocks[this.position]);
    await this.stop();
  }

  async follow({ language, file, text }) {
    if (language === 'sh') return this.obey(text);
    if (file !== undefined) return this.save(file, text);
  }

  async obey(text) {
    const [, act] = COMMANDS.find(([pattern]) => pattern.test(text)) ?? [];
    if (!act) throw new Error(`Nothing is known of the command ${text}`);
    await act(this, text);
    console.log(`ok: ${text.split('\n')[0]}`);
  }

  /** An app that changes is started again, once as JavaScript and once as TypeScript. */
  async save(file, text) {
    writeFileSync(join(this.cwd, file), text);
    if (!file.endsWith('.js')) return;
    writeFileSync(join(this.cwd, file.replace(/js$/, 'ts')), text);
    const isAgain = file === 'app.js' && this.app !== undefined;
    const needsTools = text.includes('/mcp');
    if (isAgain && !needsTools) await this.start('npx tsc && node dist/app.js');
    if (isAgain && needsTools) await this.start('node app.js');
  }

  nextText() {
    return blocks.slice(this.position).find(({ language }) => language === 'text').text;
  }

  run(text, cwd = this.cwd, env = {}) {
    const options = { cwd, timeout: COMMAND_MS, encoding: 'utf8', env: { ...process.env, ...env } };
    return new Promise((resolve, reject) => {
      const child = execFile('bash', ['-e', '-c', text], options, (error, stdout, stderr) => {
        if (error) reject(new Error(`${text}\n${stdout}${stderr}`, { cause: error }));
        else resolve(stdout);
      });
      child.stdin.end();
    });
  }

  async expect(text, wanted) {
    const printed = await this.run(text.replaceAll(/^curl /gm, 'curl -sS '));
    const isRight = typeof wanted === 'string' ? printed.includes(wanted) : wanted.test(printed);
    if (!isRight) throw new Error(`${text} printed\n${printed}\nand not\n${wanted}`);
  }

  async start(text) {
    await this.stop();
    this.app = spawn('bash', ['-e', '-c', text], {
      cwd: this.cwd,
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    for (let from = Date.now(); Date.now() - from < START_MS; await pause(200)) if (await isUp()) return;
    throw new Error(`${text} does not listen after ${START_MS} ms.`);
  }

  async stop() {
    if (this.app === undefined || this.app.exitCode !== null || this.app.signalCode !== null) return;
    const ended = once(this.app, 'close');
    process.kill(-this.app.pid, 'SIGTERM');
    await ended;
  }

  /** From the tarball, and in front of the demo model, which is on no usual port. */
  async launch(text) {
    if (!existsSync(join(root, CODEX))) return console.log('skipped: Codex, which `npm run test:agents` installs');
    const home = join(folder, 'launched');
    mkdirSync(home);
    const env = { HOME: home, PATH: `${join(root, CODEX)}:${process.env.PATH}`, npm_config_cache: join(home, 'npm') };
    const command = text.trim().replace('npx ', `npx -y -p ${this.tarball} `);
    const rest = `--upstream ${demo.baseURL} -- exec --skip-git-repo-check "Say hello."`;
    const printed = await this.run(`${command} ${rest}`, home, env);
    if (!printed.includes('Hello from the demo model.')) throw new Error(`Codex printed\n${printed}`);
  }

  async askCodex(text) {
    if (!existsSync(join(root, CODEX))) return console.log('skipped: Codex, which `npm run test:agents` installs');
    const home = join(folder, 'codex');
    mkdirSync(home);
    writeFileSync(join(home, 'config.toml'), blocks.find(({ file }) => file === 'config.toml').text);
    const env = { CODEX_HOME: home, HOME: home, PATH: `${join(root, CODEX)}:${process.env.PATH}` };
    const printed = await this.run(text, this.cwd, env);
    if (!printed.includes('Hello from the demo model.')) throw new Error(`Codex printed\n${printed}`);
  }
}

/** Whether something listens, whatever it answers. */
function isUp() {
  return fetch(`http://localhost:${port}/v1/models`).then(
    () => true,
    () => false,
  );
}

const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
const [{ filename }] = JSON.parse(execFileSync('npm', pack, { cwd: root, encoding: 'utf8' }));
const reader = new Reader(join(folder, filename));
try {
  await reader.followAll();
} finally {
  await reader.stop();
  await demo.close();
  rmSync(folder, { recursive: true, force: true });
}
