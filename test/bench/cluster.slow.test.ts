/** A small run of the bench of clusters as a user starts it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { itBuilt } from '../examples/support.ts';
import { describePostgres } from '../support/postgres-server.ts';
import { describeRedis } from '../support/redis-server.ts';

const root = join(import.meta.dirname, '../..');
const runs = promisify(execFile);

/** The rows of all tables: the first cell, and how many of the others are figures above zero. */
function figuresIn(text: string): readonly (readonly [string, number])[] {
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('|  ') && !line.includes('---'));
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  return cells.map(([, name = '', ...rest]) => [name, rest.filter((cell) => Number(cell) > 0).length]);
}

describeRedis('node bench/cluster.mjs, on Redis', () =>
  describePostgres('and PostgreSQL', () => {
    itBuilt('dist/esm/index.js')(
      '[Q-04] [X-08] measures everything and ends by itself',
      async () => {
        const { stdout } = await runs(process.execPath, ['bench/cluster.mjs', '--quick'], { cwd: root });
        expect(stdout).not.toContain('not measured');
        expect(figuresIn(stdout)).toEqual([
          ['Redis, lockMs 1000', 1],
          ['PostgreSQL, lockMs 1000', 1],
          ['memory', 2],
          ['SQLite', 2],
          ['Redis', 2],
          ['PostgreSQL', 2],
          ['foreground, memory', 2],
          ['background, memory', 2],
          ['background, Redis', 2],
          ['background, PostgreSQL', 2],
          ['Redis', 6],
          ['PostgreSQL', 6],
        ]);
      },
      240_000,
    );
  }),
);

describe('node bench/cluster.mjs', () => {
  it('[Q-04] refuses what it does not know', async () => {
    const args = ['bench/cluster.mjs', '--only', 'appends,strems'];
    const error = await runs(process.execPath, args, { cwd: root }).catch(String);
    expect(String(error)).toContain("--only: there is no 'strems'; known are take-over, appends, cost, streams");
  });
});
