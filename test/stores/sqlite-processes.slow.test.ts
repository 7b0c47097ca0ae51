/** The SQLite store in processes of their own: one that is killed while it writes, and many that start at once. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { databaseFile, describeDrivers, type OpenDatabase } from './sqlite-drivers.ts';

const PUTS = 1000;

/** Starts a writer, which waits for a word before it opens the database. */
async function startWriter(...args: readonly string[]): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'sqlite-writer.ts'), args, {
    execArgv: ['--import', join(import.meta.dirname, '../support/memory-hooks.mjs')],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  await once(child, 'message');
  return child;
}

/** How many puts were acknowledged before the process was killed, somewhere in the middle. */
async function killInTheMiddle(child: ChildProcess): Promise<number> {
  let acknowledged = 0;
  child.on('message', () => {
    acknowledged += 1;
    if (acknowledged === PUTS / 4) child.kill('SIGKILL');
  });
  const exited = once(child, 'close');
  child.send('go');
  await exited;
  return acknowledged;
}

/** The exit code of a process that was ended, with what it complained of. */
async function outcome(child: ChildProcess): Promise<string> {
  let complaint = '';
  child.stderr?.on('data', (text) => {
    complaint += text;
  });
  const exited = once(child, 'close');
  child.send('go');
  const [code] = await exited;
  return code === 0 ? 'ok' : `${code}: ${complaint}`;
}

describeDrivers((open, driver) => {
  it('[P-12] has every acknowledged response after the process was killed in the middle of its puts', async () => {
    const { file, remove } = databaseFile();
    const acknowledged = await killInTheMiddle(await startWriter(driver, 'resp_', String(PUTS), file));
    const lost = missing(
      open(file),
      Array.from({ length: acknowledged }, (_, index) => `resp_${index}`),
    );
    remove();
    expect([lost, acknowledged >= PUTS / 4, acknowledged < PUTS]).toEqual([[], true, true]);
  });

  it('[X-06] is set up and written to by ten processes at once', async () => {
    const { file, remove } = databaseFile();
    // Several, as the processes seldom meet in the moments that matter.
    const files = Array.from({ length: 20 }, (_, index) => `${file}-${index}`);
    const prefixes = Array.from({ length: 10 }, (_, index) => `${index}-`);
    const writers = await Promise.all(prefixes.map((prefix) => startWriter(driver, prefix, '2', ...files)));
    const outcomes = await Promise.all(writers.map(outcome));
    const lost = files.flatMap((each) =>
      missing(
        open(each),
        prefixes.flatMap((prefix) => [`${prefix}0`, `${prefix}1`]),
      ),
    );
    remove();
    expect([outcomes, lost]).toEqual([Array(10).fill('ok'), []]);
  }, 120_000);
});

/** Which of the ids are not in the database; closes it. */
function missing(database: OpenDatabase, ids: readonly string[]): readonly string[] {
  const store = sqliteStore({ database });
  const lost = ids.filter((id) => store.get({ scope: 's', id }) === undefined);
  database.close();
  return lost;
}
