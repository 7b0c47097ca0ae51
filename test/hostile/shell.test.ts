/** What hostile commands try in the sandbox of a shell: to reach the host, other containers and the network, and to take all there is. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CodeContainer, CodeRuntime } from '../../src/ports/hosted-tools/code-runtime.ts';
import { bubblewrapRuntime } from '../../src/tools/shell/index.ts';
import { describeWith, findProgram } from '../support/services.ts';

const PATIENCE = 120_000;
const SECRET = 'the-secret-of-the-host';

let runtime: CodeRuntime;
let folder: string;
let bait: { readonly file: string; readonly port: number; readonly close: () => void };
let reached = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bait-'));
  const file = join(folder, 'secret.txt');
  writeFileSync(file, SECRET);
  const server = createServer((_, res) => {
    reached += 1;
    res.end(SECRET);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The cast: it listens on TCP.
  bait = { file, port: (server.address() as AddressInfo).port, close: () => server.close() };
  process.env.SHELL_BAIT = SECRET;
  const limits = {
    runMs: 10_000,
    memoryMb: 256,
    diskMb: 32,
    processes: 32,
    outputBytes: 10_000,
    fileBytes: 100_000,
    files: 8,
  };
  runtime = bubblewrapRuntime({ limits });
});

afterAll(async () => {
  delete process.env.SHELL_BAIT;
  await runtime?.close();
  bait?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An attempt: its name, its command, and what shows that it was tried and refused; without one it must only not succeed. */
type Attempt = readonly [name: string, command: (own: typeof bait) => string, outcome?: RegExp];

const python = (code: string) => `python3 - <<'END'\n${code}\nEND`;
const call = (name: string, number: number, ...args: readonly (string | number)[]) =>
  python(`import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
result = libc.syscall(${[number, ...args].join(', ')})
print('${name}', result, os.strerror(ctypes.get_errno()))`);
const PERMISSION = /not permitted|Permission denied|must be superuser/i;

const ATTEMPTS: readonly Attempt[] = [
  ['a file of the host', ({ file }) => `cat ${file}`, /No such file/],
  [
    'a file of the host by the root of another process',
    ({ file }) => `for p in /proc/[0-9]*; do cat $p/root${file}; done`,
    /No such file|Permission denied/,
  ],
  [
    'a file of the host by a working directory',
    ({ file }) => `cat /proc/1/cwd/../..${file}`,
    /No such file|Permission denied/,
  ],
  ['the users of the host', () => 'cat /etc/passwd /etc/shadow', /No such file/],
  ['the homes of the host', () => 'ls /root /home /srv /var /opt /boot', /No such file/],
  [
    'what the host has installed by hand',
    () => 'ls -A /usr/local && echo "count: $(ls -A /usr/local | wc -l)"',
    /count: 0/,
  ],
  ['the environment of the host', () => 'env; cat /proc/*/environ', /PATH/],
  ['a write to the programs of the host', () => 'echo x > /usr/bin/ls', /Read-only/],
  ['a write to the root', () => 'touch /x /dev/x /etc/x', /Read-only/],
  [
    'a server of the host',
    ({ port }) => `curl -sS -m 3 http://127.0.0.1:${port}; (exec 3<>/dev/tcp/127.0.0.1/${port})`,
    /refused|connect/i,
  ],
  ['a server of the world', () => '(exec 3<>/dev/tcp/1.1.1.1/53)', /unreachable/i],
  ['names of the world', () => 'getent hosts example.com; echo "found: $?"', /found: 2/],
  ['a network of its own', () => 'ip link set lo up; unshare -rn true', PERMISSION],
  ['a namespace', () => 'unshare -Urm true', PERMISSION],
  ['a namespace by clone', () => call('clone', 56, 0x10000000, 0, 0, 0, 0), PERMISSION],
  ['a namespace by clone3', () => call('clone3', 435, 0, 0), /Function not implemented/],
  ['another namespace', () => 'nsenter -t 1 -m true', PERMISSION],
  ['a mount', () => 'mount -t tmpfs none /mnt', PERMISSION],
  ['a mount by the newer calls', () => call('fsopen', 430, 0, 0), /Function not implemented/],
  ['another root', () => 'chroot / true', PERMISSION],
  ['a device', () => 'mknod sda b 8 0', PERMISSION],
  [
    'memory of the process that runs it',
    () =>
      python(`import os
for pid in (1, os.getppid()):
    try:
        with open(f'/proc/{pid}/mem', 'rb') as memory:
            memory.seek(4096)
            print('opened', pid)
    except OSError as error:
        print(pid, error)`),
  ],
  ['a debugger', () => call('ptrace', 101, 16, 1, 0, 0), PERMISSION],
  ['memory of others', () => call('process_vm_readv', 310, 1, 0, 0, 0, 0, 0), PERMISSION],
  ['keys of the kernel', () => call('keyctl', 250, 0, -3, 0), PERMISSION],
  ['a program of the kernel', () => call('bpf', 321, 0, 0, 0), PERMISSION],
  ['a ring of the kernel', () => call('io_uring_setup', 425, 1, 0), /Function not implemented/],
  ['memory that counts for nobody', () => call('memfd_create', 319, 0, 0), PERMISSION],
  ['memory of System V', () => call('shmget', 29, 0, 4096, 0o1600), PERMISSION],
  ['a call of 32 bits', () => call('x32 getpid', 0x40000027), /Function not implemented/],
  ['a raw socket', () => python('import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)'), PERMISSION],
  [
    'a socket of the kernel',
    () => python('import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'),
    PERMISSION,
  ],
  ['a program with more rights', () => 'su -c id; sudo id; chmod u+s /usr/bin/id', /./],
  ['a signal to the host', () => `kill -9 ${process.pid}; kill -9 ${process.ppid}; echo "after"`, /after/],
  ['its terminal', () => 'echo x > /dev/tty', /No such device|cannot|not/i],
  [
    'the host by a link that it reads',
    ({ file }) => `ln -s ${file} link; ln -s /etc/passwd p; mkfifo fifo; ls`,
    /link/,
  ],
  [
    'the kernel’s log and its settings',
    () => 'dmesg; sysctl -w kernel.hostname=x; echo x > /proc/sysrq-trigger',
    /denied|not permitted|Read-only/i,
  ],
];

