/** When a foreign event stream is filled with heartbeats, and when never. */

import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  heartbeat,
  memoryStore,
  responsesRouter,
} from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { textStream } from '../../../src/testing/index.ts';
import { startGatedUpstream } from '../../apis/chat-completions/gated-upstream.ts';
import { gate } from '../../support/gate.ts';
import { listening } from '../../support/listening.ts';
import { CHAT, otherTraffic, REQUESTED, type Step, withHost } from './host.ts';

const SSE = { 'content-type': 'text/event-stream' };
const HEARTBEAT = ': heartbeat\n\n';

/** Reads an answer to its end; `until` is asked after each read, with all that has come. */
async function readTo(answer: Response, until: (text: string) => void = () => {}): Promise<string> {
  let text = '';
  for await (const piece of answer.body ?? []) {
    text += Buffer.from(piece).toString('latin1');
    until(text);
  }
  return text;
}

/**
 * What a client gets whose handler says `before`, then nothing until the client has seen a heartbeat (or, where there must
 * be none, until long after), then `after`.
 */
async function heartbeatSent(
  before: (res: ServerResponse) => unknown,
  after: (res: ServerResponse) => unknown,
  { heartbeats = true, options = {} }: { heartbeats?: boolean; options?: JsonObject } = {},
) {
  const goOn = gate();
  const handler: Step = async (req, res) => {
    if (req.method !== 'POST') return res.end('other');
    before(res);
    await goOn.opened;
    after(res);
  };
  return withHost([heartbeat({ intervalMs: 2, ...options }) as Step, handler], async ({ post, url }) => {
    const asking = post(CHAT).then((answer) =>
      readTo(answer, (text) => heartbeats && /: heartbeat\n\n$|event: ping\n.*\n\n$/.test(text) && goOn.open()),
    );
    if (!heartbeats) {
      for (const _ of Array(5)) await otherTraffic(url);
      goOn.open();
    }
    return asking;
  });
}

