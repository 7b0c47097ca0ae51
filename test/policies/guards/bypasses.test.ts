/** A client that tries to get a request past the middleware `guard` by what its path is called and how its body is declared. */

import type { ServerResponse } from 'node:http';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import express, { type RequestHandler } from 'express';
import { detectApi } from '../../../src/hosts/middleware/api.ts';
import { type Guard, guard } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { chatCompletion, textStream } from '../../../src/testing/index.ts';
import { CHAT, type HostRequest, REQUESTED, responseOf, type Step, withHost } from '../../hosts/middleware/host.ts';
import { listening } from '../../support/listening.ts';

const SECRET = 'Write to bob@example.com now.';
const JSON_TYPE = { 'content-type': 'application/json' };
const BOTH = { input: [pii()], output: [pii()] };

/** Sends a request with exactly this target, method and body, which `fetch` would mend. */
function send(
  url: string,
  target: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = JSON_TYPE,
  method = 'POST',
): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path: target, method, headers: { ...headers } }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece) => pieces.push(piece));
      answer.on('close', () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Keeps the bodies that reach it, read or not, and answers with the secret. */
function leaking(reached: string[], answer: string = chatCompletion(SECRET)): Step {
  return async (req: HostRequest, res: ServerResponse) => {
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece as Buffer);
    reached.push(JSON.stringify(req.body ?? null) + Buffer.concat(pieces).toString('utf8'));
    res.writeHead(200, answer.startsWith('data:') ? { 'content-type': 'text/event-stream' } : JSON_TYPE).end(answer);
  };
}

const CHAT_BODY = JSON.stringify({ ...CHAT, messages: [{ role: 'user', content: SECRET }] });

