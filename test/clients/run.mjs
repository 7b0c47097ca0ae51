/**
 * Runs the clients of `programs/`, each in its newest version, over an app whose model follows a script, and writes what they can into
 * docs/clients.md. Packages of npm run on this Node and on Node 24. `npm run test:clients -- mastra` runs those with that word in their name;
 * words that no program has are patterns of the tests of this folder, which run as well where no word is said.
 */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { setPriority, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import express from 'express';
import { chatCompletionsUpstream, memoryStore, openResponses } from '../../dist/esm/index.js';
import { chatCompletion, startFakeUpstream, textStream, toolCallStream } from '../../dist/esm/testing/index.js';

const root = join(import.meta.dirname, '../..');
const PAGE = join(root, 'docs/clients.md');
const PROGRAMS = join(import.meta.dirname, 'programs');
const BUILD = join(root, 'build/clients');
const INSTALL_MS = 900_000;
const PROGRAM_MS = 180_000;
const [BEGIN, END] = ['<!-- clients: npm run test:clients writes this table -->\n', '<!-- /clients -->\n'];

const HELLO = ['Hello', ' from', ' the model.'];
const RESULT = 'Sunny in Paris.';
const ANSWER = { city: 'Paris', celsius: 21 };
/** What each program may show, and what it must have printed: the model says the result only after a tool has run with what it asked for. */
const FEATURES = {
  text: (value) => value === HELLO.join(''),
  stream: (value) => value.length > 1 && value.join('') === HELLO.join(''),
  tool: (value) => value.includes(RESULT),
  'structured output': (value) => JSON.stringify(value) === JSON.stringify(ANSWER),
  edits: (value) => value.trim() === RESULT,
};
const APIS = { responses: 'Responses', chat: 'Chat Completions', messages: 'Messages' };

/** The model: a result is repeated, JSON that is asked for is filled in, a tool that fits the question is called; else it says hello. */
function modelFor(work) {
  return ({ body }) => {
    const { messages = [], tools = [], response_format: format, stream } = body ?? {};
    const says = (text) => ({ body: stream ? textStream(text) : chatCompletion([text].flat().join('')) });
    const calls = ({ function: { name } }, args) => {
      const call = { id: `call_${messages.length}`, name, arguments: JSON.stringify(args) };
      const whole = { tool_calls: [{ id: call.id, type: 'function', function: call }] };
      return { body: stream ? toolCallStream([call]) : chatCompletion(whole) };
    };
    const propertiesOf = (tool) => tool.function.parameters?.properties ?? {};
    const said = JSON.stringify(messages);
    const last = messages.findLastIndex(({ role }) => role === 'user');
    const question = JSON.stringify(messages.slice(last));
    const final = tools.find((tool) => tool.function.name === 'final_answer');
    const output = tools.find((tool) => 'celsius' in propertiesOf(tool));
    const fitting = tools.find((tool) => /weather|^read_file$/i.test(tool.function.name));
    if (said.includes(RESULT) && final) return calls(final, { answer: RESULT });
    if (said.includes(RESULT)) return says(`The tool said: ${RESULT}`);
    if (output) return calls(output, ANSWER);
    if (format && format.type !== 'text') return says(JSON.stringify(ANSWER));
    if (fitting && question.includes('the weather in')) {
      const names = Object.keys(propertiesOf(fitting)).filter((name) => /city|path/.test(name));
      const given = (name) => (name === 'city' ? ANSWER.city : join(work, 'weather.txt'));
      return calls(fitting, Object.fromEntries(names.map((name) => [name, given(name)])));
    }
    return says(/made\.txt/.test(question) ? `made.txt\n\`\`\`\n${RESULT}\n\`\`\`\n` : HELLO);
  };
}

async function startApp(work) {
  const fake = await startFakeUpstream({ reply: modelFor(work), models: ['my-model'] });
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key' });
  const server = createServer(express().use('/v1', openResponses({ upstream, store: memoryStore() }).router));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function close() {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await Promise.all([closed, upstream.close(), fake.close()]);
  }

  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

/** A program, and what its first comment says: the client's name, its packages of which the first is the client, the line of settings, and the lowest Node if it is not 20. */
function programIn(file) {
  const path = join(PROGRAMS, file);
  const facts = [...readFileSync(path, 'utf8').matchAll(/^(?: \* )?(client|packages|settings|node): (.*)$/gm)];
  const { client, packages, settings, node } = Object.fromEntries(facts.map(([, name, value]) => [name, value]));
  const name = file.replace(/-client\.\w+$/, '');
  return {
    name,
    path,
    client,
    packages: packages.split(' '),
    settings,
    node: Number(node ?? 20),
    isPython: file.endsWith('.py'),
  };
}

function run(program, args, { timeout, ...options }) {
  return new Promise((resolve, reject) => {
    const all = { timeout, maxBuffer: 64 * 1024 * 1024, ...options };
    const child = execFile(program, args, all, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new Error(`${stderr.trim() || stdout.trim() || error.message}`));
    });
    child.stdin.end();
  });
}

