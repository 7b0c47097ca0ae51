/** Programs in their sandbox: what they find there, that they do the same again, and how hostile ones end. */

import type { ProgramCallResult, ProgramStep } from '../../../../src/ports/programs/program-runtime.ts';
import type { ToolProvider } from '../../../../src/ports/tool-provider.ts';
import { programs } from '../../../../src/tools/code-interpreter/index.ts';
import { NEVER, PATIENCE } from '../support.ts';

let provider: ToolProvider;
/** Ends soon what never ends. */
let hasty: ToolProvider;

beforeAll(() => {
  provider = programs({ limits: { runMs: 60_000, memoryMb: 160 }, warm: 1 });
  hasty = programs({ limits: { runMs: 500, memoryMb: 160 }, warm: 0 });
});
afterAll(() => Promise.all([provider.close?.(), hasty.close?.()]));

const START = { tools: ['look', 'a-b'], startedAt: Date.UTC(2026, 10, 27), seed: '5'.repeat(64), maxCalls: 8 };

type Answer = (name: string, args: unknown) => ProgramCallResult;
const echo: Answer = (name, args) => ({ text: JSON.stringify({ name, args }), failed: false });

/** Every step of the program. */
async function stepsOf(code: string, answer: Answer = echo, runtime = provider): Promise<readonly ProgramStep[]> {
  const program = await runtime.programs?.begin({ ...START, code }, NEVER);
  const steps: ProgramStep[] = [];
  let results: readonly ProgramCallResult[] = [];
  try {
    for (;;) {
      const step = await program?.goOn(results, NEVER);
      if (!step) throw new Error('There is no runtime.');
      steps.push(step);
      if (!('calls' in step)) return steps;
      results = step.calls.map(({ name, arguments: text }) => answer(name, JSON.parse(text)));
    }
  } finally {
    await program?.close();
  }
}

/** How it ended: the error, or what it wrote. */
async function endOf(code: string, answer?: Answer, runtime?: ToolProvider): Promise<string | undefined> {
  try {
    const end = (await stepsOf(code, answer, runtime)).at(-1);
    return end && !('calls' in end) ? (end.error ?? end.text) : undefined;
  } catch (error) {
    return String(error);
  }
}

const MANY = 'for (let n = 0; n < 10_000; n += 1)';

describe('a hostile program', () => {
  it.each(['for (;;) {}', 'for (;;) await null;'])(
    '[E-12] ends where it runs too long: %s',
    async (code) => {
      expect(await endOf(code, echo, hasty)).toMatch(/ran longer than 500 ms/);
    },
    PATIENCE,
  );

  it.each([
    ['const all = []; for (;;) all.push(new Array(1e6).fill(Math.random()));', /memory/],
    [`${MANY} await tools.look({ n });`, /at most 8 calls/],
    [`const all = []; ${MANY} all.push(tools.look({ n })); await Promise.all(all);`, /at most 8 calls/],
    ["await tools.look({ text: 'x'.repeat(2_000_000) });", /at most 1048576 bytes/],
    ["for (;;) text('x'.repeat(100_000));", /at most 1048576 characters/],
    ['await tools.other({});', /tools.other is not a function/],
    ['await tools.look([1]);', /takes one object/],
    ['await tools.look(10n);', /BigInt/],
    ['await new Promise(() => {});', /waits for something that never comes/],
    ["await import('node:fs');", /SyntaxError/],
    ["await import/**/('node:fs');", /SyntaxError/],
    ['import fs from "node:fs";', /SyntaxError/],
    ["require('fs');", /require is not defined/],
    ["eval('1');", /Code generation from strings disallowed/],
    ["tools.look.constructor('return process')();", /Code generation from strings disallowed/],
    ['text(typeof process + typeof Atomics + typeof SharedArrayBuffer + typeof WebAssembly);', /^(undefined){4}$/],
    ['} ); throw new Error("outside"); (async () => {', /cannot be read|waits/],
    ['const {', /SyntaxError/],
    ['throw { get message() { throw 1 }, toJSON() { throw 1 } };', /cannot be shown/],
    ['throw undefined;', /undefined/],
    ['Object.prototype.toJSON = () => { throw new Error("poisoned") }; text({});', /poisoned/],
  ])(
    '[E-12] ends with an error: %s',
    async (code, error) => {
      expect(await endOf(code)).toMatch(error);
    },
    PATIENCE,
  );

  it(
    '[E-12] makes no call once it has ended',
    async () => {
      const steps = await stepsOf("tools.look({ n: 1 }).then(() => tools.look({ n: 2 })); text('over');");
      expect(steps).toEqual([{ calls: [{ name: 'look', arguments: '{"n":1}' }] }, { text: 'over', error: undefined }]);
    },
    PATIENCE,
  );

  it(
    '[E-12] leaves the next program alone',
    async () => {
      await endOf(
        'globalThis.left = 1; Array.prototype.map = null; const all = []; for (;;) all.push(Array(1e6).fill(1.5));',
      );
      expect(await endOf('text([1].map((one) => one + 1)); text(typeof left);')).toBe('[2]\nundefined');
    },
    PATIENCE,
  );
});

