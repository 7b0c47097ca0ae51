/** How texts are embedded by a server that may be down, slow or wrong. */
import {
  type EmbeddingsOptions,
  embeddingsServer,
} from '../../../src/apis/vector-stores/embeddings/embeddings-server.ts';
import { NOBODY } from '../../support/listening.ts';
import { embeddingOf, embeddingsServerOf, sendJson } from './embeddings-server.ts';

type Server = Awaited<ReturnType<typeof embeddingsServerOf>>;

const never = new AbortController().signal;
let server: Server;
const open: { close?: (() => Promise<void>) | undefined }[] = [];

beforeEach(async () => {
  server = await embeddingsServerOf();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close?.()));
  await server.close();
});

function embedder(options: Partial<EmbeddingsOptions> = {}) {
  const made = embeddingsServer('test', { baseURL: server.baseURL, model: 'hash', retries: 0, ...options });
  open.push(made);
  return made;
}

async function faultOf(work: Promise<unknown>): Promise<unknown> {
  const { message, retryable } = (await work.then(
    () => ({}),
    (error) => error,
  )) as { readonly message?: string; readonly retryable?: boolean };
  return [message, retryable];
}

const near = (vector: readonly number[]) => [...Float32Array.from(vector)];

describe('an embeddings server', () => {
  it.each(['float', 'base64'] as const)('[X-14] is asked in batches, and read as %s', async (encodingFormat) => {
    const texts = ['one', 'two', 'three', 'four', 'five'];
    const vectors = await embedder({ encodingFormat, batchTexts: 2, dimensions: 8, apiKey: 'key' }).embed(texts, never);
    expect(vectors.map((vector) => [...vector])).toEqual(texts.map((text) => near(embeddingOf(text, 8))));
    expect(server.asked.map(({ input, dimensions }) => [input.length, dimensions])).toEqual([
      [2, 8],
      [2, 8],
      [1, 8],
    ]);
  });

  it('[X-14] is asked for few tokens at once, and for one text that is longer', async () => {
    const long = 'word '.repeat(200);
    await embedder({ batchTokens: 100 }).embed(['a', 'b', long, 'c'], never);
    expect(server.asked.map(({ input }) => input.length)).toEqual([2, 1, 1]);
  });

  it('[X-14] may answer in another order, which it declares', async () => {
    server.answerWith(({ input }, res) => {
      const data = input.map((text, index) => ({ index, embedding: embeddingOf(text) }));
      sendJson(res, { data: data.toReversed() });
    });
    const [first] = await embedder().embed(['one', 'two'], never);
    expect([...(first ?? [])]).toEqual(near(embeddingOf('one')));
  });

  it.each([408, 429, 500, 503])('[X-14] is asked again after %i', async (status) => {
    let answers = 0;
    server.answerWith(({ input }, res) => {
      answers += 1;
      if (answers === 1) return sendJson(res, { error: { message: 'busy' } }, status, { 'retry-after': '0' });
      sendJson(res, { data: input.map((text) => ({ embedding: embeddingOf(text) })) });
    });
    expect((await embedder({ retries: 1 }).embed(['one'], never)).length).toBe(1);
  });

  const wrong: readonly (readonly [string, unknown, string])[] = [
    ['too few', { data: [] }, 'answered with 0 embeddings for 2 texts'],
    [
      'too many',
      { data: [{ embedding: [1] }, { embedding: [1] }, { embedding: [1] }] },
      'answered with 3 embeddings for 2 texts',
    ],
    ['no list', { vectors: [] }, 'did not answer with a list of embeddings'],
    [
      'one twice',
      { data: [0, 0].map((index) => ({ index, embedding: [1] })) },
      'answered with embeddings whose index is wrong or repeated',
    ],
    [
      'a place outside',
      { data: [0, 2].map((index) => ({ index, embedding: [1] })) },
      'answered with embeddings whose index is wrong or repeated',
    ],
    [
      'different lengths',
      { data: [{ embedding: [1] }, { embedding: [1, 2] }] },
      'answered with embeddings of different lengths',
    ],
    [
      'empty ones',
      { data: [{ embedding: [] }, { embedding: [] }] },
      'answered with something that is not an embedding',
    ],
    [
      'null in one',
      { data: [{ embedding: [1] }, { embedding: [null] }] },
      'answered with something that is not an embedding',
    ],
    [
      'endless numbers',
      { data: [{ embedding: [1e300] }, { embedding: [1] }] },
      'answered with an embedding with numbers that are not finite',
    ],
    [
      'NaN in base64',
      { data: [0, 1].map(() => ({ embedding: 'AADAfw==' })) },
      'answered with an embedding with numbers that are not finite',
    ],
    [
      'half a number',
      { data: [0, 1].map(() => ({ embedding: 'AADA' })) },
      'answered with something that is not an embedding',
    ],
  ];
  it.each(wrong)('[X-14] that answers with %s fails for good', async (_, json, what) => {
    server.answerWith((_asked, res) => sendJson(res, json));
    expect(await faultOf(embedder({ retries: 2 }).embed(['one', 'two'], never))).toEqual([
      `The embeddings server ${what}.`,
      false,
    ]);
    expect(server.asked.length).toBe(1);
  });

  it('[X-14] that refuses is not asked again, and its words come without the key', async () => {
    server.answerWith((_asked, res) => sendJson(res, { error: { message: 'no secret-key-1234\nhere' } }, 401));
    const [message, retryable] = (await faultOf(
      embedder({ apiKey: 'secret-key-1234', retries: 2 }).embed(['one'], never),
    )) as [string, boolean];
    expect([
      message.includes('secret'),
      message.startsWith('The embeddings server answered with the status 401: no '),
      retryable,
    ]).toEqual([false, true, false]);
  });

  it('[X-14] that sends without end is not read to it', async () => {
    let sent = 0;
    server.answerWith((_asked, res) => {
      const piece = Buffer.alloc(64 * 1024, 32);
      res.writeHead(200, { 'content-type': 'application/json' });
      const send = () => {
        while (!res.destroyed && sent < 2 ** 30) {
          sent += piece.length;
          if (!res.write(piece)) return void res.once('drain', send);
        }
      };
      send();
    });
    const fault = await faultOf(embedder({ dimensions: 64 }).embed(['one'], never));
    expect([fault, sent < 2 ** 30]).toEqual([['The embeddings server sent too large an answer.', false], true]);
  });

  it('[X-14] that is silent is given up, and may work later', async () => {
    server.answerWith(() => {});
    const fault = await faultOf(embedder({ timeoutMs: 50 }).embed(['one'], never));
    expect(fault).toEqual(['The embeddings server did not answer within 50 ms.', true]);
  });

  it('[X-14] that is down may work later', async () => {
    const fault = await faultOf(embedder({ baseURL: NOBODY.baseURL }).embed(['one'], never));
    expect(fault).toEqual(['The embeddings server could not be reached (ECONNREFUSED).', true]);
  });

  it('[X-14] is left at once when the work is aborted, also between attempts', async () => {
    const controller = new AbortController();
    server.answerWith((_asked, res) => {
      sendJson(res, {}, 503, { 'retry-after': '30' });
      setImmediate(() => controller.abort(new Error('enough')));
    });
    expect(await faultOf(embedder({ retries: 3 }).embed(['one'], controller.signal))).toEqual(['enough', undefined]);
  });

  it.each([
    [{ baseURL: 'ftp://a' }, /baseURL must be an http or https URL/],
    [{ baseURL: undefined }, /baseURL is required/],
    [{ model: '' }, /model must be a text/],
    [{ dimensions: 0.5 }, /dimensions must be a positive whole number/],
    [{ apiKey: 'a\nb' }, /apiKey must be a text that an HTTP header can carry, got one that is not/],
    [{ encodingFormat: 'hex' }, /encodingFormat must be one of 'float', 'base64'/],
  ])('[X-14] is refused with the options %j', (options, message) => {
    // The cast: some of them are wrong.
    expect(() => embedder(options as Partial<EmbeddingsOptions>)).toThrow(message);
  });

  it('[V-29] that takes no text so long gets it in pieces, and no other requests', async () => {
    const message =
      'input (702 tokens) is too large to process. increase the physical batch size (current batch size: 512)';
    server.answerWith(({ input }, res) => {
      const isLong = input.some((text) => text.length > 300);
      if (isLong) return sendJson(res, { error: { code: 500, message, type: 'server_error' } }, 500);
      sendJson(res, { data: input.map((text, index) => ({ index, embedding: embeddingOf(text, 8) })) });
    });
    const vectors = await embedder({ retries: 3 }).embed(['short', 'word '.repeat(100), 'other'], never);
    expect(vectors.map((vector) => vector.length)).toEqual([8, 8, 8]);
    expect([...(vectors[1] ?? [])]).toEqual(near(embeddingOf('word', 8)));
    expect(server.asked.map(({ input }) => input.length)).toEqual([3, 2, 1, 1, 1, 1, 1]);
  });

  it('[V-29] that takes no text at all fails, and says why', async () => {
    server.answerWith((_asked, res) =>
      sendJson(res, { error: { code: 500, message: 'input is too large to process' } }, 500),
    );
    const fault = await faultOf(embedder({ retries: 3 }).embed(['word '.repeat(100)], never));
    expect(fault).toEqual([
      'The embeddings server answered with the status 500: input is too large to process.',
      false,
    ]);
    expect(server.asked.length).toBeLessThan(10);
  });

  it('[V-30] does not tell clients where it is', async () => {
    const { host } = new URL(server.baseURL);
    server.answerWith((_asked, res) =>
      sendJson(res, { error: { message: `No route at http://${host}/v1/embeddings` } }, 404),
    );
    const [message] = (await faultOf(embedder().embed(['one'], never))) as readonly string[];
    expect(message).not.toContain(host.split(':')[0]);
  });
});
