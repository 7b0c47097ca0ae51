/**
 * Packs the package and uses the tarball as its users will: from ESM, CommonJS and Jest, and by every compiler, module
 * resolution and strictness that TypeScript hosts have, on Express 4 and 5. With `--quick`: one project in ESM, one in CommonJS, and one in strict TypeScript.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { snippets, withoutTopLevelAwait } from './snippets.mjs';

const MCP_SERVER = join(import.meta.dirname, '../support/mcp-stdio-server.mjs');
const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'express-open-responses-'));
const bin = (name) => join(root, 'tools/node_modules/.bin', name);
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
const install = (cwd, ...packages) => run('npm', ['install', '--no-audit', '--no-fund', '--silent', ...packages], cwd);

/** Kept from run to run: they are no part of `npm ci`. */
const compilers = join(root, 'build/compilers');
const COMPILERS = { 5.4: 'typescript-5.4', 5.9: 'typescript-5.9', 7: 'typescript-7' };
const PEERS = [
  '@modelcontextprotocol/sdk@1',
  '@opentelemetry/api@1',
  'bullmq@6',
  'cockatiel@3',
  'js-tiktoken@1',
  'ws@8',
  'zod@4',
];
/** What the documentation imports besides. */
const NEIGHBOURS = [
  ...['@types/node@24', '@types/pg@8', '@types/connect@3', '@types/koa@3', '@types/passport@1', 'openai@6', 'redis@6'],
  ...['@types/express-session@1', 'express-session@1', 'jose@6'],
  ...[
    'ioredis@6',
    'rate-limiter-flexible@11',
    'pg@8',
    '@hono/node-server@2',
    'hono@4',
    'koa@3',
    'connect@3',
    'passport@0.7',
    'pino@9',
    'pino-http@10',
    'winston@3',
  ],
  ...['@aws-sdk/client-s3@3', 'express-rate-limit@8', 'http-proxy-middleware@3'],
  ...['@ai-sdk/amazon-bedrock@4', '@ai-sdk/google-vertex@4'],
];

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text));
}

const esm = `import express from 'express';
import { chatCompletionsRouter, functionTools, memoryStore, responsesRouter } from 'express-open-responses';
import { containers, pyodideRuntime } from 'express-open-responses/code-interpreter';
import { documentText } from 'express-open-responses/documents';
import { filesRouter, memoryFiles } from 'express-open-responses/files';
import { mcpTools } from 'express-open-responses/mcp';
import { startFakeUpstream, storeContract } from 'express-open-responses/testing';
import { searxng, webSearch } from 'express-open-responses/web-search';
const tools = [functionTools({}), mcpTools()];
express().use('/v1', responsesRouter({ store: memoryStore(), tools }), chatCompletionsRouter({ tools }));
if (typeof startFakeUpstream !== 'function' || typeof storeContract !== 'function') throw new Error('./testing is not whole');
await import('express-open-responses/otel');
if (typeof containers !== 'function') throw new Error('./code-interpreter is not whole');
try {
  pyodideRuntime();
  throw new Error('pyodide is not installed');
} catch (error) {
  if (!error.message.includes('npm install pyodide')) throw error;
}
try {
  filesRouter({ files: memoryFiles() });
  throw new Error('busboy is not installed');
} catch (error) {
  if (!error.message.includes('npm install @fastify/busboy')) throw error;
}
const file = (bytes) => ({ filename: 'a', bytes: bytes.length, content: async () => (async function* () { yield bytes; })() });
const { read } = documentText();
const never = new AbortController().signal;
if ((await read(file(Buffer.from('Text.')), never)) !== 'Text.') throw new Error('./documents does not read text');
const refused = await read(file(Buffer.from('%PDF-1.7')), never).catch((error) => error);
if (!refused.advice?.includes('npm install unpdf')) throw new Error('./documents does not say what is missing');
const engine = searxng({ baseURL: 'http://localhost:8080' });
if (webSearch({ engine }).list().length !== 1) throw new Error('Pages cannot be read here.');
try {
  webSearch({ engine, pages: true });
  throw new Error('linkedom is not installed');
} catch (error) {
  if (!error.message.includes('npm install @mozilla/readability linkedom')) throw error;
}
`;
const commonJs = `const express = require('express');
const { responsesRouter } = require('express-open-responses');
express().use('/v1', responsesRouter());
`;
/** Jest as it is installed: CommonJS, no flags, and node_modules as they are. */
const jest = `const express = require('express');
const entries = Object.keys(require('express-open-responses/package.json').exports);
test.each(entries)('%s', (name) => {
  expect(Object.keys(require('express-open-responses' + name.slice(1)))).not.toHaveLength(0);
});
test('answers a request', async () => {
  const { chatCompletionsUpstream, functionTool, functionTools, responsesRouter } = require('express-open-responses');
  const { startFakeUpstream, textStream, toolCallStream } = require('express-open-responses/testing');
  const { z } = require('zod');
  const fake = await startFakeUpstream();
  fake.reply({ body: toolCallStream([{ name: 'double', arguments: '{"n":2}' }]) }, { body: textStream('Four.') });
  const tools = functionTools({ double: functionTool({ parameters: z.object({ n: z.number() }), execute: ({ n }) => n * 2 }) });
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k' });
  const server = express().use('/v1', responsesRouter({ upstream, tools })).listen(0);
  const headers = { 'content-type': 'application/json' };
  const url = 'http://127.0.0.1:' + server.address().port + '/v1/responses';
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ model: 'm', input: 'Hi.' }) });
  const { status, output } = await answer.json();
  await upstream.close();
  await fake.close();
  await new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
  expect([answer.status, status, output.at(-1).content[0].text]).toEqual([200, 'completed', 'Four.']);
});
`;

