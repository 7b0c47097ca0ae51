/** One request, and everything that a line of docs/compatibility.md can say of it. */

import { isDeepStrictEqual } from 'node:util';
import { chatCompletionsUpstream, type Note, type RouterOptions } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { startApp } from '../support/app.ts';
import { responsesStream, textItem } from '../upstreams/responses-bytes.ts';

/** The API of the model server. */
export type Wire = 'chat' | 'responses';

/** What one request led to. */
export interface Outcome {
  readonly status: number;
  /** The response, or the error in its envelope. */
  readonly body: JsonObject;
  /** What the model server received; undefined if nothing. */
  readonly sent: JsonObject | undefined;
  readonly notes: readonly Note[];
  /** The stored input items. */
  readonly kept: readonly JsonObject[];
}

/** Sends the request to a router of its own over a model server that says hello. */
export async function outcomeOf(body: JsonObject, wire: Wire = 'chat', options: RouterOptions = {}): Promise<Outcome> {
  const notes: Note[] = [];
  const fake = await startFakeUpstream();
  fake.reply({ body: wire === 'chat' ? textStream('Hello.') : responsesStream([textItem(0, 'Hello.')]) });
  const settings = { baseURL: fake.baseURL, apiKey: 'upstream-key', retries: 0 };
  const upstream = wire === 'chat' ? chatCompletionsUpstream(settings) : responsesUpstream(settings);
  const hooks = { onNote: (note: Note) => void notes.push(note), onError: () => {} };
  const app = await startApp({ options: { upstream, ...options, hooks } });
  try {
    const posted = await post(`${app.url}/responses`, { model: 'm', input: 'Hi.', ...body });
    const kept = await itemsOf(`${app.url}/responses/${posted.body.id}/input_items`);
    return { ...posted, kept, notes, sent: fake.requests.at(-1)?.body as JsonObject | undefined };
  } finally {
    await app.close();
    await upstream.close?.();
    await fake.close();
  }
}

async function post(url: string, body: JsonObject): Promise<Pick<Outcome, 'status' | 'body'>> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: answer.status, body: finalOf(await answer.text()) };
}

/** The JSON, or the response of a stream's last event. */
function finalOf(text: string): JsonObject {
  if (text.startsWith('{')) return JSON.parse(text);
  const last = text.split('\n\n').findLast((frame) => frame.includes('"response":')) ?? '';
  return JSON.parse(last.split('data: ')[1] ?? '{}').response;
}

async function itemsOf(url: string): Promise<readonly JsonObject[]> {
  const { data = [] } = JSON.parse(await (await fetch(url)).text()) as { readonly data?: readonly JsonObject[] };
  return data;
}

/** The value at a path such as `text.format` or `messages.0.content`. */
export function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (inner as JsonObject | undefined)?.[key], value);
}

/** Whether it is there, exactly. */
export function holdsAt(value: unknown, path: string, expected: unknown): boolean {
  return isDeepStrictEqual(valueAt(value, path), JSON.parse(JSON.stringify(expected)));
}

/** Whether a note names the field or the type in quotes. */
export function isNoted({ notes }: Outcome, name: string): boolean {
  return notes.some(({ message }) => message.includes(`'${name}'`));
}

/** Whether it was refused, with a `param` at or below the field. */
export function isRefused({ status, body }: Outcome, field: string): boolean {
  const { param } = (body.error ?? {}) as { readonly param?: unknown };
  return status === 400 && String(param).startsWith(field);
}

/** The claims that hold, of those that the table knows. */
export function holding(facts: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.keys(facts).filter((claim) => facts[claim]);
}
