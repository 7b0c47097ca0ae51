/** Bytes on a socket of their own, and the answers that come back as they are. */
import { connect } from 'node:net';

/** One answer. */
export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Milliseconds without a byte after which nothing more is expected. */
const SILENCE_MS = 3000;

/** Sends the pieces, one after another, and resolves with the bytes received until the server closed or stopped sending. */
export function overSocket(url: string, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let received = '';
    const finish = () => {
      socket.destroy();
      resolve(received);
    };
    socket.setTimeout(SILENCE_MS, finish).on('error', finish).on('close', finish);
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
    for (const piece of pieces) socket.write(piece);
  });
}

/** The answers in the received text, with chunked bodies joined. Throws for anything else. */
export function answersIn(received: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = received; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1]);
    if (end < 0 || Number.isNaN(status)) throw new Error(`Not an answer: ${JSON.stringify(rest.slice(0, 200))}`);
    const head = rest.slice(0, end);
    const [body, length] = bodyOf(head, rest.slice(end + 4));
    answers.push({ status, head, body });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

function bodyOf(head: string, rest: string): readonly [body: string, length: number] {
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  if (!/\r\ntransfer-encoding: chunked/i.test(head)) return [rest.slice(0, length), length];
  let body = '';
  let at = 0;
  for (;;) {
    const line = rest.indexOf('\r\n', at);
    const size = Number.parseInt(rest.slice(at, line), 16);
    if (line < 0 || Number.isNaN(size)) return [body, rest.length];
    if (size === 0) return [body, line + 4];
    body += rest.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}
