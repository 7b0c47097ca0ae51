/** A small run of the bench as a user starts it. */
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { itBuilt } from '../examples/support.ts';
import { freePort } from '../support/services.ts';

const root = join(import.meta.dirname, '../..');
const runs = promisify(execFile);

/** A peer that answers at once and says nothing. */
async function startSilentPeer() {
  const server = createServer((_request, response) => response.end('data: {"type":"response.completed"}\n\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The cast: a server that listens on TCP has an address, and it is no pipe's name.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close: () => server.close() };
}

/** A peer that answers rightly, over the model server at the port. */
async function startPeer(upstreamPort: number) {
  const child = fork(join(root, 'bench/servers/naive.mjs'), [String(upstreamPort)]);
  // The cast: this is what the bench's servers say first.
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }];
  return { url: `http://127.0.0.1:${port}/v1`, pid: child.pid, close: () => child.kill() };
}

/** The cells of each row, by the row's first cell. */
function rowsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  return new Map(cells.map(([, name = '', ...rest]) => [name, rest.slice(0, -1)]));
}

describe('node bench/run.mjs', () => {
  itBuilt('dist/esm/index.js')(
    '[Q-04] measures every server and right peer, reports why it does not measure a wrong one, and ends by itself',
    async () => {
      const upstreamPort = await freePort();
      const [right, silent] = await Promise.all([startPeer(upstreamPort), startSilentPeer()]);
      const peers = [
        '--peer',
        `right=${right.url}`,
        '--peer-pid',
        `right=${right.pid}`,
        '--peer',
        `silent=${silent.url}`,
      ];
      const args = ['bench/run.mjs', '--only', 'short', '--quick', '--upstream-port', String(upstreamPort), ...peers];
      const { stdout } = await runs(process.execPath, args, { cwd: root }).finally(() => {
        right.close();
        silent.close();
      });
      const rows = rowsOf(stdout);
      const measured = ['pass-through', 'ours in Express', 'ours, chat', 'naive', 'right'];
      expect(measured.filter((name) => !(Number(rows.get(name)?.[0]) > 0))).toEqual([]);
      const [note, ...figures] = rows.get('silent')?.toReversed() ?? [];
      expect([note, new Set(figures)]).toEqual([expect.stringMatching(/^no answer/), new Set(['–'])]);
      expect(rows.get('short')?.at(-1)).toMatch(/^(yes|no)$/);
    },
    120_000,
  );

  it('[Q-04] refuses a scenario that it does not know, and names those that bench/README.md explains', async () => {
    const args = ['bench/run.mjs', '--only', 'burst,idel'];
    const error = await runs(process.execPath, args, { cwd: root }).catch(String);
    const [, unknown, known] = /--only: there is no '(\w+)'; known are (.+)/.exec(String(error)) ?? [];
    const [table = ''] = readFileSync(join(root, 'bench/README.md'), 'utf8').match(/^\| scenario [\s\S]+?\n\n/m) ?? [];
    const explained = [...rowsOf(table).keys()].filter((name) => /^[a-z]/.test(name) && name !== 'scenario');
    expect([unknown, known?.split(', ')]).toEqual(['idel', explained]);
  });
});
