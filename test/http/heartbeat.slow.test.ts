/** Heartbeats: silence on a stream is filled, between frames and never after the end, in the style that the host chose. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type ExecuteContext, functionTools, type HeartbeatOptions, type RouterOptions } from '../../src/index.ts';
import {
  chatChunk,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { answerTextIn, ask, askStream, lastResponse, outcomeOf, type Stream, typesOf } from './client.ts';

const HEARTBEAT = ': heartbeat\n\n';

let fake: FakeUpstream;
let app: App;

afterEach(() => Promise.all([app.close(), fake.close()]));

async function start(heartbeat: HeartbeatOptions | false, reply: FakeReply, more: RouterOptions = {}): Promise<void> {
  fake = await startFakeUpstream({ reply });
  const limits = { model: { openAfterMs: Number.POSITIVE_INFINITY } };
  app = await startApp({ upstream: fake, options: { heartbeat, limits, ...more } });
}

/** A stream of two words with so many milliseconds of silence between them. */
function silent(ms: number): FakeReply {
  const words = [
    chatChunk({ content: 'Hel' }),
    chatChunk({ content: 'lo' }) + chatChunk({}, { finish_reason: 'stop' }),
  ];
  return { body: words, paceMs: ms };
}

/** The frames as one letter each: `.` for a comment, `K` for a keepalive or ping event, `e` for any other. */
function pattern({ text }: Stream): string {
  const frames = text.split('\n\n').slice(0, -1);
  return frames
    .map((frame) => (frame === ': heartbeat' ? '.' : /^event: (keepalive|ping)\n/.test(frame) ? 'K' : 'e'))
    .join('');
}

/** What comes after the first word and before the last. */
function silenceIn(stream: Stream): string {
  return pattern(stream).replace(/^e+/, '').replace(/e+$/, '');
}

describe('a silent stream', () => {
  it('[A-20][P-15] gets comments, and each fourth in a row is a keepalive event', async () => {
    await start({ intervalMs: 50 }, silent(500));
    const stream = await askStream(app.url);
    expect(silenceIn(stream)).toMatch(/^\.\.\.K\.\.\.K?\.?\.?$/);
    expect(answerTextIn(lastResponse(stream))).toBe('Hello');
  });

  it('[A-20] gets comments that are exactly ": heartbeat" and leave the events as they are', async () => {
    await start({ intervalMs: 100 }, silent(250));
    const { text, events } = await askStream(app.url);
    const heartbeats = text.split(HEARTBEAT).length - 1;
    expect([heartbeats === 2 || heartbeats === 3, events.some(({ type }) => type === 'keepalive')]).toEqual([
      true,
      false,
    ]);
  });

  it('[P-15] numbers keepalive events with the others, without gaps', async () => {
    await start({ intervalMs: 40 }, silent(400));
    const { events } = await askStream(app.url);
    const keepalives = events.filter(({ type }) => type === 'keepalive');
    const numbers = events.map(({ sequence_number: number }) => number);
    expect(keepalives[0]).toEqual({ type: 'keepalive', sequence_number: 5 });
    expect(numbers).toEqual([...numbers.keys()]);
  });

  it.each([['keepalive'], ['ping']] as const)('[P-15] gets only events in the style %s', async (style) => {
    await start({ intervalMs: 80, style }, silent(290));
    const stream = await askStream(app.url);
    const heartbeats = typesOf(stream.events).filter((type) => type === 'keepalive' || type === 'ping');
    const numbers = stream.events.map(({ sequence_number: number }) => number);
    expect(silenceIn(stream)).toMatch(/^K{3,4}$/);
    expect([new Set(heartbeats), numbers]).toEqual([new Set([style]), [...numbers.keys()]]);
  });

  it('[P-15] gets nothing where it is turned off', async () => {
    await start(false, silent(300));
    expect(silenceIn(await askStream(app.url))).toBe('');
  });

  it('[A-20] gets nothing within the first 15 seconds by default', async () => {
    await start({}, silent(300));
    expect(silenceIn(await askStream(app.url))).toBe('');
  });

  it('[P-15] starts to count anew with each word', async () => {
    const words = ['a', 'b', 'c', 'd', 'e', 'f'].map((content) => chatChunk({ content }));
    await start({ intervalMs: 300 }, { body: [...words, chatChunk({}, { finish_reason: 'stop' })], paceMs: 120 });
    expect(silenceIn(await askStream(app.url))).not.toMatch(/[.K]/);
  });

  it('[P-15] starts to count rows anew with each word', async () => {
    const words = ['a', 'b', 'c'].map((content) => chatChunk({ content }));
    await start({ intervalMs: 80 }, { body: [...words, chatChunk({}, { finish_reason: 'stop' })], paceMs: 280 });
    const stream = await askStream(app.url);
    expect(silenceIn(stream)).toMatch(/^\.{2,3}e\.{2,3}e\.{2,3}$/);
  });

  it('[P-15] gets them in a long wait for the first word, once the model server has taken the request', async () => {
    await start({ intervalMs: 50 }, { body: textStream('Hello'), firstByteDelayMs: 1300 });
    const stream = await askStream(app.url);
    expect(typesOf(stream.events).slice(0, 2)).toEqual(['created', 'in_progress']);
    expect(pattern(stream)).toMatch(/^ee\.[.K]+e+$/);
  });

  it('[P-15] gets none before the time at which it is opened, or a refusal could not have a status', async () => {
    await start({ intervalMs: 15_000 }, { status: 400, body: '{"error":{"message":"No."}}', delayMs: 300 });
    const response = await ask(app.url, { stream: true });
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json; charset=utf-8']);
  });

  it('[P-15] keeps every law with heartbeats in any place', async () => {
    const words = Array.from({ length: 20 }, (_, index) =>
      chatChunk({ content: `${index} `, reasoning_content: 'Hm.' }),
    );
    await start(
      { intervalMs: 7, style: 'keepalive' },
      { body: [...words, chatChunk({}, { finish_reason: 'stop' })], paceMs: 25 },
    );
    const outcome = await outcomeOf(app.url, await ask(app.url, { stream: true }));
    expect(outcome.ending).toBe('completed');
  });
});

