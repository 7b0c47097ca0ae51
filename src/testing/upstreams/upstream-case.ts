/** The parts of the upstream contract's cases: the scenarios, their texts, and how a case calls an upstream. */
import assert from 'node:assert/strict';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';

/**
 * The scenarios that the model server plays, in the API of the upstream under test:
 * - `text`: sends `upstreamScript.words`, a delta for each, then the usage, and the API's regular end.
 * - `calls`: sends the tool calls `upstreamScript.calls`, which are parallel, and ends in the same way.
 * - `refusal`: answers with status 400 and `upstreamScript.message`.
 * - `secrets`: answers with status 401 and a message that repeats the received key and its own address.
 * - `busy`: answers the first request with status 503, and all others as `text`.
 * - `failure`: sends the first word, then reports an error in the stream, with `upstreamScript.message`.
 * - `cut`: sends the first word, then cuts the connection.
 * - `unfinished`: sends the first word, then ends the HTTP message without the API's regular end.
 * - `stall`: sends the first word, then nothing, and leaves the connection open.
 * - `silence`: accepts the request and sends nothing.
 *
 * Scenarios that only some APIs support, by `extras` of the contract:
 * - `state`: sends the thought `upstreamScript.thought`, with `upstreamScript.state` as its provider state, then the
 *   first of the tool calls `upstreamScript.calls`.
 * - `phase`: sends `upstreamScript.messages`, each as a message in its phase.
 * - `citations`: sends `upstreamScript.citation.text` and cites its page for all of it.
 */
export type UpstreamScenario =
  | 'text'
  | 'calls'
  | 'refusal'
  | 'secrets'
  | 'busy'
  | 'failure'
  | 'cut'
  | 'unfinished'
  | 'stall'
  | 'silence'
  | UpstreamExtra;

/** Features that not every API has: provider state, messages with phases, citations. */
export type UpstreamExtra = 'state' | 'phase' | 'citations';

/** The texts of every scenario, so that each API sends the same ones. */
export const upstreamScript = {
  /** So many words that an upstream which passes on each alone is noticed; with characters of one, two and four bytes in UTF-8. */
  words: ['Hello', ', ', 'wörld', ' ', '🧑‍🚀', ...Array.from({ length: 200 }, (_, index) => ` word${index}`)],
  /** The calls of `calls`, in their order. */
  calls: [
    { id: 'call_1', name: 'look', arguments: '{"at":"sea"}' },
    { id: 'call_2', name: 'look', arguments: '{"at":"sky"}' },
  ],
  /** The tokens that every answer reports. */
  usage: { input: 9, output: 12 },
  /** The refusal of `refusal`. */
  message: 'That cannot be done.',
  /** The reasoning of `state`. */
  thought: 'Let me think.',
  /** In base64, as APIs have it. */
  state: 'c3RhdGUgb2YgdGhlIG1vZGVs',
  /** The messages of `phase`, in their order. */
  messages: [
    { phase: 'commentary', text: 'Let me look.' },
    { phase: 'final_answer', text: 'It is warm.' },
  ],
  /** The text of `citations`, and its source. */
  citation: { url: 'https://example.com/weather', title: 'Weather', text: 'It is warm.' },
} as const;

/** An upstream whose server plays a scenario, and how to release both. */
export interface UpstreamUnderTest {
  /** The subject. */
  readonly upstream: Upstream;
  /** The requests that the server receives; `startFakeUpstream` returns such a server. */
  readonly server: {
    /** One entry for each request so far, with the content of its body. */
    readonly requests: readonly unknown[];
    /** Resolves when the client has left request `index` before its answer was complete. */
    closed(index: number): Promise<unknown>;
  };
  /** What no error may contain: the key that the upstream sends, and the address of its server. */
  readonly secrets: readonly string[];
  /** Releases the upstream and its server. */
  close(): unknown;
}

/** One case of the contract. */
export interface UpstreamCase {
  /** A sentence that cites the requirements it proves. */
  readonly name: string;
  /** The feature that the API must have for it, if any. */
  readonly needs?: UpstreamExtra;
  /** The scenarios, each with an upstream of its own. */
  readonly plays: readonly UpstreamPlay[];
  run(...subjects: readonly UpstreamUnderTest[]): Promise<void>;
}

/** A scenario, and where the bytes of its answer are split: not at all if omitted. */
export interface UpstreamPlay {
  /** What the server does. */
  readonly scenario: UpstreamScenario;
  /** Splits the body into bytes, or at these offsets in bytes. Default: `whole`, which does not split it. */
  readonly split?: 'whole' | 'byte' | readonly number[];
}

/** The result of an upstream: its batches, and the error it threw after them. */
interface Collected {
  readonly batches: readonly (readonly ModelEvent[])[];
  readonly events: readonly ModelEvent[];
  readonly error: unknown;
}

const QUESTION: ModelRequest = {
  model: 'contract-model',
  items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] }],
  tools: [{ name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } }],
};

const LIMITS: UpstreamCall['limits'] = {
  firstByteTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  eventBytes: 1024 * 1024,
  outputBytes: 1024 * 1024,
  toolIterations: 25,
};

/** Makes one model call; `limits` override generous ones. */
export function request(
  { upstream }: UpstreamUnderTest,
  limits: Partial<UpstreamCall['limits']> = {},
  signal: AbortSignal = new AbortController().signal,
): AsyncIterable<readonly ModelEvent[]> {
  return upstream.stream(QUESTION, contractCall(limits, signal));
}

/** Requests the next turn, with the items of the one before. */
export function requestNext(
  { upstream }: UpstreamUnderTest,
  previous: readonly Item[],
): AsyncIterable<readonly ModelEvent[]> {
  const next: Item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And then?' }] };
  return upstream.stream({ ...QUESTION, items: [...QUESTION.items, ...previous, next] }, contractCall());
}

function contractCall(
  limits: Partial<UpstreamCall['limits']> = {},
  signal = new AbortController().signal,
): UpstreamCall {
  return { signal, headers: new Headers(), limits: { ...LIMITS, ...limits }, note: () => {} };
}

/** All events, and how the stream ends. */
export async function collectEvents(answer: AsyncIterable<readonly ModelEvent[]>): Promise<Collected> {
  const batches: (readonly ModelEvent[])[] = [];
  let error: unknown;
  try {
    for await (const batch of answer) batches.push(batch);
  } catch (thrown) {
    error = thrown;
  }
  return { batches, events: batches.flat(), error };
}

/** All events of a stream without an error. */
export async function collectWhole(subject: UpstreamUnderTest): Promise<Collected> {
  const collected = await collectEvents(request(subject));
  if (collected.error !== undefined) throw collected.error;
  return collected;
}

/** The text of the events. */
export function eventsText(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

/** Asserts that the first word arrived, then an `ApiError` of this code, and that nothing was retried. */
export function assertBroken({ events, error }: Collected, { server }: UpstreamUnderTest, code: string): void {
  const seen = {
    text: eventsText(events),
    code: error instanceof ApiError ? error.code : String(error),
    requests: server.requests.length,
  };
  assert.deepEqual(seen, { text: upstreamScript.words[0], code, requests: 1 });
  assert.ok(!events.some(({ type }) => type === 'finish'), 'a broken stream must not have a finish event');
}
