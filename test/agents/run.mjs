/** Coding agents as people install them, each at work over the example app; slow, and needs both builds (`npm start` makes them). */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textStream, toolCallStream } from '../../dist/esm/testing/index.js';
import { packages, scenes } from './scenes.mjs';
import { hasWebSocket, serve } from './serve.mjs';

const INSTALL_MS = 600_000;
const SCENE_MS = 60_000;
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
function modelFor({ calls }) {
  return ({ body: { messages, tools = [] } }) => {
    if (tools.length === 0) return { body: textStream('A title') };
    const done = messages.filter(({ role }) => role === 'tool').length;
    const call = calls[done];
    if (call === undefined) return { body: textStream(DONE) };
    if (!tools.some((tool) => tool.function.name === call.name))
      return { body: textStream(`I was not offered ${call.name}.`) };
    const id = `call_${done + 1}`;
    return { body: toolCallStream([{ id, name: call.name, arguments: JSON.stringify(call.arguments) }]) };
  };
}

/** What is wrong with how the scene went. */
async function play(scene) {
  const home = mkdtempSync(join(tmpdir(), 'agent-'));
  const work = join(home, 'work');
  mkdirSync(work);
  const api = await serve(modelFor(scene), scene);
  try {
    const written = await output(scene.start({ modules, home, work, url: api.url }), { home, work });
    return faultsOf(scene, { written, work, ...api });
  } catch (error) {
    return [error.message];
  } finally {
    await api.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** What the agent prints. Rejects where it fails or does not end. */
function output({ program, args, env }, { home, work }) {
  const options = {
    cwd: work,
    timeout: SCENE_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: { PATH: process.env.PATH, HOME: home, ...env },
  };
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`));
      else resolve(stdout);
    });
    child.stdin.end();
  });
}

function faultsOf(
  { reported, makes, finds, brings, counts, websocket = false, program = false },
  { written, work, requests, posts },
) {
  if (counts)
    return posts.some((url) => url.includes('count_tokens'))
      ? []
      : [`nothing was counted: ${posts.join(', ')} ${written.slice(-2000)}`];
  const results = requests.flatMap(({ body }) => body.messages ?? []).filter(({ role }) => role === 'tool');
  const atFirst = requests.find(({ body }) => body.tools)?.body.tools.map((tool) => tool.function.name) ?? [];
  return [
    makes === undefined || contentOf(join(work, 'made.txt')) === makes ? '' : 'the file was not made',
    results.some(({ content }) => reported.test(content)) ? '' : `the model was told: ${JSON.stringify(results)}`,
    written.includes(DONE) ? '' : `the agent did not say the last words: ${written.slice(-2000)}`,
    brings === undefined || JSON.stringify(requests.map(({ body }) => body.messages)).includes(brings)
      ? ''
      : 'the context was not brought',
    atFirst.includes(finds) ? `${finds} was offered before it was found` : '',
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
