/** Model servers of other APIs: the CPU of an answer through the upstream for each. */
import { bodyOf } from '../answers.mjs';
import { RESPONSES_SERVERS } from '../servers.mjs';
import { inRounds } from './rounds.mjs';

const DELTAS = 200;
const PLAN = `responses:${DELTAS}`;
const SHORT_PLAN = 'responses:8';
// The peer would write every answer to its database.
const ASK = { store: false };

export const responsesUpstream = {
  about: '32 clients, 200 deltas of a Responses server each, nothing stored',
  async run(bench) {
    const servers = [...(await bench.startAll(RESPONSES_SERVERS)), ...bench.peers('responses')];
    return inRounds(bench, servers, {
      bodiesOf: ({ api }) => [bodyOf(api, PLAN, ASK)],
      shortBodiesOf: ({ api }) => [bodyOf(api, SHORT_PLAN, ASK)],
      ...{ connections: 32, turns: 600, events: DELTAS, warmUp: 5 },
    });
  },
};
