/** Sends `100 Continue` when a handler begins to read the body, and not, as Node's HTTP server does, before any handler has seen the request. */
import { subscribe } from 'node:diagnostics_channel';

/** What Node says when a request has begun, as far as it is needed here. */
interface Begun {
  readonly request: {
    readonly headers: { readonly expect?: string | undefined };
    _read(size: number): void;
  };
  readonly response: {
    readonly headersSent: boolean;
    writeContinue(): void;
  };
  readonly server: { listenerCount(event: 'checkContinue'): number };
}

let isOn = false;

/**
 * From now on no client of this process is told to send a body that is refused unread. A server whose host decides itself,
 * by `checkContinue`, is left alone. Node closes the connection after an answer without a 100 before it: nobody could tell
 * where the client's next request begins.
 */
export function continueLate(): void {
  if (isOn) return;
  isOn = true;
  // The cast: Node documents what it publishes there.
  subscribe('http.server.request.start', (begun) => waitForReader(begun as Begun));
}

function waitForReader({ request, response, server }: Begun): void {
  if (request.headers.expect === undefined || server.listenerCount('checkContinue') > 0) return;
  // Another copy of this package was here before.
  if (Object.hasOwn(response, 'writeContinue')) return;
  const { writeContinue } = response;
  const { _read: read } = request;
  response.writeContinue = () => {
    response.writeContinue = writeContinue;
    request._read = function readBody(size) {
      request._read = read;
      // What follows an answer is only discarded.
      if (!response.headersSent) response.writeContinue();
      read.call(request, size);
    };
  };
}
