/** The parts that every scenario uses: the model server, the clients, and the servers under test, which it starts and stops. */
import { pathOf, wrongAnswer } from './answers.mjs';
import { answerOf } from './processes.mjs';
import { peerServer, SERVERS, startServer } from './servers.mjs';

// How much smaller a quick run is, which only shows that the bench works.
const QUICK = 20;

/** Starts the model server and the clients. */
export async function startBench({ start, rounds, scenarioMs, quick, peers, upstreamPort }) {
  const { port } = await answerOf(start('upstream.mjs', [upstreamPort]));

  /** Starts clients; returns a function that gives them a job with a server, one job at a time. */
  function moreClients() {
    const clients = start('load.mjs');
    return ({ host, port, prefix, api }, kind, job = {}) =>
      answerOf(clients, { kind, host, port, path: prefix + pathOf(api), ...job });
  }

  const load = moreClients();

  /** The servers that answer each body correctly, and why the others do not. */
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
    /** Those whose model server speaks this API. */
    peers: (upstream = 'chat') => peers.map(peerServer).filter((peer) => peer.upstream === upstream),
    startHelper: (file, ...args) => started(start(file, args)),
  };
}

/** A process that reports the port on which it listens. */
async function started(child) {
  return { child, ...(await answerOf(child)) };
}

/** The model server itself, with nothing in between. */
function directServer(port) {
  return { name: 'direct', api: 'chat', host: '127.0.0.1', port, prefix: '/v1', base: `http://127.0.0.1:${port}/v1` };
}
