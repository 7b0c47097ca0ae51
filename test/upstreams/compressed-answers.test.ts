/** Answers that come compressed, though nobody asked for it. */
import * as zlib from 'node:zlib';
import { chatCompletionsUpstream } from '../../src/index.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import { isRecord } from '../../src/protocol/record.ts';
import {
  chatCompletion,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';

let fake: FakeUpstream;
let upstream: ReturnType<typeof chatCompletionsUpstream>;
beforeEach(async () => {
  fake = await startFakeUpstream();
  upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '', retries: 0 });
});
afterEach(async () => {
  await upstream.close();
  await fake.close();
});

const CALL = {
  signal: new AbortController().signal,
  headers: new Headers(),
  limits: { firstByteTimeoutMs: 10_000, idleTimeoutMs: 10_000, eventBytes: 1e6, outputBytes: 1e6, toolIterations: 5 },
  note: () => {},
};

async function answer(reply: FakeReply): Promise<string> {
  fake.reply(reply);
  const events: ModelEvent[] = [];
  try {
    for await (const batch of upstream.stream({ model: 'm', items: [], tools: [] }, CALL)) events.push(...batch);
  } catch (error) {
    return isRecord(error) ? `${error.code}: ${error.message}` : String(error);
  }
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

const CODINGS = [
  ['gzip', zlib.gzipSync],
  ['GZIP', zlib.gzipSync],
  ['deflate', zlib.deflateSync],
  ['br', zlib.brotliCompressSync],
] as const;

describe('a compressed answer', () => {
  it.each(CODINGS)('[V-26] is read: %s', async (coding, compress) => {
    const long = 'word '.repeat(50_000);
    const reply = (body: string, type: string, status = 200): FakeReply => ({
      status,
      headers: { 'content-type': type, 'content-encoding': coding },
      body: compress(body),
    });
    expect(await answer(reply(textStream(long), 'text/event-stream'))).toBe(long);
    expect(await answer(reply(chatCompletion('Hi.'), 'application/json'))).toBe('Hi.');
    const error = JSON.stringify({ error: { message: 'No such thing.', code: 'odd' } });
    expect(await answer(reply(error, 'application/json', 400))).toBe('odd: No such thing.');
  });

  it('[V-26] is not asked for', async () => {
    await answer({ body: textStream('Hi.') });
    expect(fake.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('[V-26] is an error, if its coding is not known, or it is torn', async () => {
    const headers = { 'content-type': 'text/event-stream', 'content-encoding': 'odd' };
    expect(await answer({ headers, body: 'x' })).toBe('upstream_error: The model server compressed its answer.');
    const torn = zlib.gzipSync(textStream('Hi.')).subarray(0, 40);
    expect(await answer({ headers: { ...headers, 'content-encoding': 'gzip' }, body: torn })).toMatch(
      /^upstream_truncated/,
    );
  });
});
