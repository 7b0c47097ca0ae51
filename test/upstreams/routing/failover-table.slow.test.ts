/** The table of failover, for errors of every status, code and moment: what one server alone answers decides whether another is asked. */
import { withFailover } from 'express-open-responses/routing';
import fc from 'fast-check';
import { ApiError, type Upstream } from '../../../src/index.ts';
import { chatChunk, type FakeReply, type FakeUpstream } from '../../../src/testing/index.ts';
import { NOBODY } from '../../support/listening.ts';
import { ask, askChat, chatAt, clock, closeAll, refuses, startServers, textOf } from './servers.ts';

afterEach(closeAll);
afterEach(() => import.meta.jest.restoreAllMocks());

const ROLE = chatChunk({ role: 'assistant', content: '' });
const WORD = chatChunk({ content: 'word' });
/** Whatever their status: every server would answer the same. */
const OF_THE_REQUEST = ['content_filter', 'content_policy_violation', 'context_length_exceeded'];

const reported = fc.record(
  {
    message: fc.constantFrom('No.', 'prompt is too long', 'Rate limit reached', ''),
    code: fc.oneof(
      fc.constantFrom<unknown>(
        ...OF_THE_REQUEST,
        'rate_limit_exceeded',
        'insufficient_quota',
        'server_error',
        500,
        429,
      ),
      fc.string(),
      fc.jsonValue(),
    ),
    type: fc.constantFrom('overloaded_error', 'invalid_request_error', 'rate_limit_error', 'api_error', 'odd'),
  },
  { requiredKeys: [] },
);
const status = fc.integer({ min: 400, max: 599 });
const body = fc.oneof(
  reported.map((error) => JSON.stringify({ error })),
  fc.string(),
  fc.json(),
);
const refusals: fc.Arbitrary<FakeReply> = fc.record({ status, body });
const inStream = (before: string): fc.Arbitrary<FakeReply> =>
  reported.map((error) => ({ body: `${before}data: ${JSON.stringify({ error })}\n\n` }));
const cuts = fc.constantFrom<FakeReply>(
  { reset: 'before-headers' },
  { body: ROLE, cutAfterBytes: ROLE.length },
  { body: ROLE },
  { body: ROLE + WORD, cutAfterBytes: ROLE.length + WORD.length },
  { body: '<html></html>' },
);
const faults = fc.oneof(refusals, inStream(''), inStream(ROLE), inStream(ROLE + WORD), cuts);

const goesOn = ({ status = 500, code }: { readonly status?: number | undefined; readonly code?: string | undefined }) =>
  (status === 408 || status === 429 || status >= 500) && !OF_THE_REQUEST.includes(String(code));

async function pair() {
  const [faulty, good] = await startServers(2);
  if (!faulty || !good) throw new Error('They were started.');
  const alone = chatAt(faulty, { retries: 0 });
  return { faulty, good, alone, upstream: withFailover([alone, chatAt(good)], { breaker: false }) };
}

const asked = ({ requests }: FakeUpstream) => requests.length;

describe('[X-11] the table of failover', () => {
  it('holds for every error of a server, at any moment', async () => {
    const { faulty, good, alone, upstream } = await pair();
    const times = clock();
    await fc.assert(
      fc.asyncProperty(faults, async (fault) => {
        faulty.reply(fault);
        const [before, single] = [asked(good), await ask(alone)];
        const seen = await ask(upstream);
        times.advance(3_600_000);
        const isNext = single.code !== undefined && single.text === '' && goesOn(single);
        const expected = isNext ? ['b', undefined, 1] : [single.text, single.code, 0];
        expect([seen.text, seen.code, asked(good) - before]).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('holds for Chat Completions, where the first data of an answer may be its error', async () => {
    const { faulty, good, alone, upstream } = await pair();
    const times = clock();
    await fc.assert(
      fc.asyncProperty(fc.oneof(refusals, inStream('')), async (fault) => {
        faulty.reply(fault);
        const [before, single] = [asked(good), await chatOutcome(alone)];
        // How the error reads as one of the other API.
        const error = await ask(alone);
        const seen = await chatOutcome(upstream);
        times.advance(3_600_000);
        const isNext = error.code !== undefined && goesOn(error);
        expect([isNext ? seen.includes('"content":"b"') : seen, asked(good) - before]).toEqual(
          isNext ? [true, 1] : [single, 0],
        );
      }),
      { numRuns: 200 },
    );
  });

  it('has a server that refuses connections', async () => {
    const [good] = await startServers(1);
    if (!good) throw new Error('It was started.');
    const upstream = withFailover([chatAt({ ...good, ...NOBODY }), chatAt(good)]);
    expect([await textOf(upstream), upstream.servers?.()[0]?.lastError]).toEqual(['a', 'upstream_unavailable']);
  });

  it('has a server whose name is unknown', async () => {
    const [good] = await startServers(1);
    if (!good) throw new Error('It was started.');
    const unknown = chatAt({ ...good, baseURL: 'http://no-such-host.invalid:8000/v1' });
    expect(await textOf(withFailover([unknown, chatAt(good)]))).toBe('a');
  });

  it.each(['output_too_large', 'duration_exceeded'])('passes on %s, a limit of this server', async (code) => {
    const [good] = await startServers(1);
    if (!good) throw new Error('It was started.');
    const limited: Upstream = {
      name: 'limited',
      // biome-ignore lint/correctness/useYield: it fails before it says anything
      async *stream() {
        throw new ApiError(code, 'Too much.', { status: 500 });
      },
    };
    expect([await textOf(withFailover([limited, chatAt(good)])), asked(good)]).toEqual([code, 0]);
  });

  it.each([400, 401, 403, 404, 402, 418])(
    'never goes on after a %s, which is the client’s or the host’s',
    async (code) => {
      const { faulty, good, upstream } = await pair();
      faulty.reply(refuses(code, { 'retry-after': '30' }));
      expect([await textOf(upstream), asked(good), upstream.servers?.()[0]?.state]).toEqual([
        `refused_${code}`,
        0,
        'closed',
      ]);
    },
  );
});

/** The data, or the code of the error. */
async function chatOutcome(upstream: Upstream): Promise<string> {
  try {
    return (await askChat(upstream)).text;
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
}
