/** The recorded request bodies of real clients, and a summary of the resulting model requests without their long texts. */

import type { Item, StoredResponse } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { listShared, readShared } from './shared.ts';

/** One request that a real client sent. */
export interface ClientRequest {
  /** The file, which names the client and the scene. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body: JsonObject;
}

/** Every recording; none where they are absent. */
export function clientRequests(): readonly ClientRequest[] {
  return listShared('clients', '.json').map((name) => ({ name, ...JSON.parse(readShared(`clients/${name}`)) }));
}

/** The body as it would be posted: a WebSocket's frame has a few more fields. */
export function postedBody({ body }: ClientRequest): JsonObject {
  const { type, generate, ...posted } = body;
  return posted;
}

/** A stored response that the body may continue: it contains every call that the body answers. */
export function continuedBy(body: JsonObject): StoredResponse | undefined {
  const id = body.previous_response_id;
  if (typeof id !== 'string') return undefined;
  const input = Array.isArray(body.input) ? (body.input as readonly Item[]) : [];
  const calls = input.filter(({ type }) => type === 'function_call_output').map(callOf);
  return { scope: 'anonymous', id, createdAt: 0, input: [], output: calls, resource: { id, tools: [] } };
}

function callOf({ call_id: id }: Item): Item {
  return { type: 'function_call', id: `fc_${id}`, call_id: id, name: 'seeded', arguments: '{}', status: 'completed' };
}

/** Texts up to this length are shown as they are. */
const SHORT = 32;

/** A chat request with long texts as their lengths, messages as one line each and tools as their names. */
export function summaryOf({ messages, tools, ...rest }: JsonObject): JsonObject {
  return {
    ...(abridged(rest) as JsonObject),
    ...(tools === undefined ? {} : { tools: (tools as readonly JsonObject[]).map(toolLine) }),
    messages: (messages as readonly JsonObject[]).map(messageLine),
  };
}

function abridged(value: unknown): unknown {
  if (typeof value === 'string') return short(value);
  if (Array.isArray(value)) return value.map(abridged);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, abridged(inner)]));
}

function short(text: string): string {
  return text.length <= SHORT ? text : `(${text.length} characters)`;
}

function toolLine({ function: called }: JsonObject): string {
  // The cast: only function tools are ever offered upstream.
  const { name, strict } = called as JsonObject;
  return strict === undefined ? String(name) : `${name}${strict ? '!' : '?'}`;
}

function messageLine({
  role,
  content,
  tool_call_id: id,
  reasoning_content: thought,
  tool_calls: calls,
}: JsonObject): string {
  return [
    id === undefined ? role : `${role} ${id}`,
    contentLine(content),
    ...(thought === undefined ? [] : [`thought ${short(String(thought))}`]),
    ...((calls ?? []) as readonly JsonObject[]).map(callLine),
  ].join(' | ');
}

function contentLine(content: unknown): string {
  if (!Array.isArray(content)) return content === null ? 'null' : short(String(content));
  return content
    .map((part: JsonObject) => `${part.type}: ${JSON.stringify(abridged(part[String(part.type)]))}`)
    .join(', ');
}

function callLine({ id, function: called }: JsonObject): string {
  const { name, arguments: text } = called as JsonObject;
  return `${id} ${name}${short(String(text))}`;
}
