/** What the cases of the upstream contract are made of: the scenarios, the words in them, and how one is asked. */
import assert from 'node:assert/strict';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';

/**
 * What the model server plays, in the wire of the upstream under test:
 * - `text`: says `upstreamScript.words`, a delta for each, then the usage, and ends as its wire ends.
 * - `calls`: asks for `upstreamScript.calls`, which are parallel, and ends so too.
 * - `refusal`: answers with status 400 and `upstreamScript.message`.
 * - `secrets`: answers with status 401 and a message that repeats the key that it was sent and its own address.
 * - `busy`: answers the first request with status 503, and all others as `text`.
 * - `failure`: says the first word, then reports an error in the stream, with `upstreamScript.message`.
 * - `cut`: says the first word, then cuts the connection.
 * - `unfinished`: says the first word, then ends the HTTP message without what its wire ends with.
 * - `stall`: says the first word, then nothing, and leaves the connection open.
 * - `silence`: takes the request and answers nothing.
 *
 * And what only some wires have, as `extras` of the contract says:
 * - `state`: thinks `upstreamScript.thought`, with `upstreamScript.state` as what it needs to be given back, then asks for
 *   the first of `upstreamScript.calls`.
 * - `phase`: says `upstreamScript.messages`, each as a message in its phase.
 * - `citations`: says `upstreamScript.citation.text` and cites its page for all of it.
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

/** What not every wire has: state of the model's own, messages with phases, citations. */
export type UpstreamExtra = 'state' | 'phase' | 'citations';

/** The words of every scenario, so that each wire says the same. */
export const upstreamScript = {
  /** So many that an upstream that hands on each alone is noticed; of one, two and four bytes in UTF-8. */
  words: ['Hello', ', ', 'wörld', ' ', '🧑‍🚀', ...Array.from({ length: 200 }, (_, index) => ` word${index}`)],
  calls: [
    { id: 'call_1', name: 'look', arguments: '{"at":"sea"}' },
    { id: 'call_2', name: 'look', arguments: '{"at":"sky"}' },
  ],
  usage: { input: 9, output: 12 },
  message: 'That cannot be done.',
  thought: 'Let me think.',
  /** In base64, as wires have it. */
  state: 'c3RhdGUgb2YgdGhlIG1vZGVs',
  messages: [
    { phase: 'commentary', text: 'Let me look.' },
    { phase: 'final_answer', text: 'It is warm.' },
  ],
  citation: { url: 'https://example.com/weather', title: 'Weather', text: 'It is warm.' },
} as const;

/** An upstream whose server plays a scenario, and how to be done with both. */
export interface UpstreamUnderTest {
  readonly upstream: Upstream;
  /** What the server sees; `startFakeUpstream` answers one. */
  readonly server: {
    /** One for each request so far, with what is in its body. */
    readonly requests: readonly unknown[];
    /** Resolves when the client has left request `index` before its answer was whole. */
    closed(index: number): Promise<unknown>;
  };
  /** What no error may tell: the key that the upstream sends, and the address of its server. */
  readonly secrets: readonly string[];
  close(): unknown;
}

/** One case of the contract. */
export interface UpstreamCase {
  /** A sentence that cites the requirements it proves. */
  readonly name: string;
  /** What the wire must have for it, if anything. */
  readonly needs?: UpstreamExtra;
  /** The scenarios, each with an upstream of its own. */
  readonly plays: readonly UpstreamPlay[];
  run(...subjects: readonly UpstreamUnderTest[]): Promise<void>;
}

/** A scenario, and where the bytes of its answer are cut: in one piece where omitted. */
export interface UpstreamPlay {
  readonly scenario: UpstreamScenario;
  readonly split?: 'byte' | readonly number[];
}

/** What an upstream said: its batches, and what it threw after them. */
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

/** Asks once; `limits` go over generous ones. */
export function request(
  { upstream }: UpstreamUnderTest,
  limits: Partial<UpstreamCall['limits']> = {},
  signal: AbortSignal = new AbortController().signal,
): AsyncIterable<readonly ModelEvent[]> {
  return upstream.stream(QUESTION, callOf(limits, signal));
}

/** Requests the next turn, with the items of the one before. */
export function requestNext(
  { upstream }: UpstreamUnderTest,
  previous: readonly Item[],
): AsyncIterable<readonly ModelEvent[]> {
  const next: Item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And then?' }] };
  return upstream.stream({ ...QUESTION, items: [...QUESTION.items, ...previous, next] }, callOf());
}

function callOf(limits: Partial<UpstreamCall['limits']> = {}, signal = new AbortController().signal): UpstreamCall {
  return { signal, headers: new Headers(), limits: { ...LIMITS, ...limits }, note: () => {} };
}

/** Everything that is said, and how it ends. */
export async function collect(answer: AsyncIterable<readonly ModelEvent[]>): Promise<Collected> {
  const batches: (readonly ModelEvent[])[] = [];
  let error: unknown;
  try {
    for await (const batch of answer) batches.push(batch);
  } catch (thrown) {
    error = thrown;
  }
  return { batches, events: batches.flat(), error };
}

/** All that was said without an error. */
export async function collectWhole(subject: UpstreamUnderTest): Promise<Collected> {
  const collected = await collect(request(subject));
  if (collected.error !== undefined) throw collected.error;
  return collected;
}

/** The text in what was said. */
export function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

/** Asserts that the first word came, then an `ApiError` of this code, and that nothing was tried twice. */
export function assertBroken({ events, error }: Collected, { server }: UpstreamUnderTest, code: string): void {
  const seen = { text: textOf(events), code: codeOf(error), requests: server.requests.length };
  assert.deepEqual(seen, { text: upstreamScript.words[0], code, requests: 1 });
  assert.ok(!events.some(({ type }) => type === 'finish'), 'what broke has not finished');
}

/** The code of an `ApiError`, or the error's own text where it is another. */
export function codeOf(error: unknown): string {
  return error instanceof ApiError ? error.code : String(error);
}
