/** Every fault of a model server or a network, by name, with the outcome that the client must see and the attempts made. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { chatCompletionsUpstream, type Upstream } from '../../src/index.ts';
import type { Limits } from '../../src/ports/limits.ts';
import {
  chatChunk,
  chatCompletion,
  type FakeAnswer,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';
import { withLimits } from '../support/limits.ts';
import { HOUR_LONG_SETTINGS } from '../support/patience.ts';
import { ask, type Outcome, outcomeOf } from './client.ts';

/** Runs with an app over a fake upstream that gives these replies in turn, and closes both. */
async function withFake<Result>(
  replies: readonly FakeReply[],
  limits: Partial<Limits>,
  run: (url: string, fake: FakeUpstream) => Promise<Result>,
): Promise<Result> {
  const fake = await startFakeUpstream();
  fake.reply(...replies);
  const app = await withLimits(limits, (limits) => startApp({ upstream: fake, options: { limits } }));
  try {
    return await run(app.url, fake);
  } finally {
    await Promise.all([app.close(), fake.close()]);
  }
}

const WORDS = ['one ', 'two ', 'three ', 'four ', 'five ', 'six ', 'seven ', 'eight ', 'nine ', 'ten'];
const TEXT = WORDS.join('');
const STREAM = textStream(WORDS);
const GOOD: FakeReply = { body: STREAM };
const WRITTEN = chatChunk({ role: 'assistant', content: 'one two ' });
const FINISH = chatChunk({}, { finish_reason: 'stop' });

/** The words of the good stream whose frames are whole before an offset. */
function saidBefore(bytes: number): string {
  const frames = STREAM.slice(0, bytes).split('\n\n').slice(0, -1);
  return frames.map((frame) => JSON.parse(frame.slice(6)).choices[0].delta.content).join('');
}

function cutAt(share: number): { readonly bytes: number; readonly text: string } {
  const bytes = Math.floor(STREAM.length * share);
  return { bytes, text: saidBefore(bytes) };
}
const AT_40 = cutAt(0.4);
const AT_60 = cutAt(0.6);

function completed(text: string): Outcome {
  return { status: 200, ending: 'completed', error: null, text, stored: true };
}

function failed(error: string, text: string): Outcome {
  return { status: 200, ending: 'failed', error, text, stored: false };
}

function refused(status: number, error: string): Outcome {
  return { status, ending: 'refused', error, text: '', stored: false };
}

function refusal(status: number, error: object, headers: Readonly<Record<string, string>> = {}): FakeAnswer {
  return { status, headers, body: JSON.stringify({ error }) };
}

interface Fault {
  readonly name: string;
  readonly replies: readonly FakeReply[];
  readonly outcome: Outcome;
  /** The outcome for a JSON request, where it is another. */
  readonly json?: Outcome;
  /** 1 where it is not given. */
  readonly attempts?: number;
  readonly limits?: Partial<Limits>;
}

const BUSY = { message: 'Slow down.', type: 'requests', code: 'rate_limit_exceeded' };
const TOO_LONG = {
  message: "This model's maximum context length is 8192 tokens.",
  type: 'invalid_request_error',
  param: 'messages',
  code: 'context_length_exceeded',
};
const FILTERED = { message: 'The prompt was filtered.', type: null, param: 'prompt', code: 'content_filter' };
const HTML = '<!doctype html><html><body>nginx</body></html>';

