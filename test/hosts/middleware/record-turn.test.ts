/** What of somebody else's answers is kept, when, and that no answer is harmed by it. */

import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { loadHistory, recordTurn, validateMessages } from '../../../src/index.ts';
import type { ApiError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatCompletion, chatStream, textStream } from '../../../src/testing/index.ts';
import { gate } from '../../support/gate.ts';
import {
  CHAT,
  type HostRequest,
  otherTraffic,
  REQUESTED,
  responseOf,
  responseStream,
  type Step,
  textIn,
  type WatchedStore,
  watchedStore,
  withHost,
} from './host.ts';

const TEXT = '¡Olé! 🎉 '.repeat(3);
const SSE = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };

/** Every kind of answer that is kept. */
const ANSWERS = [
  { name: 'a chat completion as JSON', body: CHAT, type: JSON_TYPE, text: chatCompletion(TEXT) },
  { name: 'a chat completion as a stream', body: { ...CHAT, stream: true }, type: SSE, text: textStream([TEXT]) },
  { name: 'a response as JSON', body: REQUESTED, type: JSON_TYPE, text: JSON.stringify(responseOf(TEXT)) },
  { name: 'a response as a stream', body: { ...REQUESTED, stream: true }, type: SSE, text: responseStream(TEXT) },
] as const;

type Answer = (typeof ANSWERS)[number];

/** Writes by `write`, but for other requests than these tests'. */
function handlerOf(write: (res: ServerResponse) => unknown): Step {
  return (req, res) => (req.method === 'POST' ? write(res) : void res.end('other'));
}

/** Writes the answer in pieces of so many bytes. */
function inPieces({ type, text }: Answer, size: number): Step {
  const bytes = Buffer.from(text);
  return handlerOf((res) => {
    res.writeHead(200, type);
    for (let at = 0; at < bytes.length; at += size) res.write(bytes.subarray(at, at + size));
    res.end();
  });
}

/** The client's text and what was kept. */
async function recorded(body: JsonObject, write: (res: ServerResponse) => unknown, options: JsonObject = {}) {
  const store = watchedStore();
  const answer = await withHost([recordTurn({ store, ...options }), handlerOf(write)], async ({ post }) => {
    const response = await post(body);
    return { status: response.status, text: await response.text().catch(() => 'broken off') };
  });
  return { ...answer, kept: store.puts.map(textIn) };
}

