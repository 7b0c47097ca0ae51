/** One app with every API and middleware over a model that disobeys, and the ways of asking it. */
import express from 'express';
import { attachResponsesWebSocket, type WebSocketCoreOptions } from '../../src/hosts/websocket/index.ts';
import {
  type ChatCompletionsOptions,
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  type Note,
  type RouterOptions,
  responsesRouter,
  runTools,
  type ToolProvider,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeRequest, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { calling, type Saying, says } from '../apis/chat-completions/script.ts';
import { listening } from '../support/listening.ts';

/** What a model server was asked, as far as these tests read it. */
export interface Asked extends JsonObject {
  readonly messages: readonly { readonly role: string; readonly content?: unknown; readonly tool_calls?: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** What the model does, by what it is asked. */
export type Model = (asked: Asked, round: number) => Saying;

/** The app, what ran, what was noted, and what the model was asked. */
export interface ForbiddenApp {
  readonly url: string;
  readonly ran: readonly string[];
  readonly notes: readonly Note[];
  readonly asked: readonly Asked[];
  readonly fake: FakeUpstream;
}

/** Whether the model was told, since the user last spoke, that a call was not made. */
export function isTold({ messages }: Asked): boolean {
  return messages.some(({ role, content }) => role === 'tool' && String(content).startsWith('Not run'));
}

/** Runs with an app whose server has the tools `read` and `write`; `options` go to every API. */
export async function withForbidden<Result>(
  model: Model,
  run: (app: ForbiddenApp) => Promise<Result>,
  options: RouterOptions = {},
  chat: ChatCompletionsOptions = {},
): Promise<Result> {
  const asked: Asked[] = [];
  const fake = await startFakeUpstream({
    reply: (request: FakeRequest) => {
      // The cast: what these apps send upstream is a chat request.
      asked.push(request.body as Asked);
      return says(model(request.body as Asked, asked.length))(request);
    },
  });
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '', retries: 0, ...chat });
  const ran: string[] = [];
  const notes: Note[] = [];
  const hooks = { onNote: (note: Note) => void notes.push(note), onError: () => {} };
  const tools: ToolProvider = {
    name: 'files',
    list: () => ['read', 'write'].map((name) => ({ server: 'files', name })),
    call: async ({ name }) => {
      ran.push(name);
      return { content: `ran ${name}` };
    },
  };
  const shared = {
    upstream,
    store: memoryStore(),
    tools,
    hooks,
    logger: false as const,
    scope: () => 'everyone',
    ...options,
  };
  const app = express()
    .use('/v1', responsesRouter(shared))
    .use('/v1', chatCompletionsRouter(shared))
    .use('/v1', messagesRouter(shared))
    .post(
      '/run/chat/completions',
      express.json(),
      runTools({ tools: options.tools ?? tools, hooks, upstream, limits: options.limits }),
    );
  const { url, server, close } = await listening(app);
  const socket = attachResponsesWebSocket(server, { ...shared, scope: undefined } as WebSocketCoreOptions, {
    authorize: () => ({ scope: 'everyone' }),
  });
  try {
    return await run({ url, ran, notes, asked, fake });
  } finally {
    await socket.close();
    await close();
    await upstream.close?.();
    await fake.close();
  }
}

/** A client's tool, in the form of each API. */
export const RESPONSES_ASK = { type: 'function', name: 'ask', parameters: { type: 'object', properties: {} } };
export const CHAT_ASK = { type: 'function', function: { name: 'ask', parameters: { type: 'object', properties: {} } } };
export const MESSAGES_ASK = { name: 'ask', input_schema: { type: 'object' } };

/** What a client is shown: the names of calls in their order, the text, and how the answer ended. */
export interface Seen {
  readonly calls: readonly string[];
  readonly text: string;
  readonly end: string;
}

/** A way of asking: it adds what is its own to the request. */
export type Way = (app: ForbiddenApp, more: JsonObject) => Promise<Seen>;

async function post(url: string, body: JsonObject): Promise<string> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', authorization: 'Bearer k' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
  return text;
}

function dataIn(text: string): readonly JsonObject[] {
  const data = text.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]');
  return data.map((line) => JSON.parse(line.slice('data: '.length)) as JsonObject);
}

type Output = readonly (JsonObject & { readonly type: string })[];

function seenInOutput(response: JsonObject): Seen {
  // The casts: the shapes are this server's own.
  const output = response.output as Output;
  const calls = output.filter(({ type }) => type.endsWith('_call')).map(({ name, type }) => String(name ?? type));
  const texts = output
    .filter(({ type }) => type === 'message')
    .map(({ content }) => (content as Output)[0]?.text ?? '');
  return { calls, text: texts.join('|'), end: String(response.status) };
}

function seenInChat(text: string): Seen {
  const [choice] = (JSON.parse(text) as { choices: { message: JsonObject; finish_reason: string }[] }).choices;
  const made = (choice?.message.tool_calls ?? []) as { function: { name: string } }[];
  return {
    calls: made.map((call) => call.function.name),
    text: String(choice?.message.content ?? ''),
    end: choice?.finish_reason === 'length' ? 'incomplete' : 'completed',
  };
}

