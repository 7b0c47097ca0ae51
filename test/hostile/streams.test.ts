/** Streams of events that are very long, that nobody reads, or that everybody reads: each ends, and none fills the memory. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { chatChunk, type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { ask, type Fields, parseStream } from '../http/client.ts';
import { type App, type AppSetup, startApp } from '../support/app.ts';
import { tally } from './tally.ts';

const { tried } = tally('streams');
const MIB = 1024 * 1024;

let model: FakeUpstream;
let app: App;

/** As `textStream`, of more pieces than a call has arguments. */
function textStreamOf(pieces: readonly string[]): string {
  return pieces.map((content) => chatChunk({ content })).join('') + textStream('');
}

/** An app whose model writes these pieces of text. */
async function start(pieces: readonly string[], options: AppSetup['options'] = {}): Promise<void> {
  model = await startFakeUpstream({ reply: { body: textStreamOf(pieces) } });
  app = await startApp({ upstream: model, options });
}

afterEach(() => Promise.all([app.close(), model.close()]));

const IN_BACKGROUND = { background: true, stream: true };

/** How a stream ended: the type of its last event, whether it said that it is over, and how much text its deltas held. */
function endOf(text: string): readonly unknown[] {
  const { events, done } = parseStream(text);
  const said = events.reduce((sum, { type, delta }) => sum + (/text\.delta$/.test(type) ? String(delta).length : 0), 0);
  return [events.at(-1)?.type, done, said];
}

/** The whole answer, or what is known where it does not come to an end. */
async function readWhole(response: Response, ms = 20_000): Promise<string> {
  const late = sleep(ms, 'SILENT: the stream stays open', { ref: false });
  return Promise.race([response.text(), late]);
}

describe('a response in the background that is very long', () => {
  const pieces = (count: number, length: number) => Array.from({ length: count }, () => 'x'.repeat(length));

  it.each([
    [3, 1_000_000],
    [3000, 1000],
    [300_000, 10],
    [10, 1_000_000],
  ])('[F-07] is read to its end by a client that reads as fast as it can: %d pieces of %d', async (count, length) => {
    await start(pieces(count, length));
    const text = await readWhole(await ask(app.url, IN_BACKGROUND));
    expect(endOf(text)).toEqual(['response.completed', true, count * length]);
    tried('characters read to the end', count * length);
  }, 60_000);
});
