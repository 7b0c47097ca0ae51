/** The fake upstream: what it says reaches a real client as it was written, and so do its faults. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import OpenAI from 'openai';
import {
  chatChunk,
  chatCompletion,
  chatStream,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';

let fake: FakeUpstream;

beforeEach(async () => {
  fake = await startFakeUpstream();
});

afterEach(() => fake.close());

/** Posts to the fake as a Chat Completions client would. */
function post(body: unknown = { model: 'm', messages: [] }, signal?: AbortSignal): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json', authorization: 'Bearer key' };
  return fetch(`${fake.baseURL}/chat/completions`, { method: 'POST', headers, body: text, signal: signal ?? null });
}

async function postedText(): Promise<string> {
  return (await post()).text();
}

/** The body in the pieces that arrive, and how it ended. */
async function read(response: Response): Promise<{ pieces: readonly Buffer[]; ended: 'whole' | 'broken' }> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of response.body ?? []) pieces.push(Buffer.from(piece));
    return { pieces, ended: 'whole' };
  } catch {
    return { pieces, ended: 'broken' };
  }
}

/** The pieces in which the body reaches node:http, which gives each chunk on its own. */
async function piecesOf(reply: FakeReply): Promise<readonly string[]> {
  fake.reply(reply);
  const pieces: string[] = [];
  const [response] = await once(get(`${fake.baseURL}/anything`), 'response');
  response.on('data', (piece: Buffer) => pieces.push(piece.toString('latin1')));
  await once(response, 'close');
  return pieces;
}

