/** Coding agents as people install them, each at work over the example app; slow, and needs both builds (`npm start` makes them). */
import { execFile, execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { modelServers } from './model-servers.mjs';
import { packages, scenes } from './scenes.mjs';
import { hasWebSocket, serve } from './serve.mjs';

const INSTALL_MS = 600_000;
const SCENE_MS = 180_000;
const DONE = 'The work is done.';

const folder = join(import.meta.dirname, '../../build/agents');
const modules = join(folder, 'node_modules');

/** Why there are no agents, if so: they are binaries of Linux on x64, and have to be downloaded. */
function install() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return `no agents for ${process.platform} are known here`;
  mkdirSync(folder, { recursive: true });
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder];
  try {
    execFileSync('npm', ['install', ...flags, ...packages], { stdio: 'inherit', timeout: INSTALL_MS });
    return undefined;
  } catch (error) {
    return `the agents could not be installed: ${error.message}`;
  }
}

/** The model: a title where no tools are offered, else one call after the other, and then the last words. */
function modelFor({ calls }, server) {
  return ({ body }) => {
    const tools = server.toolsIn(body);
    if (tools.length === 0) return server.says('A title');
    const done = server.resultsIn(body).length;
    const list = [calls[done] ?? []].flat();
    if (list.length === 0) return server.says(DONE);
    const missing = list.find(({ name }) => !tools.includes(name));
    if (missing) return server.says(`I was not offered ${missing.name}.`);
    return server.calls(list.map((call, index) => callOf(call, done + index)));
  };
}

function callOf({ name, arguments: args }, index) {
  return { id: `call_${index + 1}`, name, arguments: JSON.stringify(args) };
}

/** As SGLang says it, and as no agent knows it. */
const FULL = 'Input length (40000 tokens) exceeds the maximum allowed length (32768 tokens).';
const SUMMARY = '<analysis>A file was wanted.</analysis>\n<summary>The file was made.</summary>';

/** The same model, whose context is full with the first result: from then on it is asked for summaries, and starts anew with one. */
function fullModelFor(scene, server) {
  const model = modelFor(scene, server);
  let isFull = false;
  return (request) => {
    if (server.resultsIn(request.body).length === 0) return isFull ? server.says(DONE) : model(request);
    if (isFull) return server.says(SUMMARY);
    isFull = true;
    return { status: 400, body: JSON.stringify({ error: { message: FULL } }) };
  };
}

/** A number of a user who owns nothing, as root is not how people run agents; undefined where this one is ordinary, or another could not read the packages. */
function ordinaryUser() {
  if (process.getuid?.() !== 0) return undefined;
  for (let path = import.meta.dirname; ; path = dirname(path)) {
    if ((statSync(path).mode & 0o5) !== 0o5) {
      console.log(`Agents run as root: others may not read ${path}.`);
      return undefined;
    }
    if (path === dirname(path)) return 65_534;
  }
}

/** Gives what the scene has made to the user. */
function give(path, user) {
  chownSync(path, user, user);
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) give(join(path, name), user);
}

/** What is wrong with how the scene went. */
async function play(scene) {
  const server = modelServers[scene.upstream ?? 'chatCompletionsUpstream'];
  // As people's homes, not in the folder for temporary files, of which Codex warns.
  const home = mkdtempSync('/var/tmp/agent-');
  const work = join(home, 'work');
  mkdirSync(work);
  const model = (scene.fills ? fullModelFor : modelFor)(scene, server);
  const api = await serve(model, { ...scene, options: scene.upstream && server.options });
  try {
    const start = await scene.start({ modules, home, work, url: api.url });
    const user = scene.silent ? ordinaryUser() : undefined;
    if (user !== undefined) give(home, user);
    const [written, warned] = await output(start, { home, work, user });
    return faultsOf(scene, { written, warned, work, server, ...api });
  } catch (error) {
    return [error.message];
  } finally {
    await api.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** What the agent prints, and what on its other stream. Rejects where it fails or does not end. */
function output({ program, args, env }, { home, work, user }) {
  const options = {
    cwd: work,
    ...(user !== undefined && { uid: user, gid: user }),
    timeout: SCENE_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: { PATH: process.env.PATH, HOME: home, ...env },
  };
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`));
      else resolve([stdout, stderr]);
    });
    child.stdin.end();
  });
}

/** What agents say to people about a model that they do not know; Claude Code says so once, to programs, in brackets. */
const WARNING = /Model metadata|fallback|degrade|assumes a context|^(?!\[claude-code:).*\b(?:warn|error)\b.*$/im;
/** What Codex and opencode tell of a run in which all is well; the latter in colours. */
const TOLD = /^Reading additional input from stdin\.\.\.$|^> build · my-model$/gm;
const UNCOLOURED = '\u001b[0m';

function faultsOf(scene, { written, warned, work, server, requests, posts }) {
  const {
    reported,
    makes,
    finds,
    brings,
    counts,
    fills,
    hides,
    quiet,
    silent,
    shows,
    websocket = false,
    program = false,
  } = scene;
  if (counts)
    return posts.some((url) => url.includes('count_tokens'))
      ? []
      : [`nothing was counted: ${posts.join(', ')} ${written.slice(-2000)}`];
  const results = requests.flatMap(({ body }) => server.resultsIn(body ?? {}));
  const atFirst = server.toolsIn(requests.find(({ body }) => body?.tools)?.body ?? {});
  return [
    makes === undefined || contentOf(join(work, 'made.txt')) === makes ? '' : 'the file was not made',
    reported === undefined || results.some((text) => reported.test(text))
      ? ''
      : `the model received: ${JSON.stringify(results)}`,
    written.includes(DONE) ? '' : `the agent did not say the last words: ${written.slice(-2000)}`,
    brings === undefined || JSON.stringify(requests.map(({ body }) => body)).includes(brings)
      ? ''
      : 'the context was not brought',
    atFirst.includes(finds) ? `${finds} was offered before it was found` : '',
    hides && written.includes(hides) ? `the agent saw ${hides}` : '',
    fills && !written.includes(fills) ? `the agent did not print ${fills}` : '',
    shows && !written.includes(shows) ? `the agent did not print ${shows}: ${written.slice(-2000)}` : '',
    quiet ? (WARNING.exec(warned) ?? /Model metadata.*/.exec(written) ?? [''])[0] : '',
    silent && warned.replaceAll(UNCOLOURED, '').replace(TOLD, '').trim() !== ''
      ? `the error stream has: ${warned}`
      : '',
    (posts.length === 0) === (websocket || program) ? '' : `${posts.length} requests came over plain HTTP`,
  ].filter(Boolean);
}

function contentOf(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

function skip(what) {
  console.log(`skipped: ${what}`);
  return process.env.CI === 'true' ? 1 : 0;
}

async function report(scene) {
  if (scene.websocket && !hasWebSocket) return skip(`${scene.name} (the build has no WebSocket)`);
  const from = performance.now();
  const faults = await play(scene);
  const took = Math.round(performance.now() - from);
  console.log(`${faults.length > 0 ? 'FAILED' : 'ok'}: ${scene.name} (${took} ms)`);
  for (const fault of faults) console.log(`  ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

const missing = install();
let failed = missing === undefined ? 0 : skip(missing);
const wanted = scenes.filter(({ name }) => name.includes(process.argv[2] ?? ''));
for (const scene of missing === undefined ? wanted : []) failed += await report(scene);
process.exit(failed > 0 ? 1 : 0);
