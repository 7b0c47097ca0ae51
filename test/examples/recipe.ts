/** Starts the recipes of the documentation in this process, on free ports, and asks them. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FakeUpstream } from 'express-open-responses/testing';
import type { JsonObject } from '../../src/protocol/record.ts';

/** A running recipe. */
export interface Recipe {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const folder = join(import.meta.dirname, '../../examples/recipes');

/** Runs the file as it stands; a test file can do so once for each, since a module is evaluated once. */
export async function startRecipe(name: string, variables: Readonly<Record<string, string>>): Promise<Recipe> {
  Object.assign(process.env, { PORT: '0', MODEL_KEY: 'key-of-the-model-server', ...variables });
  // The cast: each recipe exports its server.
  const { server } = (await import(join(folder, `${name}.ts`))) as { server: Server };
  if (!server.listening) await once(server, 'listening');
  // The cast: a server that listens on TCP has an address, and it is no pipe's name.
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, close: () => closed(server) };
}

async function closed(server: Server): Promise<void> {
  const ended = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await ended;
}

/** Posts an object as JSON. */
export function post(url: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const json = { 'content-type': 'application/json', ...headers };
  return fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) });
}

/** An answer's status, and its JSON. */
export async function answerOf(
  requested: Promise<Response>,
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const answer = await requested;
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

/** A question in the words of Chat Completions. */
export function chat(content: string, more: JsonObject = {}): JsonObject {
  return { model: 'm', messages: [{ role: 'user', content }], ...more };
}

/** The assistant's text in a chat completion. */
export function answerTextIn({ choices }: JsonObject): unknown {
  // The cast: the answer is a chat completion.
  return (choices as readonly { readonly message: JsonObject }[])[0]?.message.content;
}

/** What a response says. */
export function textIn({ output }: JsonObject): unknown {
  // The cast: the answer is a response.
  const [message] = (output as readonly JsonObject[]).filter(({ type }) => type === 'message');
  return (message?.content as readonly JsonObject[] | undefined)?.[0]?.text;
}

/** The messages of a request to the model server, each as its role and its text. */
export function messagesIn(fake: FakeUpstream, index = -1): readonly string[] {
  return chatRequest(fake, index).messages.map(({ role, content }) => `${role}: ${content}`);
}

/** The names of the tools in a request to the model server. */
export function toolsIn(fake: FakeUpstream, index = -1): readonly unknown[] {
  return (chatRequest(fake, index).tools ?? []).map(({ function: { name } }) => name);
}

function chatRequest({ requests }: FakeUpstream, index: number) {
  // The cast: what was asked is a chat request.
  return requests.at(index)?.body as {
    readonly messages: readonly JsonObject[];
    readonly tools?: readonly { readonly function: JsonObject }[];
  };
}

/** Reads an answer until this text has come. */
export async function untilReceived(answer: Response, text: string): Promise<string> {
  let received = '';
  for await (const bytes of answer.body ?? []) {
    received += Buffer.from(bytes).toString();
    if (received.includes(text)) return received;
  }
  throw new Error(`The answer ended without ${text}: ${received}`);
}