function seenInChunks(text: string): Seen {
  const choices = dataIn(text).flatMap(
    (chunk) => (chunk.choices ?? []) as { delta: JsonObject; finish_reason: unknown }[],
  );
  const pieces = choices.flatMap(({ delta }) => (delta.tool_calls ?? []) as { function: { name?: string } }[]);
  const finish = choices.map(({ finish_reason: reason }) => reason).filter(Boolean);
  return {
    calls: pieces.flatMap((piece) => piece.function.name ?? []),
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
    end: finish.length === 1 && finish[0] !== 'length' ? 'completed' : 'incomplete',
  };
}

function seenInMessage(message: JsonObject): Seen {
  const blocks = message.content as Output;
  return {
    calls: blocks.filter(({ type }) => type.endsWith('tool_use')).map(({ name }) => String(name)),
    text: blocks.flatMap(({ text }) => text ?? []).join('|'),
    end: message.stop_reason === 'end_turn' || message.stop_reason === 'tool_use' ? 'completed' : 'incomplete',
  };
}

function seenInMessageEvents(text: string): Seen {
  const events = dataIn(text);
  const blocks = events.filter(({ type }) => type === 'content_block_start').map((event) => event.content_block);
  const texts = events.map(({ delta }) => (delta as JsonObject | undefined)?.text ?? '').join('');
  const end = events.findLast(({ type }) => type === 'message_delta')?.delta as JsonObject;
  return { ...seenInMessage({ content: blocks, stop_reason: end.stop_reason }), text: texts };
}

const QUESTION = { model: 'm', input: 'Go.' };
const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Go.' }] };

const json: Way = async ({ url }, more) =>
  seenInOutput(JSON.parse(await post(`${url}/v1/responses`, { ...QUESTION, ...more })));

const stream: Way = async ({ url }, more) => {
  const text = await post(`${url}/v1/responses`, { ...QUESTION, stream: true, ...more });
  return seenInOutput(dataIn(text).at(-1)?.response as JsonObject);
};

const background: Way = async ({ url }, more) => {
  const text = await post(`${url}/v1/responses`, { ...QUESTION, background: true, stream: true, ...more });
  const last = dataIn(text).at(-1) as { readonly response: { readonly id: string } };
  const { id } = last.response;
  const headers = { authorization: 'Bearer k' };
  const answer = await fetch(`${url}/v1/responses/${id}`, { headers });
  return seenInOutput((await answer.json()) as JsonObject);
};

const socket: Way = async ({ url }, more) => {
  const { WebSocket } = await import('ws');
  const client = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`);
  try {
    return await new Promise<Seen>((resolve, reject) => {
      client.on('error', reject);
      client.on('open', () => client.send(JSON.stringify({ type: 'response.create', ...QUESTION, ...more })));
      client.on('message', (data) => {
        const { type, response, error } = JSON.parse(String(data)) as JsonObject;
        if (type === 'error') reject(new Error(JSON.stringify(error)));
        if (type === 'response.completed' || type === 'response.incomplete')
          resolve(seenInOutput(response as JsonObject));
      });
    });
  } finally {
    client.terminate();
  }
};

const chatWay =
  (mount: string): Way =>
  async ({ url }, more) =>
    seenInChat(await post(`${url}${mount}/chat/completions`, { ...CHAT, ...more }));
const chatStream =
  (mount: string): Way =>
  async ({ url }, more) =>
    seenInChunks(await post(`${url}${mount}/chat/completions`, { ...CHAT, stream: true, ...more }));

const message: Way = async ({ url }, more) =>
  seenInMessage(JSON.parse(await post(`${url}/v1/messages`, { ...CHAT, max_tokens: 99, ...more })));
const messageStream: Way = async ({ url }, more) =>
  seenInMessageEvents(await post(`${url}/v1/messages`, { ...CHAT, max_tokens: 99, stream: true, ...more }));

/** The ways of the Responses API. */
export const RESPONSES_WAYS: Readonly<Record<string, Way>> = {
  'Responses in JSON': json,
  'Responses in a stream': stream,
  'Responses in the background': background,
  'a WebSocket': socket,
};

/** The ways of Chat Completions. */
export const CHAT_WAYS: Readonly<Record<string, Way>> = {
  'Chat Completions in JSON': chatWay('/v1'),
  'Chat Completions in a stream': chatStream('/v1'),
  'runTools in JSON': chatWay('/run'),
  'runTools in a stream': chatStream('/run'),
};

/** The ways of both. */
export const OPENAI_WAYS: Readonly<Record<string, Way>> = { ...RESPONSES_WAYS, ...CHAT_WAYS };

/** The ways of Anthropic's Messages. */
export const MESSAGES_WAYS: Readonly<Record<string, Way>> = {
  'Messages in JSON': message,
  'Messages in a stream': messageStream,
};

/** A model's answer that calls these tools. */
export function calls(...names: readonly string[]): Saying {
  return { calls: names.map((name, at) => calling(name, {}, `call_${name}_${at}`)) };
}
