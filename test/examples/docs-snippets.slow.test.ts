/** Each snippet of the documentation really runs, to its end: one that is not a file with a test of its own, in an app around it. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { promisify } from 'node:util';
import { transform } from '@swc/core';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { findProgram, freePort, type Service } from '../support/services.ts';
import { describeWhere } from '../support/skipping.ts';

const WITHIN_MS = 300_000;
/** Bytes that serve as any key. */
const KEY = Buffer.alloc(32, 7).toString('base64');

const root = join(import.meta.dirname, '../..');
const isBuilt = existsSync(join(root, 'dist/esm/index.js'));
const hasDatabases = findProgram('redis-server') !== undefined && findProgram('postgres') !== undefined;
const isReady = isBuilt && hasDatabases && findProgram('bwrap') !== undefined;

/** Blocks that are files: other tests run these, or compare a page with them. */
const files = ['examples', 'test/examples'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|mjs)$/.test(name) && !name.includes('node_modules'))
    .map((name) => readFileSync(join(root, folder, name), 'utf8')),
);

/** `test/clients` has the package that this needs, and a server of S3. */
const RUN_ELSEWHERE = /from '@aws-sdk\/client-s3'/;

/** What the machine of a reader has, and a test has elsewhere. */
function here(code: string, folder: string, { redis, port }: Machine): string {
  return (
    code
      .replaceAll('listen(3000)', 'listen(0)')
      .replaceAll('process.env.PORT ?? 3000', '0')
      .replaceAll('http://localhost:3000', `http://127.0.0.1:${port}`)
      .replaceAll('redis://localhost:6379', redis.url)
      .replaceAll('/var/lib/my-app/files', join(folder, 'files'))
      .replaceAll('/srv/skills', join(folder, 'skills'))
      .replaceAll("import { it } from 'node:test';\n", '')
      // Node 20 has no SQLite of its own.
      .replaceAll("import { DatabaseSync } from 'node:sqlite'", "import DatabaseSync from 'libsql'")
  );
}

interface Machine {
  readonly redis: Service;
  readonly postgres: Service;
  /** Where the app of the snippets that are clients listens. */
  readonly port: number;
}

interface Snippet {
  readonly file: string;
  readonly code: string;
}

describeWhere(isReady, 'there is no build, or no redis-server, postgres or bwrap')(
  'the snippets of the documentation',
  () => {
    let machine: Machine;
    let snippets: readonly Snippet[];
    let folder: string;

    beforeAll(async () => {
      const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
      machine = { redis, postgres, port: await freePort() };
      // Below the project, so that the modules find its packages, and this package by its name.
      folder = mkdtempSync(join(root, 'build/snippets-'));
      // The module needs the build, whose exports it reads.
      const { snippets: all } = (await import('../package/snippets.mjs')) as { snippets(): readonly Snippet[] };
      snippets = all().filter(({ code }) => !files.some((text) => code.includes(text)) && !RUN_ELSEWHERE.test(code));
      // The runtime for containers looks for its program when it is made.
      writeFileSync(join(folder, 'podman'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true, force: true });
      await Promise.all([machine.redis.close(), machine.postgres.close()]);
    });

    /** The snippet as JavaScript, in a file. */
    async function written({ file, code }: Snippet): Promise<string> {
      const { code: javaScript } = await transform(here(code, folder, machine), {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
        module: { type: 'es6' },
      });
      const path = join(folder, file.replace(/ts$/, 'mjs'));
      writeFileSync(path, javaScript);
      return path;
    }

    it('are evaluated without an error', async () => {
      const paths = [];
      for (const snippet of snippets) paths.push(await written(snippet));
      const { hostname, port } = new URL(machine.postgres.url);
      const env = {
        ...process.env,
        ...{ DATABASE_URL: machine.postgres.url, PGHOST: hostname, PGPORT: port, PGUSER: 'postgres' },
        ...{ PATH: `${folder}:${process.env.PATH}`, APP_PORT: String(machine.port) },
        ...{ REDIS_URL: machine.redis.url, SECRET: KEY, RESPONSES_KEY: KEY },
      };
      const host = join(import.meta.dirname, 'snippet-host.mjs');
      const options = { cwd: folder, env, timeout: WITHIN_MS, maxBuffer: 10_000_000 };
      const { stdout } = await promisify(execFile)(execPath, [host, ...paths], options);
      const results = stdout.split('\n').filter((line) => line.startsWith('{"path":'));
      const faults = results.map((line) => JSON.parse(line)).filter(({ fault }) => fault !== '');
      expect([faults, results.length]).toEqual([[], snippets.length]);
      expect(snippets.length).toBeGreaterThan(60);
    });
  },
);