describe('a path', () => {
  const paths = [
    '/v1/chat/completions#/embeddings',
    '/v1/chat/completions?/embeddings',
    '/v1/chat/completions?x=1#/v1/embeddings',
    '/v1/embeddings',
    '/v1/moderations',
    '/v1/audio/speech',
    '/v1/chat/completions/',
    '/v1//chat//completions//',
    '/v1/chat%2Fcompletions',
    '/v1/%63hat/completions',
    '/v1/chat/completions%23/embeddings',
    '/v1/chat/completions;x=/embeddings',
    '/V1/CHAT/COMPLETIONS',
    '/v1/chat/completions/../embeddings',
    '/v1/responses',
    '/v1/messages',
    '/anything',
    '/%',
    'http://elsewhere.example/v1/embeddings',
    '*',
  ];

  it.each(paths)('[G-01] turns no guard off, neither of the request nor of the answer: %s', async (path) => {
    const reached: string[] = [];
    await withHost([guard({ guards: BOTH }) as Step, leaking(reached)], async ({ url }) => {
      const { status, text } = await send(url, path, CHAT_BODY);
      expect([status, text.includes('bob@'), text.includes('[EMAIL]')]).toEqual([200, false, true]);
    });
    expect([reached.length, reached.join('').includes('bob@'), reached.join('').includes('[EMAIL]')]).toEqual([
      1,
      false,
      true,
    ]);
  });

  it.each(paths)('[G-01] does not choose how a torn stream is read: %s', async (path) => {
    const stream = textStream([...SECRET]);
    await withHost([guard({ guards: BOTH }) as Step, leaking([], stream)], async ({ url }) => {
      const { text } = await send(url, path, JSON.stringify({ ...CHAT, stream: true }));
      const shown = [...text.matchAll(/"content":"(.*?)"/g)].map(([, content]) => content).join('');
      expect([shown.includes('bob@'), shown.includes('[EMAIL]')]).toEqual([false, true]);
    });
  });

  it('[G-01] turns no guard off in an app that is mounted in another one', async () => {
    const reached: string[] = [];
    const inner = express().use(guard({ guards: BOTH }), leaking(reached) as unknown as RequestHandler);
    const outer = express().use('/embeddings', express().use('/v1/embeddings', inner));
    const { url, close } = await listening(outer);
    const { text } = await send(url, '/embeddings/v1/embeddings/chat/completions#/embeddings', CHAT_BODY);
    await close();
    expect([text.includes('bob@'), reached.join('').includes('bob@')]).toEqual([false, false]);
  });

  it.each([
    ['input', { input: SECRET }],
    ['prompt', { prompt: SECRET }],
    ['messages', { messages: [{ role: 'user', content: SECRET }] }],
    ['a list', [{ role: 'user', content: SECRET }]],
    ['a text', SECRET],
    ['another field', { query: SECRET, documents: [SECRET, { text: SECRET }] }],
  ])('[G-01] of no API guards a body with %s', async (_, body) => {
    const reached: string[] = [];
    await withHost([guard({ guards: BOTH }) as Step, leaking(reached)], async ({ url }) => {
      const { text } = await send(url, '/v1/embeddings', JSON.stringify(body));
      expect([text.includes('bob@'), reached.length, reached.join('').includes('bob@')]).toEqual([false, 1, false]);
    });
  });

  it('[G-01] passes unread if the host names it, in these letters and no others', async () => {
    const options = { guards: BOTH, unguardedPaths: ['/v1/embeddings', '/v1/files/*'] };
    const cases: readonly [string, boolean][] = [
      ['/v1/embeddings', true],
      ['/v1/embeddings?x=1', true],
      ['/v1/files/f_1', true],
      ['/v1/files', false],
      ['/v1/files/', false],
      ['/v1/files/../chat/completions', false],
      ['/v1/files/%2e%2e/chat/completions', false],
      ['/v1/files//chat/completions', false],
      ['/v1/embeddings/', false],
      ['/v1/Embeddings', false],
      ['/v1/embeddings#/chat', false],
      ['/v1/chat/completions#/v1/embeddings', false],
      ['/v1/chat/completions?/v1/embeddings', false],
      ['http://x.example/v1/embeddings', false],
    ];
    for (const [path, passes] of cases) {
      const reached: string[] = [];
      await withHost([guard(options) as Step, leaking(reached)], async ({ url }) => {
        const { text } = await send(url, path, CHAT_BODY);
        expect([path, text.includes('bob@'), reached.join('').includes('bob@')]).toEqual([path, passes, passes]);
      });
    }
  });

  it('[G-01] that the host rewrites behind the named one is guarded', async () => {
    const reached: string[] = [];
    const rewriting: RequestHandler = (req, _res, next) => {
      req.url = '/v1/chat/completions';
      next();
    };
    const guarding = guard({ guards: BOTH, unguardedPaths: ['/v1/embeddings'] });
    const app = express().use(rewriting, guarding, leaking(reached) as unknown as RequestHandler);
    const { url, close } = await listening(app);
    await send(url, '/v1/embeddings', CHAT_BODY);
    await close();
    expect(reached.join('').includes('bob@')).toBe(false);
  });

  it.each([
    ['no list', '/v1/files', "guard: unguardedPaths must be a list of paths that begin with '/'"],
    ['no path', ['files'], "guard: unguardedPaths must be a list of paths that begin with '/'"],
    ['every path', ['/*'], "guard: unguardedPaths must be a list of paths that begin with '/'"],
    ['a pattern', ['/v1/*/x'], "guard: unguardedPaths must be a list of paths that begin with '/'"],
  ])('[G-01] named in a way that is not clear is a TypeError: %s', (_, unguardedPaths, message) => {
    // The cast: a host's options need not be type-checked.
    expect(() => guard({ guards: BOTH, unguardedPaths: unguardedPaths as string[] })).toThrow(message);
  });
});

it.each([
  ['/v1/chat/completions#/embeddings', 'chat-completions'],
  ['/v1/chat/completions?/embeddings', 'chat-completions'],
  ['/v1/responses#/v1/moderations', 'responses'],
  ['/v1/embeddings#/v1/responses', undefined],
])('[G-01] %s is for every middleware the path in front of the query and the fragment', (path, api) => {
  expect(detectApi(path, { messages: [], input: '' })).toBe(api);
});

