/** The AI SDK with its two providers holds talks in which the server runs tools, on both endpoints. */
import { aiTalk, aiUiTalk } from './ai-talk.ts';
import { itHolds } from './it-holds.ts';
import { apart, asDone, besideOwnCalls, ownCalls, ownCallsJoined } from './requested.ts';

describe.each([
  { entry: 'generateText', stream: false, referring: apart },
  { entry: 'streamText', stream: true, referring: asDone },
])('$entry', ({ stream, referring }) => {
  itHolds(
    { title: '@ai-sdk/openai, which refers to the server’s calls by their ids', endpoint: 'responses' },
    aiTalk({ model: 'openai', stream }),
    referring,
  );
  itHolds(
    { title: '@ai-sdk/openai with previousResponseId', endpoint: 'responses', rows: 'S-12' },
    aiTalk({ model: 'openai', stream, byId: true }),
    referring,
  );
  itHolds(
    { title: '@ai-sdk/openai with store: false, which drops the server’s calls', endpoint: 'responses' },
    aiTalk({ model: 'openai', stream, store: false }),
    ownCalls,
  );
  itHolds(
    { title: '@ai-sdk/open-responses, which drops the server’s calls', endpoint: 'responses' },
    aiTalk({ model: 'openResponses', stream }),
    ownCallsJoined,
  );
  itHolds(
    { title: '@ai-sdk/openai’s chat()', endpoint: 'chat' },
    aiTalk({ model: 'openaiChat', stream }),
    besideOwnCalls,
  );
});

describe('messages of a user interface', () => {
  itHolds(
    { title: '@ai-sdk/openai, which refers to the server’s calls by their ids', endpoint: 'responses' },
    aiUiTalk('openai'),
    asDone,
  );
  itHolds({ title: '@ai-sdk/openai’s chat()', endpoint: 'chat' }, aiUiTalk('openaiChat'), besideOwnCalls);
});
