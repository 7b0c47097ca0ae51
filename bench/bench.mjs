/** What every scenario works with: the model server, the clients, and servers under test that it starts and stops. */
import { pathOf, wrongAnswer } from './answers.mjs';
import { told } from './processes.mjs';
import { peerServer, SERVERS, startServer } from './servers.mjs';

// How much smaller everything is that is only to be seen working.
const QUICK = 20;

/** Starts the model server and the clients. */
export async function startBench({ start, rounds, scenarioMs, quick, peers, upstreamPort }) {
  const { port } = await told(start('upstream.mjs', [upstreamPort]));

  /** Starts clients; returns a function that has them do a job with a server, one job at a time. */
  function moreClients() {
    const clients = start('load.mjs');
    return ({ host, port, prefix, api }, kind, job = {}) =>
      told(clients, { kind, host, port, path: prefix + pathOf(api), ...job });
  }

  const load = moreClients();

  /** The servers, once each has answered each body rightly, and why the others have not. */
  async function checked(servers, bodiesOf) {
    const whyWrong = async (server) => {
      const asked = bodiesOf(server).map((body) => wrongAnswer(server, ...[body].flat()));
      return [server, (await Promise.all(asked)).find(Boolean)];
    };
    const wrong = new Map((await Promise.all(servers.map(whyWrong))).filter(([, why]) => why));
    return { right: servers.filter((server) => !wrong.has(server)), wrong };
  }

  return {
    ...{ rounds, scenarioMs, quick, load, moreClients, checked, direct: directServer(port) },
    scaled: (count) => (quick ? Math.max(2, Math.ceil(count / QUICK)) : count),
    start: (name, server = SERVERS[name], side = 'server') => startServer(start, name, server, port, side),
    startAll: (servers = SERVERS) =>
      Promise.all(Object.entries(servers).map(([name, server]) => startServer(start, name, server, port))),
    peers: () => peers.map(peerServer),
    startHelper: (file, ...args) => started(start(file, args)),
  };
}

/** A process that says at which port it listens. */
async function started(child) {
  return { child, ...(await told(child)) };
}

/** The model server itself, asked without anything between. */
function directServer(port) {
  return { name: 'direct', api: 'chat', host: '127.0.0.1', port, prefix: '/v1', base: `http://127.0.0.1:${port}/v1` };
}
