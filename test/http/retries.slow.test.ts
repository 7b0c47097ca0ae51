/** How the model server is asked again: after which pause, how often, and when not. */

import type { Limits } from '../../src/ports/limits.ts';
import {
  type FakeAnswer,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { withLimits } from '../support/limits.ts';
import { ask, askJson, outcomeOf } from './client.ts';

let fake: FakeUpstream;
let app: App;

async function start(limits: Partial<Limits>, ...replies: readonly FakeReply[]): Promise<void> {
  fake = await startFakeUpstream();
  fake.reply(...replies);
  app = await withLimits(limits, (limits) => startApp({ upstream: fake, options: { limits } }));
}

afterEach(() => Promise.all([app.close(), fake.close()]));

function busy(headers: Readonly<Record<string, string>> = {}): FakeAnswer {
  return { status: 503, headers, body: JSON.stringify({ error: { message: 'Loading model' } }) };
}

const HELLO: FakeReply = { body: textStream('Hello') };
const ANSWERED = { status: 200, ending: 'completed', error: null, text: 'Hello', stored: true };

describe('a retry', () => {
  /** Milliseconds between one attempt and the next. */
  function pauses(): readonly number[] {
    return fake.requests.slice(1).map(({ at }, index) => at - (fake.requests[index]?.at ?? 0));
  }

  it('[P-09] comes after a pause that grows, so that nobody is hammered', async () => {
    await start({}, busy());
    await askJson(app.url);
    const [first = 0, second = 0, ...more] = pauses();
    expect([first >= 187 && first < 5000, second >= 375 && second < 5000, more]).toEqual([true, true, []]);
  });

  it.each([
    [{ 'retry-after': '1' }, 990, 2000],
    [{ 'retry-after': '0' }, 0, 180],
    [{ 'retry-after-ms': '400', 'retry-after': '5' }, 390, 1500],
  ])('[P-09] waits as long as the server says: %j', async (headers, least, most) => {
    await start({}, busy(headers), HELLO);
    await askJson(app.url);
    const [pause = -1, ...more] = pauses();
    expect([pause >= least && pause < most, more]).toEqual([true, []]);
  });

  it('[P-10] is not made for a client that left during the pause', async () => {
    await start({}, busy({ 'retry-after': '1' }), HELLO);
    const client = new AbortController();
    const requested = fake.nextRequest();
    const answer = ask(app.url, {}, { signal: client.signal }).catch((error: Error) => error.name);
    await requested;
    client.abort();
    // The next request of another client comes first, and alone.
    const other = await outcomeOf(app.url, await ask(app.url));
    expect([await answer, other, fake.requests.length]).toEqual(['AbortError', ANSWERED, 2]);
  });

  it('[P-09] stops at the time limit for the first byte, however many are left', async () => {
    await start({ firstByteTimeoutMs: 1500 }, busy({ 'retry-after-ms': '1000' }));
    const outcome = await outcomeOf(app.url, await ask(app.url));
    expect([outcome, fake.requests.length]).toEqual([
      { status: 504, ending: 'refused', error: 'upstream_timeout', text: '', stored: false },
      2,
    ]);
  });
});
