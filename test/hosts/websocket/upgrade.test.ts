/** Who is let in, under which path and scope, and what the others receive. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { attachResponsesWebSocket, type WebSocketOptions } from '../../../src/hosts/websocket/index.ts';
import { finalOf, outcomeOf, type SocketApp, startSocketApp } from './support.ts';

let app: SocketApp;
afterEach(() => app.close());

const bearer = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });

function refusedWith(status: number, message: string, type = 'invalid_request_error', code = 'websocket_refused') {
  return { status, body: { error: { message, type, param: null, code } } };
}

describe('several different keys', () => {
  const headers = { authorization: 'Bearer a', 'x-api-key': 'b' };

  it('[G-04] are refused until the host names the tenant', async () => {
    app = await startSocketApp();
    const { status, body } = await app.refusal({ headers });
    expect([status, body]).toEqual([400, { error: expect.objectContaining({ code: 'ambiguous_credentials' }) }]);
  });

  it('[G-04] are accepted where the host names the tenant', async () => {
    app = await startSocketApp({ authorize: () => ({ scope: 'tenant' }) });
    expect((await app.connect({ headers })).socket.readyState).toBe(WebSocket.OPEN);
  });
});

describe('the path', () => {
  it('[S-15] is /v1/responses, with any query', async () => {
    app = await startSocketApp();
    const socket = new WebSocket(`${app.socketUrl}?api-version=1`);
    await once(socket, 'open');
    socket.close();
    expect((await once(socket, 'close'))[0]).toBe(1005);
  });

  it('[S-15] is exact: where nobody else listens, others are 404', async () => {
    app = await startSocketApp();
    const seen = await Promise.all(['/', 'x'].map((more) => app.refusal({}, `${app.socketUrl}${more}`)));
    expect(seen).toEqual(
      ['/v1/responses/', '/v1/responsesx'].map((path) =>
        refusedWith(404, `Invalid URL (GET ${path})`, 'invalid_request_error', 'not_found'),
      ),
    );
  });

  it('[S-15] [X-01] leaves other upgrades of the server to others', async () => {
    app = await startSocketApp();
    const chat = new WebSocketServer({ noServer: true });
    app.server.on('upgrade', (request: IncomingMessage, socket, head) => {
      if (request.url === '/chat') chat.handleUpgrade(request, socket, head, (accepted) => accepted.send('welcome'));
    });
    const socket = new WebSocket(new URL('/chat', app.socketUrl));
    const [welcome] = await once(socket, 'message');
    const talk = await app.connect();
    const outcome = outcomeOf(await talk.ask());
    socket.terminate();
    expect([String(welcome), outcome]).toEqual(['welcome', 'completed']);
  });

  it('[S-15] can be another, beside a first on the same server', async () => {
    app = await startSocketApp();
    const second = attachResponsesWebSocket(app.server, {}, { path: '/v2/responses' });
    const socket = new WebSocket(new URL('/v2/responses', app.socketUrl));
    await once(socket, 'open');
    const unknown = await app.refusal({}, String(new URL('/v3/responses', app.socketUrl)));
    await second.close();
    expect([unknown.status, (await app.connect()).socket.readyState]).toEqual([404, WebSocket.OPEN]);
  });

  it('[S-15] answers POST as before', async () => {
    app = await startSocketApp();
    expect((await fetch(`${app.url}/models`)).status).toBe(200);
  });
});

describe('authorize', () => {
  it('[S-15] lets nobody in whom it refuses, with its status and message in the envelope', async () => {
    const keys = new Set(['Bearer ada']);
    app = await startSocketApp({
      authorize: async ({ headers }) =>
        keys.has(headers.authorization ?? '') || { status: 401, message: 'Incorrect API key provided.' },
    });
    const refused = await app.refusal(bearer('eve'));
    const talk = await app.connect(bearer('ada'));
    expect([refused, outcomeOf(await talk.ask()), app.errors]).toEqual([
      refusedWith(401, 'Incorrect API key provided.'),
      'completed',
      ['websocket_refused'],
    ]);
  });

  it.each([
    [429, 'rate_limit_error'],
    [503, 'server_error'],
  ])('[S-15] may refuse with %i', async (status, type) => {
    app = await startSocketApp({ authorize: () => ({ status, message: 'No "more".\r\nx: y' }) });
    expect(await app.refusal()).toEqual(refusedWith(status, 'No "more".\r\nx: y', type));
  });

  it.each([
    ['throws', () => Promise.reject(new Error('The secret database is down.'))],
    ['refuses with no status', () => ({ status: 200, message: 'Fine.' })],
    ['answers nothing', (() => undefined) as never],
    ['names a tenant that is no text', (() => ({ scope: 1 })) as never],
  ])('[S-15] that %s is a 500 that reveals nothing', async (_, authorize) => {
    app = await startSocketApp({ authorize });
    const message = 'The server had an error while processing the request.';
    expect(await app.refusal()).toEqual(refusedWith(500, message, 'server_error', 'server_error'));
  });

  /** Holds back the decision on clients without a key. */
  function undecided() {
    const decide: (() => void)[] = [];
    const authorize: WebSocketOptions['authorize'] = ({ headers }) =>
      headers.authorization ? true : new Promise((resolve) => decide.push(() => resolve(true)));
    return { authorize, decide };
  }

  /** A client that has asked to be let in. */
  async function waitingClient(decide: readonly unknown[]): Promise<WebSocket> {
    const socket = new WebSocket(app.socketUrl).on('error', () => {});
    while (decide.length === 0) await new Promise(setImmediate);
    return socket;
  }

  it('[S-15] outlives a client that leaves while it is asked', async () => {
    const { authorize, decide } = undecided();
    app = await startSocketApp({ authorize });
    const socket = await waitingClient(decide);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.terminate();
    await gone;
    for (const answer of decide) answer();
    const talk = await app.connect(bearer('ada'));
    expect(outcomeOf(await talk.ask())).toBe('completed');
  });

  it('[S-15] that never answers does not keep the server from closing', async () => {
    const { authorize, decide } = undecided();
    app = await startSocketApp({ authorize });
    const socket = await waitingClient(decide);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    await app.attached.drain();
    await gone;
    expect(decide).toHaveLength(1);
  });
});

