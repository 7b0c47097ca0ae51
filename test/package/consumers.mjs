/** Packs the package and uses the tarball as its users will: from ESM, CommonJS and TypeScript, on Express 4 and 5. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'express-open-responses-'));
const bin = (name) => join(root, 'node_modules/.bin', name);
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });

const esm = `import express from 'express';
import { chatCompletionsRouter, functionTools, memoryStore, responsesRouter } from 'express-open-responses';
import { containers, pyodideRuntime } from 'express-open-responses/code-interpreter';
import { mcpTools } from 'express-open-responses/mcp';
import { startFakeUpstream, storeContract } from 'express-open-responses/testing';
const tools = [functionTools({}), mcpTools()];
express().use('/v1', responsesRouter({ store: memoryStore(), tools }), chatCompletionsRouter({ tools }));
if (typeof startFakeUpstream !== 'function' || typeof storeContract !== 'function') throw new Error('./testing is not whole');
try {
  await import('express-open-responses/otel');
} catch (error) {
  if (!error.message.includes('@opentelemetry/api')) throw error;
}
if (typeof containers !== 'function') throw new Error('./code-interpreter is not whole');
try {
  pyodideRuntime();
} catch (error) {
  if (!error.message.includes('npm install pyodide')) throw error;
}
`;
const commonJs = `const express = require('express');
const { responsesRouter } = require('express-open-responses');
express().use('/v1', responsesRouter());
`;
const typed = `import express from 'express';
import { ApiError, functionTool, functionTools, responsesRouter, type ResponseStore, type StoredResponse } from 'express-open-responses';
import { mcpTools } from 'express-open-responses/mcp';
const kept = new Map<string, StoredResponse>();
const store: ResponseStore = {
  name: 'map',
  get: ({ scope, id }) => kept.get(JSON.stringify([scope, id])),
  put: (response) => void kept.set(JSON.stringify([response.scope, response.id]), response),
  delete: ({ scope, id }) => kept.delete(JSON.stringify([scope, id])),
};
const double = functionTool<{ n: number }>({ execute: ({ n }) => n * 2 });
const tools = [functionTools({ double }), mcpTools({ servers: {} })];
const router = responsesRouter({ store, tools, scope: (req) => req.get('x-user') ?? 'nobody', limits: { bodyBytes: 1024 } });
express().use('/v1', router);
export const drained: Promise<void> = router.drain({ timeoutMs: 1 });
export const refused = new ApiError('invalid_value', 'No.', { param: 'input' });
`;
const config = {
  compilerOptions: { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: ['node'] },
  files: ['typed.ts'],
};

function consume(express, tarball) {
  const cwd = mkdtempSync(join(folder, 'consumer-'));
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  const types = express === 'express@4' ? '@types/express@4' : '@types/express@5';
  run(
    'npm',
    [
      'install',
      '--no-audit',
      '--no-fund',
      '--silent',
      tarball,
      express,
      types,
      '@types/node@20',
      '@modelcontextprotocol/sdk@1',
    ],
    cwd,
  );
  writeFileSync(join(cwd, 'esm.js'), esm);
  writeFileSync(join(cwd, 'common.cjs'), commonJs);
  writeFileSync(join(cwd, 'typed.ts'), typed);
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(config));
  run(process.execPath, ['esm.js'], cwd);
  run(process.execPath, ['common.cjs'], cwd);
  run(bin('tsc'), ['-p', '.'], cwd);
  console.log(`ok: ESM, CommonJS and TypeScript on ${express}`);
}

try {
  const tarball = join(
    folder,
    JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], root))[0].filename,
  );
  run(bin('publint'), ['run', tarball, '--strict'], root);
  console.log('ok: publint');
  run(bin('attw'), [tarball], root);
  console.log('ok: are the types wrong');
  for (const express of ['express@4', 'express@5']) consume(express, tarball);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
