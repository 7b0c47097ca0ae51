/** The list of what was skipped, at the end of a run. */
import { jest } from '@jest/globals';
import SkipReport, { allowedSkips, forbiddenSkips, skippedBy } from './skip-report.mjs';

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

describe('skipped tests where CI=true', () => {
  const { CI } = process.env;
  const shown = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  afterEach(() => {
    process.env.CI = CI;
    if (CI === undefined) delete process.env.CI;
  });
  afterAll(() => shown.mockRestore());

  const reported = (ci: string, ...names: readonly string[]) => {
    process.env.CI = ci;
    const report = new SkipReport({});
    report.onRunComplete(
      {},
      { testResults: [result('a.test.ts', ...names.map((name) => ['pending', name] as const))] },
    );
    return report.getLastError()?.message;
  };

  it('fail the run by their names, unless the list allows them', () => {
    const allowed = 'with node:sqlite (skipped: Node 20.20.2 does not have it) keeps it';
    expect([
      reported('true', 'Redis (skipped: there is no redis-server) keeps it', allowed),
      reported('true', allowed),
      reported('', 'Redis (skipped: there is no redis-server) keeps it'),
    ]).toEqual([
      expect.stringMatching(
        /allowed-skips\.json does not name:\n {2}Redis \(skipped: there is no redis-server\) keeps it$/,
      ),
      undefined,
      undefined,
    ]);
  });

  it('are allowed by patterns with a reason each, and by no other', () => {
    for (const { test, reason } of allowedSkips())
      expect([() => new RegExp(test), reason.length > 20]).toEqual([expect.any(Function), true]);
    expect(
      forbiddenSkips([result('a.test.ts', ['todo', 'later'], ['passed', 'now'])], [{ test: '^now', reason: '' }]),
    ).toEqual(['later']);
  });
});
