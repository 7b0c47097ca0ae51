/** The memory of each server, measured once in a fresh process. */
import { listed } from './rounds.mjs';

/**
 * A row for each server and peer with the figures of `measure`; afterwards the clients leave and the server is stopped. The row of a
 * server that fails has the reason.
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
