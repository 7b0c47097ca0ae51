/** The list of what was skipped, at the end of a run. */
import { skippedBy } from './skip-report.mjs';

const result = (testFilePath: string, ...tests: readonly (readonly [status: string, fullName: string])[]) => ({
  testFilePath,
  testResults: tests.map(([status, fullName]) => ({ status, fullName })),
});

it('counts skipped tests and their files by the reason that their names give', () => {
  const reasons = skippedBy([
    result('a.test.ts', ['pending', 'Redis (skipped: there is no redis-server) keeps it'], ['passed', 'adds']),
    result(
      'b.test.ts',
      ['pending', 'Redis (skipped: there is no redis-server) loses nothing (ever)'],
      ['todo', 'later (skipped: Node 20 does not have it)'],
      ['pending', 'somehow'],
    ),
  ]);
  expect([...reasons].map(([reason, { tests, files }]) => [reason, tests, [...files]])).toEqual([
    ['there is no redis-server', 2, ['a.test.ts', 'b.test.ts']],
    ['Node 20 does not have it', 1, ['b.test.ts']],
    ['for a reason that their names do not say', 1, ['b.test.ts']],
  ]);
});