describe('recordTurn', () => {
  for (const answer of ANSWERS) {
    it(`[X-02] [S-12] keeps ${answer.name} and lets each byte pass, however it is cut`, async () => {
      const sizes = [1, 2, 3, 7, 64, 100_000];
      const seen = sizes.map(async (size) => {
        const store = watchedStore();
        const text = await withHost([recordTurn({ store }), inPieces(answer, size)], async ({ post }) =>
          (await post(answer.body)).text(),
        );
        return { text, kept: store.puts.map(textIn) };
      });
      expect(await Promise.all(seen)).toEqual(sizes.map(() => ({ text: answer.text, kept: [TEXT] })));
    });

    it(`[P-12] ends ${answer.name} only when it is kept`, async () => {
      const log: string[] = [];
      const kept = gate();
      const putting = gate();
      const store = watchedStore(() => {
        putting.open();
        return kept.opened;
      });
      const end = answer.type === SSE ? /\[DONE\]|event: response\.completed.*\n\n/s : /./s;
      await withHost([recordTurn({ store }), inPieces(answer, 10)], async ({ post, url }) => {
        const reading = post(answer.body).then(async (response) => {
          let text = '';
          for await (const piece of response.body ?? []) {
            text += Buffer.from(piece).toString('latin1');
            if (end.test(text) && !log.includes('end seen')) log.push('end seen');
          }
        });
        await putting.opened;
        await otherTraffic(url);
        log.push('kept');
        kept.open();
        await reading;
      });
      expect(log).toEqual(['kept', 'end seen']);
    });
  }

  it('[X-02] reads what is written in any encoding, and at the end', async () => {
    const text = chatCompletion(TEXT);
    const bytes = Buffer.from(text);
    const written: readonly ((res: ServerResponse) => unknown)[] = [
      (res) => void res.setHeader('content-type', 'application/json').end(text),
      (res) => res.writeHead(200, 'Fine', JSON_TYPE).end(bytes.toString('base64'), 'base64'),
      (res) => res.writeHead(200, ['Content-Type', 'application/json'] as never).end(new Uint8Array(bytes)),
      (res) => {
        res.setHeader('Content-Type', 'application/json; charset=utf-8').setHeader('content-length', bytes.length);
        res.write(bytes.subarray(0, 9).toString('hex'), 'hex');
        res.write(bytes.subarray(9, 20).toString('latin1'), 'latin1', () => res.end(bytes.subarray(20)));
      },
    ];
    const called = await Promise.all(written.map((write) => recorded(CHAT, write)));
    expect(called).toEqual(called.map(() => ({ status: 200, text, kept: [TEXT] })));
  });

  it('[X-02] reads a whole answer behind a byte order mark', async () => {
    const marked = `\ufeff${chatCompletion(TEXT)}`;
    expect((await recorded(CHAT, (res) => res.writeHead(200, JSON_TYPE).end(marked))).kept).toEqual([TEXT]);
  });

  it('[X-02] reads a stream behind a byte order mark, however it is cut', async () => {
    const marked = Buffer.from(`\ufeff${textStream(['Hello', ' there'])}`);
    for (const size of [1, 2, marked.length]) {
      const store = watchedStore();
      const handler: Step = (_req, res) => {
        res.writeHead(200, SSE);
        for (let at = 0; at < marked.length; at += size) res.write(marked.subarray(at, at + size));
        res.end();
      };
      const shown = await withHost([recordTurn({ store }) as Step, handler], async ({ post }) =>
        Buffer.from(await (await post({ ...CHAT, stream: true })).arrayBuffer()),
      );
      expect([shown.equals(marked), store.puts.map(textIn)]).toEqual([true, ['Hello there']]);
    }
  });

  it('[P-10] calls a handler back whose client leaves while the turn is being kept', async () => {
    const [left, ended] = [gate(), gate()];
    const store = watchedStore(() => left.opened);
    const handler: Step = async (_req, res) => {
      res.once('close', () => left.open());
      res.writeHead(200, SSE);
      for (const frame of responseStream(TEXT).split(/(?<=\n\n)/))
        await new Promise((resolve) => res.write(frame, resolve));
      ended.open();
    };
    await withHost([recordTurn({ store }) as Step, handler], async ({ post }) => {
      const controller = new AbortController();
      await post({ ...REQUESTED, stream: true }, { signal: controller.signal });
      controller.abort();
      await ended.opened;
    });
  });

  it('[X-02] keeps a stream whose last event has no blank line behind it', async () => {
    const text = responseStream(TEXT).trimEnd();
    const store = watchedStore();
    const handler: Step = (_req, res) => void res.writeHead(200, SSE).end(text);
    const shown = await withHost([recordTurn({ store }) as Step, handler], async ({ post }) =>
      (await post({ ...REQUESTED, stream: true })).text(),
    );
    expect([shown, store.puts.map(textIn)]).toEqual([text, [TEXT]]);
  });

  it.each([
    ['an empty output', { output: [] }],
    ['no output', { output: null }],
  ])('[X-02] keeps the items of a stream whose last event has %s', async (_, more) => {
    const response = responseOf(TEXT);
    const [item] = response.output as readonly JsonObject[];
    const events = [
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { ...response, ...more } },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    const store = watchedStore();
    const handler: Step = (_req, res) => void res.writeHead(200, SSE).end(text);
    const shown = await withHost([recordTurn({ store }) as Step, handler], async ({ post }) =>
      (await post({ ...REQUESTED, stream: true })).text(),
    );
    expect([shown, store.puts.map(textIn)]).toEqual([text, [TEXT]]);
  });

  it('[X-02] keeps these items once and in their order', async () => {
    const [item] = responseOf(TEXT).output as readonly JsonObject[];
    const second = { ...item, id: 'msg_second' };
    const done = (index: number, each: unknown) => ({
      type: 'response.output_item.done',
      output_index: index,
      item: each,
    });
    const last = { type: 'response.completed', response: { ...responseOf(TEXT), output: [] } };
    const events = [done(1, second), done(0, item), done(1, second), last];
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const store = watchedStore();
    const handler: Step = (_req, res) => void res.writeHead(200, SSE).end(text);
    await withHost([recordTurn({ store }) as Step, handler], async ({ post }) =>
      (await post({ ...REQUESTED, stream: true })).text(),
    );
    expect(store.puts.map(({ output }) => output.map(({ id }) => id))).toEqual([[item?.id, 'msg_second']]);
  });

  it('[X-02] passes what a handler wrote that uses its buffer again for the next write', async () => {
    const whole = JSON.stringify(responseOf('one after another'));
    const store = watchedStore();
    const buffer = Buffer.alloc(8);
    const reading: Step = async (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      for (let at = 0; at < whole.length; at += 8) {
        const length = buffer.write(whole.slice(at, at + 8), 'latin1');
        await new Promise((done) => res.write(buffer.subarray(0, length), done));
      }
      res.end();
    };
    const steps = [recordTurn({ store }) as Step, reading];
    const text = await withHost(steps, async ({ post }) => (await post(REQUESTED)).text());
    expect([text, store.puts.map(textIn)]).toEqual([whole, ['one after another']]);
  });

  it('[P-10] lets a stream that is piped go on behind its last event', async () => {
    const tail = ': and so on\n\n'.repeat(5_000);
    const pieces = `${textStream(TEXT)}${tail}`.match(/.{1,40}/gsu) ?? [];
    const { text, kept } = await recorded({ ...CHAT, stream: true }, (res) =>
      Readable.from(pieces).pipe(res.writeHead(200, SSE)),
    );
    expect({ whole: text === `${textStream(TEXT)}${tail}`, kept }).toEqual({ whole: true, kept: [TEXT] });
  });

  it('[P-12] keeps a turn whose client leaves while it is being kept', async () => {
    const kept = gate();
    const putting = gate();
    const closed = gate();
    const store = watchedStore(() => {
      putting.open();
      return kept.opened;
    });
    const write = (res: ServerResponse) => {
      res.once('close', closed.open);
      res.writeHead(200, SSE).end(textStream(TEXT));
    };
    await withHost([recordTurn({ store }), handlerOf(write)], async ({ post, errors }) => {
      const leaving = new AbortController();
      const asking = post({ ...CHAT, stream: true }, { signal: leaving.signal }).then((answer) => answer.text());
      await putting.opened;
      leaving.abort();
      await expect(asking).rejects.toThrow('aborted');
      await closed.opened;
      kept.open();
      expect(errors).toEqual([]);
    });
    expect(store.puts.map(textIn)).toEqual([TEXT]);
  });

  const failing: Readonly<Record<string, () => Promise<void>>> = {
    'that fails': () => Promise.reject(new Error('disk full')),
    'that throws': () => {
      throw new Error('disk full');
    },
    'that never answers': () => new Promise(() => {}),
  };
  for (const [name, put] of Object.entries(failing))
    it(`[X-02] harms no answer where there is a store ${name}, and informs the host`, async () => {
      const reported: unknown[] = [];
      const hooks = { onError: (error: ApiError, info: object) => void reported.push([error.code, Object.keys(info)]) };
      const store = { name: 'bad', get: () => undefined, delete: () => false, put };
      const options = { store, hooks, limits: { request: { storeTimeoutMs: 10 } } };
      const texts = await Promise.all(
        ANSWERS.map(
          async ({ body, type, text }) =>
            (await recorded(body, (res) => res.writeHead(200, type).end(text), options)).text,
        ),
      );
      expect({ texts, reported }).toEqual({
        texts: ANSWERS.map(({ text }) => text),
        reported: ANSWERS.map(() => ['store_error', ['requestId', 'scope', 'responseId']]),
      });
    });

  const stream = textStream(TEXT);
  const half = stream.slice(0, stream.indexOf('"finish_reason":"stop"'));
  const failed = JSON.stringify(responseOf(TEXT, 'resp_theirs', { status: 'failed' }));
  const passing: readonly (readonly [string, JsonObject, (res: ServerResponse) => unknown, string])[] = [
    [
      '`store: false`',
      { ...CHAT, store: false },
      (res) => res.writeHead(200, JSON_TYPE).end(chatCompletion(TEXT)),
      chatCompletion(TEXT),
    ],
    ['a refusal', CHAT, (res) => res.writeHead(429, JSON_TYPE).end(chatCompletion(TEXT)), chatCompletion(TEXT)],
    ['a response that failed', REQUESTED, (res) => res.writeHead(200, JSON_TYPE).end(failed), failed],
    ['a stream that ends too early', CHAT, (res) => res.writeHead(200, SSE).end(half), half],
    ['an answer of another type', CHAT, (res) => res.writeHead(200, { 'content-type': 'text/plain' }).end('Hi'), 'Hi'],
    ['JSON that is no answer', CHAT, (res) => res.writeHead(200, JSON_TYPE).end('{"id":"x"}'), '{"id":"x"}'],
    ['a request of another API', { texts: [] }, (res) => res.writeHead(200, JSON_TYPE).end('{}'), '{}'],
    [
      'a compressed answer',
      CHAT,
      (res) => res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(gzipSync(chatCompletion(TEXT))),
      chatCompletion(TEXT),
    ],
    ['a stream that breaks off', CHAT, (res) => res.writeHead(200, SSE).write(half, () => res.destroy()), 'broken off'],
  ];
  for (const [name, body, write, text] of passing)
    it(`[X-02] keeps nothing of ${name} and lets it pass`, async () => {
      const { kept, ...answer } = await recorded(body, write);
      expect({ kept, text: answer.text }).toEqual({ kept: [], text });
    });

  it('[P-08] keeps a stream that reports why it ended, though without [DONE]', async () => {
    const text = stream.replace('data: [DONE]\n\n', '');
    expect(await recorded(CHAT, (res) => res.writeHead(200, SSE).end(text))).toEqual({
      status: 200,
      text,
      kept: [TEXT],
    });
  });

  it('[X-02] keeps no answer past limits.model.outputBytes and lets all of it pass', async () => {
    const options = { limits: { model: { outputBytes: 20 } } };
    const passed = await Promise.all(
      [1, 2]
        .map((at) => ANSWERS[at - 1] as Answer)
        .map(({ body, type, text }) =>
          recorded(
            body,
            (res) => {
              res.writeHead(200, type);
              for (const piece of text.match(/.{1,20}/gsu) ?? []) res.write(piece);
              res.end();
            },
            options,
          ),
        ),
    );
    expect(passed).toEqual([ANSWERS[0].text, ANSWERS[1].text].map((text) => ({ status: 200, text, kept: [] })));
  });

  it('[X-01] passes what the host’s scope throws to the host, before anything is answered', async () => {
    const broken = new Error('no session');
    const scope = () => {
      throw broken;
    };
    await withHost(
      [recordTurn({ scope, store: watchedStore() }), handlerOf((res) => res.end('x'))],
      async ({ post, errors }) => {
        const answer = await post(CHAT);
        expect({ status: answer.status, errors }).toEqual({ status: 500, errors: [broken] });
        // Nobody is asked whose a request of another API is.
        expect(await (await post({ texts: [] })).text()).toBe('x');
      },
    );
  });

  it('[X-01] names the option at fault', () => {
    expect(() => recordTurn({ store: 7 } as never)).toThrow(
      new TypeError('recordTurn: store must be an object with get, put, delete, got 7'),
    );
    expect(() => recordTurn({ sotre: {} } as never)).toThrow(/recordTurn: .*sotre/);
  });
});

