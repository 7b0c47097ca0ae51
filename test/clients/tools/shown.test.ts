/** What clients show of the server's calls, and which of them take calls for their own that are no `mcp_call` items. */
import type { AIMessage } from '@langchain/core/messages';
import type { AgentInputItem } from '@openai/agents';
import type OpenAI from 'openai';
import { agentsTalk } from './agents-talk.ts';
import { aiTalk, type Part } from './ai-talk.ts';
import { langchainTalk } from './langchain-talk.ts';
import { openaiResponses, versions } from './openai-responses.ts';
import { scenarioOf } from './scenarios.ts';
import { type Converse, hold } from './talk-app.ts';

const LANGCHAIN = { fields: { useResponsesApi: true } } as const;
const AGENTS = { endpoint: 'responses', memory: 'history' } as const;
const [{ Client }] = versions;

describe('the list of the server’s tools', () => {
  const LISTED = 'mcp_list_tools completed';
  const CALLED = ['mcp_call weather completed', 'message completed'];

  const clients: readonly (readonly [string, Converse])[] = [
    ['openai-node with previous_response_id', openaiResponses(Client, 'create', 'previous_response_id')],
    ['openai-node with history', openaiResponses(Client, 'create', 'history')],
    ['@openai/agents with history', agentsTalk({ ...AGENTS, stream: true })],
    ['@openai/agents with a session', agentsTalk({ ...AGENTS, stream: true, memory: 'session' })],
    ['@ai-sdk/openai with previousResponseId', aiTalk({ model: 'openai', stream: true, byId: true })],
    ['@langchain/openai with history', langchainTalk({ ...LANGCHAIN, stream: true })],
  ];
  it.each(clients)('[T-03, Q-02] is shown once in a talk: %s', async (_, converse) => {
    const { shown } = await hold(converse, scenarioOf('alone'));
    expect(shown).toEqual([[LISTED, ...CALLED], CALLED]);
  });

  it('[T-03] is shown again in each turn to @ai-sdk/openai, which never brings it back', async () => {
    const { shown } = await hold(aiTalk({ model: 'openai', stream: true }), scenarioOf('alone'));
    expect(shown).toEqual([
      [LISTED, ...CALLED],
      [LISTED, ...CALLED],
    ]);
  });
});

describe.each([false, true])('a call that failed, with stream: %s', (stream) => {
  const FAILED = {
    id: expect.stringMatching(/^mcp_[0-9a-f]{36}$/),
    type: 'mcp_call',
    status: 'failed',
    approval_request_id: null,
    arguments: '{"city":"Atlantis"}',
    error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'No such city.' }] },
    name: 'weather',
    server_label: 'functions',
  };

  it.each(versions)('[T-03, Q-02] is an item of $version’s response', async ({ Client }) => {
    const ask = stream ? 'responses.stream' : 'create';
    const [response] = await seenOf<OpenAI.Responses.Response>((see) => openaiResponses(Client, ask, 'history', see));
    expect(response?.output[1]).toEqual({ ...FAILED, output: null });
  });

  it('[T-03, Q-02] is a hosted call of @openai/agents', async () => {
    const [items] = await seenOf<readonly AgentInputItem[]>((see) => agentsTalk({ ...AGENTS, stream }, see));
    expect(items?.[1]).toMatchObject({ type: 'hosted_tool_call', name: 'mcp_call', providerData: FAILED });
  });

  it('[T-03, Q-02] is a result of @ai-sdk/openai', async () => {
    const [parts = []] = await seenOf<readonly Part[]>((see) => aiTalk({ model: 'openai', stream }, see));
    const { name, arguments: args, error, server_label: serverLabel } = FAILED;
    expect(parts.map(({ type, toolName, output }) => ({ type, toolName, output }))).toEqual([
      { type: 'tool-call', toolName: 'mcp.weather' },
      {
        type: 'tool-result',
        toolName: 'mcp.weather',
        output: { type: 'call', serverLabel, name, arguments: args, error },
      },
      { type: 'text' },
    ]);
  });

  it('[T-03, Q-02] is nothing to @ai-sdk/open-responses', async () => {
    const [parts = []] = await seenOf<readonly Part[]>((see) => aiTalk({ model: 'openResponses', stream }, see));
    expect(parts.map(({ type }) => type)).toEqual(['text']);
  });

  it('[T-03, Q-02] is a tool output of @langchain/openai’s message', async () => {
    const [message] = await seenOf<AIMessage>((see) => langchainTalk({ ...LANGCHAIN, stream }, see));
    expect(message?.additional_kwargs.tool_outputs).toEqual([
      expect.objectContaining({ type: 'mcp_list_tools' }),
      { ...FAILED, output: null },
    ]);
  });
});

/** What a client saw of the talk about a failure, answer by answer. */
async function seenOf<Seen>(talk: (see: (seen: Seen) => void) => Converse): Promise<readonly Seen[]> {
  const all: Seen[] = [];
  await hold(
    talk((seen) => all.push(seen)),
    scenarioOf('failing'),
  );
  return all;
}

describe('function_call items', () => {
  const agents = 'Tool weather not found in agent weatherman.';
  const ai = 'A call of weather failed.';
  const langchain = 'Received tool input did not match expected schema';

  it.each([
    ['@openai/agents', agentsTalk({ ...AGENTS, stream: false }), agents],
    ['@openai/agents, streaming', agentsTalk({ ...AGENTS, stream: true }), agents],
    ['@ai-sdk/openai, streaming', aiTalk({ model: 'openai', stream: true }), ai],
    ['@ai-sdk/open-responses', aiTalk({ model: 'openResponses', stream: false }), ai],
    ['@ai-sdk/open-responses, streaming', aiTalk({ model: 'openResponses', stream: true }), ai],
    ['@langchain/openai', langchainTalk({ ...LANGCHAIN, stream: false }), langchain],
    ['@langchain/openai, streaming', langchainTalk({ ...LANGCHAIN, stream: true }), langchain],
  ])('[T-03] are run again, and in vain, by %s', async (_, converse, message) => {
    const held = hold(converse, scenarioOf('alone'), { show: { toolCalls: 'function_call' } });
    await expect(held).rejects.toThrow(message);
  });

  it('[T-03] have outputs that @ai-sdk/openai refuses in JSON', async () => {
    const held = hold(aiTalk({ model: 'openai', stream: false }), scenarioOf('alone'), {
      show: { toolCalls: 'function_call' },
    });
    await expect(held).rejects.toThrow('Invalid JSON response');
  });
});
