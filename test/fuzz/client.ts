/** A client that keeps its connections and reads whatever comes back. */
import { Agent, request as httpRequest } from 'node:http';
import type { ByteText } from './byte-edits.ts';

/** A request below the app's origin. */
export interface Sent {
  readonly method?: string;
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes, or a text that is sent as UTF-8. */
  readonly body?: string | Uint8Array;
}

/** An answer, read to its end. */
export interface Received {
  readonly status: number;
  readonly type: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  /** Whether the connection broke before the answer had ended. */
  readonly isCut: boolean;
}

/** A client of one origin. */
export interface Client {
  /** Rejects where no answer begins. */
  send(sent: Sent): Promise<Received>;
  /** How many connections are open. */
  readonly open: number;
  close(): void;
}

/** Opens it. */
export function clientOf(origin: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const { hostname, port } = new URL(origin);

  function send({ method = 'POST', path, headers = {}, body }: Sent): Promise<Received> {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { agent, hostname, port, method, path, headers: { ...length, ...headers } };
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(options, (incoming) => {
        const pieces: Buffer[] = [];
        incoming.on('data', (piece: Buffer) => pieces.push(piece));
        incoming.on('error', () => {});
        incoming.once('close', () => {
          const { statusCode: status = 0, headers: got, complete } = incoming;
          const text = Buffer.concat(pieces).toString();
          resolve({ status, type: got['content-type'] ?? '', headers: got, text, isCut: !complete });
        });
      });
      outgoing.once('error', reject);
      outgoing.end(body);
    });
  }

  return {
    send,
    get open() {
      return Object.values(agent.sockets).flat().length;
    },
    close: () => agent.destroy(),
  };
}

/** A JSON body with its header. */
export function json(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Sent {
  return { path, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

/** The bytes that a text of bytes stands for. */
export function bytesOf(text: ByteText): Buffer {
  return Buffer.from(text, 'latin1');
}
