/**
 * The system's sandbox alone, as if all layers inside it had been broken: any Node program, and any Python with all of
 * Node's objects.
 */
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ATTEMPTS } from '../tools/code-interpreter/escapes.ts';
import { describeSandboxed, runScript } from '../tools/code-interpreter/outer.ts';
import { PATIENCE } from '../tools/code-interpreter/support.ts';
import { nakedPython } from './naked-python.ts';
import { ATTEMPTS_SCRIPT, OUTER_ATTEMPTS, type OuterBait } from './sandbox-outer-attempts.ts';
import { tally } from './tally.ts';

const { tried } = tally('the sandbox of the system, alone');

const canary = `canary-${randomUUID()}`;
const folder = mkdtempSync(join(tmpdir(), 'bait-'));
const bait: OuterBait & { port: number } = {
  file: join(folder, 'file'),
  socket: join(folder, 'socket'),
  program: join(folder, 'program'),
  abstract: `bait-${randomUUID()}`,
  port: 0,
  pid: process.pid,
};
let reached = 0;
const servers = ['tcp', 'path', 'abstract'].map(() =>
  createServer((socket) => {
    reached += 1;
    socket.on('error', () => {}).end(canary);
  }),
);
const datagrams = createSocket('udp4').on('message', () => {
  reached += 1;
});

/** Attempts that need Node's objects in Python: the sandbox must refuse each. */
const NAKED: readonly ((bait: OuterBait) => string)[] = [
  () => `import js\njs.require('node:child_process').execSync('id').toString()`,
  () => `import js\njs.require('node:fs').readFileSync('/etc/passwd', 'utf8')`,
  ({ file }) => `import js\njs.require('node:fs').readFileSync('${file}', 'utf8')`,
  ({ file }) => `import js\njs.require('node:fs').writeFileSync('${file}', 'x')`,
  () => `import js\njs.require('node:fs').writeFileSync('/pyodide/pyodide.mjs', 'x')`,
  ({ pid }) => `import js\njs.process.kill(${pid}, 9)`,
  () => `import js\njs.process.setuid(0)`,
  ({ port }) => `import js\nawait js.fetch('http://127.0.0.1:${port}/')`,
  ({ program }) => `import js\njs.require('node:child_process').execFileSync('${program}').toString()`,
  ({ socket }) =>
    `import js, asyncio\nfrom pyodide.ffi import create_proxy\nended = asyncio.Future()\ns = js.require('node:net').connect('${socket}')\ns.on('connect', create_proxy(lambda: ended.set_result('reached')))\ns.on('error', create_proxy(lambda e: ended.set_exception(OSError(e.code))))\nawait ended`,
];

describeSandboxed('the sandbox of the system', () => {
  beforeAll(async () => {
    process.env.CANARY = canary;
    // A careless host: everybody may read, write, connect and run.
    writeFileSync(bait.file, canary, { mode: 0o666 });
    writeFileSync(bait.program, `#!/bin/sh\necho ${canary}\n`, { mode: 0o777 });
    chmodSync(folder, 0o777);
    const [tcp, path, abstract] = servers;
    tcp?.listen(0);
    path?.listen({ path: bait.socket, readableAll: true, writableAll: true });
    abstract?.listen(`\0${bait.abstract}`);
    await Promise.all(servers.filter((server) => !server.listening).map((server) => once(server, 'listening')));
    bait.port = portOf(servers[0]?.address());
    datagrams.bind(bait.port, '127.0.0.1');
    await once(datagrams, 'listening');
  });

  afterAll(async () => {
    delete process.env.CANARY;
    for (const server of servers) server.close();
    datagrams.close();
    rmSync(folder, { recursive: true });
  });

  /** Asserts that nothing of the host was reached, whatever the outcome says. */
  function untouched(text: string): void {
    expect([text.includes(canary), reached, readFileSync(bait.file, 'utf8'), existsSync(`${bait.file}.new`)]).toEqual([
      false,
      0,
      canary,
      false,
    ]);
  }

  it.each(Object.keys(OUTER_ATTEMPTS))(
    '[F-01] confines a program with all of Node: %s',
    async (group) => {
      const attempts = OUTER_ATTEMPTS[group] ?? [];
      const codes = JSON.stringify(attempts.map(([, code]) => code));
      const { stdout, stderr } = await runScript(ATTEMPTS_SCRIPT, JSON.stringify(bait), codes);
      untouched(`${stdout}${stderr}`);
      // The cast: the script prints a list of texts.
      const outcomes = JSON.parse(`${stdout}`) as readonly string[];
      const wrong = attempts.filter(([, , expected], index) => !expected.test(outcomes[index] ?? ''));
      expect(
        wrong.map(([name, , expected]) => [name, outcomes[attempts.findIndex(([n]) => n === name)], expected]),
      ).toEqual([]);
      expect(outcomes.length).toBe(attempts.length);
      tried(group, attempts.length);
    },
    PATIENCE,
  );

  it(
    '[F-01] confines Python with all of Node’s objects, in every known escape from the inner layers',
    async () => {
      // Attempts that only use too much, or end the process, prove nothing about the sandbox.
      const escapes = ATTEMPTS.filter(
        ([name, , outcome]) =>
          !/lost|MemoryError|OverflowError|SystemExit/.test(outcome.source) && !name.includes('flood'),
      );
      const codes = [...escapes.map(([, code]) => code(bait)), ...NAKED.map((code) => code(bait))];
      const outcomes = await nakedPython(codes);
      untouched(JSON.stringify(outcomes));
      expect(outcomes.length).toBe(codes.length);
      expect(outcomes.slice(-NAKED.length).filter((outcome) => !outcome.startsWith('REFUSED'))).toEqual([]);
      // Otherwise nothing was tried: the inner layers must be missing, and Python must run.
      expect(outcomes.filter((outcome) => outcome.startsWith('DONE')).length).toBeGreaterThan(10);
      tried('known escapes from the inner layers', outcomes.length);
    },
    PATIENCE,
  );
});

function portOf(address: string | AddressInfo | null | undefined): number {
  return typeof address === 'object' && address ? address.port : 0;
}
