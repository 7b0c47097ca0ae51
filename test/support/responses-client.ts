/** Requests responses from an app as clients do: a bare fetch whose answer is read strictly, and openai-node with its accumulator. */

import OpenAI from 'openai';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { JsonObject } from '../../src/protocol/record.ts';
import { expectValidResponse } from './open-responses-schema.ts';
import { expectWireLaws, readWire } from './wire-laws.ts';
import { expectWireResponse, type WireEvent, type WireItem, type WireResponse } from './wire-schemas.ts';

/** The request of a test that checks only the answer. */
const QUESTION = { model: 'recorded-model', input: 'Go.' } as const;

/** A whole stream: its text, its events, and the response in the last one. */
export interface StreamedResponse {
  readonly text: string;
  readonly events: readonly WireEvent[];
  readonly response: WireResponse;
}

/** An HTTP answer, read to its end. */
export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Headers;
  readonly text: string;
}

/** `POST {url}/responses`; `body` overrides the default request. */
export async function post(url: string, body: JsonObject = {}): Promise<HttpReply> {
  const answer = await fetch(`${url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...QUESTION, ...body }),
  });
  const { status, headers } = answer;
  return { status, contentType: headers.get('content-type') ?? '', headers, text: await answer.text() };
}

/** Asks for JSON. Throws unless the answer is a 200 with a response resource. */
export async function askForJson(url: string, body: JsonObject = {}): Promise<WireResponse> {
  const reply = await post(url, body);
  expectOk(reply, 'application/json');
  const response = JSON.parse(reply.text);
  expectValidResponse(response);
  return expectWireResponse(response);
}

/** Asks for a stream. Throws unless the answer is a 200 whose stream keeps every law. */
export async function askForStream(url: string, body: JsonObject = {}): Promise<StreamedResponse> {
  const reply = await post(url, { ...body, stream: true });
  expectOk(reply, 'text/event-stream');
  const events = readWire(reply.text);
  return { text: reply.text, events, response: expectWireLaws(events) };
}

function expectOk({ status, contentType, text }: HttpReply, type: string): void {
  if (status !== 200 || !contentType.startsWith(type)) throw new Error(`Got ${status} ${contentType}:\n${text}`);
}

/** openai-node's client on this app, without retries of its own. */
export function openaiClient(url: string): OpenAI {
  return new OpenAI({ baseURL: url, apiKey: 'client-key', maxRetries: 0 });
}

/** What openai-node's `responses.stream` makes of an answer, beside the response that its last event held. */
export async function askOpenai(url: string, body: JsonObject = {}): Promise<{ final: unknown; reported: unknown }> {
  const stream = openaiClient(url).responses.stream({ ...QUESTION, ...body });
  let reported: unknown;
  stream.on('event', (event) => {
    if ('response' in event) reported = structuredClone(event.response);
  });
  return { final: withoutHelpers(await stream.finalResponse()), reported };
}

/** Removes the results of helpers that the client adds to the response. */
function withoutHelpers(response: object): unknown {
  return JSON.parse(JSON.stringify(response), (key, value) => (HELPERS.has(key) ? undefined : value));
}

const HELPERS: ReadonlySet<string> = new Set(['output_text', 'output_parsed', 'parsed', 'parsed_arguments']);

/** The output that openai-node's accumulator builds from all but the terminal event. */
export function accumulatedOutput(events: readonly WireEvent[]): unknown {
  return accumulated(events.slice(0, -1)).output;
}

/** The same from deltas only, without the `done` events. */
export function outputOfDeltas(events: readonly WireEvent[]): readonly unknown[] {
  const deltas = events.slice(0, -1).filter(({ type }) => !type.endsWith('.done'));
  return (accumulated(deltas).output as readonly WireItem[]).map(reported);
}

function accumulated(events: readonly WireEvent[]): JsonObject & { readonly output: unknown } {
  let snapshot: Parameters<typeof accumulateResponse>[1];
  // The cast: the schemas have seen the event; the client's types also name what this package never sends.
  for (const event of events) snapshot = accumulateResponse(event as ResponseStreamEvent, snapshot);
  if (!snapshot) throw new Error('The client has accumulated nothing.');
  return snapshot as unknown as JsonObject & { readonly output: unknown };
}

/**
 * The parts of an item that deltas report: not its status, its encrypted content, the sources of a search or, for this client, its log
 * probabilities.
 */
export function reported(item: WireItem): unknown {
  const { status, encrypted_content, ...rest } = { status: undefined, encrypted_content: undefined, ...item };
  if (rest.type === 'web_search_call') return { ...rest, action: { ...rest.action, sources: undefined } };
  if (rest.type !== 'message') return rest;
  return { ...rest, content: rest.content.map((part) => ('text' in part ? { ...part, logprobs: [] } : part)) };
}

/** The response without the parts that differ between answers: ids that we generated, and times. */
export function withoutIdentity(response: WireResponse): unknown {
  const seed = response.id.slice('resp_'.length);
  const reported = { ...response, created_at: 0, completed_at: response.completed_at && 0 };
  // Sealed anew each time.
  const text = JSON.stringify(reported, (name, value) => (name === 'encrypted_content' ? '<sealed>' : value));
  return JSON.parse(text.replaceAll(seed, '<seed>'));
}
