/** Every way between the realm of the code and Node, called by code that tries to get an object of Node's or to crash the host. */
import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { runOutputs } from '../../src/tools/code-interpreter/run-outputs.ts';
import { encodeFrames, frameReader } from '../../src/tools/code-interpreter/shared/frames.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { CHANGING, JUDGE, SYMBOLIC } from '../tools/code-interpreter/escapes.ts';
import { PATIENCE } from '../tools/code-interpreter/support.ts';
import { tally } from './tally.ts';

const count = tally('the doors of the sandbox');
const HERE = import.meta.dirname;
const REALM_FLAGS = ['--no-warnings', '--experimental-vm-modules', '--disallow-code-generation-from-strings'];

/** The output of a script of this folder. */
function written(flags: readonly string[], script: string, argument: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const done = (error: ExecFileException | null, stdout: string) => (error ? reject(error) : resolve(stdout));
    execFile(process.execPath, [...flags, join(HERE, script), argument], { timeout: PATIENCE }, done);
  });
}

async function hostSays(...cells: readonly string[]): Promise<readonly string[]> {
  return JSON.parse(await written(['--max-old-space-size=128'], 'small-host.mjs', JSON.stringify(cells)));
}

describe('the doors of the realm', () => {
  it(
    '[F-01] let no object of Node in, whatever the arguments and however full the stack',
    async () => {
      const { tried, open, foreign } = JSON.parse(await written(REALM_FLAGS, 'realm-doors.mjs', 'prepared'));
      expect([open, foreign]).toEqual([0, []]);
      count.tried('calls of a door with hostile arguments', tried);
    },
    PATIENCE,
  );

  it(
    '[F-01] would let objects in if they were Node’s plain functions, which shows that the search finds them',
    async () => {
      const { foreign } = JSON.parse(await written(REALM_FLAGS, 'realm-doors.mjs', 'raw'));
      expect(foreign).toEqual(expect.arrayContaining(['silent 0', 'WebAssembly.compileStreaming, settled']));
    },
    PATIENCE,
  );
});

/** From an error of Node's to the pipe behind `stdout.write`, and to a socket in the host's files. */
function pipeAttack(path: string): readonly string[] {
  return [
    `${JUDGE}${CHANGING}found = []
def keep(error):
    if judge(error) != 'of the realm': found.append(top(error))
try:
    pyodide_js._api.scheduleCallback(create_proxy(lambda: None), changing)
except BaseException as error:
    keep(error)
len(found)`,
    `${SYMBOLIC_TRY}
len(found)`,
    `seen = []
for prototype in found[:1]:
    prototype.__defineSetter__('handle', create_proxy(lambda value, *_: seen.append(value)))
    prototype.__defineGetter__('handle', create_proxy(lambda *_: seen[-1]))
len(seen)`,
    'len(seen)',
    `[pipe.constructor.new(0).bind('${path}') for pipe in seen[:1]]`,
  ];
}

const SYMBOLIC_TRY = `try:
    ${SYMBOLIC.replaceAll('\n', '\n    ')}
except BaseException as error:
    keep(error)`;

describe('a container of pyodideRuntime', () => {
  it(
    "[F-01] gives the code no object of Node's, and so no pipe to bind in the host's file system",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'doors-'));
      const path = join(folder, 'socket');
      const reported = await hostSays(...pipeAttack(path)).finally(() => count.tried('ways to the pipe of stdout', 5));
      const bound = existsSync(path);
      rmSync(folder, { recursive: true });
      expect([reported, bound]).toEqual([['0', '0', '0', '0', '[]'], false]);
    },
    PATIENCE,
  );

  it(
    '[F-03] cannot make its host read millions of files from one answer',
    async () => {
      const forged = `${JUDGE}files = to_js([])
files.length = 5500000
forged = O()
forged.id, forged.stdout, forged.stderr, forged.files = 1, '', '', files
O.prototype.toJSON = create_proxy(lambda this, key='', *_: forged if key == '' else this, capture_this=True)
'told'`;
      expect(await hostSays(forged, '6 * 7')).toEqual(["'told'", '42']);
      count.tried('forged answers');
    },
    PATIENCE,
  );
});

describe('the frames of a container', () => {
  it(
    '[F-03] are read in linear work, whatever their bytes',
    async () => {
      const runs = 2000;
      fc.assert(
        fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }), (chunks) => {
          const read = frameReader({ frame: () => {}, broken: () => {} });
          for (const chunk of chunks) read(Buffer.from(chunk));
        }),
        { numRuns: runs },
      );
      count.tried('streams of garbage', runs);
      await expectLinearWork(80_000, (frames) => {
        const bytes = Buffer.alloc(frames * 9, encodeFrames('result', 1));
        let seen = 0;
        frameReader({ frame: () => (seen += 1), broken: () => {} })(bytes);
        expect(seen).toBe(frames);
      });
      count.tried('streams of empty frames', 2);
    },
    PATIENCE,
  );

  it('[F-04] end in a text that is shortened in linear work, however many line breaks it has', async () => {
    const texts: readonly ((size: number) => string)[] = [
      (size) => '\n'.repeat(size),
      (size) => `${'\n'.repeat(size)}x`,
      (size) => `x${'\n'.repeat(size)}`,
      (size) => '\n x'.repeat(size / 4),
    ];
    for (const text of texts)
      await expectLinearWork(2 ** 20, (size) => {
        const stdout = text(size);
        const run = { stdout, stderr: stdout, result: undefined, error: stdout, files: [] };
        runOutputs(run, false, { logCharacters: 10_000, imageBytes: 0 });
      });
    count.tried('texts of line breaks', texts.length);
  });
});
