/** What each server holds in memory, measured once in a fresh process. */
import { listed } from './rounds.mjs';

/**
 * A row for each server and peer with the figures that `measure` finds; afterwards the clients leave and the server ends. A
 * server that fails has the reason in its row.
 */
export async function oneByOne(bench, measure) {
  const rows = [];
  for (const server of [...(await bench.startAll()), ...bench.peers()]) {
    const { name } = server;
    rows.push(
      await measure(bench, server).then(
        (figures) => ({ name, values: listed(figures) }),
        (error) => ({ name, values: {}, note: `not measured: ${error.message}` }),
      ),
    );
    await bench.load(server, 'release');
    await server.stop();
  }
  return rows;
}
