/** Programs of a model that attacks: each ends with an error that the model reads, in bounded time and memory, and harms nobody else. */

import type { ToolProvider } from '../../src/ports/tool-provider.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { programs } from '../../src/tools/code-interpreter/index.ts';
import { calls, providerOf, says, type ToolsApp, withTools } from '../engine/tools/support.ts';
import { post } from '../support/responses-client.ts';
import { PATIENCE, sandboxesOf } from '../tools/code-interpreter/support.ts';
import { tally } from './tally.ts';

const { tried } = tally('programs');

const LIMITS = { runMs: 1500, memoryMb: 160 };
let provider: ToolProvider;
beforeAll(() => {
  provider = programs({ limits: LIMITS, warm: 1, logger: false });
});
afterAll(() => provider.close?.());

const TOOLS = [
  { type: 'programmatic_tool_calling' },
  { type: 'mcp', server_label: 'crm', allowed_callers: ['programmatic'] },
];

interface Outcome {
  readonly status: string;
  readonly result: string;
  /** The arguments of the calls that ran. */
  readonly ran: readonly JsonObject[];
}

/** What the model is told of a program; `answer` is what the tool `find` gives. */
async function outcomeOf(code: string, answer = '{"n":1}'): Promise<Outcome> {
  const ran: JsonObject[] = [];
  const crm = providerOf('crm', ['find', 'send'], async ({ name, arguments: args }) => {
    ran.push({ name, ...args });
    return { content: answer };
  });
  return withTools({ tools: [provider, crm], limits: { tools: { calls: 20 } } }, async (app) => {
    const { program_output: output } = await played(app, code);
    return { status: String(output?.status), result: String(output?.result), ran };
  });
}

/** The items of a response whose model writes the program, by their types; the response must go on after it. */
async function played({ fake, url }: ToolsApp, code: string): Promise<Readonly<Record<string, JsonObject>>> {
  fake.reply(calls(['call_p', 'programmatic_tool_calling', JSON.stringify({ code })]), says('Done.'));
  const { status, text } = await post(url, { tools: TOOLS });
  if (status !== 200) throw new Error(text);
  const response = JSON.parse(text) as { readonly status: string; readonly output: readonly JsonObject[] };
  const items = Object.fromEntries(response.output.map((item) => [String(item.type), item]));
  const isOver = response.status === 'completed' ? items.message !== undefined : true;
  if (!isOver) throw new Error(`It did not go on: ${text}`);
  return items;
}

const LATE = /ran longer than 1500 ms/;
const MEMORY =
  /memory|allocation|Invalid (?:array|string|typed array) (?:buffer )?length|Array buffer|crash|ended|lost/i;
const NEVER_COMES = /waits for something that never comes/;
/** Whichever of its limits it meets first. */
const LATE_OR_LARGE = new RegExp(`${LATE.source}|${MEMORY.source}`);

