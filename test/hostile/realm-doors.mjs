/** Calls every function of the realm that could lead into Node, with hostile arguments; run by `sandbox-doors.test.ts`, over the build. Says `{ tried, foreign }`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';
import { CodeRealm } from '../../dist/sandbox/code-interpreter/child/code-realm.js';

const prepared = process.argv[2] !== 'raw';
const realm = new CodeRealm();
const inside = await realm.evaluate(join(import.meta.dirname, '../../dist/sandbox/code-interpreter/child/realm.js'));
if (prepared) inside.prepareRealm(JSON.stringify({ wasmBytes: 2 ** 28 }));

// Runs in the realm itself, like code that has escaped from Python.
const text = readFileSync(join(import.meta.dirname, 'realm-doors-inside.mjs'), 'utf8');
const attack = new vm.SourceTextModule(text, { context: realm.context });
await attack.link(() => {});
await attack.evaluate();
attack.namespace.start();
const timer = setInterval(() => {
  const report = attack.namespace.report();
  if (report === undefined) return;
  clearInterval(timer);
  process.stdout.write(report);
}, 50);
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
