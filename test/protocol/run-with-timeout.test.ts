/** Work that never ends is stopped, and a process without file descriptors does not die of it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runWithTimeout } from '../../src/protocol/json/run-with-timeout.ts';

const SRC = join(import.meta.dirname, '../../src/protocol/json/run-with-timeout.ts');
const HOOKS = join(import.meta.dirname, '../support/memory-hooks.mjs');

/** A process that has fewer and fewer file descriptors left, and then all of them. */
const CROWDED = `
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { runWithTimeout } from ${JSON.stringify(SRC)};
const opened = [];
const results = new Set();
for (;;) {
  results.add(JSON.stringify(runWithTimeout(() => 1, 10_000)));
  try {
    opened.push(openSync(devNull));
  } catch ({ code }) {
    results.add(code);
    break;
  }
}
opened.forEach((each) => closeSync(each));
console.log(JSON.stringify([...results, runWithTimeout(() => 2, 10_000)]));
`;

describe('runWithTimeout', () => {
  it('[F-04] returns the value, or throws what was thrown', () => {
    const error = new RangeError('too deep');
    const fail = () => {
      throw error;
    };
    expect(runWithTimeout(() => ({ a: 1 }), 10_000)).toEqual({ value: { a: 1 } });
    expect(runWithTimeout(() => undefined, 10_000)).toEqual({ value: undefined });
    expect(() => runWithTimeout(fail, 10_000)).toThrow(error);
  });

  it.each<[string, () => unknown]>([
    ['a regular expression', () => /^(a+)+$/.test(`${'a'.repeat(60)}!`)],
    ['a replacement', () => `${'a'.repeat(60)}!`.replace(/^(a+)+$/, '')],
    [
      'a loop',
      () => {
        for (;;);
      },
    ],
    [
      'a loop that catches all',
      () => {
        for (;;) {
          try {
            /^(a+)+$/.test(`${'a'.repeat(60)}!`);
          } catch {}
        }
      },
    ],
  ])('[F-04] stops %s', (_, run) => {
    expect(runWithTimeout(run, 20.5)).toBe(undefined);
    expect(runWithTimeout(() => 1, 10_000)).toEqual({ value: 1 });
  });

  it('[F-04] runs nothing where the process has no file descriptors left, as Node would abort it', async () => {
    const words = [
      'ulimit -n 64; exec "$0" --import "$1" --input-type=module -e "$2"',
      process.execPath,
      HOOKS,
      CROWDED,
    ];
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', ...words]);
    expect(JSON.parse(stdout)).toEqual(['{"value":1}', null, 'EMFILE', { value: 2 }]);
  });
});
