/** Streams that somebody compresses: no heartbeat gets lost in them, and turns are kept where their words can be read. */
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import compression from 'compression';
import { heartbeat, memoryStore, recordTurn, runTools } from '../../src/index.ts';
import { chatChunk, chatCompletion, textStream, toolCallStream } from '../../src/testing/index.ts';
import { weather } from './cases.ts';
import { parsingExpress, type Stage, startHost } from './hosts.ts';
import { post } from './model-server.ts';

const compress: Stage = compression({ threshold: 0 });
const plain: Stage = (_req, _res, next) => next();
const BODY = { model: 'm', messages: [{ role: 'user', content: 'Hi.' }] };

const orders: readonly (readonly [string, Stage, Stage])[] = [
  ['without compression', plain, plain],
  ['behind compression', compress, plain],
  ['in front of compression', plain, compress],
];

describe.each(orders)('%s', (name, before, after) => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: UNTOUCHED }));
  afterEach(() => jest.useRealTimers());

  it('[P-15] heartbeat: only in plain streams', async () => {
    const handler: Stage = (_req, res: ServerResponse) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(chatChunk({ content: 'Hel' }));
      jest.advanceTimersByTime(40_000);
      res.end(chatChunk({ content: 'lo' }));
    };
    const app = await startHost(parsingExpress, [before, heartbeat(), after, handler]);
    const { text } = await post(app.url, BODY);
    await app.close();
    const heartbeats = name === 'without compression' ? ': heartbeat\n\n'.repeat(2) : '';
    expect(text).toBe(`${chatChunk({ content: 'Hel' })}${heartbeats}${chatChunk({ content: 'lo' })}`);
  });
});

describe('recordTurn', () => {
  /** What is kept of an answer whose handler writes it so. */
  async function keptOf(before: Stage, after: Stage, handler: (res: ServerResponse) => void) {
    const store = memoryStore();
    const answer: Stage = (_req, res: ServerResponse) => handler(res);
    const app = await startHost(parsingExpress, [before, recordTurn({ store, scope: () => 'all' }), after, answer]);
    const { text } = await post(app.url, BODY);
    await app.close();
    return { text, kept: (await store.get({ scope: 'all', id: 'chatcmpl-fake' }))?.output.length ?? 0 };
  }

  const stream = textStream(['Hel', 'lo']);
  const streaming = async (res: ServerResponse) => {
    res.setHeader('content-type', 'text/event-stream');
    for (const frame of stream.split(/(?<=\n\n)/))
      if (!res.write(frame)) await new Promise((go) => res.once('drain', go));
    res.end();
  };

  it.each(orders)('[P-12] %s: keeps what it can read, and changes nothing', async (name, before, after) => {
    const json = chatCompletion('Hello!');
    const whole = await keptOf(before, after, (res) => res.setHeader('content-type', 'application/json').end(json));
    const streamed = await keptOf(before, after, streaming);
    const kept = name === 'in front of compression' ? 0 : 1;
    expect([whole, streamed]).toEqual([
      { text: json, kept },
      { text: stream, kept },
    ]);
  });

  it('[P-12] does not keep what the handler itself compressed', async () => {
    const json = chatCompletion('Hello!');
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect(await keptOf(plain, plain, (res) => res.writeHead(200, headers).end(gzipSync(json)))).toEqual({
      text: json,
      kept: 0,
    });
  });
});

describe('runTools', () => {
  it.each([...orders, ['over a handler that compresses', plain, plain] as const])(
    '[T-02] %s: reads its handler’s answers',
    async (name, before, after) => {
      const bodies = [toolCallStream([{ id: 'call_1', name: 'weather', arguments: '{}' }]), textStream('Sunny.')];
      const zips = name.startsWith('over');
      const handler: Stage = (_req, res: ServerResponse) => {
        const body = bodies.shift() ?? '';
        res.writeHead(200, { 'content-type': 'text/event-stream', ...(zips ? { 'content-encoding': 'gzip' } : {}) });
        res.end(zips ? gzipSync(body) : body);
      };
      const app = await startHost(parsingExpress, [before, after, runTools({ tools: weather, handler })]);
      const { text, headers } = await post(app.url, { ...BODY, stream: true });
      await app.close();
      expect([
        text.includes('"content":"Sunny."'),
        text.endsWith('data: [DONE]\n\n'),
        headers['content-encoding'],
      ]).toEqual([true, true, undefined]);
    },
  );
});

const UNTOUCHED: FakeableAPI[] = [
  'nextTick',
  'setImmediate',
  'queueMicrotask',
  'hrtime',
  'performance',
  'setTimeout',
  'clearTimeout',
  'Date',
];