/** Code, what the model is told of it, and how many calls it may have made. */
const ATTACKS: readonly (readonly [kind: string, code: string, result: RegExp])[] = [
  [
    'a loop that catches whatever is thrown into it',
    'for (;;) { try { for (;;) {} } catch {} finally { continue; } }',
    LATE,
  ],
  ['a loop in a finally', 'try { throw 1 } finally { for (;;) {} }', LATE],
  ['promises without end', 'const go = () => Promise.resolve().then(go); await go();', LATE_OR_LARGE],
  [
    'promises without end, which nobody waits for',
    "const go = () => Promise.resolve().then(go); go(); text('out');",
    LATE_OR_LARGE,
  ],
  ['timers without end', 'const go = () => setTimeout(go, 1e9); go(); await new Promise(() => {});', LATE],
  ['timers that fill the memory', 'for (;;) setTimeout(() => {}, 1, new Array(1e4).fill(7));', MEMORY],
  [
    'calls after the last, whose errors it catches',
    'for (;;) { try { await tools.find({}) } catch {} }',
    new RegExp(`${LATE.source}|Not run`),
  ],
  [
    'an iterator without end',
    'await Promise.all({ *[Symbol.iterator]() { for (;;) yield 1 } });',
    new RegExp(`${LATE.source}|${MEMORY.source}`, 'i'),
  ],
  ['a pattern that goes back', "/^(a+)+$/.test('a'.repeat(40) + 'b'); text('done');", LATE],
  ['recursion', 'const go = () => go(); go();', /RangeError/],
  ['memory in buffers', 'const all = []; for (;;) all.push(new Uint8Array(5e7).fill(1));', MEMORY],
  ['one huge buffer', 'new ArrayBuffer(2 ** 40);', MEMORY],
  ['memory in texts', "let all = 'x'; for (;;) all = [all, all].join(String(Math.random()));", MEMORY],
  ['memory in numbers', 'let n = 3n; for (;;) n *= n;', new RegExp(`${LATE.source}|${MEMORY.source}|BigInt`, 'i')],
  ['an error as long as the memory', "throw new Error('x'.repeat(2e8));", /more than is allowed|memory|lost/i],
  [
    'an error whose message is looked at',
    'throw Object.defineProperty(new Error(), "message", { get() { for (;;) {} } });',
    LATE,
  ],
  [
    'arguments that nest',
    'let all = {}; for (let n = 0; n < 1e6; n += 1) all = { all }; await tools.find(all);',
    /RangeError|stack/,
  ],
  ['arguments that are read without end', 'await tools.find({ get a() { for (;;) {} } });', LATE],
  ['arguments that show others', 'await tools.find({ toJSON: () => "text" });', /takes one object/],
  ['arguments that refer to themselves', 'const all = {}; all.all = all; await tools.find(all);', /TypeError/],
  [
    '10,000 calls at once',
    'await Promise.all(Array.from({ length: 10_000 }, (_, n) => tools.find({ n })));',
    /at most 20 calls|Not run/,
  ],
  ['a result that is a thenable of its own', 'return { then() {} };', NEVER_COMES],
  ['a thenable without end', 'await { then(go) { for (;;) {} } };', LATE],
  [
    'every object a thenable',
    'Object.prototype.then = function () {}; await tools.find({});',
    new RegExp(`${NEVER_COMES.source}|${LATE.source}|lost`, 'i'),
  ],
  ['a tool that is not there', 'await tools.constructor("return process")();', /not a function|disallowed/],
  [
    'tools that it changes',
    'tools.find = 1; tools.more = 2; delete tools.find; text(typeof tools.find + typeof tools.more);',
    /functionundefined|TypeError/,
  ],
  ['an import in an escape', "await imp\\u006frt('node:fs');", /SyntaxError/],
  ['an import in a text', "text(`${import('node:fs')}`);", /SyntaxError/],
  ['import.meta', 'text(import.meta.url);', /SyntaxError/],
  ['a function of its own text', 'await (async () => {}).constructor("return 1")();', /disallowed/],
  ['a generator of its own text', '(function* () {}).constructor("yield 1")().next();', /disallowed/],
  [
    'the callers of a function',
    'text((function f() { const all = []; for (let at = f.caller; at && all.length < 9; at = at.caller) all.push(at instanceof Function); return all.join() })());',
    /^(?:true,?)+$|TypeError/,
  ],
  [
    'a stack of Node’s objects',
    'Error.prepareStackTrace = (_, sites) => sites[0].getThis(); text(String(new Error().stack));',
    /./,
  ],
  ['a worker', 'new Worker("data:text/javascript,1");', /Worker is not defined/],
  [
    'the process',
    'text([typeof process, typeof require, typeof module, typeof global, typeof fetch].join());',
    /^(?:undefined,?){5}$/,
  ],
  [
    'the memory of the channel',
    'text([typeof Atomics, typeof SharedArrayBuffer, typeof WebAssembly].join());',
    /^(?:undefined,?){3}$/,
  ],
  [
    'the end of the wrapper',
    '}); program(async () => { await tools.send({}); ',
    /cannot be read|SyntaxError|not defined|wrote nothing/,
  ],
];

