/** What every answer must be: an error in the API's own envelope, or a whole answer that keeps the API's laws. */
import { dataIn } from '../apis/chat-completions/chat-app.ts';
import { messageOf } from '../apis/messages/accumulate.ts';
import { eventsIn } from '../apis/messages/messages-app.ts';
import { law } from '../support/law.ts';
import { expectWireLaws, readWire } from '../support/wire-laws.ts';
import { expectWireResponse } from '../support/wire-schemas.ts';
import type { Received } from './client.ts';

/** The APIs, by the form of their answers and errors. */
export type ApiName = 'responses' | 'chat' | 'messages';

/** How an answer is judged. */
export interface Judged {
  /** Whether the model server, or a tool, was given a chance to fail; otherwise no error is the server's. */
  readonly mayFail?: boolean;
}

/** Throws, naming the law, unless the answer is one that a client of this API can read. */
export function expectAnswer(api: ApiName, answer: Received, { mayFail = false }: Judged = {}): void {
  law(!answer.isCut, 'an answer ends in good order', answer);
  if (answer.status >= 400) return expectRefusal(api, answer, mayFail);
  law(answer.status === 200, 'an answer is 200 or an error', answer);
  if (answer.type.startsWith('text/event-stream')) return STREAMS[api](answer.text);
  law(answer.type.startsWith('application/json'), 'an answer is JSON or an event stream', answer);
  WHOLE[api](JSON.parse(answer.text));
}

/** Throws unless it is an error in the envelope, and 500 never: that is a fault of this package. */
export function expectRefusal(api: ApiName, answer: Received, mayFail = false): void {
  law(answer.status < 500 || (mayFail && answer.status > 500), 'an error is not the fault of the server', answer);
  law(answer.type.startsWith('application/json'), 'an error is JSON', answer);
  const { error, type } = JSON.parse(answer.text);
  law(typeof error?.message === 'string' && error.message !== '', 'an error has a message', answer.text);
  law(typeof error.type === 'string', 'an error has a type', answer.text);
  if (api === 'messages') return law(type === 'error', 'an error of the Messages API says that it is one', answer.text);
  law(error.code === null || typeof error.code === 'string', 'an error has a code or null', answer.text);
  law(error.param === null || typeof error.param === 'string', 'an error has a param or null', answer.text);
}

const STREAMS: Readonly<Record<ApiName, (text: string) => void>> = {
  responses: (text) => void expectWireLaws(readWire(text)),
  chat(text) {
    const data = dataIn(text);
    const last = data.at(-1) ?? '';
    law(last === '[DONE]' || 'error' in JSON.parse(last), 'a stream of chunks ends with [DONE] or an error', text);
    for (const each of data) if (each !== '[DONE]') expectObject(JSON.parse(each));
  },
  messages: (text) => void messageOf(eventsIn(text)),
};

const WHOLE: Readonly<Record<ApiName, (body: unknown) => void>> = {
  responses: (body) => void expectWireResponse(body),
  chat: expectObject,
  messages(body) {
    expectObject(body);
    law((body as { readonly type?: unknown }).type === 'message', 'a whole answer is a message', body);
  },
};

/** Throws unless it is a JSON object. */
export function expectObject(body: unknown): void {
  law(typeof body === 'object' && body !== null && !Array.isArray(body), 'a body is an object', body);
}