describe('a program', () => {
  it.each([
    ["text('a'); text({ b: 1 }); text(3);", 'a\n{"b":1}\n3'],
    ["console.log('a', { b: 1 });", 'a {"b":1}'],
    ['return { a: 1 };', '{"a":1}'],
    ["const found = await tools.look({ sku: 's' }); text(found.args.sku);", 's'],
    ["text(await tools['a-b']('free text'));", '{"name":"a-b","args":{"input":"free text"}}'],
    ['text(await tools.look());', '{"name":"look","args":{}}'],
    ['const t = Date.now(); await new Promise((go) => setTimeout(go, 5000)); text(Date.now() - t >= 5000);', 'true'],
    ["text('do import taxes; ' + /import/.test('import') + { import: 1 }.import);", 'do import taxes; true1'],
    ['text(new Date().toISOString().slice(0, 10)); text(new Date(0).getFullYear());', '2026-11-27\n1970'],
  ])(
    '[E-12] writes what it finds: %s',
    async (code, text) => {
      expect(await endOf(code)).toBe(text);
    },
    PATIENCE,
  );

  it(
    '[E-12] catches what a failed call throws',
    async () => {
      const code = "try { await tools.look({}) } catch (error) { text('caught ' + error.message) }";
      expect(await endOf(code, () => ({ text: 'no luck', failed: true }))).toBe('caught no luck');
    },
    PATIENCE,
  );

  it(
    '[E-12] is told a text as it is, and JSON parsed',
    async () => {
      const texts = ['plain', '[1, 2]', '{broken', '7'];
      let at = -1;
      const answer: Answer = () => {
        at += 1;
        return { text: texts[at] ?? '', failed: false };
      };
      const code =
        'for (let n = 0; n < 4; n += 1) { const got = await tools.look({ n }); text(typeof got + Array.isArray(got)) }';
      expect(await endOf(code, answer)).toBe('stringfalse\nobjecttrue\nstringfalse\nstringfalse');
    },
    PATIENCE,
  );

  it(
    '[E-12] does the same whenever it runs again: time and chance are those of its beginning',
    async () => {
      const code = `
        const order = [];
        await Promise.all([1, 2, 3].map(async (n) => {
          await tools.look({ n, at: Date.now(), chance: Math.random() });
          order.push(n);
          if (Math.random() < 0.5) await tools.look({ again: n, at: new Date().toISOString() });
        }));
        text({ order, chance: Math.random(), format: new Intl.DateTimeFormat('en').format() });`;
      expect(await stepsOf(code)).toEqual(await stepsOf(code));
    },
    PATIENCE,
  );
});
