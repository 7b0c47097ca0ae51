/** A script of a skill in Python that really runs. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { skills } from '../../../src/skills.ts';
import { pyodideRuntime } from '../../../src/tools/code-interpreter/index.ts';

const SCRIPT = `from __future__ import annotations
import sys
from helper import doubled
print(sys.argv[1:], doubled(open('data.csv').read()), __name__)
if len(sys.argv) > 2: raise ValueError('too many')
`;

it('[A-38] reads its arguments, its files and its helpers, and its failure is reported', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skills-'));
  mkdirSync(join(folder, 'csv', 'scripts'), { recursive: true });
  const files = {
    'SKILL.md': 'Run it.',
    'scripts/run.py': SCRIPT,
    'scripts/helper.py': 'def doubled(x): return x * 2',
    'data.csv': '1,2;',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'csv', name), text);
  const runtime = pyodideRuntime({ warm: 0 });
  const provider = skills({ folder, runtime });
  const run = (...args: readonly string[]) =>
    provider.call(
      {
        server: 'skills',
        name: 'skill__csv',
        arguments: { run: 'scripts/run.py', args },
        scope: '',
        requestId: '',
        request: undefined,
      },
      new AbortController().signal,
    );
  const sentToModel = [String((await run('é"\\')).content), String((await run('a', 'b')).content)];
  await runtime.close();
  rmSync(folder, { recursive: true });
  expect(sentToModel[0]).toBe("['é\"\\\\'] 1,2;1,2; __main__\n");
  expect(sentToModel[1]).toMatch(/^\['a', 'b'\] .*\n\nThe script failed:\n/);
  expect(sentToModel[1]).toContain('ValueError: too many');
});
