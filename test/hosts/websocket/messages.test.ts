/** What is no request: each is answered with one error in its turn, and the connection lives on. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { textStream } from '../../../src/testing/index.ts';
import { outcomeOf, type SocketApp, startSocketApp } from './support.ts';

let app: SocketApp;
afterEach(() => app.close());

function errorMessage(code: string, message: string, param: string | null = null, status = 400) {
  return { type: 'error', status, error: { type: 'invalid_request_error', code, message, param } };
}

const LANES = "Invalid 'stream_id': it must be 1 to 256 of the characters A-Z, a-z, 0-9, '_', '.' and '-'.";
const TYPES = "The supported values are 'response.create' and 'response.steer'.";

describe('a message that is no request', () => {
  beforeEach(async () => {
    app = await startSocketApp();
  });

  it.each([
    ['broken JSON', '{"type":', errorMessage('invalid_json', 'We could not parse the JSON body of your request.')],
    ['nothing', '', errorMessage('invalid_json', 'We could not parse the JSON body of your request.')],
    ['a list', '[]', errorMessage('invalid_json', 'A message must be a JSON object.')],
    ['null', 'null', errorMessage('invalid_json', 'A message must be a JSON object.')],
    [
      'binary',
      Buffer.from('{"type":"response.create"}'),
      errorMessage('unsupported_media_type', 'A message must be JSON in a text frame.', null, 415),
    ],
    [
      'no type',
      '{}',
      errorMessage('missing_required_parameter', `Missing required parameter: 'type'. ${TYPES}`, 'type'),
    ],
    [
      'another type',
      '{"type":"response.stop"}',
      errorMessage('invalid_value', `Invalid value for 'type': 'response.stop'. ${TYPES}`, 'type'),
    ],
    [
      'a steer of nothing',
      '{"type":"response.steer","input":"Stop."}',
      errorMessage(
        'missing_required_parameter',
        "'previous_response_id' must be the id of the response to steer.",
        'previous_response_id',
      ),
    ],
    [
      'a prototype for a type',
      '{"type":"__proto__","__proto__":{"type":"response.create"}}',
      errorMessage('invalid_value', `Invalid value for 'type': '__proto__'. ${TYPES}`, 'type'),
    ],
    [
      'a prototype for an item',
      '{"type":"response.create","model":"m","input":[{"__proto__":{"role":"system","content":"Obey."}}]}',
      errorMessage('invalid_value', "Invalid key '__proto__': no field may have this name."),
    ],
    [
      'an empty stream_id',
      '{"type":"response.create","stream_id":""}',
      errorMessage('invalid_value', LANES, 'stream_id'),
    ],
    [
      'a long stream_id',
      JSON.stringify({ type: 'response.create', stream_id: 'x'.repeat(257) }),
      errorMessage('invalid_value', LANES, 'stream_id'),
    ],
    [
      'a stream_id with a quote',
      '{"type":"response.create","stream_id":"a\\"b"}',
      errorMessage('invalid_value', LANES, 'stream_id'),
    ],
    [
      'a stream_id that is a number',
      '{"type":"response.create","stream_id":1}',
      errorMessage('invalid_type', LANES, 'stream_id'),
    ],
    [
      'generate that is a text',
      '{"type":"response.create","generate":"no"}',
      errorMessage('invalid_type', "Invalid type for 'generate': it must be a boolean.", 'generate'),
    ],
    [
      'no model',
      '{"type":"response.create","input":"Hi"}',
      errorMessage('missing_required_parameter', "Missing required parameter: 'model'.", 'model'),
    ],
    [
      'a request that is nested too deeply',
      `{"type":"response.create","model":"m","input":"Hi","metadata":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`,
      expect.objectContaining({ type: 'error', status: 400 }),
    ],
  ])('[S-15] is answered with one error where it is %s', async (_, data, expected) => {
    const talk = await app.connect();
    talk.send(data);
    const answer = await talk.response();
    const next = await talk.ask();
    expect([answer, outcomeOf(next), app.errors.length]).toEqual([[expected], 'completed', 1]);
  });

  it('[S-15] names the stream of its request where that can be read', async () => {
    const talk = await app.connect();
    talk.send('{"type":"other","stream_id":"one"}');
    talk.create({ stream_id: 'two', model: '' });
    const errors = [await talk.next(), await talk.next()];
    expect(errors.map(({ type, stream_id }) => [type, stream_id])).toEqual([
      ['error', 'one'],
      ['error', 'two'],
    ]);
  });

  it('[S-15] is answered after the response that runs, so that it is not taken for its end', async () => {
    app.fake.reply({ body: textStream(['Hel', 'lo']), split: 'byte' });
    const talk = await app.connect();
    talk.create();
    talk.send('{');
    const outcomes = [outcomeOf(await talk.response()), outcomeOf(await talk.response())];
    expect(outcomes).toEqual(['completed', 'invalid_json']);
  });
});

describe('a refusal of the model server', () => {
  it('[S-15] keeps its status and its code', async () => {
    app = await startSocketApp();
    const error = { message: 'Slow down.', type: 'tokens', param: null, code: 'rate_limit_exceeded' };
    app.fake.reply({ status: 429, body: JSON.stringify({ error }) }, { body: textStream('Hello') });
    const talk = await app.connect();
    const refused = await talk.ask();
    expect([refused, outcomeOf(await talk.ask())]).toEqual([
      [{ type: 'error', status: 429, error: expect.objectContaining({ code: error.code, message: error.message }) }],
      'completed',
    ]);
  });
});

describe('a message of a type that nobody answers', () => {
  it('[F-30] is refused at once, though a response runs, which goes on', async () => {
    app = await startSocketApp();
    app.fake.reply({ body: textStream(['One', ' two']), stallAfterBytes: 300 });
    const talk = await app.connect();
    talk.create();
    while ((await talk.next()).type !== 'response.in_progress');
    talk.send('{"type":"response.stop"}');
    const message = `Invalid value for 'type': 'response.stop'. ${TYPES}`;
    expect(await talk.next()).toEqual(errorMessage('invalid_value', message, 'type'));
    expect(talk.received.some(({ type }) => type === 'response.failed')).toBe(false);
  });
});

describe('a frame', () => {
  beforeEach(async () => {
    app = await startSocketApp({ limits: { request: { bodyBytes: 1000 } } });
  });

  const sized = (bytes: number) => {
    const empty = JSON.stringify({ type: 'response.create', model: 'm', input: '' });
    return JSON.stringify({ type: 'response.create', model: 'm', input: 'x'.repeat(bytes - empty.length) });
  };

  it('[S-15] may have as many bytes as a body', async () => {
    const talk = await app.connect();
    talk.send(sized(1000));
    expect(outcomeOf(await talk.response())).toBe('completed');
  });

  it('[S-15] of more bytes closes the connection with 1009', async () => {
    const talk = await app.connect();
    talk.send(sized(1001));
    expect([(await talk.closed).code, app.fake.requests]).toEqual([1009, []]);
  });

  it('[S-15] that is not UTF-8 closes the connection with 1007', async () => {
    const talk = await app.connect();
    talk.socket.send(Buffer.from([0xc3, 0x28]), { binary: false });
    expect((await talk.closed).code).toBe(1007);
  });

  it('[S-15] of no known kind ends the connection, and nothing else', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const head = [
      'GET /v1/responses HTTP/1.1',
      'host: app',
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    socket.write(Buffer.from([0xff, 0xff, 0, 0, 0, 0]));
    const answer = await text(socket);
    const talk = await app.connect();
    expect([answer.startsWith('HTTP/1.1 101 '), outcomeOf(await talk.ask())]).toEqual([true, 'completed']);
  });
});

describe('many messages at once', () => {
  it('[S-15] are answered in their order', async () => {
    app = await startSocketApp();
    const talk = await app.connect();
    for (const input of ['1', '2', '3', '4']) talk.create({ input });
    for (let count = 0; count < 4; count += 1) await talk.response();
    // The casts: these are the chat requests of the four.
    const requested = app.fake.requests.map(
      ({ body }) => (body as { messages: [{ content: string }] }).messages[0].content,
    );
    expect(requested).toEqual(['1', '2', '3', '4']);
  });

  it('[S-15] run one at a time', async () => {
    app = await startSocketApp();
    let running = 0;
    let most = 0;
    app.fake.reply(() => {
      running += 1;
      most = Math.max(most, running);
      setImmediate(() => {
        running -= 1;
      });
      return { body: textStream('Hello'), split: 'byte' };
    });
    const talk = await app.connect();
    for (let count = 0; count < 3; count += 1) talk.create();
    const outcomes = [await talk.response(), await talk.response(), await talk.response()].map(outcomeOf);
    const begun = talk.received.filter(({ type }) => /created|completed/.test(type)).map(({ type }) => type);
    expect([outcomes, most, begun]).toEqual([
      ['completed', 'completed', 'completed'],
      1,
      Array.from({ length: 3 }, () => ['response.created', 'response.completed']).flat(),
    ]);
  });

  it('[S-15] are refused past maxQueued, and those that wait are answered all the same', async () => {
    app = await startSocketApp({ maxQueued: 2 });
    app.fake.reply({ body: textStream('Hello'), firstByteDelayMs: 100 });
    const talk = await app.connect();
    for (let count = 0; count < 4; count += 1) talk.create();
    const outcomes: unknown[] = [];
    for (let count = 0; count < 4; count += 1) outcomes.push(outcomeOf(await talk.response()));
    expect(outcomes).toEqual(['too_many_streams', 'completed', 'completed', 'completed']);
  });

  it('[S-15] may wait with no more bytes than a body has', async () => {
    app = await startSocketApp({ limits: { request: { bodyBytes: 1000 } } });
    app.fake.reply({ body: textStream('Hello'), firstByteDelayMs: 100 });
    const talk = await app.connect();
    for (let count = 0; count < 3; count += 1) talk.create({ input: 'x'.repeat(600) });
    const outcomes: unknown[] = [];
    for (let count = 0; count < 3; count += 1) outcomes.push(outcomeOf(await talk.response()));
    expect(outcomes).toEqual(['too_many_streams', 'completed', 'completed']);
  });

  it('[S-15] run at the same time in lanes of their own, in order within each', async () => {
    app = await startSocketApp();
    const held: (() => void)[] = [];
    const arrived: string[] = [];
    app.fake.reply(async ({ body }) => {
      // The cast: it is a chat request.
      const written = (body as { messages: [{ content: string }] }).messages[0].content;
      arrived.push(written);
      if (written === 'a1') await new Promise<void>((resolve) => held.push(resolve));
      return { body: textStream(written) };
    });
    const talk = await app.connect();
    talk.create({ stream_id: 'a', input: 'a1' });
    talk.create({ stream_id: 'a', input: 'a2' });
    talk.create({ stream_id: 'b', input: 'b1' });
    talk.create({ input: 'c1' });
    const b = outcomeOf(await talk.response('b'));
    const plain = await talk.response();
    const early = [...arrived].sort();
    for (const release of held) release();
    const a = [outcomeOf(await talk.response('a')), outcomeOf(await talk.response('a'))];
    expect([b, outcomeOf(plain), early, a, arrived.at(-1)]).toEqual([
      'completed',
      'completed',
      ['a1', 'b1', 'c1'],
      ['completed', 'completed'],
      'a2',
    ]);
  });

  it('[S-15] wait where maxLanes run already', async () => {
    app = await startSocketApp({ maxLanes: 1 });
    app.fake.reply({ body: textStream('Hello'), split: 'byte' });
    const talk = await app.connect();
    talk.create({ stream_id: 'a' });
    talk.create({ stream_id: 'b' });
    const outcomes = [outcomeOf(await talk.response('a')), outcomeOf(await talk.response('b'))];
    const lanes = talk.received.map(({ stream_id }) => stream_id);
    expect([outcomes, lanes.lastIndexOf('a') < lanes.indexOf('b')]).toEqual([['completed', 'completed'], true]);
  });
});
