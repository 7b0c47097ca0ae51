/** The real clients in talks for which they bring an MCP server: each asks, sees whether a call waits, and answers. */

import { AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, hostedMcpTool, OpenAIProvider, Runner } from '@openai/agents';
import type * as ai6 from 'ai';
import type OpenAI from 'openai';
import { type BroughtServer, wireTool } from '../../engine/tools/remote-app.ts';
import { aiVersions } from './ai-versions.ts';
import { asks, clientOf, versions } from './openai-responses.ts';

/** What a client shows of one response. */
export interface Shown {
  readonly text: string;
  readonly waits: boolean;
}

/** A talk of one question and, where a call waits, the user's answer. */
export interface Session {
  ask(question: string): Promise<Shown>;
  answer(approve: boolean): Promise<Shown>;
}

/** One way to use a client. */
export interface BringingClient {
  readonly title: string;
  readonly start: (url: string, server: BroughtServer) => Session;
}

type Response = OpenAI.Responses.Response;
type Input = OpenAI.Responses.ResponseInput;
type Answer = OpenAI.Responses.ResponseInputItem.McpApprovalResponse;
type Body = Pick<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'input' | 'store' | 'previous_response_id'>;

/** How the answer comes: the body of the question, and that of the answer. */
interface Way {
  readonly name: string;
  readonly first: Body;
  readonly body: (requested: Input, waiting: Response, answer: Answer) => Body;
}

const ways: readonly Way[] = [
  {
    name: 'previous_response_id',
    first: {},
    body: (_, { id }, answer) => ({ previous_response_id: id, input: [answer] }),
  },
  {
    name: 'the full history',
    first: { store: false },
    // The cast: the output goes back as it came, as OpenAI's guides show.
    body: (requested, { output }, answer) => ({ store: false, input: [...requested, ...(output as Input), answer] }),
  },
  {
    name: 'item_reference',
    first: {},
    body: (requested, { output }, answer) => ({
      input: [...requested, ...output.map(({ id }) => ({ type: 'item_reference' as const, id: String(id) })), answer],
    }),
  },
  {
    name: 'the answer alone, with store: false',
    first: { store: false },
    body: (_asked, _waiting, answer) => ({ store: false, input: [answer] }),
  },
];

function openaiSession(Client: typeof OpenAI, ask: keyof typeof asks, way: Way): BringingClient['start'] {
  return (url, server) => {
    const client = clientOf(Client, { url });
    let requested: Input = [];
    let last: Response;
    const send = async (body: Body): Promise<Shown> => {
      last = await asks[ask](client, { model: 'fake-model', tools: [wireTool(server)], ...body });
      return { text: textOf(last), waits: requestIn(last) !== undefined };
    };
    return {
      ask(question) {
        requested = [{ role: 'user', content: question }];
        return send({ ...way.first, input: requested });
      },
      answer(approve) {
        const approval_request_id = String(requestIn(last)?.id);
        return send(way.body(requested, last, { type: 'mcp_approval_response', approval_request_id, approve }));
      },
    };
  };
}

function requestIn({ output }: Response) {
  return output.find(({ type }) => type === 'mcp_approval_request');
}

function textOf({ output }: Response): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

type HostedServer = Parameters<typeof hostedMcpTool>[0];

function agentsSession(stream: boolean): BringingClient['start'] {
  return (url, { label: serverLabel, url: serverUrl, approval: requireApproval, ...secrets }) => {
    const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: url, useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    // The cast: the client has a type of its own for each value of `requireApproval`.
    const tool = hostedMcpTool({ serverLabel, serverUrl, requireApproval, ...secrets } as HostedServer);
    const agent = new Agent({ name: 'writer', model: 'fake-model', tools: [tool] });
    type Given = string | Awaited<ReturnType<typeof once>>['state'];
    const once = (given: string) => runner.run(agent, given);
    const run = async (given: Given) => {
      if (!stream) return runner.run(agent, given);
      const result = await runner.run(agent, given, { stream });
      // The run goes on as its events are read.
      for await (const _ of result);
      await result.completed;
      return result;
    };
    let last: Awaited<ReturnType<typeof run>>;
    const shown = async (given: Given): Promise<Shown> => {
      last = await run(given);
      return { text: last.finalOutput ?? '', waits: last.interruptions.length > 0 };
    };
    return {
      ask: shown,
      answer(approve) {
        for (const each of last.interruptions) {
          if (approve) last.state.approve(each);
          else last.state.reject(each);
        }
        return shown(last.state);
      },
    };
  };
}