describe('heartbeat', () => {
  const heads: Readonly<Record<string, (res: ServerResponse) => unknown>> = {
    'set and flushed headers': (res) => {
      res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
      res.flushHeaders();
    },
    'writeHead with an object': (res) => res.writeHead(200, SSE).flushHeaders(),
    'writeHead with a reason': (res) =>
      res.writeHead(200, 'Fine', { 'Content-Type': 'text/event-stream' }).flushHeaders(),
    'writeHead with a list': (res) => res.writeHead(200, ['Content-Type', 'text/event-stream'] as never).flushHeaders(),
    'writeHead alone': (res) => res.writeHead(200, SSE),
    'an identity encoding': (res) => res.writeHead(200, { ...SSE, 'content-encoding': 'identity' }),
  };
  for (const [name, head] of Object.entries(heads))
    it(`[A-20] [P-15] sends heartbeats before the first byte of a stream that begins by ${name}`, async () => {
      const text = await heartbeatSent(head, (res) => res.end('data: x\n\n'));
      expect(text).toMatch(/^(: heartbeat\n\n)+data: x\n\n$/);
    });

  const between: Readonly<Record<string, readonly string[]>> = {
    LF: ['data: a\n\n'],
    CRLF: ['data: a\r\n\r\n'],
    CR: ['data: a\r\r'],
    'many writes': ['data', ': a', '\n', '\n'],
    'no write': [''],
  };
  for (const [name, pieces] of Object.entries(between))
    it(`[A-20] [P-15] sends heartbeats between two events behind ${name}`, async () => {
      const text = await heartbeatSent(
        (res) => {
          res.writeHead(200, SSE);
          for (const piece of pieces) res.write(piece);
        },
        (res) => res.end('data: b\n\n'),
      );
      expect(text.replaceAll(HEARTBEAT, '|').replace(/\|+/, '|')).toBe(`${pieces.join('')}|data: b\n\n`);
    });

  const silent: Readonly<
    Record<string, readonly [(res: ServerResponse) => unknown, (res: ServerResponse) => unknown, string]>
  > = {
    'inside an event': [(res) => res.writeHead(200, SSE).write('data: a\n'), (res) => res.end('\n'), 'data: a\n\n'],
    'between the bytes of a line end': [
      (res) => res.writeHead(200, SSE).write('data: a\r\n\r'),
      (res) => res.end('\n'),
      'data: a\r\n\r\n',
    ],
    'in JSON': [
      (res) => res.writeHead(200, { 'content-type': 'application/json' }).write('{'),
      (res) => res.end('}'),
      '{}',
    ],
    'in a type that only begins so': [
      (res) => res.writeHead(200, { 'content-type': 'text/event-streams' }).write('\n\n'),
      (res) => res.end('x'),
      '\n\nx',
    ],
    'in what is compressed': [
      (res) => res.writeHead(200, { ...SSE, 'content-encoding': 'gzip' }).flushHeaders(),
      (res) => res.end(gzipSync('data: a\n\n')),
      'data: a\n\n',
    ],
    'in an answer of declared length': [
      (res) => res.writeHead(200, { ...SSE, 'content-length': 18 }).write('data: a\n\n'),
      (res) => res.end('data: b\n\n'),
      'data: a\n\ndata: b\n\n',
    ],
    'before the head is written': [
      (res) => res.setHeader('content-type', 'text/event-stream'),
      (res) => res.end('data: a\n\n'),
      'data: a\n\n',
    ],
  };
  for (const [name, [before, after, text]] of Object.entries(silent))
    it(`[A-20] [P-15] sends no heartbeats ${name}`, async () => {
      expect(await heartbeatSent(before, after, { heartbeats: false })).toBe(text);
    });

  it('[P-15] postpones the heartbeat with every write', async () => {
    const handler: Step = async (req, res) => {
      if (req.method !== 'POST') return res.end('other');
      res.writeHead(200, SSE);
      for (const _ of Array(40)) {
        res.write('data: a\n\n');
        await new Promise(setImmediate);
      }
      res.end();
    };
    const text = await withHost([heartbeat({ intervalMs: 5_000 }) as Step, handler], async ({ post }) =>
      readTo(await post(CHAT)),
    );
    expect(text).toBe('data: a\n\n'.repeat(40));
  });

  it('[P-15] writes pings where they are wanted, and comments for keepalives, which a foreign stream cannot number', async () => {
    const head = (res: ServerResponse) => res.writeHead(200, SSE).flushHeaders();
    const pinged = await heartbeatSent(head, (res) => res.end(), { options: { style: 'ping' } });
    const kept = await heartbeatSent(head, (res) => res.end(), { options: { style: 'keepalive' } });
    expect([pinged.replaceAll('event: ping\ndata: {"type":"ping"}\n\n', ''), kept.replaceAll(HEARTBEAT, '')]).toEqual([
      '',
      '',
    ]);
    expect([pinged === '', kept === '']).toEqual([false, false]);
  });

  it('[P-15] stops at the end, and when the answer is destroyed or the client leaves', async () => {
    const writes: string[] = [];
    const closed = gate();
    const ends: readonly ((res: ServerResponse) => unknown)[] = [(res) => res.end(), (res) => res.destroy(), () => {}];
    const spied: Step = (_req, res, next) => {
      const write = res.write.bind(res);
      res.write = ((...given: Parameters<typeof write>) => {
        if (res.writableEnded || res.destroyed) writes.push(String(given[0]));
        return write(...given);
      }) as typeof res.write;
      next();
    };
    let answered = 0;
    const handler: Step = (req, res) => {
      if (req.method !== 'POST') return res.end('other');
      const end = ends[answered++];
      res.once('close', () => answered === ends.length && closed.open());
      res.writeHead(200, SSE).write('data: a\n\n', () => end?.(res));
    };
    await withHost([spied, heartbeat({ intervalMs: 1 }) as Step, handler], async ({ post, url }) => {
      await readTo(await post(CHAT));
      await readTo(await post(CHAT)).catch(() => {});
      const leaving = new AbortController();
      const left = await post(CHAT, { signal: leaving.signal });
      leaving.abort();
      await left.text().catch(() => {});
      await closed.opened;
      await otherTraffic(url);
    });
    expect(writes).toEqual([]);
  });

  it('[P-10] writes nothing more to a client that does not read', async () => {
    const big = `data: ${'x'.repeat(1 << 20)}\n\n`;
    const full = gate();
    const goOn = gate();
    let heartbeats = 0;
    const counted: Step = (_req, res, next) => {
      const write = res.write.bind(res);
      res.write = ((...given: Parameters<typeof write>) => {
        if (given[0] === HEARTBEAT) heartbeats += 1;
        return write(...given);
      }) as typeof res.write;
      next();
    };
    const handler: Step = async (req, res) => {
      if (req.method !== 'POST') return res.end('other');
      res.writeHead(200, SSE);
      for (const _ of Array(16)) res.write(big);
      heartbeats = 0;
      full.open();
      await goOn.opened;
      res.end();
    };
    await withHost([counted, heartbeat({ intervalMs: 1 }) as Step, handler], async ({ post, url }) => {
      const answer = await post(CHAT);
      await full.opened;
      await otherTraffic(url);
      const whileFull = heartbeats;
      goOn.open();
      await answer.body?.cancel();
      expect(whileFull).toBe(0);
    });
  });

  it('[P-15] leaves the beating to a router of ours behind it, each fourth of Responses a numbered event', async () => {
    const openings = [gate(), gate()] as const;
    const chunks = textStream('Hello').split(/(?<=\n\n)/);
    const script = (opened: Promise<void>) => [chunks[0] as string, opened, ...chunks.slice(1)];
    const model = await startGatedUpstream(script(openings[0].opened), script(openings[1].opened));
    const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, retries: 0 });
    const options = { upstream, store: memoryStore(), heartbeat: false } as const;
    const app = express().use(heartbeat({ intervalMs: 5 }), responsesRouter(options), chatCompletionsRouter(options));
    const { url, close } = await listening(app);
    const ask = async (path: string, body: JsonObject, enough: RegExp, open: () => void) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify({ ...body, stream: true }) };
      return readTo(await fetch(`${url}${path}`, init), (text) => enough.test(text) && open());
    };
    try {
      const responses = await ask('/responses', REQUESTED, /keepalive"/, openings[0].open);
      const chat = await ask('/chat/completions', CHAT, /(: heartbeat\n\n){5}/, openings[1].open);
      const frames = responses.split('\n\n').filter((frame) => frame.startsWith('event: '));
      const numbers = frames.map((frame) => JSON.parse(frame.slice(frame.indexOf('{'))).sequence_number);
      expect({
        fourth: /(: heartbeat\n\n){3}event: keepalive\n/.test(responses),
        never: /(: heartbeat\n\n){4}/.test(responses),
        dense: numbers.every((number, at) => number === at),
        chat: chat.replaceAll(HEARTBEAT, ''),
      }).toEqual({ fourth: true, never: false, dense: true, chat: textStream('Hello') });
    } finally {
      await close();
      await upstream.close?.();
      await model.close();
    }
  });

  it('[X-01] names the option at fault', () => {
    const make = (options: unknown) => () => heartbeat(options as never);
    expect(make({ intervalMs: 0 })).toThrow(
      new TypeError('heartbeat: intervalMs must be a number of milliseconds, over 0 and under 2^31, got 0'),
    );
    expect(make({ style: 'loud' })).toThrow(/heartbeat: style must be .*, got 'loud'/);
    expect(make({ interval: 1 })).toThrow(/heartbeat: .*interval/);
  });
});
