/** An app with tools of its own over a model server that follows a script, round by round. */

import { isDeepStrictEqual } from 'node:util';
import type {
  ApprovalInfo,
  Item,
  Note,
  RouterOptions,
  ToolCallInfo,
  ToolProvider,
  ToolResult,
} from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { callErrorText } from '../../../src/protocol/tool-calls/results/call-error.ts';
import {
  type FakeAnswer,
  type FakeRequest,
  type FakeResponder,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../../src/testing/index.ts';
import { type App, startApp } from '../../support/app.ts';
import {
  accumulatedOutput,
  askForJson,
  askForStream,
  askOpenai,
  post,
  withoutIdentity,
} from '../../support/responses-client.ts';
import { expectWireLaws, readWire } from '../../support/wire-laws.ts';
import type { WireEvent, WireResponse } from '../../support/wire-schemas.ts';

/** A Chat Completions request, as far as a test looks into it by name. */
export interface ChatBody extends JsonObject {
  readonly messages: readonly JsonObject[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** A running app and its model server. */
export interface ToolsApp extends App {
  readonly fake: FakeUpstream;
  readonly notes: readonly Note[];
  /** What `hooks.onToolCall` received. */
  readonly toolCalls: readonly ToolCallInfo[];
  /** What `hooks.onApproval` received. */
  readonly approvals: readonly ApprovalInfo[];
}

/** One answer, however it was asked for. */
export interface Played {
  readonly response: WireResponse;
  /** The events of the stream. */
  readonly events: readonly WireEvent[];
  /** What the model was asked for it, round by round. */
  readonly requested: readonly ChatBody[];
}

/** Runs with an app on a port of its own, and closes it. */
export async function withTools<Result>(
  options: RouterOptions,
  run: (app: ToolsApp) => Promise<Result>,
): Promise<Result> {
  const fake = await startFakeUpstream();
  try {
    return await withApp(options, fake, run);
  } finally {
    await fake.close();
  }
}

async function withApp<Result>(
  options: RouterOptions,
  fake: FakeUpstream,
  run: (app: ToolsApp) => Promise<Result>,
): Promise<Result> {
  const notes: Note[] = [];
  const toolCalls: ToolCallInfo[] = [];
  const approvals: ApprovalInfo[] = [];
  const hooks = {
    onNote: (note: Note) => void notes.push(note),
    onToolCall: (info: ToolCallInfo) => void toolCalls.push(info),
    onApproval: (info: ApprovalInfo) => void approvals.push(info),
    onError: () => {},
  };
  // One scope: openai-node authorizes itself, and a bare fetch does not.
  const app = await startApp({ upstream: fake, options: { scope: () => 'everyone', ...options, hooks } });
  try {
    return await run({ ...app, fake, notes, toolCalls, approvals });
  } finally {
    await app.close();
  }
}

/** The same for one script; `body` goes over a default question. A script of fewer rounds repeats its last one. */
export function played(
  options: RouterOptions,
  script: readonly FakeResponder[],
  body: JsonObject = {},
  rounds = script.length,
): Promise<Played & Pick<ToolsApp, 'notes' | 'toolCalls'>> {
  return withTools(options, async (app) => {
    const { notes, toolCalls } = app;
    return { ...(await play(app, script, body, rounds)), notes, toolCalls };
  });
}

/**
 * Asks three times, each time with the whole script: for JSON, for a stream, and with openai-node's stream helper.
 * Throws unless the stream keeps every law, the three answers are one, the client rebuilds our final response, and each
 * was exactly one model call for each round of the script.
 */
export async function play(
  app: ToolsApp,
  script: readonly FakeResponder[],
  body: JsonObject = {},
  rounds = script.length,
): Promise<Played> {
  const json = await counted(app, script, rounds, () => askForJson(app.url, body));
  const streamed = await counted(app, script, rounds, () => askForStream(app.url, body));
  const { events, response } = streamed.answer;
  same(withoutIdentity(json.answer), withoutIdentity(response), 'JSON and SSE agree');
  same(accumulatedOutput(events), response.output, 'openai-node builds the final output from the events');
  const client = await counted(app, script, rounds, () => askOpenai(app.url, body));
  same(client.answer.final, client.answer.reported, 'openai-node gives the final response as it was sent');
  // The cast: the last event holds a response.
  same(
    withoutIdentity(client.answer.reported as WireResponse),
    withoutIdentity(response),
    'openai-node got the same answer',
  );
  same(withoutSeeds(json.requested), withoutSeeds(streamed.requested), 'the model is asked the same for JSON and SSE');
  return { response, events, requested: streamed.requested };
}

/** Asks for JSON and for a stream that both fail in mid-answer. Throws unless they agree and openai-node raises the error. */
export async function playFailure(
  app: ToolsApp,
  script: readonly FakeResponder[],
  body: JsonObject = {},
): Promise<Played> {
  const json = await counted(app, script, script.length, () => askForJson(app.url, body));
  const streamed = await counted(app, script, script.length, () => askForStream(app.url, body));
  const { events, response } = streamed.answer;
  same(withoutIdentity(json.answer), withoutIdentity(response), 'JSON and SSE agree');
  const raised = await counted(app, script, script.length, () =>
    askOpenai(app.url, body).catch((error: Error) => error.message),
  );
  same(raised.answer, response.error?.message, 'openai-node raises the error');
  return { response, events, requested: streamed.requested };
}

async function counted<Answer>(
  { fake }: ToolsApp,
  script: readonly FakeResponder[],
  rounds: number,
  ask: () => Promise<Answer>,
) {
  const before = fake.requests.length;
  fake.reply(...script);
  const answer = await ask();
  const requested = fake.requests.slice(before).map(chatBody);
  same(requested.length, rounds, 'one model call for each round');
  return { answer, requested };
}

/** What the model was asked. */
export function chatBody({ body }: FakeRequest): ChatBody {
  // The cast: what this app sends upstream is a chat request.
  return body as ChatBody;
}

function withoutSeeds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/[0-9a-f]{32}/g, '<seed>'));
}

