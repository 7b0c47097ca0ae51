/** A model server whose stream goes on only when the test says so, and that knows when a caller leaves. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** In a prompt: the stream waits for the test. */
export const WAIT = 'Wait.';

/** One call of the model. */
export interface ModelCall {
  /** Sends one more piece of the text. */
  say(text: string): void;
  end(): void;
  /** Resolves when the caller has left before the end. */
  readonly left: Promise<void>;
}

/** The running model server. */
export interface Model {
  readonly baseURL: string;
  /** The next streamed call whose prompt says `WAIT`. */
  nextCall(): Promise<ModelCall>;
  close(): void;
}

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 0,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
};

/** Starts it on a free port. Other calls are answered at once. */
export async function startModel(): Promise<Model> {
  const calls: ModelCall[] = [];
  const waiting: ((call: ModelCall) => void)[] = [];
  const server = createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString();
    const { stream } = JSON.parse(body);
    if (!stream) return res.setHeader('content-type', 'application/json').end(JSON.stringify(completion));
    const call = callOf(res.setHeader('content-type', 'text/event-stream'));
    if (!body.includes(WAIT)) {
      call.say('Hello.');
      return call.end();
    }
    const next = waiting.shift();
    if (next) next(call);
    else calls.push(call);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The cast: a server that listens on TCP has an address, and it is no pipe's name.
  const { port } = server.address() as AddressInfo;

  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    async nextCall() {
      return calls.shift() ?? new Promise((resolve) => waiting.push(resolve));
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function callOf(res: ServerResponse): ModelCall {
  const left = new Promise<void>((resolve) => res.once('close', () => res.writableEnded || resolve()));
  return {
    left,
    say: (content) => void res.write(chunk({ content })),
    end: () => void res.end(`${chunk({}, 'stop')}data: [DONE]\n\n`),
  };
}
