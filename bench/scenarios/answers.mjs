/** Answers of all kinds, as fast as they are read or at a model's pace: the CPU of the server for each. */
import { bodyOf } from '../answers.mjs';
import { inRounds } from './rounds.mjs';

/** `shortPlan` is that of the answers that warm a server up. */
function scenario({ about, plan, shortPlan = plan, ask, ...load }) {
  const bodiesOf = ({ api }) => [bodyOf(api, plan, ask)];
  const shortBodiesOf = ({ api }) => [bodyOf(api, shortPlan, ask)];
  return {
    about,
    plan,
    ask,
    async run(bench) {
      return inRounds(bench, [...(await bench.startAll()), ...bench.peers()], { bodiesOf, shortBodiesOf, ...load });
    },
  };
}

/** Rounds of long answers until their code, too, is compiled: some 3,000 of them. */
const BURSTS = 10;

export const burst = scenario({
  about: '32 clients, 500 deltas each, as fast as they are read',
  ...{ plan: 'burst:500', shortPlan: 'short:8', connections: 32, turns: 300, events: 500, warmUp: BURSTS },
});

export const padded = scenario({
  about: 'the same with padding of changing length in each delta',
  ...{ plan: 'padded:500', shortPlan: 'padded:8', connections: 32, turns: 200, events: 500, warmUp: BURSTS },
});

export const logprobs = scenario({
  about: 'the same with log probabilities in each delta',
  ...{
    plan: 'logprobs:500',
    shortPlan: 'logprobs:8',
    ask: { logprobs: true },
    connections: 32,
    turns: 80,
    events: 500,
    warmUp: BURSTS,
  },
});

export const short = scenario({
  about: '64 clients, 8 deltas each',
  ...{ plan: 'short:8', connections: 64, turns: 3000 },
});

export const json = scenario({
  about: '64 clients, one JSON answer each',
  ...{ plan: 'json:50', ask: { stream: false }, connections: 64, turns: 3000 },
});

export const paced = scenario({
  about: '200 clients, a delta every 20 ms each',
  // So long that the beginning, when 200 requests arrive at once, is a small part; each round includes its own warm-up.
  ...{ plan: 'paced:100:20', shortPlan: 'short:8', connections: 200, turns: 200, events: 100, warmUp: 1 },
});

export const arguments16k = scenario({
  about: '32 clients, 16 KB of arguments of a client’s tool each, in 513 deltas',
  ...{
    plan: 'arguments:16384',
    shortPlan: 'arguments:256',
    ask: { tool: true },
    connections: 32,
    turns: 100,
    events: 513,
    warmUp: BURSTS,
  },
});
