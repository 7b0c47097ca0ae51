/**
 * No pattern of `src` comes in unseen: each stands in `patterns.txt`, which `UPDATE_PATTERNS=1` writes anew. Whether what
 * stands there is fit for untrusted text is checked by `test/hostile/patterns.clock.test.ts`: run it after an update.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineOf, patternsOfSource } from './patterns.ts';

const LIST = join(import.meta.dirname, 'patterns.txt');

/** Files that make a pattern out of text, and why that is safe; `test/hostile/patterns.clock.test.ts` attacks each. */
const CONSTRUCTED: readonly string[] = [
  // Of constants, for texts of at most 64 Ki characters.
  'src/protocol/json/log-probs.ts',
  // Of an encoding's own pattern, over untrusted text: it runs in a thread with a deadline.
  'src/engine/tokens/byte-pairs.ts',
  // Of the name of a field that is a constant.
  'src/engine/turn/data/text-field.ts',
  // Of the names of fields, which are constants.
  'src/engine/metering/answer-usage.ts',
];

it('[F-04] lists every pattern of the source', () => {
  const { literals, constructed } = patternsOfSource();
  const found = `${[...new Set(literals.map(lineOf))].sort().join('\n')}\n`;
  if (process.env.UPDATE_PATTERNS === '1') writeFileSync(LIST, found);
  expect([found, constructed]).toEqual([readFileSync(LIST, 'utf8'), [...CONSTRUCTED].sort()]);
});
