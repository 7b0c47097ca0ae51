/** The client of these tests: it posts a request, reads what comes back strictly, and says in a few words what it was. */

import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../src/protocol/record.ts';
import { held } from '../support/held.ts';
import { expectWireLaws, readWire } from '../support/wire-laws.ts';

/** One event of a stream, as it stood in `data:`. */
export type StreamEvent = JsonObject & { readonly type: string; readonly sequence_number: number };

/** Everything that one stream held. */
export interface Stream {
  readonly events: readonly StreamEvent[];
  readonly heartbeats: number;
  readonly done: boolean;
  /** The bytes as text. */
  readonly text: string;
}

/** What an answer comes down to, whatever form it had. */
export interface Outcome {
  readonly status: number;
  /** How the response ended; `refused` for an error in the envelope. */
  readonly ending: 'completed' | 'incomplete' | 'failed' | 'refused';
  /** The code of its error. */
  readonly error: string | null;
  /** The assistant's text. */
  readonly text: string;
  /** Whether the response can be retrieved afterwards; what is retrieved is the same. */
  readonly stored: boolean;
}

/** What a request may have besides its body. */
export interface Extra {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Posts to `/responses`: an object as JSON, a string as it is; model and input are filled in where they are missing. */
export function ask(
  url: string,
  body: JsonObject | string = {},
  { headers = {}, signal }: Extra = {},
): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify({ model: 'm', input: 'Hi', ...body });
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: text };
  return held(fetch(`${url}/responses`, signal ? { ...init, signal } : init));
}

/** Posts for a stream and reads it to the end. */
export async function askStream(url: string, body: JsonObject = {}, extra: Extra = {}): Promise<Stream> {
  return parseStream(await (await ask(url, { stream: true, ...body }, extra)).text());
}

/** Posts for JSON and parses it. */
export async function askJson(url: string, body: JsonObject = {}, extra: Extra = {}): Promise<JsonObject> {
  return parsed(await (await ask(url, body, extra)).text());
}

/** Not `response.json()`, whose objects are of another realm than the test's and never strictly equal. */
export function parsed(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}

/** Sends a request without a body and answers with status and parsed body. */
export async function send(url: string, method = 'GET', headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, { method, headers });
  return { status: response.status, body: parsed(await response.text()) };
}

const HEARTBEAT = ': heartbeat';
const DONE = 'data: [DONE]';

/** Reads whole frames. Throws where one is not framed as this server frames: one `event:` and one `data:` line, LF only. */
export function parseStream(text: string): Stream {
  const blocks = text.split('\n\n');
  if (blocks.pop() !== '') throw new Error(`The stream ends within a frame: ${text.slice(-200)}`);
  const done = blocks.at(-1) === DONE;
  const frames = done ? blocks.slice(0, -1) : blocks;
  const events = frames.filter((block) => block !== HEARTBEAT).map(parseFrame);
  return { events, heartbeats: frames.length - events.length, done, text };
}

function parseFrame(block: string): StreamEvent {
  const [, name, data = ''] = /^event: (\S+)\ndata: ([^\n\r]+)$/.exec(block) ?? [];
  const event = JSON.parse(data === '' ? 'null' : data);
  if (event?.type !== name) throw new Error(`Not a frame of this server: ${JSON.stringify(block)}`);
  return event;
}

/** The types of the events, without the lifecycle's prefix. */
export function typesOf(events: readonly StreamEvent[]): readonly string[] {
  return events.map(({ type }) => type.replace(/^response\./, ''));
}

/** The response in the last event. */
export function lastResponse({ events }: Stream): JsonObject {
  return (events.at(-1)?.response ?? {}) as JsonObject;
}

/** Reads the answer and asks the server whether it kept it. Throws where the answer contradicts itself. */
export async function outcomeOf(url: string, response: Response): Promise<Outcome> {
  const type = response.headers.get('content-type');
  const text = await response.text();
  if (type === 'text/event-stream') return ended(url, response.status, expectWireLaws(readWire(text)));
  if (type !== 'application/json; charset=utf-8') throw new Error(`Neither JSON nor a stream: ${type} ${text}`);
  const body = parsed(text);
  return response.ok ? ended(url, response.status, body) : refused(response.status, body);
}

function refused(status: number, body: JsonObject): Outcome {
  const { code } = errorIn(body);
  return { status, ending: 'refused', error: String(code), text: '', stored: false };
}

/** The error of an envelope that holds nothing else and has all four keys. */
export function errorIn(body: JsonObject): JsonObject {
  const error = body.error as JsonObject;
  const keys = [Object.keys(body), Object.keys(error).sort()];
  if (!isDeepStrictEqual(keys, [['error'], ['code', 'message', 'param', 'type']])) {
    throw new Error(`Not OpenAI's envelope: ${JSON.stringify(body)}`);
  }
  return error;
}

async function ended(url: string, status: number, response: JsonObject): Promise<Outcome> {
  const kept = await send(`${url}/responses/${response.id}`);
  const stored = kept.status === 200;
  if (stored && !isDeepStrictEqual(kept.body, response)) throw new Error('What was stored is not what was sent.');
  return {
    status,
    ending: response.status as Outcome['ending'],
    error: failureIn(response),
    text: answerTextIn(response),
    stored,
  };
}

/** What went wrong in a response: in this package's own words where OpenAI's have none. */
function failureIn({ error }: JsonObject): string | null {
  const { code = null, reason = code } = (error ?? {}) as { readonly code?: string; readonly reason?: string };
  return reason;
}

/** The assistant's text in a response. */
export function answerTextIn(response: JsonObject): string {
  const messages = (response.output as readonly JsonObject[]).filter(({ type }) => type === 'message');
  return messages
    .flatMap(({ content }) => content as readonly JsonObject[])
    .map(({ text }) => text)
    .join('');
}