describeWith(findProgram('bwrap'), 'bubblewrap')('[E-02] a hostile command', () => {
  const signal = new AbortController().signal;
  let container: CodeContainer;

  async function tried(command: string, timeoutMs = 8000) {
    if (!container?.alive) container = await runtime.create(signal);
    const run = await container.exec?.({ command, timeoutMs }, signal);
    if (!run) throw new Error('It runs no commands.');
    return run;
  }

  it.each(ATTEMPTS.map(([name, command, outcome = /./]) => [name, command, outcome] as const))(
    'does not reach %s',
    async (_, command, outcome) => {
      const { stdout, stderr, files } = await tried(command(bait));
      const text = stdout + stderr;
      expect(text).toMatch(outcome);
      expect(text + files.map(({ data }) => Buffer.from(data).toString()).join()).not.toContain(SECRET);
      expect(reached).toBe(0);
    },
    PATIENCE,
  );

  /** What takes all there is ends, or its container does, and the next command finds the host as it was. */
  async function survives(command: string, timeoutMs = 8000): Promise<string> {
    const text = await tried(command, timeoutMs).then(
      ({ stdout, stderr, exitCode }) => `${exitCode}: ${stdout}${stderr}`,
      (error: unknown) => String(error),
    );
    expect((await tried('echo alive')).stdout).toBe('alive\n');
    return text;
  }

  it(
    'has no more processes than it may',
    async () => {
      // Of root the kernel counts no processes. This process does, and a bomb takes all of the machine before it looks.
      const bomb =
        process.getuid?.() === 0 ? 'for i in $(seq 2000); do sleep 30 & done; wait' : ':(){ :|:& };: ; sleep 5';
      expect(await survives(bomb)).toMatch(/threads|fork|exit|undefined|\d+:/);
      expect(await survives('for i in $(seq 500); do sleep 30 & done; wait', 4000)).not.toBe('');
    },
    PATIENCE,
  );

  it(
    'has no more memory than it may',
    async () => {
      expect(await survives(python('x = []\nwhile True: x.append(bytearray(10_000_000))'))).toMatch(
        /MemoryError|memory/,
      );
      const many = python(
        'import os, time\nfor _ in range(8): os.fork() or (b := bytearray(60_000_000)) and time.sleep(20)\ntime.sleep(20)',
      );
      expect(await survives(many)).toMatch(/memory/);
    },
    PATIENCE,
  );

  it(
    'has no more room for files than it may, in bytes and in number',
    async () => {
      expect(
        await survives('dd if=/dev/zero of=/mnt/data/big bs=1M count=200; dd if=/dev/zero of=/tmp/big bs=1M count=200'),
      ).toMatch(/No space|too large/);
      expect(
        await survives("rm -rf /mnt/data/* /tmp/*; python3 -c \"for i in range(10**7): open(f'f{i}', 'w').close()\""),
      ).toMatch(/files; its container is gone/);
    },
    PATIENCE,
  );

  it(
    'prints no more than is kept',
    async () => {
      const { stdout, exitCode } = await tried('yes', 1000);
      expect([stdout.length < 10_100, exitCode]).toEqual([true, undefined]);
    },
    PATIENCE,
  );

  it(
    'leaves nothing running',
    async () => {
      await tried('setsid nohup sh -c "while true; do date > beat; sleep 0.05; done" > /dev/null 2>&1 & sleep 0.3');
      const first = await tried('cat /proc/[0-9]*/comm | grep -c "^sh$\\|^sleep$"');
      expect(first.stdout).toBe('0\n');
    },
    PATIENCE,
  );

  it(
    'ends its own container at most where it attacks what runs it',
    async () => {
      for (const command of [
        'kill -9 -1',
        'kill -9 $PPID',
        'kill -STOP $PPID',
        'pkill -9 node; pkill -9 bwrap',
        'exec 1<&-; kill -9 1',
      ])
        await survives(command, 1000);
    },
    PATIENCE,
  );

  it(
    'forges results of its own container at most',
    async () => {
      const frame = 'python3 -c "import os; os.write(1, bytes([0, 0, 0, 0, 1, 0, 0, 0, 0]))"';
      for (const target of ['/proc/$PPID/fd/1', '/proc/1/fd/1', '/proc/2/fd/1'])
        await survives(`${frame} > ${target}`, 2000);
      const other = await runtime.create(signal);
      expect((await other.exec?.({ command: 'echo own; ls' }, signal))?.stdout).toBe('own\n');
      await other.close();
    },
    PATIENCE,
  );

  it(
    'finds no file of another container',
    async () => {
      await tried('echo theirs > /mnt/data/theirs.txt; echo theirs > /tmp/theirs.txt');
      const other = await runtime.create(signal);
      const found = await other.exec?.({ command: 'find / -name theirs.txt 2>/dev/null; ls /mnt/data /tmp' }, signal);
      expect(found?.stdout).not.toContain('theirs');
      await other.close();
    },
    PATIENCE,
  );
});