describe('without authorize', () => {
  const from = (origin: string) => ({ headers: { origin } });

  it('[S-15] a web page of another origin is refused, as no preflight would have asked first', async () => {
    app = await startSocketApp();
    const refused = refusedWith(403, 'Web pages of other origins may not connect.');
    const seen = await Promise.all(['https://evil.example', 'null'].map((origin) => app.refusal(from(origin))));
    expect(seen).toEqual([refused, refused]);
  });

  it('[S-15] a web page of the same origin is let in', async () => {
    app = await startSocketApp();
    const talk = await app.connect(from(new URL(app.url).origin));
    expect(outcomeOf(await talk.ask())).toBe('completed');
  });
});

describe('the scope', () => {
  it('[S-15] [P-13] is a digest of Authorization: another key does not find what this one stored', async () => {
    app = await startSocketApp();
    const [ada, bob] = [await app.connect(bearer('ada')), await app.connect(bearer('bob'))];
    const { id } = finalOf(await ada.ask());
    const over = (name: string) => fetch(`${app.url}/responses/${id}`, bearer(name));
    expect([
      outcomeOf(await bob.ask({ previous_response_id: id })),
      outcomeOf(await ada.ask({ previous_response_id: id })),
      (await over('bob')).status,
      (await over('ada')).status,
    ]).toEqual(['previous_response_not_found', 'completed', 404, 200]);
  });

  it('[S-15] [P-13] keeps what is not stored from another connection of the same key', async () => {
    app = await startSocketApp();
    const [one, two] = [await app.connect(bearer('ada')), await app.connect(bearer('ada'))];
    const { id } = finalOf(await one.ask({ store: false }));
    expect(outcomeOf(await two.ask({ previous_response_id: id }))).toBe('previous_response_not_found');
  });

  it('[S-15] [P-13] can be the host’s own', async () => {
    app = await startSocketApp({ authorize: ({ headers }) => ({ scope: String(headers['x-user']) }) });
    const user = (name: string) => ({ headers: { 'x-user': name } });
    const [ada, same, bob] = [
      await app.connect(user('ada')),
      await app.connect(user('ada')),
      await app.connect(user('bob')),
    ];
    const { id } = finalOf(await ada.ask());
    const outcomes = [await same.ask({ previous_response_id: id }), await bob.ask({ previous_response_id: id })];
    expect(outcomes.map(outcomeOf)).toEqual(['completed', 'previous_response_not_found']);
  });

  it('[S-15] [P-13] that is not known lets nobody in, as a predicate says it', async () => {
    app = await startSocketApp({ authorize: ({ headers }) => headers['x-user'] !== undefined });
    const admitted = await app.connect({ headers: { 'x-user': 'ada' } });
    expect([await app.refusal(), outcomeOf(await admitted.ask())]).toEqual([
      refusedWith(403, 'This request is not authorised.'),
      'completed',
    ]);
  });
});

describe('a server that only this package listens to', () => {
  it('[S-15] serves WebSockets without any Express', async () => {
    app = await startSocketApp();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const attached = attachResponsesWebSocket(server, {}, { path: '/' });
    // The cast: it listens on TCP.
    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await once(socket, 'open');
    await attached.close();
    server.close();
    expect(server.listenerCount('upgrade')).toBe(0);
  });
});
