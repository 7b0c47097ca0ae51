/** @langchain/openai holds talks in which the server runs tools, on both endpoints. */

import { itHolds } from './it-holds.ts';
import { langchainTalk } from './langchain-talk.ts';
import { besideOwnCalls, everything, wordsFirst } from './requested.ts';
import { scenarioOf } from './scenarios.ts';
import { hold } from './talk-app.ts';

const RESPONSES = { useResponsesApi: true };

describe.each([
  { method: 'invoke', stream: false },
  { method: 'stream', stream: true },
])('@langchain/openai with $method', ({ stream }) => {
  itHolds(
    { title: 'responses, with history', endpoint: 'responses', rows: 'D-17' },
    langchainTalk({ stream, fields: RESPONSES }),
    everything,
  );
  itHolds(
    { title: 'responses, with previous_response_id', endpoint: 'responses', rows: 'S-12' },
    langchainTalk({ stream, fields: RESPONSES, byId: true }),
    everything,
  );
  itHolds(
    { title: 'responses in the v1 format, with previous_response_id', endpoint: 'responses', rows: 'S-12' },
    langchainTalk({ stream, fields: { ...RESPONSES, outputVersion: 'v1' }, byId: true }),
    everything,
  );
  itHolds(
    { title: 'responses with zdrEnabled, which stores nothing', endpoint: 'responses', rows: 'D-17' },
    langchainTalk({ stream, fields: { ...RESPONSES, zdrEnabled: true } }),
    wordsFirst,
  );

  // It writes the server's calls as function calls of its own, which have no outputs.
  it('[S-12] in the v1 format cannot continue by history, and gets an error', async () => {
    const converse = langchainTalk({ stream, fields: { ...RESPONSES, outputVersion: 'v1' } });
    await expect(hold(converse, scenarioOf('alone'))).rejects.toThrow(
      /^400 No tool output found for function call mcpl_\w+\.$/,
    );
  });

  itHolds({ title: 'chat', endpoint: 'chat' }, langchainTalk({ stream }), besideOwnCalls);
});
