/** Several model servers for a test, and one call of an upstream over them. */
import {
  type ApiError,
  type ChatCompletionsOptions,
  chatCompletionsUpstream,
  type Upstream,
  type UpstreamCall,
} from '../../../src/index.ts';
import type { ModelEvent } from '../../../src/protocol/events.ts';
import type { ModelRequest } from '../../../src/protocol/model-request.ts';
import type { Note } from '../../../src/protocol/note.ts';
import { type FakeResponder, type FakeUpstream, startFakeUpstream, textStream } from '../../../src/testing/index.ts';

const started: FakeUpstream[] = [];
const made: Upstream[] = [];

/** Servers that say their letter: `a`, `b`, … */
export async function startServers(count: number): Promise<readonly FakeUpstream[]> {
  const letters = Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index));
  const servers = await Promise.all(letters.map((letter) => startFakeUpstream({ reply: says(letter) })));
  started.push(...servers);
  return servers;
}

/** Closes what the test has made. */
export async function closeAll(): Promise<void> {
  await Promise.all(made.splice(0).map((upstream) => upstream.close?.()));
  await Promise.all(started.splice(0).map((server) => server.close()));
}

/** A reply of these words. */
export const says = (text: string): FakeResponder => ({ body: textStream(text) });

/** A refusal with this status. */
export const refuses = (status: number, headers: Readonly<Record<string, string>> = {}): FakeResponder => ({
  status,
  headers,
  body: JSON.stringify({ error: { message: 'No.', code: `refused_${status}` } }),
});

export function chatAt({ baseURL }: FakeUpstream, options: ChatCompletionsOptions = {}): Upstream {
  const upstream = chatCompletionsUpstream({ baseURL, apiKey: 'sk-test', ...options });
  made.push(upstream);
  return upstream;
}

/** An upstream that cannot serve Chat Completions. */
export function withoutChat({ chat: _, ...upstream }: Upstream): Upstream {
  return upstream;
}

/** The words of a test's servers, from an upstream of plain events. */
export function speaking(name: string, ...events: readonly ModelEvent[]): Upstream {
  return {
    name,
    async *stream() {
      yield [...events, { type: 'finish', reason: 'stop' }];
    },
  };
}

export function callOf(more: Partial<UpstreamCall> = {}): UpstreamCall {
  const limits = {
    firstByteTimeoutMs: 20_000,
    idleTimeoutMs: 20_000,
    eventBytes: 1024 * 1024,
    outputBytes: 1024 * 1024,
    toolIterations: 25,
  };
  return { signal: new AbortController().signal, headers: new Headers(), limits, note: () => {}, ...more };
}

export const QUESTION: ModelRequest = {
  model: 'm',
  items: [{ type: 'message', role: 'user', content: 'Go on.' }],
  tools: [],
};

/** What an upstream answered. */
export interface Seen {
  readonly text: string;
  /** The code of the error that ended it. */
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  /** The name of the server that answered. */
  readonly server: string | undefined;
}

/** One call. */
export async function ask(upstream: Upstream, request: Partial<ModelRequest> = {}, call = callOf()): Promise<Seen> {
  const events: ModelEvent[] = [];
  let error: ApiError | undefined;
  try {
    for await (const batch of upstream.stream({ ...QUESTION, ...request }, call)) events.push(...batch);
  } catch (thrown) {
    error = thrown as ApiError;
  }
  const info = events.find((event) => event.type === 'model-info' && event.server !== undefined);
  return {
    text: events.map((event) => (event.type === 'text-delta' ? event.text : '')).join(''),
    code: error?.code ?? (error && String(error)),
    status: error?.status,
    retryAfter: error?.headers?.['retry-after'],
    server: info?.type === 'model-info' ? info.server : undefined,
  };
}

/** The text alone, or the code of the error. */
export async function textOf(
  upstream: Upstream,
  request: Partial<ModelRequest> = {},
  call = callOf(),
): Promise<string> {
  const { text, code } = await ask(upstream, request, call);
  return code ?? text;
}

/** The same of Chat Completions: the data of all batches, and the server. */
export async function askChat(upstream: Upstream, body: Readonly<Record<string, unknown>> = {}, call = callOf()) {
  const data: string[] = [];
  let server: string | undefined;
  const messages = [{ role: 'user', content: 'Go on.' }];
  for await (const batch of upstream.chat?.({ model: 'm', stream: true, messages, ...body }, call) ?? []) {
    data.push(...batch.data);
    server = batch.server ?? server;
  }
  return { text: data.join('\n'), server };
}

/** A call that notes what is left out. */
export function noting(): { readonly call: UpstreamCall; readonly notes: Note[] } {
  const notes: Note[] = [];
  return { notes, call: callOf({ note: (note) => notes.push(note) }) };
}

/** How many requests each server received. */
export const counts = (servers: readonly FakeUpstream[]) => servers.map(({ requests }) => requests.length);

/** Stops the clock that rests go by; the test restores its mocks at its end. */
export function clock() {
  let now = Date.now();
  import.meta.jest.spyOn(Date, 'now').mockImplementation(() => now);
  return {
    advance(ms: number) {
      now += ms;
    },
  };
}