describe('a body', () => {
  const bodies: readonly [string, string | Buffer, Readonly<Record<string, string>>, string?][] = [
    ['as text', CHAT_BODY, { 'content-type': 'text/plain' }],
    ['as a form', `messages=${encodeURIComponent(SECRET)}`, { 'content-type': 'application/x-www-form-urlencoded' }],
    ['in parts', `--x\r\n\r\n${CHAT_BODY}\r\n--x--`, { 'content-type': 'multipart/form-data; boundary=x' }],
    ['as bytes', CHAT_BODY, { 'content-type': 'application/octet-stream' }],
    ['of no type from a browser', CHAT_BODY, { origin: 'https://a.example' }],
    ['of an odd type', CHAT_BODY, { 'content-type': 'json' }],
    ['in UTF-16', Buffer.from(CHAT_BODY, 'utf16le'), { 'content-type': 'application/json; charset=utf-16' }],
    ['in UTF-7', CHAT_BODY, { 'content-type': 'application/json; charset=utf-7' }],
    ['compressed oddly', CHAT_BODY, { ...JSON_TYPE, 'content-encoding': 'zstd' }],
    ['chunked as text', CHAT_BODY, { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }],
    ['of a GET as text', CHAT_BODY, { 'content-type': 'text/plain', 'content-length': '84' }, 'GET'],
    ['of a PUT as text', CHAT_BODY, { 'content-type': 'text/plain' }, 'PUT'],
  ];

  it.each(bodies)('[G-02] %s is refused', async (_, body, headers, method = 'POST') => {
    const reached: string[] = [];
    await withHost([guard({ guards: BOTH }) as Step, leaking(reached)], async ({ url }) => {
      const length = {
        ...headers,
        ...('transfer-encoding' in headers ? {} : { 'content-length': `${Buffer.byteLength(body)}` }),
      };
      const { status, text } = await send(url, '/v1/chat/completions', body, length, method);
      const { error } = JSON.parse(text);
      expect([status, error.code, error.type, reached]).toEqual([
        415,
        'unsupported_media_type',
        'invalid_request_error',
        [],
      ]);
      const claude = await send(url, '/v1/messages', body, length, method);
      expect([claude.status, JSON.parse(claude.text)]).toMatchObject([415, { type: 'error', error: {} }]);
    });
  });

  it.each([
    ['of no type', CHAT_BODY, {}, 'POST'],
    ['of another name', CHAT_BODY, { 'content-type': 'application/vnd.api+json' }, 'POST'],
    ['compressed', gzipSync(CHAT_BODY), { ...JSON_TYPE, 'content-encoding': 'gzip' }, 'POST'],
    ['in chunks', CHAT_BODY, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, 'POST'],
    ['of a GET', CHAT_BODY, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, 'GET'],
    ['of a DELETE', CHAT_BODY, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, 'DELETE'],
    ['of a PATCH', CHAT_BODY, JSON_TYPE, 'PATCH'],
  ])('[G-02] of JSON is guarded: %s', async (_, body, headers, method) => {
    const reached: string[] = [];
    await withHost([guard({ guards: BOTH }) as Step, leaking(reached)], async ({ url }) => {
      const { status, text } = await send(url, '/v1/chat/completions', body, headers, method);
      expect([status, text.includes('bob@')]).toEqual([200, false]);
    });
    expect([reached.length, reached.join('').includes('bob@'), reached.join('').includes('[EMAIL]')]).toEqual([
      1,
      false,
      true,
    ]);
  });

  const parsers: readonly [string, RequestHandler, string, 200 | 415][] = [
    ['express.text()', express.text({ type: '*/*' }), 'text/plain', 415],
    ['express.urlencoded()', express.urlencoded({ type: '*/*' }), 'application/x-www-form-urlencoded', 415],
    ['express.raw()', express.raw({ type: '*/*' }), 'application/octet-stream', 415],
    ['express.json() for every type', express.json({ type: '*/*' }), 'text/plain', 415],
    ['express.text() for JSON', express.text({ type: '*/*' }), 'application/json', 200],
    ['express.raw() for JSON', express.raw({ type: '*/*' }), 'application/json', 200],
    ['express.json()', express.json(), 'application/json', 200],
  ];

  it.each(parsers)('[G-02] that %s has read does not pass unread', async (_, parser, type, wanted) => {
    const reached: unknown[] = [];
    const handler: RequestHandler = (req, res) => {
      reached.push(req.body);
      res.json(JSON.parse(chatCompletion('Fine.')));
    };
    const { url, close } = await listening(express().use(parser, guard({ guards: BOTH }), handler));
    const { status } = await send(url, '/v1/chat/completions', CHAT_BODY, { 'content-type': type });
    await close();
    const shown = reached.map((body) => (Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body))).join('');
    expect([status, shown.includes('bob@'), reached.length]).toEqual([wanted, false, wanted === 200 ? 1 : 0]);
  });

  it('[G-02] with a name twice reaches the handler with what was guarded alone', async () => {
    const reached: string[] = [];
    const body = `{"model":"m","messages":[{"role":"user","content":"${SECRET}"}],"messages":[{"role":"user","content":"Go."}]}`;
    const app = express().use(express.raw({ type: '*/*' }), guard({ guards: BOTH }), (req, res) => {
      reached.push(String(req.body));
      res.json(JSON.parse(chatCompletion('Fine.')));
    });
    const { url, close } = await listening(app);
    await send(url, '/v1/chat/completions', body);
    await close();
    expect([reached.length, reached.join('').includes('bob@')]).toEqual([1, false]);
  });

  it('[G-02] that is missing needs no type', async () => {
    await withHost([guard({ guards: BOTH }) as Step, leaking([])], async ({ url }) => {
      const stored = await send(url, '/v1/chat/completions/chat_1', '', {}, 'GET');
      const cancelled = await send(url, '/v1/responses/resp_1/cancel', '', {}, 'POST');
      expect([stored.status, stored.text.includes('bob@'), cancelled.status]).toEqual([200, false, 200]);
    });
  });

  it('[G-02] passes unread where the host names its path', async () => {
    const reached: string[] = [];
    const guarding = guard({ guards: BOTH, unguardedPaths: ['/v1/files'] }) as Step;
    await withHost([guarding, leaking(reached)], async ({ url }) => {
      const { status } = await send(url, '/v1/files', SECRET, { 'content-type': 'multipart/form-data; boundary=x' });
      expect([status, reached.join('').includes('bob@')]).toEqual([200, true]);
    });
  });
});