const faults: readonly Fault[] = [
  {
    name: '429 without Retry-After',
    replies: [refusal(429, BUSY)],
    outcome: refused(429, 'rate_limit_exceeded'),
    attempts: 3,
  },
  {
    name: '429 without Retry-After, once',
    replies: [refusal(429, BUSY), GOOD],
    outcome: completed(TEXT),
    attempts: 2,
  },
  {
    name: '429 with Retry-After, once',
    replies: [refusal(429, BUSY, { 'retry-after': '1' }), GOOD],
    outcome: completed(TEXT),
    attempts: 2,
  },
  {
    name: '429 with a Retry-After that is too long to wait',
    replies: [refusal(429, BUSY, { 'retry-after': '60' }), GOOD],
    outcome: refused(429, 'rate_limit_exceeded'),
  },
  {
    name: '429 that asks not to be retried',
    replies: [refusal(429, BUSY, { 'x-should-retry': 'false' }), GOOD],
    outcome: refused(429, 'rate_limit_exceeded'),
  },
  {
    name: '500 once',
    replies: [refusal(500, { message: 'CUDA out of memory' }), GOOD],
    outcome: refused(500, 'upstream_error'),
  },
  {
    name: '502 with an HTML page, once',
    replies: [{ status: 502, body: HTML }, GOOD],
    outcome: completed(TEXT),
    attempts: 2,
  },
  {
    name: '503',
    replies: [refusal(503, { message: 'Loading model' })],
    outcome: refused(503, 'upstream_unavailable'),
    attempts: 3,
  },
  {
    name: '503 once',
    replies: [refusal(503, { message: 'Loading model' }), GOOD],
    outcome: completed(TEXT),
    attempts: 2,
  },
  {
    name: '504 with an empty body, once',
    replies: [{ status: 504, body: '' }, GOOD],
    outcome: completed(TEXT),
    attempts: 2,
  },
  {
    name: 'reset before headers',
    replies: [{ reset: 'before-headers' }],
    outcome: refused(502, 'upstream_unavailable'),
    attempts: 3,
  },
  {
    name: 'reset before headers, once',
    replies: [{ reset: 'before-headers' }, GOOD],
    outcome: completed(TEXT),
    attempts: 2,
  },
  {
    name: 'no response',
    replies: [{ hang: true }],
    outcome: refused(504, 'upstream_timeout'),
    limits: { firstByteTimeoutMs: 3000, openAfterMs: Number.POSITIVE_INFINITY },
  },
  {
    name: 'slow first token',
    replies: [{ ...GOOD, firstByteDelayMs: 200 }],
    outcome: completed(TEXT),
    limits: { firstByteTimeoutMs: 5000 },
  },
  {
    name: 'slow first token, after the client was given its headers',
    replies: [{ ...GOOD, firstByteDelayMs: 1200 }],
    outcome: completed(TEXT),
    limits: { openAfterMs: 1 },
  },
  {
    name: 'first token too slow',
    replies: [{ ...GOOD, firstByteDelayMs: 60_000 }],
    outcome: refused(504, 'upstream_timeout'),
    // A model server that has accepted the request keeps the client waiting for a second at most.
    limits: { firstByteTimeoutMs: 150, openAfterMs: Number.POSITIVE_INFINITY },
  },
  {
    name: 'first token too slow, after the client was given its headers',
    replies: [{ ...GOOD, firstByteDelayMs: 60_000 }],
    outcome: failed('upstream_timeout', ''),
    json: refused(504, 'upstream_timeout'),
    limits: { firstByteTimeoutMs: 5000, openAfterMs: 1 },
  },
  {
    name: 'cut at 0 %',
    replies: [{ ...GOOD, cutAfterBytes: 0 }],
    outcome: refused(502, 'upstream_truncated'),
  },
  {
    name: 'cut at 40 %',
    replies: [{ ...GOOD, cutAfterBytes: AT_40.bytes }],
    outcome: failed('upstream_truncated', AT_40.text),
  },
  {
    name: 'cut at 60 %',
    replies: [{ ...GOOD, cutAfterBytes: AT_60.bytes }],
    outcome: failed('upstream_truncated', AT_60.text),
  },
  {
    name: 'an answer in JSON, cut at 40 %',
    replies: [{ body: chatCompletion(TEXT), cutAfterBytes: 100 }],
    outcome: refused(502, 'upstream_truncated'),
  },
  {
    name: 'stall (30 s in life)',
    replies: [{ ...GOOD, stallAfterBytes: AT_60.bytes }],
    outcome: failed('upstream_timeout', AT_60.text),
    limits: { idleTimeoutMs: 2000 },
  },
  {
    name: 'malformed chunk',
    replies: [{ body: `${WRITTEN}data: {"choices":[{"del\n\n${STREAM}` }],
    outcome: failed('upstream_error', 'one two '),
  },
  {
    name: 'malformed first chunk',
    replies: [{ body: `data: {"choices":[{"del\n\n${STREAM}` }],
    outcome: refused(502, 'upstream_error'),
  },
  {
    name: 'a chunk that is no object',
    replies: [{ body: `${WRITTEN}data: 42\n\n${STREAM}` }],
    outcome: failed('upstream_error', 'one two '),
  },
  {
    name: 'missing [DONE]',
    replies: [{ body: WRITTEN + FINISH }],
    outcome: completed('one two '),
  },
  {
    name: 'missing [DONE] and finish_reason',
    replies: [{ body: WRITTEN }],
    outcome: failed('upstream_truncated', 'one two '),
  },
  {
    name: 'missing finish_reason',
    replies: [{ body: `${WRITTEN}data: [DONE]\n\n` }],
    outcome: completed('one two '),
  },
  {
    name: 'an empty stream',
    replies: [{ body: '' }],
    outcome: refused(502, 'upstream_error'),
  },
  {
    name: 'a redirect',
    replies: [{ status: 302, headers: { location: 'http://127.0.0.1:9/' }, body: '' }],
    outcome: refused(502, 'upstream_error'),
  },
  {
    name: '400 context length',
    replies: [refusal(400, TOO_LONG), GOOD],
    outcome: refused(400, 'context_length_exceeded'),
  },
  {
    name: '400 content filter',
    replies: [refusal(400, FILTERED), GOOD],
    outcome: refused(400, 'content_filter'),
  },
  {
    name: 'endless event',
    replies: [{ body: ['data: ', 'x'.repeat(65_536)], endless: true }],
    outcome: refused(502, 'upstream_error'),
    limits: { eventBytes: 32_768 },
  },
  {
    name: 'endless event after some text',
    replies: [{ body: [WRITTEN, 'data: '.padEnd(2 * 1024 * 1024, 'x')], stallAfterBytes: 2 * 1024 * 1024 }],
    outcome: failed('upstream_error', 'one two '),
    limits: { eventBytes: 1024 * 1024 },
  },
  {
    name: 'too large an event in one read with what follows it',
    replies: [{ body: WRITTEN + chatChunk({ content: 'x'.repeat(2000) }) + STREAM }],
    outcome: failed('upstream_error', 'one two '),
    limits: { eventBytes: 1000 },
  },
  {
    name: '1 MB event',
    replies: [{ body: textStream('x'.repeat(1_000_000)) }],
    outcome: completed('x'.repeat(1_000_000)),
  },
  {
    name: 'wrong content type, a stream as plain text',
    replies: [{ ...GOOD, headers: { 'content-type': 'text/plain' } }],
    outcome: completed(TEXT),
  },
  {
    name: 'wrong content type, a stream as JSON',
    replies: [{ ...GOOD, headers: { 'content-type': 'application/json' } }],
    outcome: completed(TEXT),
  },
  {
    name: 'wrong content type, an HTML page',
    replies: [{ body: HTML }],
    outcome: refused(502, 'upstream_error'),
  },
  {
    name: '200 with an error body in JSON',
    replies: [{ body: JSON.stringify({ error: { message: 'No such model', code: 404 } }) }],
    outcome: refused(404, 'not_found'),
  },
  {
    name: '200 with an error body as the first event',
    replies: [{ body: `data: ${JSON.stringify({ error: BUSY })}\n\n` }],
    outcome: refused(429, 'rate_limit_exceeded'),
  },
  {
    name: '200 with an error body after some text',
    replies: [{ body: `${WRITTEN}data: ${JSON.stringify({ error: { message: 'Engine died' } })}\n\n` }],
    outcome: failed('upstream_error', 'one two '),
  },
  {
    name: 'latency',
    replies: [{ ...GOOD, delayMs: 150 }],
    outcome: completed(TEXT),
  },
  {
    name: 'bandwidth',
    replies: [{ body: WORDS.map((content) => chatChunk({ content })).concat(FINISH), paceMs: 250 }],
    outcome: completed(TEXT),
    limits: { idleTimeoutMs: 2000 },
  },
  {
    name: 'slow_close',
    replies: [{ ...GOOD, stallAfterBytes: STREAM.length }],
    outcome: completed(TEXT),
  },
  {
    name: 'timeout',
    replies: [{ ...GOOD, stallAfterBytes: 0 }],
    outcome: refused(504, 'upstream_timeout'),
    // A model server that has accepted the request keeps the client waiting for a second at most.
    limits: { firstByteTimeoutMs: 150, openAfterMs: Number.POSITIVE_INFINITY },
  },
  {
    name: 'slicer',
    replies: [{ ...GOOD, split: 'byte' }],
    outcome: completed(TEXT),
  },
  {
    name: 'limit_data',
    replies: [{ ...GOOD, cutAfterBytes: 1 }],
    outcome: refused(502, 'upstream_truncated'),
  },
];

