/** @openai/agents holds talks in which the server runs tools, on both endpoints. */
import { type AgentsMemory, agentsTalk } from './agents-talk.ts';
import { itHolds } from './it-holds.ts';
import { apartLater, besideOwnCalls, everything, type Requested, unrecorded } from './requested.ts';

// All but the last drop the results of the server's calls, which come back from the store.
const MEMORIES: readonly (readonly [AgentsMemory, string, Requested])[] = [
  ['history', 'D-17', everything],
  ['session', 'D-17', apartLater],
  ['previousResponseId', 'S-12', everything],
];

describe.each([false, true])('@openai/agents with stream: %s', (stream) => {
  for (const [memory, rows, requested] of MEMORIES) {
    const way = { title: `responses, with ${memory}`, endpoint: 'responses', rows } as const;
    itHolds(way, agentsTalk({ endpoint: 'responses', stream, memory }), requested);
  }
  itHolds(
    { title: 'responses with store: false, where no result is kept', endpoint: 'responses', rows: 'D-17' },
    agentsTalk({ endpoint: 'responses', stream, memory: 'history', store: false }),
    unrecorded,
  );
  itHolds(
    { title: 'chat, with history', endpoint: 'chat' },
    agentsTalk({ endpoint: 'chat', stream, memory: 'history' }),
    besideOwnCalls,
  );
});