describe('a stream that has ended', () => {
  it('[P-15] gets no heartbeat after its end, on a connection that is kept', async () => {
    await start({ intervalMs: 20 }, { body: textStream('Hello') });
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1').setEncoding('utf8');
    let received = '';
    socket.on('data', (piece: string) => {
      received += piece;
    });
    const body = '{"model":"m","input":"Hi","stream":true}';
    const head = 'POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\n';
    socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
    while (!received.endsWith('0\r\n\r\n')) await once(socket, 'data');
    const whole = received;
    // Another request on it takes longer than several heartbeats.
    fake.reply({ body: textStream('Hi'), delayMs: 200 });
    socket.write(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await once(socket, 'close');
    expect([whole.includes(HEARTBEAT), received.slice(whole.length, whole.length + 15)]).toEqual([
      false,
      'HTTP/1.1 200 OK',
    ]);
  });

  it('[P-15] has frames that no heartbeat is inside of, however fast they come', async () => {
    await start(
      { intervalMs: 1 },
      { body: textStream(Array.from({ length: 200 }, (_, index) => `${index} `)), split: 'byte' },
    );
    // The client throws where a frame is not whole.
    const stream = await askStream(app.url);
    expect(answerTextIn(lastResponse(stream)).split(' ').length).toBe(201);
  }, 120_000);

  it('[P-15] was JSON, and so has none', async () => {
    await start({ intervalMs: 20 }, { body: textStream('Hello'), firstByteDelayMs: 200 });
    const text = await (await ask(app.url)).text();
    expect(text.startsWith('{"id":"resp_')).toBe(true);
  });
});

describe('a tool that reports its progress', () => {
  it('[X-15] runs longer than one without progress may, while its client receives heartbeats and the host the progress', async () => {
    const reported: unknown[] = [];
    const work = functionTools({
      work: {
        async execute(_args: unknown, { onProgress }: ExecuteContext) {
          for (let progress = 1; progress <= 8; progress += 1) {
            await pause(150);
            onProgress?.({ progress, total: 8 });
          }
          return 'done';
        },
      },
    });
    const calls = toolCallStream([{ id: 'call_1', name: 'work', arguments: '{}' }]);
    fake = await startFakeUpstream({ reply: () => ({ body: fake.requests.length < 2 ? calls : textStream('Fine.') }) });
    app = await startApp({
      upstream: fake,
      options: {
        tools: work,
        heartbeat: { intervalMs: 100 },
        limits: { tools: { timeoutMs: 1_000 } },
        hooks: { onToolProgress: (info) => reported.push([info.name, info.progress, info.total]) },
      },
    });
    const stream = await askStream(app.url);
    expect(pattern(stream)).toContain('e..');
    expect([answerTextIn(lastResponse(stream)), reported]).toEqual([
      'Fine.',
      Array.from({ length: 8 }, (_, at) => ['work', at + 1, 8]),
    ]);
  });
});