describe.each([
  ['a stream', true],
  ['JSON', false],
])('a client that asks for %s', (_, stream) => {
  it.concurrent.each(faults)(
    '[P-08][P-09][A-17][A-19][B-05][B-06] sees one clean outcome of: $name',
    async ({ replies, limits = {}, outcome, json = outcome, attempts = 1 }) => {
      const seen = await withFake(replies, limits, async (url, { requests }) => [
        await outcomeOf(url, await ask(url, { stream })),
        requests.length,
      ]);
      expect(seen).toEqual([stream ? outcome : json, attempts]);
    },
  );
});

describe('after a fault', () => {
  it.concurrent.each(faults.filter(({ outcome }) => outcome.ending !== 'completed'))(
    '[P-09] the next request is answered as if nothing had been: $name',
    async ({ replies, limits = {}, attempts = 1 }) => {
      const played = Array.from({ length: attempts }, (_, index) => replies[index] ?? replies[0] ?? GOOD);
      const next = await withFake([...played, GOOD], limits, async (url) => {
        await (await ask(url, { stream: true })).text();
        return outcomeOf(url, await ask(url, { stream: true }));
      });
      expect(next).toEqual(completed(TEXT));
    },
  );

  it.each<[string, FakeReply, Partial<Limits>]>([
    ['endless event', { body: ['data: ', 'x'.repeat(65_536)], endless: true }, {}],
    ['endless event in one line after another', { body: 'data: x\n'.repeat(8192), endless: true }, {}],
    ['stall', { ...GOOD, stallAfterBytes: AT_60.bytes }, { idleTimeoutMs: 2000 }],
    ['no response', { hang: true }, { firstByteTimeoutMs: 2000 }],
    ['malformed chunk', { body: [WRITTEN, 'data: {\n\n'], stallAfterBytes: 10_000 }, {}],
    ['error in the stream', { body: 'data: {"error":"died"}\n\n', stallAfterBytes: 10_000 }, {}],
  ])('[P-10] the model server is left at once: %s', async (_, reply, limits) => {
    const left = await withFake([reply], { ...HOUR_LONG_SETTINGS, ...limits }, async (url, fake) => {
      await (await ask(url, { stream: true })).text();
      await fake.closed(0);
      return fake.requests.map(({ aborted }) => aborted);
    });
    expect(left).toEqual([true]);
  });

  it('[P-08] a model server that says [DONE] and does not close is left although no limit is reached (slow_close)', async () => {
    const slow = { ...GOOD, stallAfterBytes: STREAM.length };
    const order = await withFake([slow], HOUR_LONG_SETTINGS, async (url, fake) => {
      const order: string[] = [];
      const left = fake.closed(0).then(() => order.push('left'));
      await (await ask(url, { stream: true })).text();
      order.push('answered');
      await left;
      return order;
    });
    expect(order).toEqual(['answered', 'left']);
  });
});