describe('startFakeUpstream', () => {
  it('[X-05] answers with no options: streamed where asked, as JSON where not', async () => {
    const streamed = await (await post({ stream: true })).text();
    const whole = await (await post({ stream: false })).text();
    expect([streamed, whole]).toEqual([textStream('Hello!'), chatCompletion('Hello!')]);
  });

  it('records requests with method, path, headers and parsed body', async () => {
    await postedText();
    expect(fake.requests).toEqual([
      {
        method: 'POST',
        path: '/v1/chat/completions',
        headers: expect.objectContaining({ authorization: 'Bearer key', 'content-type': 'application/json' }),
        body: { model: 'm', messages: [] },
        aborted: false,
        at: expect.any(Number),
      },
    ]);
  });

  it('records a body that is not JSON as text', async () => {
    await (await post('not { JSON')).text();
    expect(fake.requests[0]?.body).toBe('not { JSON');
  });

  it('lists models without using up a reply', async () => {
    fake.reply({ body: 'first' }, { body: 'second' });
    const models = await (await fetch(`${fake.baseURL}/models`)).json();
    expect([models, await postedText(), fake.requests.map(({ path }) => path)]).toEqual([
      {
        object: 'list',
        data: [{ id: 'fake-model', object: 'model', created: 1_700_000_000, owned_by: 'fake-upstream' }],
      },
      'first',
      ['/v1/models', '/v1/chat/completions'],
    ]);
  });

  it('lists the models that it is given', async () => {
    const other = await startFakeUpstream({ models: ['a', 'b'] });
    const { data } = (await (await fetch(`${other.baseURL}/models?limit=2`)).json()) as { data: { id: string }[] };
    await other.close();
    expect(data.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('uses replies in order, repeats the last, and goes on with replies that are queued later', async () => {
    fake.reply({ body: 'one' }, { body: 'two' });
    const first = [await postedText(), await postedText(), await postedText()];
    fake.reply({ body: 'three' });
    expect([...first, await postedText()]).toEqual(['one', 'two', 'two', 'three']);
  });

  it('gives the reply of its options until another is queued', async () => {
    const other = await startFakeUpstream({ reply: { body: 'option' } });
    const ask = async () => (await fetch(`${other.baseURL}/chat/completions`, { method: 'POST', body: '{}' })).text();
    const first = await ask();
    other.reply({ body: 'queued' });
    const second = await ask();
    await other.close();
    expect([first, second]).toEqual(['option', 'queued']);
  });

  it('asks a function what to reply to this request', async () => {
    fake.reply(async ({ body }) => ({ body: `you said ${JSON.stringify(body)}` }));
    expect(await (await post({ model: 'x' })).text()).toBe('you said {"model":"x"}');
  });

  it('shows an error of the test’s own function at the client', async () => {
    fake.reply(() => {
      throw new Error('a typo in the test');
    });
    const response = await post();
    expect([response.status, await response.json()]).toEqual([
      500,
      { error: { message: 'fake upstream: Error: a typo in the test', type: 'server_error' } },
    ]);
  });

  it.each([
    ['data: {}\n\n', 'text/event-stream'],
    ['event: error\n\n', 'text/event-stream'],
    [': comment\n\n', 'text/event-stream'],
    ['', 'text/event-stream'],
    ['\n\n', 'text/event-stream'],
    ['{"a":1}', 'application/json'],
    [' [1]', 'application/json'],
    ['<html>', 'text/html'],
    ['Bad gateway', 'text/plain'],
  ])('guesses that %j is %s', async (body, type) => {
    fake.reply({ body });
    const response = await post();
    expect([response.headers.get('content-type'), await response.text()]).toEqual([type, body]);
  });

  it('sends the status and the headers that it is given, over its own guess', async () => {
    fake.reply({
      status: 429,
      headers: { 'Content-Type': 'application/problem+json', 'retry-after': '7' },
      body: '{}',
    });
    const { status, headers } = await post();
    expect([status, headers.get('content-type'), headers.get('retry-after')]).toEqual([
      429,
      'application/problem+json',
      '7',
    ]);
  });
});

describe('the body of a fake reply', () => {
  it('is one piece unless it is given in several', async () => {
    const pieces = [await piecesOf({ body: 'abc' }), await piecesOf({ body: ['ab', '', Buffer.from([0xff]), 'c'] })];
    expect(pieces).toEqual([['abc'], ['ab', '\u00ff', 'c']]);
  });

  it('[P-08] is cut between any two bytes, characters included', async () => {
    const bytes = [...Buffer.from('data: é🙂\n\n')].map((byte) => String.fromCharCode(byte));
    expect(await piecesOf({ body: ['data: é', '🙂\n\n'], split: 'byte' })).toEqual(bytes);
  });

  it('is cut at the offsets that are given, in any order, within the body or not', async () => {
    expect(await piecesOf({ body: ['abc', 'def'], split: [4, 1, 0, 4, 99, -1] })).toEqual(['a', 'bcd', 'ef']);
  });

  it('reaches a socket in separate reads', async () => {
    fake.reply({ body: 'abcdef', split: 'byte' });
    const socket = connect(Number(new URL(fake.baseURL).port), '127.0.0.1');
    const reads: string[] = [];
    socket.setEncoding('latin1').on('data', (text: string) => reads.push(text));
    socket.write('GET /v1/x HTTP/1.1\r\nhost: fake\r\nconnection: close\r\n\r\n');
    await once(socket, 'close');
    expect(reads.slice(1)).toEqual([...[...'abcdef'].map((letter) => `1\r\n${letter}\r\n`), '0\r\n\r\n']);
  });

  it('of 80 kB arrives byte by byte', async () => {
    const body = textStream(Array.from({ length: 500 }, (_, index) => `word ${index} `)).slice(0, 80_000);
    const pieces = await piecesOf({ body, split: 'byte' });
    expect([pieces.length, pieces.join('') === body]).toEqual([80_000, true]);
  }, 120_000);
});

describe('the faults of a fake reply', () => {
  it.each([
    [0, ''],
    [4, 'abcd'],
    [99, 'abcdef'],
  ])('[P-08] cuts the connection after %i bytes of the body', async (cutAfterBytes, text) => {
    fake.reply({ body: ['abc', 'def'], cutAfterBytes });
    const response = await post();
    const { pieces, ended } = await read(response);
    expect([response.status, Buffer.concat(pieces).toString(), ended]).toEqual([200, text, 'broken']);
  });

  it('[P-10] stalls after so many bytes, keeps the connection open, and reports when the client leaves', async () => {
    fake.reply({ body: 'abcdef', stallAfterBytes: 4 });
    const client = new AbortController();
    const reader = (await post(undefined, client.signal)).body?.getReader();
    const first = await reader?.read();
    const openBefore = fake.openSockets;
    client.abort();
    await fake.closed(0);
    expect([Buffer.from(first?.value ?? []).toString(), openBefore, fake.requests[0]?.aborted]).toEqual([
      'abcd',
      1,
      true,
    ]);
  });

  it('[P-10] takes a request and sends nothing', async () => {
    fake.reply({ hang: true });
    const client = new AbortController();
    const arrived = fake.nextRequest();
    const answer = post(undefined, client.signal).catch((error: Error) => error.name);
    const { aborted } = await arrived;
    client.abort();
    await fake.closed(0);
    expect([aborted, await answer, fake.requests[0]?.aborted]).toEqual([false, 'AbortError', true]);
  });

  it('resets the connection before the headers', async () => {
    fake.reply({ reset: 'before-headers' });
    const code = await post().catch((error) => error.cause.code);
    expect([code, fake.requests[0]?.aborted]).toEqual(['ECONNRESET', false]);
  });

  it('[P-10] repeats an endless body until the client leaves', async () => {
    fake.reply({ body: ['abc', 'de'], endless: true });
    const client = new AbortController();
    const response = await post(undefined, client.signal);
    let text = '';
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString();
      if (text.length >= 50) break;
    }
    client.abort();
    await fake.closed(0);
    expect(text.slice(0, 50)).toBe('abcde'.repeat(10));
  });

  it('ends an empty body that is to be repeated', async () => {
    expect(await piecesOf({ body: ['', ''], endless: true })).toEqual([]);
  });

  it('repeats a body up to the cut', async () => {
    fake.reply({ body: 'abc', endless: true, cutAfterBytes: 7 });
    const { pieces, ended } = await read(await post());
    expect([pieces.join(''), ended]).toEqual(['abcabca', 'broken']);
  });

  it('[P-10] sends no more than a slow reader takes', async () => {
    const megabyte = 'x'.repeat(1024 * 1024);
    fake.reply({ body: megabyte, endless: true });
    let response: ServerResponse | undefined;
    const watch = (message: unknown) => {
      response = (message as { response: ServerResponse }).response;
    };
    subscribe('http.server.request.start', watch);
    const socket = connect(Number(new URL(fake.baseURL).port), '127.0.0.1').pause();
    socket.write('GET /v1/x HTTP/1.1\r\nhost: fake\r\n\r\n');
    await fake.nextRequest();
    for (let turn = 0; turn < 2000; turn += 1) await new Promise(setImmediate);
    unsubscribe('http.server.request.start', watch);
    const held = response?.socket?.writableLength ?? 0;
    socket.destroy();
    await fake.closed(0);
    expect([held > 0, held < 2 * megabyte.length]).toEqual([true, true]);
  });
});

describe('the connections of a fake upstream', () => {
  it('are counted, kept for the next request, and gone when the client closes them', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = () =>
      new Promise<void>((resolve, reject) => {
        get(`${fake.baseURL}/models`, { agent }, (response: IncomingMessage) => {
          response.resume().once('end', resolve);
        }).once('error', reject);
      });
    await ask();
    await ask();
    const counted = fake.openSockets;
    agent.destroy();
    while (fake.openSockets > 0) await new Promise(setImmediate);
    expect(counted).toBe(1);
  });

  it('stay open for as long as the client likes', async () => {
    const { headers } = await fetch(`${fake.baseURL}/models`);
    // Node announces here after how many seconds it would close an idle connection.
    expect([headers.get('connection'), headers.get('keep-alive')]).toEqual(['keep-alive', null]);
  });

  it('reports that the client did not leave where the reply ended otherwise', async () => {
    const notLeft = 'The fake upstream ended its reply itself; the client did not leave before.';
    fake.reply({ body: 'whole' }, { body: 'cut', cutAfterBytes: 1 }, { reset: 'before-headers' }, { hang: true });
    await postedText();
    await read(await post());
    await post().catch(() => {});
    const arrived = fake.nextRequest();
    const hanging = post().catch(() => {});
    await arrived;
    await fake.close();
    await hanging;
    const outcomes = await Promise.allSettled([0, 1, 2, 3].map((index) => fake.closed(index)));
    expect(outcomes).toEqual([0, 1, 2, 3].map(() => ({ status: 'rejected', reason: new Error(notLeft) })));
  });

  it('can be watched for a request that is yet to come', async () => {
    fake.reply({ body: 'whole' }, { hang: true });
    const left = fake.closed(1);
    await postedText();
    const client = new AbortController();
    const arrived = fake.nextRequest();
    const answer = post(undefined, client.signal).catch(() => {});
    await arrived;
    client.abort();
    await answer;
    expect(await left).toBeGreaterThan(fake.requests[1]?.at ?? Infinity);
  });

  it('are destroyed by close, which may be called twice', async () => {
    fake.reply({ body: 'abc', stallAfterBytes: 1 });
    const response = await post();
    await Promise.all([fake.close(), fake.close()]);
    const { ended } = await read(response);
    await post().catch(() => {});
    expect([ended, fake.requests.length, fake.openSockets]).toEqual(['broken', 1, 0]);
  });
});

describe('the chat helpers', () => {
  const head = { id: 'chatcmpl-fake', created: 1_700_000_000, model: 'fake-model' };
  const usage = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 };

  function parsed(frame: string): unknown {
    return JSON.parse(/^data: (.*)\n\n$/.exec(frame)?.[1] ?? 'null');
  }

  it('write one chunk as one frame', () => {
    expect(parsed(chatChunk({ content: 'a' }))).toEqual({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content: 'a' }, logprobs: null, finish_reason: null }],
    });
  });

  it('put finish_reason into the choice and any other field around it', () => {
    expect(parsed(chatChunk({}, { finish_reason: 'length', model: 'other', usage: null }))).toEqual({
      ...head,
      model: 'other',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'length' }],
      usage: null,
    });
  });

  it('write a whole stream: deltas, finish, usage and [DONE]', () => {
    expect(chatStream({ content: 'a' }, { content: 'b' })).toBe(
      [
        chatChunk({ content: 'a' }),
        chatChunk({ content: 'b' }),
        chatChunk({}, { finish_reason: 'stop' }),
        chatChunk({}, { choices: [], usage }),
        'data: [DONE]\n\n',
      ].join(''),
    );
  });

  it('write an answer that is not streamed, with the fields that are given over their own', () => {
    expect(
      JSON.parse(chatCompletion({ content: 'a', reasoning_content: 'r' }, { id: 'x', finish_reason: 'length' })),
    ).toEqual({
      ...head,
      id: 'x',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'a', reasoning_content: 'r' },
          logprobs: null,
          finish_reason: 'length',
        },
      ],
      usage,
    });
  });

  it('are understood by openai-node', async () => {
    const calls = [
      { id: 'call_1', name: 'add', arguments: '{"a":1}' },
      { id: 'call_2', name: 'mul', arguments: '{}' },
    ];
    fake.reply({ body: textStream(['Hel', 'lo']) }, { body: toolCallStream(calls) }, { body: chatCompletion('Hi') });
    const client = new OpenAI({ baseURL: fake.baseURL, apiKey: 'key', maxRetries: 0 });
    const request = { model: 'm', messages: [{ role: 'user' as const, content: 'x' }] };
    const text = await client.chat.completions.stream(request).finalChatCompletion();
    const tools = await client.chat.completions.stream(request).finalChatCompletion();
    const whole = await client.chat.completions.create(request);
    const seen = [text, tools, whole].map(({ choices: [choice], usage }) => [
      choice?.finish_reason,
      choice?.message.content,
      choice?.message.tool_calls?.map((call) => 'function' in call && { id: call.id, ...call.function }),
      usage?.total_tokens,
    ]);
    expect(seen).toEqual([
      ['stop', 'Hello', undefined, 21],
      ['tool_calls', null, calls.map((call) => expect.objectContaining(call)), 21],
      ['stop', 'Hi', undefined, 21],
    ]);
  });
});
