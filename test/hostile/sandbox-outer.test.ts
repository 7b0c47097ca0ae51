/**
 * The sandbox of the system, as if everything inside it had been got through: any Node program, any Python with all of
 * Node's objects, and any system call.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE } from '../../src/code-interpreter/sandbox/bubblewrap.ts';
import { sandboxProcess } from '../../src/code-interpreter/sandbox/sandbox-process.ts';
import { startChild } from '../../src/code-interpreter/sandbox/start-child.ts';
import { ATTEMPTS } from '../code-interpreter/escapes.ts';
import {
  describeSandboxed,
  type Extra,
  outcomeOf,
  outerLaunch,
  runScript,
  scriptFile,
} from '../code-interpreter/outer.ts';
import { fieldOf, PATIENCE } from '../code-interpreter/support.ts';
import { callsProgram, oldDoorProgram, type SystemCall, threadsProgram } from './elf.ts';
import { nakedPython } from './naked-python.ts';
import { ATTEMPTS_SCRIPT, OUTER_ATTEMPTS, type OuterBait } from './sandbox-outer-attempts.ts';
import { DENIED_CALLS } from './system-calls.ts';
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

/** What nobody could try before Python had Node: each must be refused by the sandbox. */
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
    // Whatever a host may be careless with: everybody may read, write, connect and run.
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

  /** Nothing of the host's was reached, whatever the outcome says. */
  function untouched(text: string): void {
    expect([text.includes(canary), reached, readFileSync(bait.file, 'utf8'), existsSync(`${bait.file}.new`)]).toEqual([
      false,
      0,
      canary,
      false,
    ]);
  }

  it.each(Object.keys(OUTER_ATTEMPTS))(
    '[F-01] holds a program with all of Node: %s',
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
    '[F-01] holds Python that has all of Node’s objects, in every known escape from the inner layers',
    async () => {
      // Those that only take too much, or end the process, say nothing of the walls.
      const escapes = ATTEMPTS.filter(
        ([name, , outcome]) =>
          !/lost|MemoryError|OverflowError|SystemExit/.test(outcome.source) && !name.includes('flood'),
      );
      const codes = [...escapes.map(([, code]) => code(bait)), ...NAKED.map((code) => code(bait))];
      const outcomes = await nakedPython(codes);
      untouched(JSON.stringify(outcomes));
      expect(outcomes.length).toBe(codes.length);
      expect(outcomes.slice(-NAKED.length).filter((outcome) => !outcome.startsWith('REFUSED'))).toEqual([]);
      // Otherwise nothing was tried: the inner layers must be gone, and Python there.
      expect(outcomes.filter((outcome) => outcome.startsWith('DONE')).length).toBeGreaterThan(10);
      tried('known escapes from the inner layers', outcomes.length);
    },
    PATIENCE,
  );
});

const machineCode = process.arch === 'x64' ? describeSandboxed : describe.skip;

machineCode('threads of a program of its own', () => {
  it(
    '[F-01] end it where they are too many, though they take neither memory nor descriptors',
    async () => {
      const { file, remove } = scriptFile(threadsProgram(5000), 0o755);
      const limits = { memoryBytes: 2 ** 40, answer: { bytes: 1000, textBytes: 1000, files: 1 }, startMs: PATIENCE };
      const sandbox = sandboxProcess(await outerLaunch(['/threads'], [[file, '/threads']]), limits);
      await expect(sandbox.ready).rejects.toThrow('The code started more than 64 threads; its container is gone.');
      await sandbox.gone;
      remove();
      tried('ways to take too much');
    },
    PATIENCE,
  );
});

