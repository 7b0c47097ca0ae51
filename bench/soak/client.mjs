/** Requests of the soak's clients: answers are read as they arrive, slowly, or only in part. */
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const TIMEOUT_MS = 60_000;

/** A client of one port; `counted` has its counts. */
export function soakClient(port) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const counted = { requests: 0, events: 0, failed: new Map() };

  /** The whole text; `leave` is the stage at which the client leaves: `asked`, `headers` or a count of bytes. `slowMs` is the pause between reads. */
  function ask(path, body, { method = 'POST', headers = {}, leave, slowMs = 0 } = {}) {
    counted.requests += 1;
    const bytes = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const sent = {
      'content-type': 'application/json',
      ...(bytes && { 'content-length': Buffer.byteLength(bytes) }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest({
        agent,
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: sent,
        timeout: TIMEOUT_MS,
      });
      outgoing.once('timeout', () => outgoing.destroy(new Error('There is no answer.')));
      outgoing.once('error', (error) => (leave === undefined ? reject(error) : resolve({ status: 0, text: '' })));
      outgoing.once('response', (incoming) => read(incoming, { leave, slowMs }).then(resolve, reject));
      outgoing.end(bytes);
      if (leave === 'asked') setTimeout(() => outgoing.destroy(), 2);
    });
  }

  async function read(incoming, { leave, slowMs }) {
    const { statusCode: status } = incoming;
    if (leave === 'headers') incoming.destroy();
    let text = '';
    try {
      for await (const piece of incoming.setEncoding('utf8')) {
        counted.events += piece.split('\ndata: ').length - 1;
        text += piece;
        if (typeof leave === 'number' && text.length > leave) break;
        if (slowMs > 0) await sleep(slowMs);
      }
    } catch (error) {
      if (leave === undefined) throw error;
    }
    return { status, text };
  }

  return { ask, counted, port, close: () => agent.destroy() };
}
