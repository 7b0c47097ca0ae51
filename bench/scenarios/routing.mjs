/** What an upstream over several servers, or an option, costs compared with one server, or with no option. */
import { bodyOf } from '../answers.mjs';
import { OPTION_SERVERS, ROUTING_SERVERS } from '../servers.mjs';
import { inRounds } from './rounds.mjs';

function scenario({ about, plan, servers = ROUTING_SERVERS, ...load }) {
  const bodiesOf = ({ api }) => [bodyOf(api, plan)];
  const shortBodiesOf = ({ api }) => [bodyOf(api, 'short:8')];
  return {
    about,
    onlyOnRequest: true,
    forGoals: servers === OPTION_SERVERS,
    run: async (bench) => inRounds(bench, await bench.startAll(servers), { bodiesOf, shortBodiesOf, ...load }),
  };
}

export const routing = scenario({
  about: '`balanced` beside its only server: 32 clients, 500 deltas each, as fast as they are read',
  ...{ plan: 'burst:500', connections: 32, turns: 300, events: 500, warmUp: 10 },
});

export const routingPaced = scenario({
  about: 'the same: 200 clients, a delta every 20 ms each',
  ...{ plan: 'paced:100:20', connections: 200, turns: 200, events: 100, warmUp: 1 },
});

export const options = scenario({
  about: 'the load of burst with nothing, with a guard of the output, and with an inspector',
  servers: OPTION_SERVERS,
  ...{ plan: 'burst:500', connections: 32, turns: 300, events: 500, warmUp: 10 },
});
