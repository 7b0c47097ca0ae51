/** Every limit: its default, an answer at the limit, and a clean refusal one past it. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { chatCompletionsUpstream, memoryStore, type StoredResponse } from '../../src/index.ts';
import type { Limits } from '../../src/ports/limits.ts';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatChunk,
  chatCompletion,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { chatSettings } from '../../src/upstreams/chat-completions/chat-options.ts';
import { type App, startApp } from '../support/app.ts';
import { withLimits } from '../support/limits.ts';
import { ask, askJson, errorIn, type Outcome, outcomeOf, parsed, send } from './client.ts';

const MIB = 1024 * 1024;

let fake: FakeUpstream;
let app: App;

async function start(limits: Partial<Limits>, ...replies: readonly FakeReply[]): Promise<void> {
  fake = await startFakeUpstream();
  fake.reply(...replies);
  app = await withLimits(limits, (limits) => startApp({ upstream: fake, options: { limits } }));
}

afterEach(() => Promise.all([app?.close(), fake?.close()]));

/** What an answer comes down to: its ending, its error and the length of its text. */
async function shortOutcome(response: Response): Promise<readonly unknown[]> {
  const { status, ending, error, text } = await outcomeOf(app.url, response);
  return [status, ending, error, text.length];
}

/** The outcomes for a stream and for JSON. */
function both(body: JsonObject = {}): Promise<readonly unknown[]> {
  return Promise.all([true, false].map(async (stream) => shortOutcome(await ask(app.url, { stream, ...body }))));
}

/** The messages that the model server was sent. */
function sentMessages(): readonly (readonly JsonObject[])[] {
  // The cast: what these tests send upstream is a chat request.
  return fake.requests.map(({ body }) => (body as { messages: readonly JsonObject[] }).messages);
}

function twice<Value>(value: Value): readonly Value[] {
  return [value, value];
}

it('[P-10][P-11] every limit has the default that the documentation names', () => {
  expect({ ...DEFAULT_LIMITS, connectTimeoutMs: chatSettings({}).connectTimeoutMs }).toEqual({
    bodyBytes: 33_554_432,
    bodiesBytes: 268_435_456,
    bodyValues: 2_000_000,
    inputItems: 100_000,
    tools: 4096,
    inputFileBytes: 33_554_432,
    historyTurns: 1000,
    historyBytes: 32 * 1024 * 1024,
    storeTimeoutMs: 10_000,
    openAfterMs: 5000,
    firstByteTimeoutMs: 600_000,
    idleTimeoutMs: 60_000,
    durationMs: 1_800_000,
    eventBytes: 16_777_216,
    outputBytes: 10_485_760,
    argumentBytes: 1_048_576,
    toolIterations: 25,
    toolCalls: 128,
    parallelTools: 8,
    toolTimeoutMs: 60_000,
    toolMaxMs: 600_000,
    toolOutputBytes: 1_048_576,
    repeatedCalls: 3,
    concurrentTurns: Number.POSITIVE_INFINITY,
    concurrentTurnsPerTenant: Number.POSITIVE_INFINITY,
    queuedTurns: 0,
    queueTimeoutMs: 30_000,
    followersPerResponse: 100,
    followersPerScope: 1000,
    eventsTtlMs: 600_000,
    connectTimeoutMs: 10_000,
  });
});