function aiSession({ ai, create }: (typeof aiVersions)[number], stream: boolean): BringingClient['start'] {
  return (url, { label: serverLabel, url: serverUrl, approval: requireApproval, ...secrets }) => {
    const openai = create({ apiKey: 'client-key', baseURL: url });
    // The cast: the client's own types do not fit each other where undefined is no value.
    const tools = { mcp: openai.tools.mcp({ serverLabel, serverUrl, requireApproval, ...secrets }) } as never;
    let messages: ai6.ModelMessage[] = [];
    let approvalId = '';
    const send = async (added: ai6.ModelMessage): Promise<Shown> => {
      messages = [...messages, added];
      const requested = { model: openai.responses('fake-model'), messages, tools, maxRetries: 0 };
      const result = stream ? ai.streamText({ ...requested, onError: () => {} }) : await ai.generateText(requested);
      messages = [...messages, ...(await result.response).messages];
      const request = (await result.content).find(({ type }) => type === 'tool-approval-request');
      approvalId = request?.type === 'tool-approval-request' ? request.approvalId : '';
      return { text: await result.text, waits: request !== undefined };
    };
    return {
      ask: (content) => send({ role: 'user', content }),
      answer: (approved) =>
        send({
          role: 'tool',
          content: [{ type: 'tool-approval-response', approvalId, approved, providerExecuted: true }],
        }),
    };
  };
}

function langchainSession(stream: boolean): BringingClient['start'] {
  return (url, server) => {
    const configuration = { baseURL: url };
    const of = { model: 'fake-model', apiKey: 'client-key', maxRetries: 0, useResponsesApi: true, configuration };
    const model = new ChatOpenAI(of).bindTools([wireTool(server)]);
    let last: AIMessageChunk;
    const send = async (message: HumanMessage, previous: object): Promise<Shown> => {
      last = stream ? await joined(await model.stream([message], previous)) : await model.invoke([message], previous);
      return { text: last.text, waits: waitingIn(last) !== undefined };
    };
    return {
      ask: (question) => send(new HumanMessage(question), {}),
      answer(approve) {
        const answer = { type: 'mcp_approval_response', approval_request_id: waitingIn(last)?.id, approve };
        // The cast: the client passes on content that it does not know.
        const message = new HumanMessage({ content: [answer as never] });
        return send(message, { previous_response_id: String(last.response_metadata.id) });
      },
    };
  };
}

async function joined(chunks: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole = new AIMessageChunk('');
  for await (const chunk of chunks) whole = whole.concat(chunk);
  return whole;
}

function waitingIn({ additional_kwargs: extra }: AIMessageChunk) {
  const { tool_outputs: outputs = [] } = extra as { tool_outputs?: readonly { type: string; id: string }[] };
  return outputs.find(({ type }) => type === 'mcp_approval_request');
}

const streamed = [
  { stream: false, how: 'at once' },
  { stream: true, how: 'streaming' },
] as const;

/** Every client, in every way in which it may ask and answer. */
export const bringingClients: readonly BringingClient[] = [
  ...versions.flatMap(({ version, Client }) =>
    ways.flatMap((way) =>
      (['create', 'responses.stream'] as const).map((ask) => ({
        title: `${version}, ${ask}, answering by ${way.name}`,
        start: openaiSession(Client, ask, way),
      })),
    ),
  ),
  ...streamed.map(({ stream, how }) => ({ title: `@openai/agents, ${how}`, start: agentsSession(stream) })),
  ...aiVersions.flatMap((each) =>
    streamed.map(({ stream, how }) => ({ title: `${each.version}, ${how}`, start: aiSession(each, stream) })),
  ),
  ...streamed.map(({ stream, how }) => ({ title: `@langchain/openai, ${how}`, start: langchainSession(stream) })),
];