/** A host's project with everything that the features and the snippets import. */
function project(express, tarball) {
  const cwd = mkdtempSync(join(folder, 'host-'));
  write(join(cwd, 'package.json'), { name: 'host', private: true, type: 'module' });
  const [, major] = express.split('@');
  install(cwd, tarball, express, `@types/express@${major}`, 'jest@30', ...PEERS, ...NEIGHBOURS);
  return cwd;
}

function runs(cwd, express) {
  write(join(cwd, 'esm.js'), esm);
  write(join(cwd, 'common.cjs'), commonJs);
  run(process.execPath, ['esm.js'], cwd);
  run(process.execPath, ['common.cjs'], cwd);
  write(join(cwd, 'jest/package.json'), { private: true });
  write(join(cwd, 'jest/package.test.js'), jest);
  run(process.execPath, [join(cwd, 'node_modules/jest/bin/jest.js'), '--silent', '--rootDir', join(cwd, 'jest')], cwd);
  console.log(`ok: ESM, CommonJS and Jest in CommonJS on ${express}`);
}

/** As `npx express-open-responses` in an empty folder, where nothing is installed. */
async function program(tarball) {
  const cwd = mkdtempSync(join(folder, 'empty-'));
  const npx = (...args) => ['exec', '--yes', `--package=${tarball}`, '--', 'express-open-responses', ...args];
  const version = run('npm', npx('--version'), cwd).trim();
  const child = spawn('npm', npx('--port', '0', '--inspect'), {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const text = await ready(child);
  const [, command] = /^ {2}(curl .+)$/m.exec(text) ?? [];
  const answer = run('sh', ['-c', `${command} --silent`], cwd);
  process.kill(-child.pid, 'SIGTERM');
  if (!answer.includes('Hello from the demo model.')) throw new Error(`npx ${version} answered ${answer}`);
  if (readdirSync(cwd).length > 0) throw new Error('npx left files in the folder');
  console.log(`ok: npx in an empty folder, version ${version}`);
}

/** The `npx` commands of docs/npx.md that start a server, where the package and the MCP client are installed, over the demo model: those that start an agent are tested with the agents. */
async function documentedProgram(tarball) {
  const cwd = mkdtempSync(join(folder, 'npx-'));
  write(join(cwd, 'package.json'), { private: true });
  write(join(cwd, 'mcp.json'), { mcpServers: { there: { command: process.execPath, args: [MCP_SERVER] } } });
  install(cwd, tarball, '@modelcontextprotocol/client@2');
  const page = readFileSync(join(root, 'docs/npx.md'), 'utf8');
  const all = [...page.matchAll(/^npx .+$/gm)].map(([command]) => command);
  const commands = all.filter((command) => !command.startsWith('npx express-open-responses run '));
  if (commands.length !== 2) throw new Error(`docs/npx.md has ${commands.length} commands and not 2`);
  // Made by `npm pack`, which has run by now.
  const { startDemoModel } = await import('../../dist/esm/testing/index.js');
  const demo = await startDemoModel();
  for (const command of commands) {
    const here = command.replace('http://localhost:11434/v1', demo.baseURL);
    const text = await printedBy('sh', ['-c', `exec ${here} --port 0`], cwd);
    const wanted = command.includes('--mcp') ? /MCP servers +there \([1-9]/ : /inspector +http/;
    if (!/models +demo/.test(text) || !wanted.test(text)) throw new Error(`${command} printed\n${text}`);
    console.log(`ok: ${command}`);
  }
  await demo.close();
}

/** What the program prints until it is ready; then it is stopped. */
async function printedBy(command, args, cwd) {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const text = await ready(child);
  process.kill(-child.pid, 'SIGTERM');
  return text;
}

/** What the program prints until it is ready. */
async function ready(child) {
  let text = '';
  for await (const piece of child.stdout.setEncoding('utf8')) {
    text += piece;
    if (text.includes('Codex:\n')) break;
  }
  return text;
}

/** Packages that are ES modules alone, which not every compiler lets a CommonJS file import. */
const ESM_ONLY = /from 'jose'/;

/** The files of a format: the features, the snippets, and the files that snippets import. */
function sources(cwd, format) {
  const isFor = (code) => format === 'esm' || !ESM_ONLY.test(code);
  const at = join(cwd, format);
  write(join(at, 'package.json'), { private: true, type: format === 'cjs' ? 'commonjs' : 'module' });
  cpSync(join(root, 'test/package/features'), join(at, 'features'), { recursive: true });
  cpSync(join(root, 'examples/express/file-store.ts'), join(at, 'examples/express/file-store.ts'));
  for (const name of readdirSync(join(root, 'examples/recipes')).filter((each) => each.endsWith('.ts'))) {
    const code = readFileSync(join(root, 'examples/recipes', name), 'utf8');
    if (isFor(code)) write(join(at, 'docs/snippets', name), code);
  }
  for (const { file, code } of snippets().filter((snippet) => isFor(snippet.code)))
    write(join(at, 'docs/snippets', file), format === 'cjs' ? withoutTopLevelAwait(code) : code);
}

/** Every way in which a compiler of this version finds modules. */
function resolutionsOf(version) {
  const bundled = version === '7' ? 'commonjs' : 'preserve';
  const all = [
    ['esm', 'node16', 'node16'],
    ['esm', 'nodenext', 'nodenext'],
    ['esm', 'esnext', 'bundler'],
    ['cjs', 'node16', 'node16'],
    ['cjs', 'nodenext', 'nodenext'],
    ['cjs', bundled, 'bundler'],
    // The resolution of `module: commonjs` where nothing else is set; TypeScript 7 has it no more.
    ...(version === '7' ? [] : [['cjs', 'commonjs', 'node10']]),
  ];
  return all.map(([format, module, moduleResolution]) => ({ version, format, module, moduleResolution }));
}

const exec = (command, args, options) =>
  new Promise((resolve) => {
    execFile(command, args, { ...options, maxBuffer: 50_000_000 }, (error, stdout) => resolve({ error, stdout }));
  });

async function compiled(cwd, { version, format, module, moduleResolution }, more) {
  const path = join(
    cwd,
    format,
    `tsconfig-${version}-${module}-${moduleResolution}-${JSON.stringify(more).length}.json`,
  );
  const compilerOptions = {
    ...{ module, moduleResolution, target: 'es2022', lib: ['es2023'], types: ['node'], strict: true, noEmit: true },
    ...{ esModuleInterop: true, skipLibCheck: true, allowImportingTsExtensions: true, noUnusedLocals: false },
    ...more,
  };
  write(path, { compilerOptions, include: ['features', 'docs'] });
  const { error, stdout } = await exec(process.execPath, [tscOf(version), '-p', path, '--pretty', 'false'], { cwd });
  return error ? [`TypeScript ${version}, ${format}, ${moduleResolution}, ${JSON.stringify(more)}:\n${stdout}`] : [];
}

const tscOf = (version) => join(compilers, 'node_modules', COMPILERS[version], 'bin/tsc');

async function compileAll(cwd, versions, strictness) {
  const wanted = versions.flatMap(resolutionsOf).flatMap((each) => strictness.map((more) => [each, more]));
  const waiting = wanted.values();
  const failures = [];
  const worker = async () => {
    for (const [each, more] of waiting) failures.push(...(await compiled(cwd, each, more)));
  };
  await Promise.all([worker(), worker()]);
  if (failures.length > 0) throw new Error(failures.join('\n'));
  return wanted.length;
}

/** The package's own declarations, which `skipLibCheck` does not read. */
async function checkDeclarations(cwd) {
  for (const version of Object.keys(COMPILERS))
    for (const format of ['esm', 'cjs']) {
      const more = { skipLibCheck: false, exactOptionalPropertyTypes: true };
      const [failure = ''] = await compiled(
        cwd,
        { version, format, module: 'nodenext', moduleResolution: 'nodenext' },
        more,
      );
      const ours = failure.split('\n').filter((line) => line.includes('node_modules/express-open-responses/'));
      if (ours.length > 0) throw new Error(`TypeScript ${version}:\n${ours.join('\n')}`);
    }
  console.log('ok: the declarations themselves, by each compiler');
}

/** The three consumers that each change is tried with. */
function quick(tarball) {
  const cwd = mkdtempSync(join(folder, 'quick-'));
  write(join(cwd, 'package.json'), { name: 'host', private: true, type: 'module' });
  install(
    cwd,
    tarball,
    'express@5',
    '@types/express@5',
    '@types/node@20',
    'ioredis@6',
    'pg@8',
    '@types/pg@8',
    'redis@6',
    ...PEERS,
  );
  write(join(cwd, 'esm.js'), esm);
  write(join(cwd, 'common.cjs'), commonJs);
  run(process.execPath, ['esm.js'], cwd);
  run(process.execPath, ['common.cjs'], cwd);
  cpSync(join(root, 'test/package/features'), join(cwd, 'features'), { recursive: true });
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2023'],
    types: ['node'],
    noEmit: true,
    strict: true,
  };
  const strictness = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: true };
  write(join(cwd, 'tsconfig.json'), { compilerOptions: { ...compilerOptions, ...strictness }, include: ['features'] });
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', cwd], cwd);
  console.log('ok: ESM, CommonJS and strict TypeScript');
}

try {
  const [{ filename, unpackedSize }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], root));
  console.log(`ok: ${unpackedSize} bytes unpacked`);
  const tarball = join(folder, filename);
  if (process.argv.includes('--quick')) {
    quick(tarball);
  } else {
    await every(tarball);
  }
} finally {
  if (!process.env.KEEP) rmSync(folder, { recursive: true, force: true });
}

/** Every way to use the package. */
async function every(tarball) {
  await program(tarball);
  await documentedProgram(tarball);
  run(bin('publint'), ['run', tarball, '--strict'], root);
  console.log('ok: publint');
  run(bin('attw'), [tarball], root);
  console.log('ok: are the types wrong');
  mkdirSync(compilers, { recursive: true });
  const aliases = Object.entries(COMPILERS).map(([version, name]) => `${name}@npm:typescript@${version}`);
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--silent', '--prefix', compilers, ...aliases], root);
  const exact = { exactOptionalPropertyTypes: true };
  for (const [express, versions, strictness] of [
    ['express@5', Object.keys(COMPILERS), [{}, exact]],
    ['express@4', ['5.9'], [exact]],
  ]) {
    const cwd = project(express, tarball);
    runs(cwd, express);
    for (const format of ['esm', 'cjs']) sources(cwd, format);
    const count = await compileAll(cwd, versions, strictness);
    console.log(`ok: ${count} ways to compile the features and ${snippets().length} snippets on ${express}`);
    if (express === 'express@5') await checkDeclarations(cwd);
  }
}
