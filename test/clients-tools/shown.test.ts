/** What each client shows of the server's calls: the list of tools once, and a failed call as a failed call. */

import type { AIMessage } from '@langchain/core/messages';
import type { AgentInputItem } from '@openai/agents';
import type OpenAI from 'openai';
import { agentsTalk } from './agents-talk.ts';
import { aiTalk, type Part } from './ai-talk.ts';
import { langchainTalk } from './langchain-talk.ts';
import { asks, openaiResponses, versions } from './openai-responses.ts';
import { scenarioOf } from './scenarios.ts';
import { type Converse, hold } from './talk-app.ts';

const [{ Client }] = versions;
const LANGCHAIN = { fields: { useResponsesApi: true } };
const CALLED = ['mcp_call weather completed', 'message completed'];

describe('the list of the server’s tools', () => {
  const clients: readonly (readonly [string, Converse])[] = [
    ['openai-node with previous_response_id', openaiResponses(Client, 'create', 'previous_response_id')],
    ['openai-node with history', openaiResponses(Client, 'create', 'history')],
    ['@openai/agents with history', agentsTalk({ endpoint: 'responses', stream: true, memory: 'history' })],
    ['@openai/agents with a session', agentsTalk({ endpoint: 'responses', stream: true, memory: 'session' })],
    ['@ai-sdk/openai with previousResponseId', aiTalk({ model: 'openai', stream: true, byId: true })],
    ['@langchain/openai with history', langchainTalk({ ...LANGCHAIN, stream: true })],
  ];
  it.each(clients)('[T-03, Q-02] is shown once in a talk: %s', async (_, converse) => {
    const { shown } = await hold(converse, scenarioOf('alone'));
    expect(shown).toEqual([['mcp_list_tools', ...CALLED], CALLED]);
  });

  it('[T-03] is shown in each turn to @ai-sdk/openai, which never brings it back', async () => {
    const { shown } = await hold(aiTalk({ model: 'openai', stream: true }), scenarioOf('alone'));
    expect(shown).toEqual([
      ['mcp_list_tools', ...CALLED],
      ['mcp_list_tools', ...CALLED],
    ]);
  });
});
