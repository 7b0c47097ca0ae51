/**
 * The system's sandbox alone, as if all layers inside it had been broken: any Node program, and any Python with all of
 * Node's objects.
 */
import { ATTEMPTS } from '../tools/code-interpreter/escapes.ts';
import { describeSandboxed, runScript } from '../tools/code-interpreter/outer.ts';
import { PATIENCE } from '../tools/code-interpreter/support.ts';
import { type HostBait, layBait, UNTOUCHED } from './host-bait.ts';
import { nakedPython } from './naked-python.ts';
import { ATTEMPTS_SCRIPT, OUTER_ATTEMPTS, type OuterBait } from './sandbox-outer-attempts.ts';
import { tally } from './tally.ts';

const { tried } = tally('the sandbox of the system, alone');

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
  let bait: HostBait;
  beforeAll(async () => {
    bait = await layBait();
  });
  afterAll(() => bait.close());
  const untouched = (text: string) => expect(bait.touched(text)).toEqual(UNTOUCHED);

  it.each(Object.keys(OUTER_ATTEMPTS))(
    '[F-01] confines a program with all of Node: %s',
    async (group) => {
      const attempts = OUTER_ATTEMPTS[group] ?? [];
      const codes = JSON.stringify(attempts.map(([, code]) => code));
      const { stdout, stderr } = await runScript(ATTEMPTS_SCRIPT, JSON.stringify(bait.bait), codes);
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
      const codes = [...escapes.map(([, code]) => code(bait.bait)), ...NAKED.map((code) => code(bait.bait))];
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
