/** Model servers of other kinds, and requests that are passed on: the CPU of an answer. */
import { bodyOf } from '../answers.mjs';
import { AI_SDK_SERVERS, BUSY_SERVERS, OPENING_SERVERS, PASSED_SERVERS, RESPONSES_SERVERS } from '../servers.mjs';
import { inRounds } from './rounds.mjs';

// A peer would write every answer to its database.
const UNSTORED = { store: false };

/** `peers` is the API of the model server of the peers that take part, if any does. */
function scenario({ about, servers, peers, forGoals = false, plan, shortPlan = plan, ask, ...load }) {
  return {
    about,
    forGoals,
    async run(bench) {
      const started = await bench.startAll(servers);
      return inRounds(bench, [...started, ...(peers ? bench.peers(peers) : [])], {
        bodiesOf: ({ api }) => [bodyOf(api, plan, ask)],
        shortBodiesOf: ({ api }) => [bodyOf(api, shortPlan, ask)],
        ...load,
      });
    },
  };
}

export const responsesUpstream = scenario({
  about: '32 clients, 200 deltas of a Responses server each, nothing stored',
  servers: RESPONSES_SERVERS,
  forGoals: true,
  peers: 'responses',
  ...{ plan: 'responses:200', shortPlan: 'responses:8', ask: UNSTORED },
  ...{ connections: 32, turns: 600, events: 200, warmUp: 5 },
});

export const busy = scenario({
  about:
    '64 clients, 200 deltas each, nothing stored: the memory of a warm process, with V8’s own young generation and a smaller one',
  servers: BUSY_SERVERS,
  ...{ plan: 'burst:200', shortPlan: 'short:8', ask: UNSTORED, connections: 64, turns: 1000, events: 200, warmUp: 5 },
});

export const openEarly = scenario({
  about:
    '64 clients, 8 deltas each of a model that is silent for 20 ms: streams that are opened with its answer, and before it',
  servers: OPENING_SERVERS,
  ...{ plan: 'late:8:20', shortPlan: 'short:8', connections: 64, turns: 2000 },
});

export const aiSdk = scenario({
  about:
    '32 clients, 200 deltas each through a provider of the AI SDK: alone, behind `aiSdkUpstream`, and the same over HTTP',
  servers: AI_SDK_SERVERS,
  ...{ plan: 'burst:200', shortPlan: 'short:8', connections: 32, turns: 100, events: 200, warmUp: 2 },
});

export const passThroughRows = scenario({
  about: '16 clients, a request for embeddings each, passed on by `passThroughRouter` and by a handler that pipes',
  servers: PASSED_SERVERS,
  ...{ plan: 'embeddings:1024', connections: 16, turns: 2000 },
});
