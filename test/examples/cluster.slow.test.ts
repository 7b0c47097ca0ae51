/** The cluster example: a worker is killed in the middle of an answer, and the client reads the rest from the other one. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describePostgres, startPostgres } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import { itBuilt } from './support.ts';

const root = join(import.meta.dirname, '../..');
const [DEMO, SERVER] = ['build/examples/cluster/demo.js', 'build/examples/cluster/server.js'];
/** The lock of the dead worker, the look for it, and the answer; far longer on a busy machine. */
const PATIENCE_MS = 120_000;

/** What the program printed; rejects unless it ends with status 0. */
async function printedBy(file: string, env: Readonly<Record<string, string>>): Promise<string> {
  const own = { ...process.env, DATABASE_URL: '', REDIS_URL: '', UPSTREAM_BASE_URL: '', SECRET: '', ...env };
  const options = { cwd: root, env: own, timeout: PATIENCE_MS };
  const { stdout } = await promisify(execFile)(process.execPath, [file], options);
  return stdout;
}

describe.each([
  { variable: 'DATABASE_URL', describeWith: describePostgres, startDatabase: startPostgres },
  { variable: 'REDIS_URL', describeWith: describeRedis, startDatabase: startRedis },
])('examples/cluster with $variable', ({ variable, describeWith, startDatabase }) => {
  describeWith('over a real server', () => {
    itBuilt(DEMO)(
      '[S-18] [X-08] finishes an answer whose worker was killed in the middle',
      async () => {
        const database = await startDatabase();
        try {
          const printed = await printedBy(DEMO, { [variable]: database.url });
          expect(printed.split('\n')).toEqual(
            expect.arrayContaining([
              expect.stringMatching(/^The client has lost its connection after event \d+/),
              expect.stringMatching(/^Worker \d+ has died \(SIGKILL\); another one starts$/),
              expect.stringMatching(/^Worker \d+: The response was begun by another process/),
              expect.stringMatching(/^Before: Hello from the demo model\. You wrote "1 2 3 /),
              expect.stringMatching(/^The client has finished: completed, \d+ events, none lost or repeated$/),
            ]),
          );
        } finally {
          await database.close();
        }
      },
      PATIENCE_MS,
    );
  });
});

describe('examples/cluster without a database', () => {
  itBuilt(SERVER)('reports what it needs, and ends with status 1', async () => {
    await expect(printedBy(SERVER, {})).rejects.toMatchObject({
      code: 1,
      stderr: 'Set DATABASE_URL (postgres://…) or REDIS_URL (redis://…): the processes share it.\n',
    });
  });
});
