/** Turns that end with requests for approval, and the ways in which clients answer them. */

import { type CoreOptions, memoryStore, type ResponseStore, type ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { askForJson, askForStream, post } from '../../support/responses-client.ts';
import type { WireResponse } from '../../support/wire-schemas.ts';
import { calls, chatBody, deferred, providerOf, says, type ToolsApp } from './support.ts';

export const LETTER = '{"to": "Ann"}';
export const QUESTION = { type: 'message', role: 'user', content: 'Go.' };

/** A provider of `send` and `read` that notes what it ran. */
export function mailer(server = 'mail') {
  const ran: string[] = [];
  const provider: ToolProvider = providerOf(server, ['send', 'read'], ({ name, arguments: args }) => {
    ran.push(`${name} ${JSON.stringify(args)}`);
    return Promise.resolve({ content: name === 'send' ? 'Sent.' : 'Read.' });
  });
  return { provider, ran };
}

/** The host wants each letter approved. */
export function guardedMail() {
  const { provider, ran } = mailer();
  const options: CoreOptions = { tools: provider, approval: ({ name }) => name === 'send' };
  return { options, ran };
}

/** A store that gives a waiting call when it was asked for one so many times, to all at once. */
export function findingTogether(times: number): ResponseStore {
  const store = memoryStore();
  const allFound = deferred();
  let found = 0;
  const get: ResponseStore['get'] = async (key) => {
    const stored = await store.get(key);
    if (key.id.startsWith('approval_') && ++found === times) allFound.resolve();
    if (key.id.startsWith('approval_')) await allFound.promise;
    return stored;
  };
  return { ...store, get };
}

/** The item that asks for approval. */
export interface Request {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A turn in which the model wants to send a letter. */
export async function askToSend(app: ToolsApp, body: JsonObject = {}, letter = LETTER) {
  app.fake.reply(calls(['call_a', 'send', letter]));
  const response = await askForJson(app.url, body);
  return { response, request: requestIn(response) };
}

export function requestIn({ output }: WireResponse): Request {
  return requestsIn({ output })[0] as Request;
}

export function requestsIn({ output }: Pick<WireResponse, 'output'>): readonly Request[] {
  return output.filter(({ type }) => type === 'mcp_approval_request');
}

/** The user's answer. */
export function answerTo({ id }: { readonly id: string }, approve = true, more: JsonObject = {}): JsonObject {
  return { type: 'mcp_approval_response', approval_request_id: id, approve, ...more };
}

/** How a client brings an answer: what it asks first, and what then. */
export interface Way {
  readonly name: string;
  readonly first: (app: ToolsApp) => Promise<JsonObject>;
  readonly body: (requested: WireResponse, answers: readonly JsonObject[], first: JsonObject) => JsonObject;
}

const nothing = () => Promise.resolve({});

export const ways: readonly Way[] = [
  {
    name: 'with previous_response_id',
    first: nothing,
    body: ({ id }, input) => ({ previous_response_id: id, input }),
  },
  {
    name: 'with the whole conversation',
    first: () => Promise.resolve({ store: false }),
    body: ({ output }, answers) => ({ store: false, input: [QUESTION, ...output, ...answers] }),
  },
  {
    name: 'with references to the items',
    first: nothing,
    body: ({ output }, answers) => ({
      input: [QUESTION, ...output.map(({ id }) => ({ type: 'item_reference', id })), ...answers],
    }),
  },
  {
    name: 'alone, with nothing stored',
    first: () => Promise.resolve({ store: false }),
    body: (_, input) => ({ store: false, input }),
  },
  {
    name: 'in a conversation',
    first: async ({ url }) => {
      const made = await fetch(`${url}/conversations`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      const { id } = (await made.json()) as { readonly id: string };
      return { conversation: id };
    },
    body: (_, input, first) => ({ ...first, input }),
  },
];

/** Answers with what the model says then; `stream` asks for the response as a stream. */
export async function answered(app: ToolsApp, body: JsonObject, stream: boolean, script = [says('Done.')]) {
  const before = app.fake.requests.length;
  app.fake.reply(...script);
  const response = stream ? (await askForStream(app.url, body)).response : await askForJson(app.url, body);
  return { response, requested: app.fake.requests.slice(before).map(chatBody) };
}

/** Asks and expects to be refused: the status, and the error's code. */
export async function refused(app: ToolsApp, body: JsonObject): Promise<readonly [status: number, code: string]> {
  const before = app.fake.requests.length;
  const { status, text } = await post(app.url, body);
  if (app.fake.requests.length > before) throw new Error('The model was asked.');
  return [status, JSON.parse(text).error?.code];
}