machineCode('the filter of system calls', () => {
  /** The errors of the calls, in the sandbox or in one without its filter. */
  async function errorsOf(calls: readonly SystemCall[], filtered: boolean): Promise<readonly number[]> {
    const { file, remove } = scriptFile(callsProgram(calls), 0o755);
    const extra: Extra = [file, '/calls'];
    try {
      const launch = await outerLaunch(['/calls'], [extra]);
      const everything = Uint8Array.from([0x06, 0, 0, 0, 0, 0, 0xff, 0x7f]);
      const { stdout } = await outcomeOf(startChild(filtered ? launch : { ...launch, filter: everything }));
      return [...stdout];
    } finally {
      remove();
    }
  }

  it(
    '[F-01] denies each call that Node does not need, and the kernel would not have by itself',
    async () => {
      const calls = DENIED_CALLS.map(([, ...call]) => call);
      const errors = await errorsOf(calls, true);
      const passed = DENIED_CALLS.filter(([, number], index) => errors[index] !== (number >= 424 ? 38 : 1));
      expect(passed.map(([name], index) => [name, errors[index]])).toEqual([]);
      // Without the filter these succeed or fail for reasons of their own, so that what denies is the filter.
      const harmless = DENIED_CALLS.filter(([name]) =>
        /^(socket|memfd|inotify|shm|msg|sem|personality|keyctl|io_uring)/.test(name),
      );
      const without = await errorsOf(
        harmless.map(([, ...call]) => call),
        false,
      );
      expect(without.filter((error) => error !== 1).length).toBeGreaterThan(8);
      tried('system calls', calls.length);
    },
    PATIENCE,
  );

  it(
    '[F-01] denies calls by the numbers of other kinds of programs',
    async () => {
      const x32 = [0, 1, 2, 9, 41, 42, 56, 57, 59, 101].map((number): SystemCall => [0x40000000 + number]);
      expect(await errorsOf(x32, true)).toEqual(x32.map(() => 38));
      const { file, remove } = scriptFile(oldDoorProgram(), 0o755);
      const { code } = await outcomeOf(startChild(await outerLaunch(['/calls'], [[file, '/calls']])));
      remove();
      // EPERM, or the end where the kernel has no such door.
      expect([1, 128 + 11]).toContain(code);
      tried('calls by other numbers', x32.length + 1);
    },
    PATIENCE,
  );

  it(
    '[F-01] lets threads begin and no process, whatever the flags say',
    async () => {
      const [THREAD, VM, SIGHAND, NEWUSER, NEWNS, NEWNET] = [0x10000, 0x100, 0x800, 0x10000000, 0x20000, 0x40000000];
      const flags = [0, 17, VM | 17, 0x4000 | VM | 17, NEWUSER | 17, NEWNS | 17, NEWNET | 17, 0x7e020000 | 17];
      const mixed = [NEWUSER, NEWNS, NEWNET].map((flag) => flag | THREAD | VM | SIGHAND);
      const calls = [...flags, ...mixed].map((flag): SystemCall => [56, flag]);
      expect(await errorsOf(calls, true)).toEqual(calls.map(() => 1));
      tried('ways to clone', calls.length);
    },
    PATIENCE,
  );
});

