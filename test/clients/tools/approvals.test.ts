/** Approvals with the real clients: each shows the request, answers in its own way, and goes on. */

import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, type AgentInputItem, hostedMcpTool, OpenAIProvider, Runner } from '@openai/agents';
import * as ai6 from 'ai';
import type OpenAI from 'openai';
import type { RouterOptions } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { answerTo, LETTER, mailer } from '../../engine/tools/approvals-support.ts';
import { fakeRemote, URL_A } from '../../engine/tools/remote-support.ts';
import { calls, chatBody, says, type ToolsApp, withTools } from '../../engine/tools/support.ts';
import { aiVersions } from './ai-versions.ts';
import { asks, type Continuing, clientOf, versions } from './openai-responses.ts';

// It prints what is sent without the server's calls.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** Asks, decides of the call that waits, and asks once more: the client's last text after each. */
type Conversation = (url: string, approve: boolean) => Promise<readonly string[]>;

const FIRST = 'Write to Ann.';
const SECOND = 'And now?';

/** What a client that brings everything sends the model the last time. */
const ALL = ['user', 'assistant', 'tool', 'assistant', 'user'];
/** The same of one that loses the calls that the server ran. */
const WITHOUT_CALLS = ['user', 'assistant', 'user'];

/** One test each for yes and no. */
function itAsks(title: string, converse: Conversation, last: readonly string[] = ALL): void {
  it.each([
    ['approves', true],
    ['denies', false],
  ])(`[T-09, Q-02] ${title} %s`, async (_, approve) => {
    const { provider, ran } = mailer();
    const host: RouterOptions = { tools: provider, approval: ({ name }) => name === 'send' };
    await withTools(host, async (app) => {
      app.fake.reply(calls(['call_a', 'send', LETTER]), says('Done.'), says('Still done.'));
      const answers = await converse(app.url, approve);
      const result = approve ? 'Sent.' : 'The user did not approve this call, so it was not run.';
      expect({ answers, ran, reported: app.approvals.map(({ decision }) => decision), notes: app.notes }).toEqual({
        answers: ['Done.', 'Still done.'],
        ran: approve ? ['send {"to":"Ann"}'] : [],
        reported: ['requested', approve ? 'approved' : 'denied'],
        notes: [],
      });
      expect([0, 1, 2].map((index) => rolesIn(app, index))).toEqual([['user'], ['user', 'assistant', 'tool'], last]);
      expect(messagesIn(app, 1).at(-1)?.content).toBe(result);
    });
  });
}

function messagesIn({ fake }: ToolsApp, index: number): readonly JsonObject[] {
  const request = fake.requests[index];
  return request ? chatBody(request).messages : [];
}

function rolesIn(app: ToolsApp, index: number): readonly unknown[] {
  return messagesIn(app, index).map(({ role }) => role);
}

describe.each(versions)('$version', ({ Client }) => {
  const waysToAsk = Object.keys(asks) as (keyof typeof asks)[];
  const continuings: readonly Continuing[] = ['previous_response_id', 'history'];

  for (const ask of waysToAsk)
    for (const continuing of continuings)
      itAsks(`${ask}, going on by ${continuing},`, async (url, approve) => {
        const client = clientOf(Client, { url } as never);
        let history: OpenAI.Responses.ResponseInput = [];
        let previous: { readonly previous_response_id?: string } = {};
        const turn = async (...input: OpenAI.Responses.ResponseInput) => {
          history = [...history, ...input];
          const requested = continuing === 'history' ? { input: history, store: false } : { input, ...previous };
          const response = await asks[ask](client, { model: 'fake-model', ...requested });
          previous = { previous_response_id: response.id };
          // The cast: the output goes back as it came.
          history = [...history, ...(response.output as OpenAI.Responses.ResponseInput)];
          return response;
        };
        const waiting = await turn({ role: 'user', content: FIRST });
        const request = waiting.output.find((item) => item.type === 'mcp_approval_request');
        const approval_request_id = String(request?.id);
        const done = await turn({ type: 'mcp_approval_response', approval_request_id, approve });
        const more = await turn({ role: 'user', content: SECOND });
        return [textOf(done), textOf(more)];
      });
});

function textOf({ output }: OpenAI.Responses.Response): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

describe('@openai/agents', () => {
  for (const stream of [false, true])
    for (const memory of ['history', 'previousResponseId'] as const)
      itAsks(`${stream ? 'streaming' : 'at once'}, going on by ${memory},`, async (url, approve) => {
        const ask = agentAt(url, stream, { serverLabel: 'mail', requireApproval: 'never' });
        const waiting = await ask(FIRST);
        const [interruption] = waiting.interruptions ?? [];
        if (!interruption) throw new Error('Nothing waits.');
        if (approve) waiting.state.approve(interruption);
        else waiting.state.reject(interruption);
        const done = await ask(waiting.state);
        const question = { role: 'user' as const, content: SECOND };
        const more =
          memory === 'history'
            ? await ask([...done.history, question])
            : await ask([question], { previousResponseId: String(done.lastResponseId) });
        return [done.finalOutput ?? '', more.finalOutput ?? ''];
      });
});

type HostedServer = Parameters<typeof hostedMcpTool>[0];

