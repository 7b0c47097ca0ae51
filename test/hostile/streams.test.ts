/** Streams of events that are very long, unread, or read by very many: each ends, and none fills the memory. */

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as textIn } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatChunk,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { ask, parseStream } from '../http/client.ts';
import { type App, type AppSetup, startApp } from '../support/app.ts';
import { tally } from './tally.ts';

const { tried } = tally('streams');
const MIB = 1024 * 1024;

let model: FakeUpstream;
let app: App;

/** Like `textStream`, for more pieces than a function call may have arguments. */
function textStreamOf(pieces: readonly string[]): string {
  return pieces.map((content) => chatChunk({ content })).join('') + textStream('');
}

/** An app whose model writes these pieces of text. */
async function start(pieces: readonly string[], options: AppSetup['options'] = {}): Promise<void> {
  await startOver({ body: textStreamOf(pieces) }, options);
}

async function startOver(reply: FakeReply, options: AppSetup['options'] = {}): Promise<void> {
  model = await startFakeUpstream({ reply });
  app = await startApp({ upstream: model, options });
}

afterEach(() => Promise.all([app.close(), model.close()]));

const IN_BACKGROUND = { background: true, stream: true };

/** How a stream ended: the type of its last event, whether `[DONE]` followed, and how much text its deltas had. */
function endOf(text: string): readonly unknown[] {
  const { events, done } = parseStream(text);
  const written = events.reduce(
    (sum, { type, delta }) => sum + (/text\.delta$/.test(type) ? String(delta).length : 0),
    0,
  );
  return [events.at(-1)?.type, done, written];
}

/** The whole answer, or a note if it does not end in time. */
async function readWhole(response: Response, ms = 20_000): Promise<string> {
  const late = sleep(ms, 'SILENT: the stream stays open', { ref: false });
  return Promise.race([response.text(), late]);
}

const pieces = (count: number, length: number) => Array.from({ length: count }, () => 'x'.repeat(length));
const ENDLESS: FakeReply = { body: chatChunk({ content: 'word' }), stallAfterBytes: 10_000 };

/** Sends a request and reads nothing of the answer but its head. */
async function unread(path: string, body?: JsonObject): Promise<IncomingMessage> {
  const headers = { 'content-type': 'application/json' };
  const requested = request(`${app.url}${path}`, { method: body ? 'POST' : 'GET', headers });
  requested.end(body && JSON.stringify({ model: 'm', input: 'Hi', ...body }));
  const [answer] = await once(requested, 'response');
  return answer;
}

/** Starts a response in the background, and leaves; its id. */
async function left(): Promise<string> {
  const stop = new AbortController();
  const answer = await ask(app.url, IN_BACKGROUND, { signal: stop.signal });
  const { value } = (await answer.body?.getReader().read()) ?? {};
  const [id = ''] = /resp_\w+/.exec(new TextDecoder().decode(value)) ?? [];
  stop.abort();
  return id;
}

/** The status of the response, once it has ended. */
async function statusOf(id: string): Promise<unknown> {
  for (;;) {
    const { status } = (await (await fetch(`${app.url}/responses/${id}`)).json()) as JsonObject;
    if (status !== 'in_progress') return status;
    await sleep(50);
  }
}

