/** The server's calls shown as function calls with their outputs: who understands that, and who takes them for its own. */
import { agentsTalk } from './agents-talk.ts';
import { type AiWay, aiTalk } from './ai-talk.ts';
import { itHolds } from './it-holds.ts';
import { langchainTalk } from './langchain-talk.ts';
import { type Continuing, openaiResponses, versions } from './openai-responses.ts';
import { everything, scenarioOf } from './scenarios.ts';
import { type Converse, hold } from './talk-app.ts';

const OPTIONS = { mcpItems: 'function_call' } as const;

describe.each(versions)('$version, in an app that sees which calls have outputs', ({ Client }) => {
  const continuing: readonly Continuing[] = ['previous_response_id', 'history'];
  for (const each of continuing) {
    const way = { title: `responses.stream, with ${each}`, endpoint: 'responses', options: OPTIONS } as const;
    itHolds(way, openaiResponses(Client, 'responses.stream', each), everything);
  }
});

describe('frameworks, which try to run such calls themselves or refuse the outputs', () => {
  const agents = { endpoint: 'responses', memory: 'history' } as const;
  const langchain = { fields: { useResponsesApi: true } };
  const ai = (way: AiWay) => aiTalk(way);

  const failures: readonly (readonly [client: string, converse: Converse, message: string])[] = [
    ['@openai/agents', agentsTalk({ ...agents, stream: false }), 'Tool weather not found in agent weatherman.'],
    [
      '@openai/agents, streaming',
      agentsTalk({ ...agents, stream: true }),
      'Tool weather not found in agent weatherman.',
    ],
    ['@ai-sdk/openai', ai({ model: 'openai', stream: false }), 'Invalid JSON response'],
    ['@ai-sdk/openai, streaming', ai({ model: 'openai', stream: true }), 'A call of weather failed.'],
    ['@ai-sdk/open-responses', ai({ model: 'openResponses', stream: false }), 'A call of weather failed.'],
    ['@ai-sdk/open-responses, streaming', ai({ model: 'openResponses', stream: true }), 'A call of weather failed.'],
    [
      '@langchain/openai',
      langchainTalk({ ...langchain, stream: false }),
      'Received tool input did not match expected schema',
    ],
    [
      '@langchain/openai, streaming',
      langchainTalk({ ...langchain, stream: true }),
      'Received tool input did not match expected schema',
    ],
  ];
  it.each(failures)('[T-03] include %s', async (_, converse, message) => {
    await expect(hold(converse, scenarioOf('alone'), OPTIONS)).rejects.toThrow(message);
  });
});