function agentAt(url: string, stream: boolean, server: HostedServer) {
  const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: url, useResponses: true });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({ name: 'writer', model: 'fake-model', tools: [hostedMcpTool(server)] });
  type Given = string | AgentInputItem[] | Awaited<ReturnType<typeof once>>['state'];
  const once = (given: string | AgentInputItem[]) => runner.run(agent, given);
  return async (given: Given, options: { readonly previousResponseId?: string } = {}) => {
    if (!stream) return runner.run(agent, given, options);
    const result = await runner.run(agent, given, { ...options, stream });
    // The run goes on as its events are read.
    for await (const _ of result);
    await result.completed;
    return result;
  };
}

describe.each(aiVersions)('$version', ({ ai: { generateText, streamText }, create }) => {
  for (const stream of [false, true])
    for (const store of [undefined, false] as const)
      itAsks(
        `${stream ? 'streaming' : 'at once'}${store === false ? ' with store: false' : ''}`,
        async (url, approve) => {
          const model = create({ apiKey: 'client-key', baseURL: url }).responses('fake-model');
          const providerOptions = { openai: store === false ? { store } : {} };
          let messages: ai6.ModelMessage[] = [];
          const ask = async (...added: ai6.ModelMessage[]) => {
            messages = [...messages, ...added];
            const result = stream
              ? streamText({ model, messages, providerOptions, maxRetries: 0, onError: () => {} })
              : await generateText({ model, messages, providerOptions, maxRetries: 0 });
            const response = await result.response;
            messages = [...messages, ...response.messages];
            return { content: await result.content, text: await result.text };
          };
          const { content } = await ask({ role: 'user', content: FIRST });
          const request = content.find(({ type }) => type === 'tool-approval-request');
          if (request?.type !== 'tool-approval-request') throw new Error('Nothing waits.');
          const { approvalId } = request;
          const done = await ask({
            role: 'tool',
            content: [{ type: 'tool-approval-response', approvalId, approved: approve, providerExecuted: true }],
          });
          const more = await ask({ role: 'user', content: SECOND });
          return [done.text, more.text];
        },
        store === false ? WITHOUT_CALLS : ALL,
      );
});

describe('@langchain/openai', () => {
  for (const stream of [false, true])
    itAsks(stream ? 'streaming' : 'at once', async (url, approve) => {
      const model = new ChatOpenAI({
        model: 'fake-model',
        apiKey: 'client-key',
        maxRetries: 0,
        useResponsesApi: true,
        configuration: { baseURL: url },
      });
      let previous: { readonly previous_response_id?: string } = {};
      const ask = async (message: HumanMessage) => {
        const whole = await answerOf(model, message, previous, stream);
        previous = { previous_response_id: String(whole.response_metadata.id) };
        return whole;
      };
      const waiting = await ask(new HumanMessage(FIRST));
      const { tool_outputs: outputs = [] } = waiting.additional_kwargs as { tool_outputs?: readonly JsonObject[] };
      const request = outputs.find(({ type }) => type === 'mcp_approval_request');
      const answer = answerTo({ id: String(request?.id) }, approve);
      // The cast: the client passes on content that it does not know.
      const done = await ask(new HumanMessage({ content: [answer as never] }));
      const more = await ask(new HumanMessage(SECOND));
      return [done.text, more.text];
    });
});

async function answerOf(model: ChatOpenAI, message: HumanMessage, options: object, stream: boolean) {
  if (!stream) return model.invoke([message], options);
  const chunks = [];
  for await (const chunk of await model.stream([message], options)) chunks.push(chunk);
  const [first, ...others] = chunks;
  if (!first) throw new Error('There was no answer.');
  return others.reduce((whole, chunk) => whole.concat(chunk), first);
}

describe('a server that the client names', () => {
  it('[T-09, Q-02] is @openai/agents’ hostedMcpTool, whose calls wait by themselves', async () => {
    const { remoteMcp, ran } = fakeRemote();
    await withTools({ remoteMcp }, async ({ url, fake }) => {
      fake.reply(calls(['call_a', 'look'], ['call_b', 'write', LETTER]), says('Done.'));
      const requireApproval = { never: { toolNames: ['look'] }, always: { toolNames: ['write'] } };
      const ask = agentAt(url, true, { serverLabel: 'a', serverUrl: URL_A, requireApproval });
      const waiting = await ask(FIRST);
      expect([waiting.interruptions?.length, ran]).toEqual([1, [`${URL_A} look {}`]]);
      for (const each of waiting.interruptions ?? []) waiting.state.approve(each);
      const done = await ask(waiting.state);
      expect([done.finalOutput, ran.length]).toEqual(['Done.', 2]);
    });
  });

  it('[T-09, Q-02] is @ai-sdk/openai’s tools.mcp', async () => {
    const { remoteMcp, ran } = fakeRemote();
    await withTools({ remoteMcp }, async ({ url, fake }) => {
      fake.reply(calls(['call_a', 'write', LETTER]), says('Done.'));
      const openai = createOpenAI({ apiKey: 'client-key', baseURL: url });
      // The cast: the client's own types do not fit each other where undefined is no value.
      const tools = { mcp: openai.tools.mcp({ serverLabel: 'a', serverUrl: URL_A }) } as never;
      const { text } = await ai6.generateText({ model: openai.responses('fake-model'), tools, prompt: FIRST });
      expect([text, ran]).toEqual(['Done.', [`${URL_A} write {"to":"Ann"}`]]);
    });
  });
});
