/** Texts that take long to count, many at a time, and clients that leave: none takes more than its share. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { gzipSync } from 'node:zlib';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { tally } from './tally.ts';

const { tried } = tally('tokens');
const SECOND = 1e9;

let model: FakeUpstream;
let app: App;

beforeAll(async () => {
  model = await startFakeUpstream();
  app = await startApp({ upstream: model, options: { limits: { concurrentTurns: 100 } } });
  // Loads the encoding before the measurement.
  await count(zipped('Hi'));
});

afterAll(() => Promise.all([app.close(), model.close()]));

const zipped = (input: string) => gzipSync(JSON.stringify({ input }));

function count(body: Uint8Array, signal: AbortSignal | null = null): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  return fetch(`${app.url}/responses/input_tokens`, { method: 'POST', headers, body, signal });
}

/** CPU seconds of the whole process, and the longest time for which the event loop was blocked, in seconds. */
async function costOf(work: () => Promise<unknown>): Promise<{ readonly cpu: number; readonly delay: number }> {
  const delays = monitorEventLoopDelay({ resolution: 10 });
  const before = process.cpuUsage();
  delays.enable();
  await work();
  delays.disable();
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1e6, delay: delays.max / SECOND };
}

const LENGTH = 4_000_000;
const repeated = (unit: string) => unit.repeat(Math.ceil(LENGTH / unit.length));

describe('a text that is made to take long', () => {
  it.each([
    ['one letter', 'a'],
    ['a word of 63 letters of three bytes, which is in no dictionary', `${'ᴬ'.repeat(62)} `],
    ['ideographs without a space', '龘靐齉爩鱻麤灪'],
    ['emoji', '🧿🪬🫠🫨'],
    ['marks upon marks', '\u0301'],
    ['spaces', ' '],
    ['capitals', 'A'],
    ['digits and letters', 'Zm9vYmFyQmF6Ug8s'],
    ['lines without words', ' \n'],
  ])(
    '[F-12] is counted in bounded time, and blocks nobody: %s',
    async (_, unit) => {
      const body = zipped(repeated(unit));
      const { cpu, delay } = await costOf(async () => {
        const answer = await count(body);
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"input_tokens":')]);
      });
      expect([body.length < 60_000, cpu < 15, delay < 2]).toEqual([true, true, true]);
      tried('characters in one text', LENGTH);
    },
    60_000,
  );
});

describe('many texts', () => {
  it('[F-12] is not counted to its end if its client leaves', async () => {
    const body = zipped(repeated('龘靐齉爩鱻麤灪').slice(0, 500_000));
    const { cpu } = await costOf(async () => {
      for (let round = 0; round < 10; round += 1) {
        const stop = new AbortController();
        const requested = Array.from({ length: 10 }, () => count(body, stop.signal).catch(() => {}));
        await Promise.race([Promise.all(requested), new Promise((resolve) => setTimeout(resolve, 100))]);
        stop.abort();
        await Promise.all(requested);
      }
      expect((await count(zipped('Hi'))).status).toBe(200);
    });
    // Counted to their end they would take a second or two each.
    expect(cpu).toBeLessThan(50);
    tried('texts whose clients left', 100);
  });

  it('[F-12] is counted if there is room, and refused otherwise; a short one is served in between', async () => {
    const body = zipped('word '.repeat(200_000));
    const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await count(body)).status));
    const kinds = new Set(statuses);
    expect([[...kinds].sort(), (await count(zipped('Hi'))).status]).toEqual([[200, 429], 200]);
    tried('texts at the same time', 60);
  });
});