/** A model that answers in the dialect that it is asked in, with ids of its own, and remembers what it was asked. */
function model(requested: JsonObject[]): Step {
  return (req, res) => {
    // The cast: a middleware has read it.
    const body = req.body as JsonObject;
    requested.push(body);
    const text = `Answer ${requested.length}`;
    const id = `theirs_${requested.length}`;
    if ('messages' in body) {
      const stream = chatStream({ role: 'assistant', content: text }).replaceAll('chatcmpl-fake', id);
      if (body.stream) return res.writeHead(200, SSE).end(stream);
      return res.writeHead(200, JSON_TYPE).end(chatCompletion(text, { id }));
    }
    if (body.stream) return res.writeHead(200, SSE).end(responseStream(text, id));
    return res.writeHead(200, JSON_TYPE).end(JSON.stringify(responseOf(text, id)));
  };
}

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const userItem = (text: string) => expect.objectContaining({ role: 'user', content: [{ type: 'input_text', text }] });
const reported = (at: number) => expect.objectContaining({ id: `msg_theirs_${at}`, role: 'assistant' });

/** What the model is asked, when these requests are made one after the other. */
async function chained(
  bodies: readonly JsonObject[],
  more: readonly Step[] = [],
  store: WatchedStore = watchedStore(),
) {
  const requested: JsonObject[] = [];
  await withHost([recordTurn({ store }), loadHistory({ store }), ...more, model(requested)], async ({ post }) => {
    for (const body of bodies) {
      const answer = await post({ model: 'm', ...body });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`refused: ${text}`);
    }
  });
  return { requested, puts: store.puts };
}