/** Follows a response on a socket that never reads. */
function unreadFollower(id: string): Socket {
  const { hostname, port, host } = new URL(app.url);
  const socket = connect(Number(port), hostname).pause();
  socket.on('error', () => {}).write(`GET /v1/responses/${id}?stream=true HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  return socket;
}

describe('a response in the background that is very long', () => {
  it.each([
    [3, 1_000_000],
    [3000, 1000],
    [100_000, 10],
    [10, 1_000_000],
  ])(
    '[F-07] is read to its end by a fast client: %d pieces of %d',
    async (count, length) => {
      await start(pieces(count, length));
      const text = await readWhole(await ask(app.url, IN_BACKGROUND));
      expect(endOf(text)).toEqual(['response.completed', true, count * length]);
      tried('characters read to the end', count * length);
    },
    60_000,
  );

  it('[F-07] reports to a client that it stopped reading for too long, and is complete all the same', async () => {
    await start(pieces(100_000, 100));
    const answer = await unread('/responses', IN_BACKGROUND);
    const first = await new Promise<Buffer>((resolve) =>
      answer.once('data', resolve).once('data', () => answer.pause()),
    );
    const [id = ''] = /resp_\w+/.exec(first.toString()) ?? [];
    const status = await statusOf(id);
    const rest = await textIn(answer.resume());
    const kept = (await (await fetch(`${app.url}/responses/${id}`)).text()).length;
    expect([status, kept > 10_000_000, rest.match(/"code":"([^"]+)"/)?.[1], rest.endsWith('data: [DONE]\n\n')]).toEqual(
      ['completed', true, 'reader_too_slow', true],
    );
    tried('clients that stopped reading');
  });
});

describe('followers that do not read', () => {
  const FOLLOWERS = 50;

  /** Followers of a response that has ended, whose sockets are full; and the server's sockets of them. */
  async function unreadFollowers(options: AppSetup['options'] = {}) {
    await start(pieces(6000, 1000), options);
    const id = await left();
    await statusOf(id);
    const own: Socket[] = [];
    app.server.on('connection', (socket) => own.push(socket));
    const followers = Array.from({ length: FOLLOWERS }, () => unreadFollower(id));
    const closed = followers.map((follower) => once(follower, 'close'));
    while (own.filter(({ bytesWritten }) => bytesWritten > 100_000).length < FOLLOWERS) await sleep(20);
    return { followers, closed: Promise.all(closed), own };
  }

  /** Reads, since a socket notices its end only by reading; all events are 31 MB, of which the kernel buffers some. */
  async function expectCutOff({ followers, closed }: Awaited<ReturnType<typeof unreadFollowers>>): Promise<void> {
    for (const follower of followers) follower.resume();
    await closed;
    expect(Math.max(...followers.map(({ bytesRead }) => bytesRead))).toBeLessThan(24_000_000);
    tried('followers cut off', FOLLOWERS);
  }

  it('[F-15] are sent no more than they read', async () => {
    const { own } = await unreadFollowers();
    await sleep(500);
    expect(Math.max(...own.map(({ writableLength }) => writableLength))).toBeLessThan(MIB / 2);
    tried('followers that read nothing', FOLLOWERS);
  });

  it('[F-15] are cut off when their time is up, even if the response has ended', async () => {
    const followers = await unreadFollowers({ limits: { turns: { durationMs: 4000 } } });
    while (followers.own.some(({ destroyed }) => !destroyed)) await sleep(50);
    await expectCutOff(followers);
  });

  it('[F-15] are cut off by the end of a drain', async () => {
    const followers = await unreadFollowers();
    await app.router.drain({ timeoutMs: 100 });
    await expectCutOff(followers);
  });
});

describe('10,000 clients that follow one response', () => {
  it('[F-15] are limited, and the others refused; the places of those that leave are free again', async () => {
    await startOver(ENDLESS, { heartbeat: { intervalMs: 100 }, limits: { model: { idleTimeoutMs: 600_000 } } });
    const id = await left();
    // Kept in a list, since an answer that is garbage-collected closes its connection.
    const followed: Response[] = [];
    const statuses = new Map<number, number>();
    const follow = async () => {
      const answer = await fetch(`${app.url}/responses/${id}?stream=true`);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status === 200) followed.push(answer);
      else await answer.text();
    };
    for (let count = 0; count < 10_000; count += 100) await Promise.all(Array.from({ length: 100 }, follow));
    expect([...statuses]).toEqual([
      [200, 100],
      [429, 9900],
    ]);
    await Promise.all(followed.map(({ body }) => body?.cancel()));
    let again = await fetch(`${app.url}/responses/${id}?stream=true`);
    while (again.status !== 200) again = await fetch(`${app.url}/responses/${id}?stream=true`);
    const reader = again.body?.getReader();
    let text = '';
    while (!text.includes(': heartbeat')) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    await fetch(`${app.url}/responses/${id}/cancel`, { method: 'POST' });
    tried('followers of one response', 10_000);
  });
});
