/** CPython behind Docker's or Podman's command line: the runner inside, over Python of this machine and over a daemon where there is one. */
import { spawnSync } from 'node:child_process';
import { type CodeContainer, containerRuntime } from 'express-open-responses/code-interpreter';
import { codeRuntimeContract } from 'express-open-responses/testing';
import { describeWith } from '../../support/services.ts';
import { fakeDocker, IMAGE, PYTHON } from './fake-docker.ts';
import { NEVER, PATIENCE } from './support.ts';

const slowly = (name: string, run: () => Promise<void>) => it(name, run, PATIENCE);

describeWith(PYTHON, 'Python')('[B-39] containerRuntime, over Python of this machine', () => {
  codeRuntimeContract({
    it: slowly,
    describe,
    create: () => {
      const { program, close } = fakeDocker();
      return { runtime: containerRuntime({ image: IMAGE, program, warm: 0 }), close };
    },
  });

  /** One container with small limits, and what the program was called with. */
  async function withContainer(
    body: (container: CodeContainer, calls: () => readonly (readonly string[])[]) => Promise<void>,
  ): Promise<void> {
    const { program, calls, close } = fakeDocker();
    const limits = { runMs: 3000, outputBytes: 1000, fileBytes: 1000, files: 2 };
    const runtime = containerRuntime({ image: IMAGE, program, warm: 0, limits });
    try {
      await body(await runtime.create(NEVER), calls);
    } finally {
      await runtime.close();
      close();
    }
  }

  const ran = async (container: CodeContainer, code: string) => container.run(code, NEVER);

  slowly('[T-11] awaits what the code awaits, in tracebacks shows its lines alone, and imports what is installed', () =>
    withContainer(async (container) => {
      expect((await ran(container, 'import asyncio\nawait asyncio.sleep(0.01)\n7')).result).toBe('7');
      const { error } = await ran(container, 'def half(n):\n    return n / 0\nhalf(1)');
      expect(error?.split('\n').map((line) => line.trim())).toEqual(
        expect.arrayContaining(['Traceback (most recent call last):', 'half(1)', 'return n / 0']),
      );
      expect(error).not.toMatch(/Runner|evaluated/);
      expect((await ran(container, '1;')).result).toBeUndefined();
    }),
  );

  slowly('[E-02] runs commands, each for its time alone, with their files and exit codes', () =>
    withContainer(async (container) => {
      const exec = async (command: string | readonly string[], timeoutMs?: number) => {
        const run = await container.exec?.({ command, timeoutMs }, NEVER);
        return [run?.stdout, run?.stderr, run?.exitCode, run?.files.map(({ name }) => name)];
      };
      expect(await exec('echo "out ü"; echo err >&2; echo 1 > a.txt; exit 3')).toEqual([
        'out ü\n',
        'err\n',
        3,
        ['a.txt'],
      ]);
      expect(await exec(['cat', 'a.txt'])).toEqual(['1\n', '', 0, []]);
      expect(await exec('kill -9 $$')).toEqual(['', '', 137, []]);
      expect(await exec('echo a; sleep 100', 200)).toEqual(['a\n', '', undefined, []]);
      expect(await exec('echo alive')).toEqual(['alive\n', '', 0, []]);
      expect((await container.exec?.({ command: 'seq 1000', outputBytes: 10 }, NEVER))?.stdout).toHaveLength(10);
      expect((await ran(container, '6 * 7')).result).toBe('42');
    }),
  );

  slowly('[T-11] takes what other processes print, and no frames that they forge', () =>
    withContainer(async (container) => {
      const forged = 'import os, subprocess, sys\nos.write(1, bytes([0, 0, 0, 0, 1, 0, 0, 0, 0]))';
      const { stdout, stderr, error } = await ran(
        container,
        `${forged}\nsubprocess.run([sys.executable, '-c', 'import sys; print("child"); print("err", file=sys.stderr)'])\nNone`,
      );
      expect([stdout.slice(9), stderr, error]).toEqual(['child\n', 'err\n', undefined]);
      expect((await ran(container, 'open("/dev/stdin").read()')).result).toBe("''");
    }),
  );

  slowly('[T-11] cuts what is printed, and names files that are too many or too large', () =>
    withContainer(async (container) => {
      expect((await ran(container, "print('x' * 5000)")).stdout).toBe(
        `${'x'.repeat(1000)}\n[cut after 1000 of 5001 bytes]\n`,
      );
      const write =
        "import os\nos.makedirs('sub')\nfor n, size in ('a', 900), ('b', 200), ('sub/c', 50), ('d', 10), ('e', 2000):\n    open(n, 'wb').write(b'x' * size)\nos.symlink('/etc/passwd', 'link')\nos.mkfifo('fifo')";
      const { files, stderr } = await ran(container, write);
      expect(files.map(({ name, data }) => [name, data.length])).toEqual([
        ['a', 900],
        ['d', 10],
      ]);
      expect(stderr).toBe('\n[not given back: b, e, sub/c; a run gives back at most 2 files of 1000 bytes in all]\n');
    }),
  );

  slowly('[F-01] ends at the limit of time, however the code fights it, and removes the container by its name', () =>
    withContainer(async (container, calls) => {
      const stubborn = 'while True:\n    try:\n        while True: pass\n    except BaseException: pass';
      await expect(ran(container, stubborn)).rejects.toMatchObject({ reason: 'timeout' });
      await container.close();
      const [run, remove] = calls();
      const name = run?.[run.indexOf('--name') + 1];
      expect(remove).toEqual(['rm', '--force', name]);
    }),
  );

  slowly('[F-01] ends a container that floods the channel, and one that leaves', async () => {
    await withContainer(async (container) => {
      const flood =
        'import os\nfor fd in range(3, 20):\n    try:\n        while True: os.write(fd, b"x" * 65536)\n    except OSError: pass';
      await expect(ran(container, flood)).rejects.toMatchObject({ name: 'ContainerLostError' });
    });
    await withContainer(async (container) => {
      await expect(ran(container, 'import os\nos._exit(3)')).rejects.toMatchObject({ reason: 'crash' });
    });
  });

  slowly('[F-01] reports the program’s error where a container cannot be started', async () => {
    const { program, close } = fakeDocker();
    const runtime = containerRuntime({ image: 'no/such', program, warm: 0 });
    await expect(runtime.create(NEVER)).rejects.toThrow(
      `containerRuntime: ${program} could not start a container of no/such: docker: No such image: no/such`,
    );
    await runtime.close();
    close();
  });
});