describe('recordTurn with loadHistory', () => {
  for (const stream of [false, true]) {
    const form = stream ? 'streamed' : 'as JSON';

    it(`[X-02] [S-12] carries a chat on over three turns, ${form}`, async () => {
      const { requested } = await chained([
        { stream, messages: [{ role: 'system', content: 'Be kind.' }, user('One')] },
        { stream, messages: [user('Two')], previous_response_id: 'theirs_1' },
        { stream, messages: [user('Three')], previous_response_id: 'theirs_2' },
      ]);
      const first = [{ role: 'system', content: 'Be kind.' }, user('One')];
      const second = [...first, assistant('Answer 1'), user('Two')];
      const third = [...second, assistant('Answer 2'), user('Three')];
      expect(requested).toEqual([first, second, third].map((messages) => ({ model: 'm', stream, messages })));
    });

    it(`[X-02] [S-12] carries responses on over three turns, ${form}`, async () => {
      const { requested } = await chained([
        { stream, input: 'One', instructions: 'Be kind.' },
        { stream, input: 'Two', previous_response_id: 'theirs_1' },
        { stream, input: [user('Three')], previous_response_id: 'theirs_2' },
      ]);
      const asTyped = (text: string) => ({ type: 'message', ...user(text) });
      expect(requested).toEqual([
        { model: 'm', stream, input: 'One', instructions: 'Be kind.' },
        { model: 'm', stream, input: [userItem('One'), reported(1), asTyped('Two')] },
        { model: 'm', stream, input: [userItem('One'), reported(1), userItem('Two'), reported(2), user('Three')] },
      ]);
    });
  }

  it('[X-02] [S-12] carries a response on as a chat, and that as a response again', async () => {
    const { requested, puts } = await chained([
      { input: 'One' },
      { messages: [user('Two')], previous_response_id: 'theirs_1', stream: true },
      { input: 'Three', previous_response_id: 'theirs_2' },
    ]);
    expect(requested.slice(1)).toEqual([
      { model: 'm', stream: true, messages: [user('One'), assistant('Answer 1'), user('Two')] },
      {
        model: 'm',
        input: [
          userItem('One'),
          reported(1),
          userItem('Two'),
          expect.objectContaining({ role: 'assistant', content: [expect.objectContaining({ text: 'Answer 2' })] }),
          { type: 'message', ...user('Three') },
        ],
      },
    ]);
    expect(puts.map(({ previousId }) => previousId)).toEqual([undefined, 'theirs_1', 'theirs_2']);
  });

  it('[S-12] keeps of each turn what is its own, so that N turns cost N times as much', async () => {
    const turns = Array.from({ length: 12 }, (_, at) => ({
      ...(at % 2 ? { input: 'Go.' } : { messages: [user('Go.')] }),
      ...(at > 0 ? { previous_response_id: `theirs_${at}` } : {}),
    }));
    const { puts, requested } = await chained(turns);
    const counts = puts.map(({ input, output }) => [input.length, output.length]);
    expect(counts).toEqual(turns.map(() => [1, 1]));
    expect(requested.at(-1)?.input).toHaveLength(2 * 11 + 1);
  });

  it('[A-24] [S-12] keeps nothing twice of a history that validateMessages repairs in every turn', async () => {
    const store = watchedStore();
    const words = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
    const call = { type: 'function_call', call_id: 'a', name: 'add', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'a', output: '3' };
    // Two messages in a row, which are made one; and calls, which every repair writes anew.
    const kept = [words('Let me'), words('see.'), call, output, words('Three.')];
    await store.put({ scope: 'all', id: 'old', createdAt: 0, input: [], output: kept, resource: {} });
    const scope = () => 'all';
    const requested: JsonObject[] = [];
    const steps = [
      recordTurn({ store, scope }),
      loadHistory({ store, scope }),
      validateMessages({ scope }),
      model(requested),
    ];
    await withHost(steps, async ({ post }) => {
      await (await post({ ...CHAT, previous_response_id: 'old' })).text();
      await (await post({ ...CHAT, previous_response_id: 'theirs_1' })).text();
    });
    expect(store.puts.slice(1).map(({ input }) => input.map(({ role }) => role))).toEqual([['user'], ['user']]);
    const { messages = [] } = requested[1] as { readonly messages?: readonly JsonObject[] };
    expect(messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'assistant: Let me\nsee.',
      'tool: 3',
      'assistant: Three.',
      'user: Go.',
      'assistant: Answer 1',
      'user: Go.',
    ]);
  });

  it('[P-13] [S-12] answers 400 for a turn that is missing or another client’s, and the model is not asked', async () => {
    const requested: JsonObject[] = [];
    const store = watchedStore();
    await withHost([recordTurn({ store }), loadHistory({ store }), model(requested)], async ({ post }) => {
      await (await post(CHAT, { headers: { authorization: 'Bearer one' } })).text();
      const refused = await Promise.all(
        [
          post({ ...CHAT, previous_response_id: 'theirs_1' }, { headers: { authorization: 'Bearer two' } }),
          post({ ...REQUESTED, previous_response_id: 'theirs_9' }, { headers: { authorization: 'Bearer one' } }),
        ].map(async (answering) => {
          const answer = await answering;
          return { status: answer.status, code: (JSON.parse(await answer.text()) as { error: JsonObject }).error.code };
        }),
      );
      const missing = { status: 400, code: 'previous_response_not_found' };
      expect({ refused, requested: requested.length, puts: store.puts.length }).toEqual({
        refused: [missing, missing],
        requested: 1,
        puts: 1,
      });
    });
  });
});

