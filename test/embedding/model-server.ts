/** A model server of somebody else's, which knows both of OpenAI's APIs and no other words, and how it is asked. */
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatCompletion,
  type FakeAnswer,
  type FakeRequest,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';

/** The response that it answers every request of the Responses API with. */
export const FOREIGN_RESPONSE = {
  id: 'resp_foreign',
  object: 'response',
  created_at: 1_700_000_000,
  status: 'completed',
  model: 'fake-model',
  output: [
    {
      type: 'message',
      id: 'msg_foreign',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello!', annotations: [], logprobs: [] }],
    },
  ],
} as const;

/** Its stream: numbered as OpenAI's, and far shorter. */
export function foreignEvents(response: JsonObject = FOREIGN_RESPONSE): string {
  const started = { ...response, status: 'in_progress', output: [] };
  const events = [
    { type: 'response.created', sequence_number: 0, response: started },
    { type: 'response.completed', sequence_number: 1, response },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

/** Says "Hello!" in the API that it is asked in. */
export function sayHello({ path, body }: FakeRequest): FakeAnswer {
  const { stream } = body as JsonObject;
  if (path.endsWith('/responses')) return { body: stream ? foreignEvents() : JSON.stringify(FOREIGN_RESPONSE) };
  return { body: stream ? textStream('Hello!') : chatCompletion('Hello!') };
}

/** Starts it. */
export function startModelServer(): Promise<FakeUpstream> {
  return startFakeUpstream({ reply: sayHello });
}

/** One answer as its client sees it; the date is left out. */
export interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Posts a JSON body, or a text as it is. */
export async function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Seen> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  const { date: _, ...rest } = Object.fromEntries(answer.headers);
  return { status: answer.status, headers: rest, text: await answer.text() };
}

/** The status and, of an error, its code. */
export function outcome({ status, text }: Seen): string {
  const { error, host } = JSON.parse(text);
  return [status, error?.code ?? error?.type ?? host].filter(Boolean).join(' ');
}

/** The bodies it was asked with since a request's number, as the text that came over the wire. */
export function bytesRequested({ requests }: FakeUpstream, since = 0): readonly string[] {
  return requests.slice(since).map(wireText);
}

/** Throws unless the length that was announced is that of the compact text, so that comparing texts is comparing bytes. */
function wireText({ body, headers }: FakeRequest): string {
  const text = JSON.stringify(body);
  const announced = headers['content-length'];
  if (announced !== undefined && Number(announced) !== Buffer.byteLength(text))
    throw new Error(`The body was announced with ${announced} bytes: ${text}`);
  return text;
}