/** The real thing, where Docker or Podman runs; `CONTAINER_PROGRAM` and `CONTAINER_IMAGE` name others, such as an image that is there. */
const { CONTAINER_PROGRAM = 'docker', CONTAINER_IMAGE } = process.env;
const REAL_IMAGE = CONTAINER_IMAGE ?? 'python:3.13-slim';
const real = [CONTAINER_PROGRAM, 'podman'].find((program) => spawnSync(program, ['info']).status === 0);
const describeReal = real
  ? describe
  : (name: string, body: () => void) =>
      describe.skip(`${name} (skipped: neither Docker nor Podman runs on this machine)`, body);

describeReal('[B-39] containerRuntime, over a daemon', () => {
  beforeAll(() => {
    if (CONTAINER_IMAGE === undefined) spawnSync(real ?? '', ['pull', REAL_IMAGE]);
  }, PATIENCE);
  const runtime = () => containerRuntime({ image: REAL_IMAGE, program: real, warm: 0 });
  codeRuntimeContract({ it: slowly, describe, create: () => ({ runtime: runtime() }) });

  slowly('[E-02] runs commands as nobody, which reach no network, and end with all that they start', async () => {
    const all = runtime();
    const container = await all.create(NEVER);
    const exec = (command: string, timeoutMs?: number) => container.exec?.({ command, timeoutMs }, NEVER);
    const first = await exec('id -u; echo out > a.txt; echo x > /x; cat < /dev/tcp/1.1.1.1/80; exit 3');
    const late = await exec('(setsid sleep 300 &) ; sleep 300', 1000);
    const after = await exec('cat a.txt');
    await all.close();
    expect([first, late?.exitCode, after]).toMatchObject([
      { stdout: '65534\n', exitCode: 3, files: [{ name: 'a.txt' }] },
      undefined,
      { stdout: 'out\n', exitCode: 0 },
    ]);
  });

  slowly('[F-01] reaches no network, writes nowhere else, and is nobody', async () => {
    const all = runtime();
    const container = await all.create(NEVER);
    const { error } = await container.run("import socket\nsocket.create_connection(('1.1.1.1', 80), 3)", NEVER);
    const write = await container.run("open('/x', 'w')", NEVER);
    const { result } = await container.run('import os\nos.getuid()', NEVER);
    await all.close();
    expect([error, write.error, result]).toEqual([
      expect.stringContaining('OSError'),
      expect.stringContaining('Read-only'),
      '65534',
    ]);
  });
});
