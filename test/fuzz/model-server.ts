/** A model server of any API, and an MCP server beside it: each answers with whatever a case gives it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { chatCompletion, textStream } from '../../src/testing/index.ts';
import { type Listening, listening } from '../support/listening.ts';
import { messagesAnswers, messagesStreams, responsesAnswers, responsesStreams } from './samples.ts';

/** What the server writes. */
export interface ModelAnswer {
  readonly status?: number;
  readonly type: string;
  readonly body: Buffer | string;
  /** Offsets at which the bytes are cut into several writes. */
  readonly cuts?: readonly number[];
}

/** A running server. */
export interface ModelServer extends Listening {
  /** Answers the next requests, each with one of these and all later ones with the last. Without any it says hello. */
  answers(...answers: readonly ModelAnswer[]): void;
}

/** Starts it on a free port. */
export async function startModelServer(): Promise<ModelServer> {
  let queue: readonly ModelAnswer[] = [];
  const server = await listening((request, response) => {
    answer(request, response, () => {
      const [next] = queue;
      if (queue.length > 1) queue = queue.slice(1);
      return next;
    }).catch(() => response.destroy());
  });
  server.server.keepAliveTimeout = 0;
  return {
    ...server,
    answers(...answers) {
      queue = answers;
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, next: () => ModelAnswer | undefined) {
  const body = await text(request);
  if (request.method !== 'POST') return void response.end('{"object":"list","data":[]}');
  const { status = 200, type, body: bytes, cuts = [] } = next() ?? hello(request.url ?? '', body);
  response.writeHead(status, { 'content-type': type });
  for (const piece of cut(Buffer.from(bytes), cuts)) {
    response.write(piece);
    await nextTurn();
  }
  response.end();
}

/** The API of the path says hello, streamed where it is asked to. */
function hello(path: string, body: string): ModelAnswer {
  const type = /"stream":\s*true/.test(body) ? 'text/event-stream' : 'application/json';
  const isStream = type === 'text/event-stream';
  const samples = HELLO.find(([ending]) => path.endsWith(ending))?.[1] ?? [
    textStream('Hello!'),
    chatCompletion('Hello!'),
  ];
  return { type, body: (isStream ? samples[0] : samples[1]) ?? '' };
}

const HELLO: readonly (readonly [ending: string, samples: readonly (string | undefined)[]])[] = [
  ['/messages', [messagesStreams[0], messagesAnswers[0]]],
  ['/messages/count_tokens', ['', '{"input_tokens":3}']],
  // With words, which a summary needs.
  [
    '/responses',
    [responsesStreams, responsesAnswers].map((samples) => samples.find((each) => each.includes('"output_text"'))),
  ],
];

function* cut(bytes: Buffer, cuts: readonly number[]): Iterable<Buffer> {
  let start = 0;
  for (const end of [...cuts].sort((one, other) => one - other)) {
    if (end <= start || end >= bytes.length) continue;
    yield bytes.subarray(start, end);
    start = end;
  }
  yield bytes.subarray(start);
}