/** The last lines of an error, without what a cell of a table cannot hold. */
function shortly(error) {
  const lines = String(error?.message ?? error)
    .split('\n')
    .filter((line) => /\w/.test(line));
  return (lines.at(-1) ?? '')
    .replaceAll(/[|<>`]/g, ' ')
    .replaceAll(tmpdir(), '')
    .trim()
    .slice(0, 160);
}

/** Node 24 as npm has it; undefined where this is Node 24, or it cannot be had. */
function otherNode() {
  const folder = join(root, 'build/node24');
  const bin = join(folder, 'node_modules/node/bin');
  if (process.versions.node.startsWith('24.')) return undefined;
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder, 'node@24'];
  if (!existsSync(join(bin, 'node'))) spawnSync('npm', args, { stdio: 'inherit', timeout: INSTALL_MS });
  return existsSync(join(bin, 'node')) ? bin : undefined;
}

const here = { major: Number.parseInt(process.versions.node, 10), bin: join(process.execPath, '..') };
const there = otherNode();
const nodes = there === undefined ? [here] : [here, { major: 24, bin: there }];

/** Where a program can run: its packages are installed there in their newest versions that run there. */
function placesOf(program) {
  const pathOf = (bin) => `${bin}:${process.env.PATH}`;
  if (!program.isPython) {
    return nodes
      .filter(({ major }) => major >= program.node)
      .map(({ major, bin }) => {
        const folder = join(BUILD, `node-${major}`, program.name);
        return { title: `Node ${major}`, folder, PATH: pathOf(bin), install: installOfNpm, command: join(bin, 'node') };
      });
  }
  const folder = join(BUILD, 'python', program.name);
  const bin = join(folder, 'bin');
  return [{ title: 'Python', folder, PATH: pathOf(bin), install: installOfPip, command: join(bin, 'python') }];
}

/** Installs, and returns the client's version. npm takes the newest version that says that it runs on this Node. */
async function installOfNpm({ packages }, { folder, PATH }) {
  mkdirSync(folder, { recursive: true });
  const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...flags, '--prefix', folder, ...packages.map((name) => `${name}@*`)], {
    env: { ...process.env, PATH },
    timeout: INSTALL_MS,
  });
  return JSON.parse(readFileSync(join(folder, 'node_modules', packages[0], 'package.json'), 'utf8')).version;
}

async function installOfPip({ packages }, { folder, command }) {
  const options = { timeout: INSTALL_MS };
  if (!existsSync(command)) await run('python3', ['-m', 'venv', folder], options);
  const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--upgrade'];
  await run(command, ['-m', 'pip', 'install', ...flags, ...packages], options);
  const name = packages[0].replace(/\[.*/, '');
  const version = `from importlib.metadata import version; print(version('${name}'))`;
  return (await run(command, ['-c', version], options)).trim();
}

/** What the program printed: for each thing that it tried, whether it was as it must be. Nothing but the app can be reached. */
async function play(program, { folder, PATH, command }) {
  const home = mkdtempSync(join(tmpdir(), 'client-'));
  writeFileSync(join(home, 'weather.txt'), RESULT);
  const { url, close } = await startApp(home);
  const script = program.isPython ? program.path : copied(program, folder);
  const nowhere = {
    HTTP_PROXY: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1,localhost',
  };
  const silent = { DO_NOT_TRACK: '1', CREWAI_DISABLE_TELEMETRY: 'true', OTEL_SDK_DISABLED: 'true' };
  const quiet = { ...silent, OPENAI_AGENTS_DISABLE_TRACING: '1', LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
  const api = { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'client-key', PACKAGES: folder };
  const python = { PYTHONPATH: join(PROGRAMS, 'support'), PYTHONDONTWRITEBYTECODE: '1' };
  const env = { PATH, HOME: home, LANG: 'C.UTF-8', ...python, ...nowhere, ...quiet, ...api };
  try {
    const printed = await run(command, [script], { cwd: home, env, timeout: PROGRAM_MS });
    const lines = printed.split('\n').filter((line) => line.startsWith('{"api":'));
    return lines.map((line) => outcome(JSON.parse(line)));
  } finally {
    await close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** The program next to its packages, where its imports find them. */
function copied({ path }, folder) {
  mkdirSync(join(folder, 'support'), { recursive: true });
  copyFileSync(join(PROGRAMS, 'support/scene.mjs'), join(folder, 'support/scene.mjs'));
  copyFileSync(path, join(folder, basename(path)));
  return join(folder, basename(path));
}

function outcome({ api, feature, value, error }) {
  if (error !== undefined) return { api, feature, fault: shortly(error) };
  try {
    return { api, feature, fault: FEATURES[feature](value) ? undefined : `got ${shortly(JSON.stringify(value))}` };
  } catch (unreadable) {
    return { api, feature, fault: shortly(unreadable) };
  }
}

/** The client's run in one place: its version, and what came of each thing, or why there is none. */
async function tried(program, place) {
  let version;
  try {
    version = await place.install(program, place);
  } catch (error) {
    return { place, outcomes: [], missing: shortly(error) };
  }
  try {
    const outcomes = await play(program, place);
    return { place, version, outcomes, broken: outcomes.length === 0 ? 'it printed nothing' : undefined };
  } catch (error) {
    return { place, version, outcomes: [], broken: shortly(error) };
  }
}

/** What the runs show for one API: what passed everywhere, and what did not, where. */
function cellOf(runs, api) {
  const outcomes = runs.flatMap(({ place, outcomes: all }) => all.map((each) => ({ ...each, place })));
  const ofApi = outcomes.filter((each) => each.api === api);
  if (ofApi.length === 0) return '–';
  const broken = new Set(ofApi.filter(({ fault }) => fault).map(({ feature }) => feature));
  const features = new Set(ofApi.map(({ feature }) => feature));
  const passed = [...features].filter((feature) => !broken.has(feature));
  const faults = ofApi
    .filter(({ fault }) => fault)
    .map(({ feature, fault, place }) => `no ${feature} on ${place.title}: ${fault}`);
  return [passed.join(', '), ...faults].filter(Boolean).join('; ');
}

function rowOf({ client, settings, isPython }, runs) {
  const installed = runs.filter(({ version }) => version !== undefined);
  const versions = new Set(installed.map(({ version }) => version));
  const isEverywhere = isPython || (versions.size === 1 && installed.length === nodes.length);
  const places = installed.map(({ place, version }) => (isEverywhere ? version : `${version} (${place.title})`));
  const notes = runs.flatMap(({ place, missing, broken }) => [
    ...(missing ? [`cannot be installed for ${place.title}: ${missing}`] : []),
    ...(broken ? [`fails on ${place.title}: ${broken}`] : []),
  ]);
  const cells = Object.keys(APIS).map((api) => cellOf(runs, api));
  return `| ${client} | ${[...new Set(places)].join(', ') || '–'} | ${today} | ${cells.join(' | ')} | ${[settings, ...notes].join('; ')} |`;
}

/** Puts the rows into the table, in place of those of the same clients; rows of clients that there are no more leave it. */
function write(rows) {
  const [before, table, after] = readFileSync(PAGE, 'utf8').split(new RegExp(`(?<=${BEGIN})|(?=${END})`));
  const clients = new Set(allPrograms.map(({ client }) => client));
  const old = table.split('\n').slice(2).filter(Boolean);
  const byClient = new Map([...old, ...rows].map((row) => [row.split(' | ')[0].slice(2), row]));
  const lines = [...byClient].filter(([client]) => clients.has(client)).map(([, row]) => row);
  const heads = ['Client', 'Version', 'Day', ...Object.values(APIS), 'Settings'];
  const head = [heads.join(' | '), heads.map(() => '---').join(' | ')].map((line) => `| ${line} |`);
  const sorted = lines.toSorted((one, other) => one.replace(/\W+/, '').localeCompare(other.replace(/\W+/, ''), 'en'));
  writeFileSync(PAGE, `${before}${[...head, ...sorted].join('\n')}\n${after}`);
}

const today = new Date().toISOString().slice(0, 10);
const words = process.argv.slice(2);
const allPrograms = readdirSync(PROGRAMS)
  .filter((file) => /\.(py|mjs)$/.test(file))
  .map(programIn);
const wanted = allPrograms.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
setPriority(10);

let passed = 0;
let failed = 0;
const rows = [];
for (const program of wanted) {
  const runs = [];
  for (const place of placesOf(program)) {
    const result = await tried(program, place);
    runs.push(result);
    const { version = 'not installed', outcomes, missing, broken } = result;
    const faults = outcomes
      .filter(({ fault }) => fault)
      .map(({ api, feature, fault }) => `${api}, ${feature}: ${fault}`);
    const wrong = [...faults, ...[missing, broken].filter(Boolean)];
    passed += outcomes.length - faults.length;
    failed += faults.length + (broken ? 1 : 0);
    if (missing && process.env.CI === 'true') failed += 1;
    console.log(
      `${wrong.length > 0 ? 'FAILED' : 'ok'}: ${program.name} ${version} on ${place.title}, ${outcomes.length} things`,
    );
    for (const line of wrong) console.log(`  ${line}`);
  }
  rows.push(rowOf(program, runs));
}
if (rows.length > 0) write(rows);
console.log(`Clients: ${passed} passed, ${failed} failed`);

const patterns = words.filter((word) => !allPrograms.some(({ name }) => name.includes(word)));
const testsWanted = words.length === 0 || patterns.length > 0;
const env = { ...process.env, CLIENTS: '1' };
const tests = testsWanted
  ? spawnSync('npm', ['run', 'jest', '--', ...patterns], { cwd: root, env, stdio: 'inherit' })
  : { status: 0 };
process.exit(failed > 0 ? 1 : (tests.status ?? 1));