describe('an answer that was cut', () => {
  it('[P-08] is failed at whatever byte before its finish, and never hangs or passes for a success', async () => {
    const finished = STREAM.indexOf(FINISH) + FINISH.length;
    const offsets = Array.from({ length: 60 }, (_, index) => Math.floor((index * finished) / 60));
    const replies = offsets.map((cutAfterBytes) => ({ ...GOOD, cutAfterBytes }));
    const endings = await withFake(replies, {}, async (url) => {
      const seen: string[] = [];
      for (const _ of offsets) seen.push((await outcomeOf(url, await ask(url, { stream: true }))).ending);
      return seen;
    });
    // Before the first word there is nothing to keep, and so a status is as good.
    const wrong = offsets.filter(
      (offset, index) => endings[index] !== 'failed' && (endings[index] !== 'refused' || saidBefore(offset) !== ''),
    );
    expect([endings.length, wrong]).toEqual([60, []]);
  });
});

/** A server that sends the bytes and, when the test asks for it, resets the connection. */
async function startResettingServer(bytes: string) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${bytes}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sockets,
    reset: () => sockets.at(-1)?.resetAndDestroy(),
    close: () => server.close(),
  };
}

/** The upstream, which calls back once its first words were taken. */
function afterFirstBatch(upstream: Upstream, then: () => void): Upstream {
  return {
    name: 'after-first-batch',
    async *stream(request, call) {
      for await (const batch of upstream.stream(request, call)) {
        yield batch;
        then();
      }
    },
  };
}

describe('reset_peer', () => {
  it.each([true, false])('[P-08][B-05] fails the response and keeps the output so far (stream: %s)', async (stream) => {
    const server = await startResettingServer(WRITTEN);
    const upstream = afterFirstBatch(chatCompletionsUpstream({ baseURL: server.baseURL }), server.reset);
    const app = await startApp({ options: { upstream } });
    const outcome = await outcomeOf(app.url, await ask(app.url, { stream }));
    await app.close();
    server.close();
    expect([outcome, server.sockets.length]).toEqual([failed('upstream_truncated', 'one two '), 1]);
  });
});