describeSandboxed('a process of the sandbox', () => {
  it(
    '[F-01] has the filter, no powers, nobody’s user, and namespaces of its own',
    async () => {
      const { file, remove } = scriptFile('setInterval(() => {}, 1000); console.log("up")');
      const started = startChild(await outerLaunch([NODE, '/script.mjs'], [[file, '/script.mjs']]));
      await Promise.all([once(started.child.stdout, 'data'), started.known]);
      const pid = started.codePid() ?? 0;
      const seen = ['Seccomp', 'NoNewPrivs', 'CapEff', 'CapPrm', 'CapBnd', 'NSpid'].map((name) => fieldOf(pid, name));
      const spaces = ['mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup'].filter(
        (name) => namespaceOf(pid, name) === namespaceOf(process.pid, name),
      );
      const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
      started.child.kill('SIGKILL');
      remove();
      const none = '0000000000000000';
      expect(seen).toEqual(['2', '1', none, none, none, expect.stringMatching(/\t1$/)]);
      expect(spaces).toEqual([]);
      expect(/^Max file size +(\d+)/m.exec(limits)?.[1]).toBe('0');
      tried('facts that the kernel tells', seen.length + 8);
    },
    PATIENCE,
  );

  it(
    '[F-01] gets no descriptor that the host’s own parent left open',
    async () => {
      const secret = scriptFile(canary);
      const asked = `import { readSync } from 'node:fs'; let text = '';
        for (let fd = 3; fd < 100; fd += 1) try { const b = Buffer.alloc(99); text += b.toString('utf8', 0, readSync(fd, b, 0, 99, 0)); } catch {}
        console.log('END', text)`;
      const script = scriptFile(asked);
      const dist = new URL('../../dist/code-interpreter/', import.meta.url);
      const host = `
        const { launchOf, pyodideFolder } = await import('${dist}launch.js');
        const { isolationOf } = await import('${dist}isolation.js');
        const { startChild } = await import('${dist}start-child.js');
        const { PYODIDE_LIMITS } = await import('${dist}pyodide-settings.js');
        const launch = await launchOf(pyodideFolder(), PYODIDE_LIMITS, isolationOf('bubblewrap'));
        const at = launch.args.indexOf('--remount-ro'), node = launch.args.lastIndexOf('/node');
        const args = [...launch.args.slice(0, at), '--ro-bind', ${JSON.stringify(script.file)}, '/s.mjs', ...launch.args.slice(at, node), '/node', '/s.mjs'];
        startChild({ ...launch, args }).child.stdout.pipe(process.stdout);`;
      const open = openSync(secret.file, 'r');
      const stdio = ['ignore', 'pipe', 'inherit', 'ignore', 'ignore', open, ...Array(60).fill('ignore'), open] as const;
      const child = spawn(process.execPath, ['--input-type=module', '-e', host], { stdio: [...stdio] });
      let said = '';
      child.stdout?.on('data', (chunk) => {
        said += chunk;
      });
      await once(child, 'close');
      secret.remove();
      script.remove();
      expect(said.trim()).toBe('END');
      tried('descriptors left open', 2);
    },
    PATIENCE,
  );
});

describeSandboxed('a process of the sandbox that takes too much', () => {
  const limits = {
    memoryBytes: 400 * 1024 * 1024,
    answer: { bytes: 1_000_000, textBytes: 100_000, files: 1 },
    startMs: PATIENCE,
  };

  /** Why it was ended, and whether anything of it is left. */
  async function ended(text: string, more: Partial<typeof limits> = {}): Promise<unknown> {
    const { file, remove } = scriptFile(text);
    const sandbox = sandboxProcess(await outerLaunch([NODE, '/script.mjs'], [[file, '/script.mjs']]), {
      ...limits,
      ...more,
    });
    const lost = await sandbox.ready.catch((error: unknown) => error);
    await sandbox.gone;
    remove();
    tried('ways to take too much');
    return lost;
  }

  it.each<readonly [string, string, Partial<typeof limits>, object]>([
    ['memory', 'const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1));', {}, { reason: 'memory' }],
    ['time', 'for (;;);', { startMs: 2000 }, { reason: 'timeout' }],
    [
      'time, deaf to signals',
      `process.on('SIGTERM', () => {}).on('SIGINT', () => {}); setInterval(() => {}, 1000)`,
      { startMs: 2000 },
      { reason: 'timeout' },
    ],
    ['output', `for (;;) (await import('node:fs')).writeSync(1, 'x'.repeat(50_000))`, {}, { reason: 'output' }],
    ['itself', 'process.abort()', {}, { reason: 'crash', message: expect.stringContaining('SIGSEGV') }],
  ])(
    '[F-01] ends it: %s',
    async (_name, text, more, lost) => {
      expect(await ended(text, more)).toMatchObject(lost);
    },
    PATIENCE,
  );
});

function portOf(address: string | AddressInfo | null | undefined): number {
  return typeof address === 'object' && address ? address.port : 0;
}

function namespaceOf(pid: number, name: string): number {
  return statSync(`/proc/${pid}/ns/${name}`).ino;
}