describe('bodyBytes', () => {
  /** A request of exactly so many bytes. */
  function bodyOf(bytes: number): string {
    const frame = '{"model":"m","input":""}';
    return `${frame.slice(0, -2)}${'x'.repeat(bytes - frame.length)}${frame.slice(-2)}`;
  }

  const TOO_LARGE = {
    message: 'The request body is larger than this server takes.',
    type: 'invalid_request_error',
    param: null,
    code: 'request_too_large',
  };

  it.each([
    ['its default', 32 * MIB, {}],
    ['a limit of the host', 1000, { bodyBytes: 1000 }],
  ])('[P-11] of %s is taken at the limit and a 413 past it', async (_, bytes, limits) => {
    await start(limits);
    const at = await ask(app.url, bodyOf(bytes));
    const past = await ask(app.url, bodyOf(bytes + 1));
    const seen = [at.status, parsed(await at.text()).status, past.status, parsed(await past.text())];
    expect([seen, fake.requests.length]).toEqual([[200, 'completed', 413, { error: TOO_LARGE }], 1]);
  });

  it('[F-02] has its limits of values, items and tools too', async () => {
    await start({ bodyValues: 60, inputItems: 3, tools: 3 });
    const message = { role: 'user', content: 'a' };
    const tool = { type: 'function', name: 'f' };
    const bodies: readonly JsonObject[] = [
      { input: Array(3).fill(message), tools: Array(3).fill(tool) },
      { input: Array(4).fill(message) },
      { tools: Array(4).fill(tool) },
      { tools: [{ type: 'namespace', name: 'n', tools: [tool, tool, tool] }] },
      { input: [message, { type: 'additional_tools', tools: Array(4).fill(tool) }] },
      { x: Array(60).fill(0) },
    ];
    const seen = await Promise.all(
      bodies.map(async (body) => {
        const { status, error } = parsed(await (await ask(app.url, body)).text());
        const { code, param, message } = (error ?? {}) as JsonObject;
        return error ? [code, param, message] : status;
      }),
    );
    const tooLong = (param: string) => [
      'array_above_max_length',
      param,
      `Invalid '${param}': array too long. Expected an array with maximum length 3, but got an array with length 4 instead.`,
    ];
    expect(seen).toEqual([
      'completed',
      tooLong('input'),
      tooLong('tools'),
      tooLong('tools'),
      tooLong('input'),
      ['request_too_large', null, 'The request holds more than the 60 values that this server takes.'],
    ]);
  });

  it('[P-11] is counted in bytes, not characters', async () => {
    await start({ bodyBytes: 1000 });
    const { status } = await ask(app.url, { input: 'é'.repeat(600) });
    expect(status).toBe(413);
  });

  it('[P-11] holds for a body that does not declare its length', async () => {
    await start({ bodyBytes: 1000 });
    const post = (body: string) =>
      fetch(`${app.url}/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Blob([body]).stream(),
        duplex: 'half',
      } as RequestInit);
    expect([(await post(bodyOf(1000))).status, (await post(bodyOf(1001))).status]).toEqual([200, 413]);
  });

  it('[P-11] leaves room for a prompt of 10 MB, which reaches the model server whole', async () => {
    await start({});
    const prompt = 'All work and no play. '.repeat(477_000).slice(0, 10_000_000);
    const outcomes = await both({ input: prompt });
    expect(outcomes).toEqual(twice([200, 'completed', null, 6]));
    expect(sentMessages().map(([message]) => message?.content === prompt)).toEqual([true, true]);
  });
});

describe('historyTurns', () => {
  /** A conversation of so many responses, already stored; the last is `resp_<turns>`. */
  function storeOf(turns: number) {
    const store = memoryStore();
    for (let turn = 1; turn <= turns; turn += 1) store.put(storedTurn(turn));
    return store;
  }

  function storedTurn(turn: number): StoredResponse {
    const item = {
      type: 'message',
      role: 'user',
      id: `msg_${turn}`,
      content: [{ type: 'input_text', text: `${turn}` }],
    };
    const previous = turn === 1 ? {} : { previousId: `resp_${turn - 1}` };
    return {
      scope: 'anonymous',
      id: `resp_${turn}`,
      ...previous,
      createdAt: 0,
      input: [item],
      output: [],
      resource: {},
    };
  }

  it.each([
    ['its default', 1000, {}],
    ['a limit of the host', 3, { historyTurns: 3 }],
  ])('of %s is continued at the limit and a 400 past it', async (_, turns, limits) => {
    fake = await startFakeUpstream();
    app = await withLimits(limits, (limits) =>
      startApp({ upstream: fake, options: { limits, store: storeOf(turns + 1) } }),
    );
    const at = await askJson(app.url, { previous_response_id: `resp_${turns}` });
    const past = await ask(app.url, { previous_response_id: `resp_${turns + 1}`, stream: true });
    expect([at.status, sentMessages()[0]?.length, past.status, errorIn(parsed(await past.text()))]).toEqual([
      'completed',
      turns + 1,
      400,
      {
        message: `The conversation is longer than the ${turns} responses that this server continues.`,
        type: 'invalid_request_error',
        param: 'previous_response_id',
        code: 'history_too_long',
      },
    ]);
  });
});

describe('historyBytes', () => {
  /** Two stored responses, the second continuing the first, each of so many bytes. */
  function storeOf(bytes: number) {
    const store = memoryStore();
    for (const [id, previousId] of [['resp_1'], ['resp_2', 'resp_1']] as const) {
      const stored = { scope: 'anonymous', id, createdAt: 0, input: [], output: [], ...(previousId && { previousId }) };
      store.put({ ...stored, resource: { padding: 'x'.repeat(bytes) } });
    }
    return store;
  }

  it.each([
    ['its default', 16 * MIB, {}],
    ['a limit of the host', 1000, { historyBytes: 2000 }],
  ])('[F-05] of %s is continued below the limit and a 400 past it', async (_, bytes, limits) => {
    fake = await startFakeUpstream();
    const max = 2 * bytes;
    const outcomes: unknown[] = [];
    for (const each of [bytes - 200, bytes]) {
      app = await withLimits(limits, (limits) =>
        startApp({ upstream: fake, options: { limits, store: storeOf(each) } }),
      );
      const { status, error } = await askJson(app.url, { previous_response_id: 'resp_2' });
      outcomes.push([status, error]);
      await app.close();
    }
    expect(outcomes).toEqual([
      ['completed', null],
      [
        undefined,
        {
          message: `The conversation is longer than the ${max} bytes that this server continues.`,
          type: 'invalid_request_error',
          param: 'previous_response_id',
          code: 'history_too_long',
        },
      ],
    ]);
  });

  it('[F-05] bounds what references lead to, each repetition counted', async () => {
    fake = await startFakeUpstream();
    const store = memoryStore();
    const seed = 'a'.repeat(32);
    const item = { type: 'message', role: 'user', id: `msg_${seed}0000`, content: 'x'.repeat(500) };
    store.put({ scope: 'anonymous', id: `resp_${seed}`, createdAt: 0, input: [], output: [item], resource: {} });
    app = await startApp({ upstream: fake, options: { store, limits: { request: { historyBytes: 5000 } } } });
    const referring = (times: number) => ({ input: Array(times).fill({ type: 'item_reference', id: item.id }) });
    const [some, many] = [await askJson(app.url, referring(8)), await askJson(app.url, referring(10))];
    expect([some.status, errorIn(many)]).toEqual([
      'completed',
      expect.objectContaining({ code: 'history_too_long', param: 'input' }),
    ]);
  });
});

describe('firstByteTimeoutMs', () => {
  it('[P-09] lets a first byte through that comes before it, and is a 504 past it', async () => {
    await start({ firstByteTimeoutMs: 900 }, { body: textStream('Hi'), firstByteDelayMs: 100 });
    const before = await both();
    fake.reply({ body: textStream('Hi'), firstByteDelayMs: 60_000 });
    expect([before, await both()]).toEqual([
      twice([200, 'completed', null, 2]),
      twice([504, 'refused', 'upstream_timeout', 0]),
    ]);
  });

  it('[P-09] counts the wait for the headers', async () => {
    await start({ firstByteTimeoutMs: 200 }, { body: textStream('Hi'), delayMs: 5000 });
    expect(await both()).toEqual(twice([504, 'refused', 'upstream_timeout', 0]));
  });

  it('holds for the list of models', async () => {
    await start({ firstByteTimeoutMs: 200 });
    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const baseURL = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`;
    const other = await startApp({
      upstream: { baseURL },
      options: { limits: { model: { firstByteTimeoutMs: 200 } } },
    });
    const { status, body } = await send(`${other.url}/models`);
    await other.close();
    silent.close();
    expect([status, errorIn(body).code]).toEqual([504, 'upstream_timeout']);
  });
});

describe('idleTimeoutMs', () => {
  const pieces = ['a', 'b', 'c', 'd'].map((content) => chatChunk({ content }));

  it('[P-09] lets silences through that are shorter, however many, and fails the response past it', async () => {
    await start({ idleTimeoutMs: 1500 }, { body: [...pieces, chatChunk({}, { finish_reason: 'stop' })], paceMs: 500 });
    const before = await both();
    fake.reply({ body: pieces, paceMs: 60_000 });
    expect([before, await both()]).toEqual([
      twice([200, 'completed', null, 4]),
      twice([200, 'failed', 'upstream_timeout', 1]),
    ]);
  });

  it('is put off by comments, which show that the model server still works', async () => {
    const comments = Array.from({ length: 5 }, () => ': OPENROUTER PROCESSING\n\n');
    await start({ idleTimeoutMs: 1500 }, { body: [pieces[0] ?? '', ...comments, textStream('Hi')], paceMs: 500 });
    expect(await both()).toEqual(twice([200, 'completed', null, 3]));
  });
});

describe('durationMs', () => {
  const endless: FakeReply = { body: chatChunk({ content: 'a' }), endless: true, paceMs: 20 };

  it('[P-09] lets a turn through that is shorter, and fails it past it', async () => {
    // Far more than the first turns take on a busy machine.
    await start({ durationMs: 3000 }, { body: textStream(['a', 'b']) });
    const before = await both();
    fake.reply(endless);
    const past = await Promise.all([ask(app.url, { stream: true }), ask(app.url)]);
    const outcomes: Outcome[] = [];
    for (const response of past) outcomes.push(await outcomeOf(app.url, response));
    const seen = outcomes.map(({ text, ...outcome }) => ({ ...outcome, text: /^a{2,}$/.test(text) }));
    const failed = { status: 200, ending: 'failed', error: 'duration_exceeded', text: true, stored: false };
    expect([before, seen]).toEqual([twice([200, 'completed', null, 2]), [failed, failed]]);
  });

  it('[P-09] is a 504 where there was no output', async () => {
    await start({ durationMs: 200 }, { hang: true });
    expect(await both()).toEqual(twice([504, 'refused', 'duration_exceeded', 0]));
  });
});

describe('durationMs for a client that reads nothing', () => {
  it('[P-10] ends its turn too, so that nobody holds a place for ever', async () => {
    await start(
      { durationMs: 300, concurrentTurns: 1 },
      { body: chatChunk({ content: 'x'.repeat(65_536) }), endless: true },
    );
    const body = '{"model":"m","input":"Hi","stream":true}';
    const head = `POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    const client = connect(Number(new URL(app.url).port), '127.0.0.1').pause();
    client.on('error', () => {}).write(`${head}\r\n\r\n${body}`);
    await fake.closed(0);
    fake.reply({ body: textStream('Hi') });
    let { status } = await ask(app.url);
    while (status === 429) ({ status } = await ask(app.url));
    client.destroy();
    expect(status).toBe(200);
  });
});

describe('eventBytes', () => {
  /** A stream whose first event has exactly so many bytes of data. */
  function streamOf(bytes: number, letter = 'x'): { readonly body: string; readonly letters: number } {
    const overhead = Buffer.byteLength(chatChunk({ content: '' })) - 'data: \n\n'.length;
    const letters = Math.floor((bytes - overhead) / Buffer.byteLength(letter));
    const rest = 'y'.repeat(bytes - overhead - letters * Buffer.byteLength(letter));
    return { body: textStream(letter.repeat(letters) + rest).slice(FIRST), letters: letters + rest.length };
  }
  const FIRST = textStream('').indexOf('data: ', 1);

  it.each([
    ['a mebibyte', MIB, { eventBytes: MIB }, 'x'],
    ['a limit of the host', 1000, { eventBytes: 1000 }, 'x'],
    ['a limit of the host, in bytes of UTF-8', 1000, { eventBytes: 1000 }, 'é'],
  ])('[P-08] of %s is read at the limit and an error past it', async (_, bytes, limits, letter) => {
    const { body, letters } = streamOf(bytes, letter);
    await start(limits, { body });
    const at = await both();
    fake.reply({ body: streamOf(bytes + 1, letter).body });
    expect([at, await both()]).toEqual([
      twice([200, 'completed', null, letters]),
      twice([502, 'refused', 'upstream_error', 0]),
    ]);
  });

  it('[P-08] is the same however the event is cut', async () => {
    const { body, letters } = streamOf(1000);
    // Byte by byte it may take the second after which the client's own stream begins.
    const split = [1, 2, 7, 100, 500, 998, 999, 1000, 1001, 1002, 1005, 1006];
    await start({ eventBytes: 1000 }, { body, split });
    const at = await both();
    fake.reply({ body: streamOf(1001).body, split });
    expect([at, await both()]).toEqual([
      twice([200, 'completed', null, letters]),
      twice([502, 'refused', 'upstream_error', 0]),
    ]);
  });
});

describe('outputBytes', () => {
  const chunks = (text: string) => textStream(text.match(/.{1,65536}/gs) ?? []);

  it.each([
    ['its default', 10 * MIB, {}],
    ['a limit of the host', 1000, { outputBytes: 1000 }],
  ])('[P-08] of %s is kept at the limit and fails the response past it', async (_, bytes, limits) => {
    await start(limits, { body: chunks('x'.repeat(bytes)) });
    const at = await both();
    fake.reply({ body: chunks('x'.repeat(bytes + 1)) });
    expect([at, await both()]).toEqual([
      twice([200, 'completed', null, bytes]),
      twice([200, 'failed', 'output_too_large', bytes + 1]),
    ]);
  });

  it('[P-08] counts bytes, over all items, reasoning and calls included', async () => {
    const name = 'f';
    const call = { index: 0, id: 'c', type: 'function', function: { name, arguments: '{"a":1}' } };
    const deltas = [{ reasoning_content: 'é'.repeat(10) }, { content: 'é'.repeat(10) }, { tool_calls: [call] }];
    const body = deltas.map((delta) => chatChunk(delta)).join('') + chatChunk({}, { finish_reason: 'tool_calls' });
    const bytes = 20 + 20 + 'c'.length + name.length + '{"a":1}'.length;
    await start({ outputBytes: bytes }, { body });
    const at = await askJson(app.url);
    const lower = await startApp({ upstream: fake, options: { limits: { model: { outputBytes: bytes - 1 } } } });
    const past = await askJson(lower.url);
    await lower.close();
    expect([at.status, past.status, (past.error as JsonObject).reason]).toEqual([
      'completed',
      'failed',
      'output_too_large',
    ]);
  });

  const logprobs = { content: [{ token: 'token', logprob: -1, bytes: null, top_logprobs: [] }] };
  const citation = { type: 'url_citation', url_citation: { url: 'u', title: '', start_index: 0, end_index: 0 } };
  const named = (index: number, name: string) => ({ tool_calls: [{ index, id: `c${index}`, function: { name } }] });
  const unasked = { index: 0, id: 'c', function: { name: 'g', arguments: 'words ' } };
  const hundreds = Array.from({ length: 500 }, (_, index) => index);

  const NAME = hundreds.map((index) => chatChunk(named(0, `f${index}`)));

  it.each<[string, readonly string[]]>([
    ['words', [chatChunk({ content: 'word ' })]],
    ['blanks, as a model in a loop', [chatChunk({ content: '\n' })]],
    ['thoughts', [chatChunk({ content: '<think>' }), chatChunk({ content: 'hm ' })]],
    ['refusals', [chatChunk({ refusal: 'no ' })]],
    ['citations', [chatChunk({ annotations: [citation] })]],
    ['log probabilities of nothing', [chatChunk({}, { choices: [{ index: 0, delta: { content: '' }, logprobs }] })]],
    ['calls', hundreds.map((index) => chatChunk(named(index, `f${index}`)))],
    ['the arguments of a call that is not allowed', [chatChunk({ tool_calls: [unasked] })]],
    ['the name of one call', NAME],
  ])('[P-08][P-10] stops a model that writes %s for ever', async (_, chunks) => {
    const body = chunks.join('').repeat(chunks.length > 100 ? 1 : 50);
    await start({ outputBytes: 2000, durationMs: 3000 }, { body, endless: true });
    const tools = [{ type: 'function', name: 'f' }];
    const allowed = { type: 'allowed_tools', mode: 'auto', tools };
    const only = chunks[0]?.includes('"g"') ? { tools, tool_choice: allowed } : {};
    const { status, error } = await outcomeOf(app.url, await ask(app.url, { stream: true, ...only }));
    // A name that never ends is no word yet, and so the request still has a status.
    const began = chunks !== NAME;
    expect([status, error]).toEqual([began ? 200 : 502, 'output_too_large']);
    await fake.closed(0);
  });

  it('[P-08] holds for an answer that is not streamed', async () => {
    await start({ outputBytes: 1000 }, { body: chatCompletion('x'.repeat(1000)) });
    const at = await both();
    fake.reply({ body: chatCompletion('x'.repeat(1001)) });
    expect([at, await both()]).toEqual([
      twice([200, 'completed', null, 1000]),
      twice([200, 'failed', 'output_too_large', 1001]),
    ]);
  });
});

describe('an answer that is not streamed', () => {
  it('[P-08] is read up to 32 MiB, and no further', async () => {
    await start({}, { body: ['{"choices":[', ' '.repeat(65_536)], endless: true });
    const outcome = await shortOutcome(await ask(app.url));
    expect(outcome).toEqual([502, 'refused', 'upstream_error', 0]);
    await fake.closed(0);
  });
});

describe('argumentBytes', () => {
  /** A call whose arguments have exactly so many bytes, in pieces that are all within the limit for one event. */
  function callOf(bytes: number): string {
    const whole = `{"a":"${'x'.repeat(bytes - 8)}"}`;
    const pieces = whole.match(/.{1,65536}/gs) ?? [];
    const head = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } };
    const deltas = pieces.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] }));
    const chunks = [{ tool_calls: [head] }, ...deltas].map((delta) => chatChunk(delta));
    return chunks.join('') + chatChunk({}, { finish_reason: 'tool_calls' });
  }

  async function callAndError(): Promise<readonly unknown[]> {
    const { status, error, output } = await askJson(app.url);
    const [call] = output as readonly { arguments: string; status: string }[];
    return [status, (error as JsonObject | null)?.reason, call?.status, call?.arguments.length];
  }

  it.each([
    ['its default', MIB, {}],
    ['a limit of the host', 1000, { argumentBytes: 1000 }],
  ])('[P-08] of %s are kept at the limit and fail the response past it', async (_, bytes, limits) => {
    await start(limits, { body: callOf(bytes) });
    const at = await callAndError();
    fake.reply({ body: callOf(bytes + 1) });
    expect([at, await callAndError()]).toEqual([
      ['completed', undefined, 'completed', bytes],
      ['failed', 'output_too_large', 'incomplete', bytes + 1],
    ]);
  });

  it('[P-08] holds for each call, not for all of them', async () => {
    const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'f', arguments: '{"a":"xxxxxxx"}' }));
    await start({ argumentBytes: 15 }, { body: toolCallStream(calls) });
    expect((await askJson(app.url)).status).toBe('completed');
  });
});

describe('concurrentTurns', () => {
  it('[P-10] lets so many turns run, refuses one more with 429, and takes the next when one has ended', async () => {
    await start({ concurrentTurns: 2 }, { hang: true }, { hang: true }, { body: textStream('Hi') });
    const clients = [new AbortController(), new AbortController()];
    for (const [index, { signal }] of clients.entries()) {
      const arrived = fake.nextRequest();
      ask(app.url, { stream: index === 0 }, { signal }).catch(() => {});
      await arrived;
    }
    const past = await ask(app.url);
    const error = errorIn(parsed(await past.text()));
    clients[0]?.abort();
    await fake.closed(0);
    const next = await shortOutcome(await ask(app.url));
    expect([past.status, error, next]).toEqual([
      429,
      {
        message: 'Too many concurrent responses. Try again later.',
        type: 'rate_limit_error',
        param: null,
        code: 'too_many_streams',
      },
      [200, 'completed', null, 2],
    ]);
  });

  it('[P-10] counts a turn no longer that has ended, was refused, or failed', async () => {
    const bad = { status: 400, body: '{}' };
    await start({ concurrentTurns: 1 }, { body: textStream('Hi') }, bad, { body: chatChunk({ content: 'Hi' }) });
    const statuses: number[] = [];
    for (const body of [{}, { model: 7 }, { stream: true }, { stream: true }, {}, {}]) {
      const response = await ask(app.url, body);
      await response.text();
      statuses.push(response.status);
    }
    expect(statuses).toEqual([200, 400, 400, 200, 200, 200]);
  });

  it('[P-10] is no limit by default: 200 turns run at once', async () => {
    await start({}, { body: textStream('Hi'), firstByteDelayMs: 500 });
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => shortOutcome(await ask(app.url, { stream: index % 2 === 0 }))),
    );
    expect(outcomes).toEqual(outcomes.map(() => [200, 'completed', null, 2]));
  });
});

describe('connectTimeoutMs', () => {
  /** A server that takes connections and never answers their TLS handshake. */
  async function startMuteServer() {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {});
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseURL = `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    return { baseURL, connections: () => connections, close: () => server.close() };
  }

  it('[P-09] is a 502 past it, for each attempt anew', async () => {
    const mute = await startMuteServer();
    const upstream = chatCompletionsUpstream({ baseURL: mute.baseURL, connectTimeoutMs: 200, retries: 1 });
    app = await startApp({ options: { upstream } });
    const outcome = await shortOutcome(await ask(app.url));
    mute.close();
    expect([outcome, mute.connections()]).toEqual([[502, 'refused', 'upstream_unavailable', 0], 2]);
  });

  it('[P-09] does not count once the connection stands', async () => {
    fake = await startFakeUpstream({ reply: { body: textStream('Hi'), delayMs: 500 } });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, connectTimeoutMs: 200 });
    app = await startApp({ options: { upstream } });
    expect(await shortOutcome(await ask(app.url))).toEqual([200, 'completed', null, 2]);
  });
});

describe('the store’s own limits', () => {
  it('[P-16] keep a response for 30 days', async () => {
    let now = 0;
    fake = await startFakeUpstream();
    app = await startApp({ upstream: fake, options: { store: memoryStore({ now: () => now }) } });
    const { id } = await askJson(app.url);
    now = 30 * 24 * 60 * 60 * 1000 - 1;
    const before = await send(`${app.url}/responses/${id}`);
    now += 1;
    const after = await send(`${app.url}/responses/${id}`);
    expect([before.status, after.status]).toEqual([200, 404]);
  });

  it('[P-16][A-23] drop the oldest responses first', async () => {
    fake = await startFakeUpstream();
    app = await startApp({ upstream: fake, options: { store: memoryStore({ maxResponses: 3 }) } });
    const ids: unknown[] = [];
    for (let turn = 0; turn < 5; turn += 1) ids.push((await askJson(app.url)).id);
    const statuses = await Promise.all(ids.map(async (id) => (await send(`${app.url}/responses/${id}`)).status));
    expect(statuses).toEqual([404, 404, 200, 200, 200]);
  });
});