function same(actual: unknown, expected: unknown, name: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  // The comparison of the test runner shows what differs.
  expect({ [name]: actual }).toEqual({ [name]: expected });
}

/** The types of the events of a message of one delta, as `typesOf` gives them. */
export const MESSAGE_EVENTS: readonly string[] = [
  'output_item.added',
  'content_part.added',
  'output_text.delta',
  'output_text.done',
  'content_part.done',
  'output_item.done',
];

/** A round in which the model asks for these calls: an id, a name and arguments as JSON text for each. */
export function calls(...wanted: readonly (readonly [id: string, name: string, args?: string])[]): FakeAnswer {
  return { body: toolCallStream(wanted.map(([id, name, args = '{}']) => ({ id, name, arguments: args }))) };
}

/** A round in which the model says the text. */
export function says(text: string): FakeAnswer {
  return { body: textStream(text) };
}

/** A provider of tools without a schema, whose calls `run` answers. */
export function providerOf(
  server: string,
  names: readonly string[],
  run: ToolProvider['call'] = ({ name }) => Promise.resolve({ content: `${server} ran ${name}.` }),
): ToolProvider {
  const tools = names.map((name) => ({ server, name }));
  return { name: server, list: () => tools, call: run };
}

/** Asks for a stream and reads it to its end. */
export async function streamOf(url: string, body: JsonObject = {}) {
  const { text } = await post(url, { ...body, stream: true });
  const events = readWire(text);
  return { text, events, response: expectWireLaws(events) };
}

/** The types of the events, without the prefix. */
export function typesOf(events: readonly WireEvent[]): readonly string[] {
  return events.map(({ type }) => type.replace(/^response\./, ''));
}

/** Each item as `type`, or of what matters to a test `type name status`. */
export function shape({ output }: { readonly output: readonly Item[] }): readonly string[] {
  return output.map(({ type, name, status }) => [type, name, status].filter(Boolean).join(' '));
}

/** What an item says: its text, its output or its error. */
export function reported(item: Item | undefined): unknown {
  return item && (item.output ?? (item.error ? callErrorText(item.error) : null) ?? item.arguments ?? item.content);
}

/** The messages after the last one of the user's own. */
export function sinceUser({ messages }: ChatBody): readonly JsonObject[] {
  return messages.slice(
    messages.findLastIndex(({ role, content }) => role === 'user' && typeof content === 'string') + 1,
  );
}

/** What a tool's message says to the model, by the id of its call. */
export function toolTexts({ messages }: ChatBody): Readonly<Record<string, unknown>> {
  const tools = messages.filter(({ role }) => role === 'tool');
  return Object.fromEntries(tools.map(({ tool_call_id: id, content }) => [String(id), content]));
}

/** A promise and its ends. */
export function deferred<Value = void>() {
  let resolve: (value: Value) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<Value>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

/** A result that says so. */
export function saying(content: ToolResult['content']): ToolResult {
  return { content };
}