describe('an answer', () => {
  const leak = chatCompletion(SECRET);
  it.each([
    ['compressed', gzipSync(leak), { 'content-encoding': 'gzip' }],
    ['in UTF-16', Buffer.from(leak, 'utf16le'), { 'content-type': 'application/json; charset=utf-16' }],
    ['as bytes', Buffer.from(leak), { 'content-type': 'application/octet-stream' }],
    ['of no type', Buffer.from(leak), { 'content-type': '' }],
  ])('[G-02] that no guard reads does not pass: %s', async (_, bytes, headers) => {
    const answering: Step = (_req, res) => void res.writeHead(200, { ...JSON_TYPE, ...headers }).end(bytes);
    await withHost([guard({ guards: BOTH, logger: false }) as Step, answering], async ({ url }) => {
      const received = await send(url, '/v1/chat/completions', CHAT_BODY).catch(() => ({ text: '' }));
      expect(received.text).toBe('');
    });
  });

  const noPoison: Guard = {
    name: 'no-poison',
    inspect: ({ text }) =>
      text.includes('poison') ? { action: 'block', reason: 'It is about poison.' } : { action: 'pass' },
  };

  it.each([
    ['a response', JSON.stringify(responseOf('Take poison.')), '/v1/chat/completions', CHAT],
    ['a chat completion', chatCompletion('Take poison.'), '/v1/responses', REQUESTED],
    [
      'a list of vectors',
      JSON.stringify({ object: 'list', data: [{ embedding: [0.1], text: 'poison' }] }),
      '/v1/embeddings',
      REQUESTED,
    ],
  ])('[G-01] in the words of another API is blocked all the same: %s', async (_, answer, path, body) => {
    await withHost([guard({ guards: { output: [noPoison] } }) as Step, leaking([], answer)], async ({ post }) => {
      const text = await (await post(body, { path })).text();
      expect(text).not.toContain('poison');
    });
  });
});
