/** Texts that take long to count, many at a time, and clients that leave: none takes the place of others; `test/engine/tokens/encoding.clock.test.ts` has the time. */
import { gzipSync } from 'node:zlib';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { tally } from './tally.ts';

const { tried } = tally('tokens');

let model: FakeUpstream;
let app: App;

beforeAll(async () => {
  model = await startFakeUpstream();
  app = await startApp({ upstream: model, options: { limits: { turns: { concurrentTurns: 100 } } } });
  // Loads the encoding before the measurement.
  await count(zipped('Hi'));
});

afterAll(() => Promise.all([app.close(), model.close()]));

const zipped = (input: string) => gzipSync(JSON.stringify({ input }));

function count(body: Uint8Array, signal: AbortSignal | null = null): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  return fetch(`${app.url}/responses/input_tokens`, { method: 'POST', headers, body, signal });
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
  ])('[F-12] is counted, and a short one is counted meanwhile: %s', async (_, unit) => {
    const body = zipped(repeated(unit));
    const order: string[] = [];
    const long = count(body).finally(() => order.push('long'));
    await count(zipped('Hi')).finally(() => order.push('short'));
    const answer = await long;
    expect([answer.status, await answer.text(), order]).toEqual([
      200,
      expect.stringContaining('"input_tokens":'),
      ['short', 'long'],
    ]);
    expect(body.length).toBeLessThan(60_000);
    tried('characters in one text', LENGTH);
  });
});

describe('many texts', () => {
  it('[F-12] leaves its place if its client leaves', async () => {
    const body = zipped(repeated('龘靐齉爩鱻麤灪').slice(0, 500_000));
    for (let round = 0; round < 10; round += 1) {
      const stop = new AbortController();
      const requested = Array.from({ length: 10 }, () => count(body, stop.signal).catch(() => {}));
      // By then the ten are with the server.
      await count(zipped('Hi'));
      stop.abort();
      await Promise.all(requested);
    }
    expect((await count(zipped('Hi'))).status).toBe(200);
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
