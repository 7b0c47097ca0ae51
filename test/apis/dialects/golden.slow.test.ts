/** What every dialect says in every scene, byte for byte but for ids and times; UPDATE_GOLDEN=1 writes it down anew. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DialectName } from '../../../src/ports/dialect.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { golden, goldenPath, goldenScenes, NAMES, transcriptOf, withDialect } from './support.ts';

const UPDATES = process.env.UPDATE_GOLDEN === '1';

async function compared(dialect: DialectName, scenario: Scenario): Promise<void> {
  const written = await withDialect(dialect, (app) => transcriptOf(app, scenario));
  if (UPDATES) write(goldenPath(dialect, scenario.name), written);
  expect(written).toBe(golden(dialect, scenario.name));
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe.each(NAMES)('the dialect %s', (dialect) => {
  it.each(SCENARIOS.map((scenario) => [scenario.rows, scenario.name, scenario] as const))(
    '[%s] says what is written down of the scene %s',
    (_rows, _name, scenario) => compared(dialect, scenario),
  );

  it('has every scene written down, and no other', () => {
    expect(goldenScenes(dialect).toSorted()).toEqual(SCENARIOS.map(({ name }) => name).toSorted());
  });
});