describe('an attack by a program', () => {
  it.each(ATTACKS)(
    '[E-12] ends, and the model is told: %s',
    async (_, code, told) => {
      const { result, ran } = await outcomeOf(code);
      expect(result.slice(0, 500)).toMatch(told);
      expect([result.length < 2 ** 21, ran.length <= 20]).toEqual([true, true]);
      tried('attacks by programs');
    },
    PATIENCE,
  );

  /** A program that puts its own functions in place of those that the realm uses. */
  const POISONS: readonly (readonly [what: string, code: string])[] = [
    [
      'push',
      "const { push } = Array.prototype; Array.prototype.push = function (...all) { return push.apply(this, all.map((each) => (Array.isArray(each) && each[0] === 'name' ? ['name', Uint8Array.from([115, 101, 110, 100, 95, 97, 108, 108])] : each))); };",
    ],
    ['startsWith', 'String.prototype.startsWith = () => true;'],
    ['stringify', 'JSON.stringify = () => \'{"n":666}\';'],
    ['parse', 'JSON.parse = () => { throw 1 };'],
    ['toJSON', 'Object.prototype.toJSON = () => ({ n: 666 });'],
    ['Promise', 'globalThis.Promise = class {};'],
    ['then', 'Promise.prototype.then = function () { return this; };'],
    ['iterator', 'Array.prototype[Symbol.iterator] = function* () { for (;;) yield 1 };'],
    ['entries', 'Array.prototype.entries = function* () {};'],
    ['subarray', 'Uint8Array.prototype.subarray = () => new Uint8Array(2 ** 24);'],
    ['set', 'Uint8Array.prototype.set = () => {};'],
    ['indexOf', 'Array.prototype.indexOf = () => 99;'],
    ['length', 'Object.defineProperty(Uint8Array.prototype, "length", { get: () => 1e9 });'],
    ['species', 'Object.defineProperty(Array, Symbol.species, { get() { for (;;) {} } });'],
    ['Error', 'globalThis.Error = Object; globalThis.RangeError = Object; globalThis.TypeError = Object;'],
    ['Reflect', 'for (const name of Object.keys(Object.getOwnPropertyDescriptors(Reflect))) Reflect[name] = () => 1;'],
    ['Map', 'Map.prototype.set = Map.prototype.delete = Map.prototype.get = () => 1;'],
    ['Date', 'Date.now = () => { for (;;) {} };'],
    [
      'everything',
      'for (const name of Object.getOwnPropertyNames(globalThis)) { const { prototype } = globalThis[name] ?? {}; if (prototype) for (const each of Object.getOwnPropertyNames(prototype)) try { prototype[each] = () => { throw 1 } } catch {} }',
    ],
  ];

  it.each(POISONS)(
    '[E-12] with a poisoned realm calls nothing but its tools, and leaves the next one alone: %s',
    async (_, poison) => {
      const { ran } = await outcomeOf(`${poison} try { await tools.find({ n: 1 }) } catch {} text('end');`);
      expect(ran.filter(({ name }) => name !== 'find')).toEqual([]);
      const next = await outcomeOf('text((await tools.find({ n: 2 })).n + 1);');
      expect(next).toMatchObject({ status: 'completed', result: '2', ran: [{ name: 'find', n: 2 }] });
      tried('realms poisoned by programs');
    },
    PATIENCE,
  );

  it.each([
    ['nested', '['.repeat(500_000)],
    ['nested and whole', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    ['a prototype', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'],
    ['a thenable', '{"then":"call me","toJSON":"call me","toString":"call me"}'],
    ['no JSON', '{"n":1'],
    ['controls', '\u0000\u2028\ud800{"n":1}'],
  ])(
    '[E-12] a hostile result reaches a program as a value, and the program goes on: %s',
    async (_, answer) => {
      const code = 'const got = await tools.find({}); text([typeof got, ({}).polluted === undefined]);';
      expect(await outcomeOf(code, answer)).toMatchObject({
        status: 'completed',
        result: expect.stringMatching(/^\["(?:string|object)",true\]$/),
      });
    },
    PATIENCE,
  );

  it(
    '[E-12] takes no place from another tenant, and no process stays',
    async () => {
      const narrow = programs({ max: 2, warm: 0, limits: { ...LIMITS, runMs: 120_000 }, logger: false });
      const crm = providerOf('crm', ['find'], async () => ({ content: '{"n":1}' }));
      const scope = (req: { readonly headers: Readonly<Record<string, unknown>> }) => String(req.headers['x-tenant']);
      try {
        await withTools({ tools: [narrow, crm], scope: scope as never }, async ({ fake, url }) => {
          const ask = (tenant: string, signal?: AbortSignal) =>
            fetch(`${url}/responses`, {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'x-tenant': tenant },
              body: JSON.stringify({ model: 'm', input: 'Hi', tools: TOOLS, user: tenant }),
              ...(signal ? { signal } : {}),
            });
          const before = sandboxesOf().length;
          const leaving = new AbortController();
          const program = (code: string) => calls(['p', 'programmatic_tool_calling', JSON.stringify({ code })]);
          fake.reply(...Array(3).fill(program('for (;;) {}')));
          const greedy = [1, 2, 3].map(() => ask('greedy', leaving.signal).catch(() => undefined));
          while (fake.requests.length < 3) await new Promise((resolve) => setImmediate(resolve));
          fake.reply(program('text((await tools.find({})).n);'), says('Done.'));
          const text = await (await ask('modest')).text();
          expect(text).toContain('"result":"1"');
          leaving.abort();
          await Promise.all(greedy);
          await narrow.close?.();
          expect(sandboxesOf().length).toBeLessThanOrEqual(before);
        });
      } finally {
        await narrow.close?.();
      }
    },
    PATIENCE,
  );
});
