/** An app whose model is a script for each agent, and the ways of asking it. */
import { attachResponsesWebSocket, type WebSocketCoreOptions } from '../../src/hosts/websocket/index.ts';
import {
  chatCompletionsUpstream,
  memoryStore,
  type Note,
  type RouterOptions,
  type ToolProvider,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeAnswer, type FakeRequest, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { calling, type Saying, says } from '../apis/chat-completions/script.ts';
import { startApp } from '../support/app.ts';

/** What the model server was asked, as far as these tests read it. */
export interface Asked extends JsonObject {
  readonly messages: readonly { readonly role: string; readonly content?: unknown; readonly tool_calls?: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** What the model does for an agent: by what it is asked, and how often the agent has been asked before. */
export type Script = (asked: Asked, round: number) => Saying | FakeAnswer | Promise<Saying | FakeAnswer>;

/** An item or an event, with the fields that the tests read. */
export interface Shown extends JsonObject {
  readonly type: string;
  readonly agent?: { readonly agent_name: string };
}

/** A response. */
export interface Answer extends JsonObject {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Shown[];
  readonly usage: { readonly total_tokens: number };
}

/** The running app. */
export interface AgentsApp {
  readonly url: string;
  readonly fake: FakeUpstream;
  readonly notes: readonly Note[];
  /** The names of the server's tools that ran. */
  readonly ran: readonly string[];
  /** The agents that were asked, in order. */
  readonly agents: readonly string[];
  /** What they were asked. */
  readonly asked: readonly Asked[];
  /** From now on the scripts begin with their first rounds again. */
  restart(): void;
  post(body: JsonObject, headers?: Readonly<Record<string, string>>): Promise<Response>;
  ask(body?: JsonObject): Promise<Answer>;
  stream(body?: JsonObject): Promise<readonly Shown[]>;
}

export const BETA = { 'openai-beta': 'responses_multi_agent=v1' };

/** The name of the agent that is asked, as its instructions say. */
function agentAsked({ messages }: Asked): string {
  const system = messages.find(({ role }) => role === 'system' || role === 'developer');
  return /You are the agent ([\w/]*\w)/.exec(String(system?.content ?? ''))?.[1] ?? 'nobody';
}

/** The result of a tool that a model has been told last. */
export function lastSaid({ messages }: Asked): string {
  return String(messages.at(-1)?.content ?? '');
}

/** A call of the model's. */
export function call(name: string, args: JsonObject = {}, id = `call_${name}`): Saying {
  return { calls: [calling(name, args, id)] };
}

/** Runs with an app whose server has the tools `read` and `write`. */
export async function withAgents(
  scripts: Readonly<Record<string, Script>>,
  run: (app: AgentsApp) => Promise<void>,
  options: RouterOptions = {},
): Promise<void> {
  const agents: string[] = [];
  const asked: Asked[] = [];
  const fake = await startFakeUpstream({
    reply: async (request: FakeRequest) => {
      // The cast: what these apps send upstream is a chat request.
      const body = request.body as Asked;
      const agent = agentAsked(body);
      agents.push(agent);
      asked.push(body);
      const round = agents.filter((each) => each === agent).length;
      const answer = await (scripts[agent] ?? (() => ({ text: `no script for ${agent}` })))(body, round);
      return 'body' in answer ? answer : says(answer)(request);
    },
  });
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '', retries: 0 });
  const ran: string[] = [];
  const notes: Note[] = [];
  const tools: ToolProvider = {
    name: 'files',
    list: () => ['read', 'write'].map((name) => ({ server: 'files', name })),
    call: async ({ name }) => {
      ran.push(name);
      return { content: `ran ${name}` };
    },
  };
  const hooks = { onNote: (note: Note) => void notes.push(note), onError: () => {} };
  const all = {
    upstream,
    store: memoryStore(),
    tools,
    hooks,
    logger: false as const,
    multiAgent: true,
    scope: () => 'all',
    ...options,
  };
  const app = await startApp({ options: all });
  const socket = attachResponsesWebSocket(app.server, { ...all, scope: undefined } as WebSocketCoreOptions, {
    authorize: () => ({ scope: 'all' }),
  });
  const post = (body: JsonObject, headers: Readonly<Record<string, string>> = BETA) =>
    fetch(`${app.url}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'fake-model', input: 'Go.', multi_agent: { enabled: true }, ...body }),
    });
  try {
    await run({
      ...{ url: app.url, fake, notes, ran, agents, asked, post },
      restart: () => void agents.splice(0),
      async ask(body = {}) {
        const answer = await post(body);
        const text = await answer.text();
        if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
        return JSON.parse(text) as Answer;
      },
      async stream(body = {}) {
        const text = await (await post({ ...body, stream: true })).text();
        const data = text.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]');
        return data.map((line) => JSON.parse(line.slice('data: '.length)) as Shown);
      },
    });
  } finally {
    await socket.close();
    await app.close();
    await upstream.close?.();
    await fake.close();
  }
}

/** The items in short: their agents, types, and what they say. */
export function inShort(output: readonly Shown[]): readonly string[] {
  return output.map((item) => {
    const parts = (item.content ?? item.output) as readonly JsonObject[] | string | undefined;
    const text = typeof parts === 'string' ? parts : (parts ?? []).map(({ text: each }) => each).join('');
    const what = item.action ?? item.name ?? item.phase ?? item.author ?? '';
    return `${item.agent?.agent_name} ${item.type} ${what}${text === '' ? '' : `: ${text}`}`;
  });
}
