/** Python in its sandbox: values, files, limits, and the processes behind it. */
import { type CodeContainer, type CodeRuntime, pyodideRuntime } from 'express-open-responses/code-interpreter';
import fc from 'fast-check';
import { pyodideFolder } from '../../../src/tools/code-interpreter/sandbox/launch.ts';
import { itWhere } from '../../support/skipping.ts';
import { isolation } from './outer.ts';
import { lives, NEVER, PATIENCE, sandboxesOf, textOf, until } from './support.ts';

const linux = itWhere(process.platform === 'linux', 'only Linux has it');

async function withRuntime(
  options: Parameters<typeof pyodideRuntime>[0],
  body: (runtime: CodeRuntime) => Promise<void>,
): Promise<void> {
  const runtime = pyodideRuntime({ isolation, ...options });
  try {
    await body(runtime);
  } finally {
    await runtime.close();
  }
}

describe('a container of pyodideRuntime', () => {
  const limits = { runMs: 60_000, fileBytes: 1000, files: 2, outputBytes: 1000 };
  const runtime = pyodideRuntime({ limits, warm: 0, isolation });
  let container: CodeContainer;
  beforeAll(async () => {
    container = await runtime.create(NEVER);
  }, PATIENCE);
  afterAll(() => runtime.close());

  it(
    '[T-11] prints any text and gives back any bytes',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.string({ unit: 'binary', maxLength: 100 }),
          fc.uint8Array({ minLength: 1, maxLength: 100 }),
          async (text, bytes) => {
            const codes = JSON.stringify([...text].map((character) => character.codePointAt(0)));
            await container.put({ name: 'in', data: bytes });
            const copy =
              "import os\nif os.path.exists('out'): os.remove('out')\nopen('out', 'wb').write(open('in', 'rb').read() + b'!')";
            const { stdout, error, files } = await container.run(
              `${copy}\nprint(''.join(map(chr, ${codes})), end='')`,
              NEVER,
            );
            expect([stdout, error]).toEqual([text, undefined]);
            for (const { data } of files) expect([...data]).toEqual([...bytes, 33]);
          },
        ),
        { numRuns: 50 },
      );
    },
    PATIENCE,
  );

  it('[T-11] awaits what the code awaits, and shows lines in tracebacks', async () => {
    const { result } = await container.run('import asyncio\nawait asyncio.sleep(0.01)\n7', NEVER);
    const { error } = await container.run('def half(n):\n    return n / 0\nhalf(1)', NEVER);
    expect([result, error?.split('\n')[2], error?.includes('return n / 0')]).toEqual(['7', '    half(1)', true]);
  });

  it('[T-11] reports that there is only the standard library', async () => {
    const { error } = await container.run('import numpy', NEVER);
    expect(error).toMatch(/No module named 'numpy'\nOnly Python's standard library can be imported here/);
    expect(
      (await container.run('import json, csv, sqlite3, decimal, hashlib, statistics, zoneinfo', NEVER)).error,
    ).toBeUndefined();
  });

  it('[T-11] names files that are too many or too large, and gives back the others', async () => {
    const write =
      "for n, size in ('a', 900), ('b', 200), ('sub/c', 50), ('d', 10):\n    open(n, 'wb').write(b'x' * size)";
    const { files, stderr, error } = await container.run(`import os\nos.makedirs('sub')\n${write}`, NEVER);
    expect(error).toBeUndefined();
    expect(files.map(({ name, data }) => [name, data.length])).toEqual([
      ['a', 900],
      ['d', 10],
    ]);
    expect(stderr).toBe('\n[not given back: b, sub/c; a run gives back at most 2 files of 1000 bytes in all]\n');
  });

  it('[T-11] cuts what is printed and what is raised', async () => {
    const { stdout } = await container.run("print('x' * 5000)", NEVER);
    const { error } = await container.run("raise ValueError('x' * 5000)", NEVER);
    expect([stdout, error?.length]).toEqual([`${'x'.repeat(1000)}\n[cut after 1000 of 5001 bytes]\n`, 1000]);
  });

  it.each(['', '/etc/passwd', '../up', 'a/../b', 'a//b', './a', 'a\\b', 'line\nbreak', 'nul\0'])(
    '[T-11] puts no file under the name %j',
    async (name) => {
      await expect(container.put({ name, data: Buffer.from('') })).rejects.toThrow(TypeError);
    },
  );

  it('[T-11] takes no file over the limit, nor one in the place of a folder, and goes on', async () => {
    await expect(container.put({ name: 'large', data: Buffer.alloc(1001) })).rejects.toThrow('at most 1000');
    await container.run("import os\nos.mkdir('folder')", NEVER);
    await expect(container.put({ name: 'folder', data: Buffer.from('x') })).rejects.toThrow(
      "'folder' could not be put",
    );
    expect((await container.run('1 + 1', NEVER)).result).toBe('2');
  });

  it(
    '[T-11] answers 1 + 1 again and again in the same interpreter',
    async () => {
      await container.run('ran = 0', NEVER);
      for (let round = 1; round <= 50; round += 1)
        expect((await container.run('ran += 1\nran', NEVER)).result).toBe(String(round));
    },
    PATIENCE,
  );

  it('[T-11] leaves a run that is aborted while it waits undone, and the container alive', async () => {
    const leaving = new AbortController();
    const first = container.run('import asyncio\nawait asyncio.sleep(0.2)\n1', NEVER);
    const second = container.run('undone = True', leaving.signal);
    leaving.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    expect((await first).result).toBe('1');
    expect((await container.run("'undone' in globals()", NEVER)).result).toBe('False');
  });

  linux('[T-11] rests between runs, whatever the code has left behind', async () => {
    const spin =
      'import asyncio\nasync def spin():\n    global turns\n    while True:\n        turns += 1\n        await asyncio.sleep(0)';
    await container.run(`turns = 0\n${spin}\ntask = asyncio.create_task(spin())\nawait asyncio.sleep(0.05)`, NEVER);
    const [pid = 0] = sandboxesOf();
    await until(() => /^\d+ \(.*\) T/.test(textOf(pid, 'stat')));
    expect(Number((await container.run('task.cancel()\nturns', NEVER)).result)).toBeGreaterThan(0);
  });
});