describe('a handler that changes the request on its way to the model server', () => {
  /** What is kept of one request whose handler does this before it answers. */
  async function keptBehind(change: (req: HostRequest) => void, body: JsonObject = CHAT, init: RequestInit = {}) {
    const store = watchedStore();
    const handler: Step = (req, res) => {
      change(req);
      res.writeHead(200, JSON_TYPE).end(chatCompletion(TEXT));
    };
    await withHost([recordTurn({ store }), handler], async ({ post }) => (await post(body, init)).text());
    return store.puts;
  }

  it.each<[string, (req: HostRequest) => void]>([
    ['deletes Authorization', ({ headers }) => void delete headers.authorization],
    ['puts its own Authorization there', ({ headers }) => Object.assign(headers, { authorization: 'Bearer upstream' })],
  ])('[F-06] is kept under the client’s own tenant where it %s', async (_, change) => {
    const scopes = await Promise.all(
      ['Bearer ada', 'Bearer bob', ''].map(async (authorization) => {
        const [turn] = await keptBehind(change, CHAT, { headers: authorization ? { authorization } : {} });
        return turn?.scope;
      }),
    );
    const digest = (text: string) => createHash('sha256').update(text).digest('base64url');
    expect(scopes).toEqual([digest('Bearer ada'), digest('Bearer bob'), 'anonymous']);
  });

  it('[F-06] keeps nothing that the client wants unstored, where it takes the field out', async () => {
    const change = (req: HostRequest) => {
      const { store: _, ...rest } = req.body as JsonObject;
      req.body = rest;
    };
    expect(await keptBehind(change, { ...CHAT, store: false })).toEqual([]);
  });

  it('[F-06] is still known by its API where it is sent to another path', async () => {
    const change = (req: HostRequest) => {
      req.url = '/embeddings';
    };
    expect((await keptBehind(change)).map(textIn)).toEqual([TEXT]);
  });

  it('[F-06] is reported by the client’s own id where the store fails and it deletes that', async () => {
    const reported: string[] = [];
    const hooks = { onError: (_: ApiError, { requestId }: { requestId: string }) => void reported.push(requestId) };
    const store = watchedStore(() => Promise.reject(new Error('full')));
    const handler: Step = (req, res) => {
      delete req.headers['x-request-id'];
      res.writeHead(200, JSON_TYPE).end(chatCompletion(TEXT));
    };
    const headers = { 'x-request-id': 'the-clients' };
    await withHost([recordTurn({ store, hooks }), handler], async ({ post }) => (await post(CHAT, { headers })).text());
    expect(reported).toEqual(['the-clients']);
  });
});
