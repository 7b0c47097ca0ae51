/** The version that the code states. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../src/protocol/version.ts';

it('is that of package.json', () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  expect(VERSION).toBe(version);
});