describe('pyodideRuntime', () => {
  linux(
    '[T-11] kills at the limit of time, and leaves no process',
    async () => {
      await withRuntime({ limits: { runMs: 500 }, warm: 0 }, async (runtime) => {
        const container = await runtime.create(NEVER);
        const [pid = 0] = sandboxesOf();
        await expect(container.run('while True: pass', NEVER)).rejects.toMatchObject({
          name: 'ContainerLostError',
          reason: 'timeout',
          message: 'The code ran longer than 500 ms and was stopped; its container is gone.',
        });
        await until(() => !lives(pid));
        expect(container.alive).toBe(false);
      });
    },
    PATIENCE,
  );

  linux(
    '[T-11] keeps containers ready, and never has more processes than it may',
    async () => {
      await withRuntime({ warm: 1, maxContainers: 2 }, async (runtime) => {
        const [first, second] = [await runtime.create(NEVER, 'ada'), await runtime.create(NEVER, 'bob')];
        const leaving = new AbortController();
        const third = runtime.create(leaving.signal, 'cy');
        const fourth = runtime.create(NEVER, 'ada');
        expect(sandboxesOf().length).toBe(2);
        leaving.abort(new Error('left'));
        await expect(third).rejects.toThrow('left');
        await first.close();
        expect((await (await fourth).run('1 + 1', NEVER)).result).toBe('2');
        expect([sandboxesOf().length, second.alive]).toEqual([2, true]);
      });
      await until(() => sandboxesOf().length === 0);
    },
    PATIENCE,
  );

  it('[T-11] reports what to install where Pyodide is not', () => {
    const missing = () => {
      throw new Error("Cannot find module 'pyodide/package.json'");
    };
    expect(() => pyodideFolder(missing)).toThrow("pyodideRuntime needs the package 'pyodide': npm install pyodide");
  });

  it.each([
    [{ warm: -1 }, 'pyodideRuntime: warm must be a whole number from 0 to 1000, got -1'],
    [{ maxContainers: 0 }, 'pyodideRuntime: maxContainers must be a positive whole number, got 0'],
    [{ isolation: 'none' }, "pyodideRuntime: isolation must be 'bubblewrap' or 'process-only', got 'none'"],
    [{ logger: 7 }, 'pyodideRuntime: logger must be an object with debug, info, warn and error, or false, got 7'],
    [{ limits: 5 }, 'pyodideRuntime: limits must be an object, got 5'],
    [
      { limits: { runMs: 0 } },
      'pyodideRuntime: limits: runMs must be a whole number of milliseconds from 1 to 2147483647, got 0',
    ],
    [
      { limits: { memoryMb: 100 } },
      'pyodideRuntime: limits: memoryMb must be a whole number from 256 to 4096, got 100',
    ],
    [{ limits: { outputBytes: 1.5 } }, 'pyodideRuntime: limits: outputBytes must be a positive whole number, got 1.5'],
    [{ limits: { cpu: 1 } }, "pyodideRuntime: limits: unknown option 'cpu'"],
    [{ colour: 1 }, "pyodideRuntime: unknown option 'colour'"],
  ])('takes no %j', (options, message) => {
    // The cast: what TypeScript would refuse.
    expect(() => pyodideRuntime(options as object)).toThrow(message);
  });
});
