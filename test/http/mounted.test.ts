/** The router as a guest in an app: wherever it is mounted, behind the host's own auth, beside the host's own routes. */
import { parse } from 'node:querystring';
import express, { type RequestHandler } from 'express';
import request from 'supertest';
import { queryFrom } from '../../src/engine/request/endpoint-request.ts';
import { chatCompletionsUpstream, memoryStore, responsesRouter, type Upstream } from '../../src/index.ts';
import { type FakeUpstream, startFakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { type RequestApp, requestAppPerTest } from '../support/request-app.ts';
import { PARIS, upstreamOf, WEATHER } from './response-values.ts';

const auth: RequestHandler = (req, res, next) =>
  req.get('authorization') === 'Bearer good' ? next() : void res.status(401).json({ host: 'says no' });

let app: RequestApp;
const restart = requestAppPerTest((started) => {
  app = started;
});

let fake: FakeUpstream;
let upstream: Upstream;

beforeAll(async () => {
  fake = await startFakeUpstream({ reply: { body: textStream(['Hello', '!']) } });
  upstream = chatCompletionsUpstream({ baseURL: fake.baseURL });
});
afterAll(() => Promise.all([upstream.close?.(), fake.close()]));

function hostApp() {
  const app = express();
  app.get('/own', (_req, res) => void res.send('mine'));
  app.use('/ai/v1', auth, responsesRouter({ upstream, store: memoryStore() }));
  app.use((_req, res) => void res.status(404).send('nothing of the host either'));
  return app;
}

const ask = { model: 'm', input: 'Hi.' };

describe('in a host app', () => {
  it('[X-01] answers behind the host’s own authentication', async () => {
    const app = hostApp();
    const refused = await request(app).post('/ai/v1/responses').send(ask);
    const answered = await request(app).post('/ai/v1/responses').set('authorization', 'Bearer good').send(ask);
    expect([refused.status, refused.body, answered.status, answered.body.output[0].content[0].text]).toEqual([
      401,
      { host: 'says no' },
      200,
      'Hello!',
    ]);
  });

  it('[S-13] keeps a response until it is deleted, and says 404 twice', async () => {
    const client = request.agent(hostApp()).set('authorization', 'Bearer good');
    const { body } = await client.post('/ai/v1/responses').send(ask);
    const path = `/ai/v1/responses/${body.id}`;
    const seen = [await client.get(path), await client.delete(path), await client.get(path), await client.delete(path)];
    expect(seen.map(({ status, body }) => [status, body.error?.code ?? body.object])).toEqual([
      [200, 'response'],
      [200, 'response'],
      [404, 'response_not_found'],
      [404, 'response_not_found'],
    ]);
  });

  it('[X-01] leaves paths that are not its own to the host', async () => {
    const client = request.agent(hostApp()).set('authorization', 'Bearer good');
    const texts = [
      await client.get('/own'),
      await client.get('/ai/v1/embeddings'),
      await client.put('/ai/v1/responses'),
    ];
    expect(texts.map(({ status, text }) => [status, text])).toEqual([
      [200, 'mine'],
      [404, 'nothing of the host either'],
      [404, 'nothing of the host either'],
    ]);
  });
});

describe('GET /models', () => {
  it("[S-16] passes the upstream's models on, in both shapes that clients read", async () => {
    const { status, body } = await app.get('/models');
    const model = { id: 'fake-model', object: 'model', created: 1_700_000_000, owned_by: 'fake-upstream' };
    expect([status, body]).toEqual([
      200,
      { object: 'list', data: [model], models: [{ ...model, slug: 'fake-model' }] },
    ]);
  });

  it('[S-16] lists nothing where the upstream has no list', async () => {
    await restart({ upstream: upstreamOf(async function* () {}) });
    const { status, body } = await app.get('/models');
    expect([status, body]).toEqual([200, { object: 'list', data: [], models: [] }]);
  });
});

describe('where it is mounted', () => {
  it.each(['/', '/v1', '/a/b'])('[M-18] [M-19] answers all of its paths below %s', async (mount) => {
    await restart({ mount });
    const { status, body } = await app.create({ input: 'Hi.' });
    const others = [await app.get(`/responses/${body.id}`), await app.get('/models')];
    expect([status, ...others.map((answer) => answer.status)]).toEqual([200, 200, 200]);
  });

  it('[M-05] has no path for tool outputs: they come with a new POST /responses', async () => {
    app.upstream.reply({ body: toolCallStream([PARIS]) }, { body: textStream('Sunny.') });
    const { body } = await app.create({ input: 'Hi.', tools: [WEATHER] });
    const submitted = await fetch(`${app.url}/responses/${body.id}/submit_tool_outputs`, { method: 'POST' });
    const output = { type: 'function_call_output', call_id: 'call_paris', output: '20 °C' };
    const { status, body: next } = await app.create({ input: [output], previous_response_id: body.id });
    expect([submitted.status, status, next.status]).toEqual([404, 200, 'completed']);
  });

  it("[D-01] answers behind the host's own check of the bearer token", async () => {
    const host = hostApp();
    const before = fake.requests.length;
    const statusFor = async (token: string) =>
      (await request(host).post('/ai/v1/responses').set('authorization', `Bearer ${token}`).send(ask)).status;
    const statuses = [await statusFor('good'), await statusFor('wrong')];
    expect([statuses, fake.requests.length - before]).toEqual([[200, 401], 1]);
  });
});

describe('an app with a query parser of its own', () => {
  const PARSERS: readonly [string, unknown][] = [
    ['simple', 'simple'],
    ['extended', 'extended'],
    ['none', false],
    ['URLSearchParams', (text: string) => new URLSearchParams(text)],
    ['Map', (text: string) => new Map(new URLSearchParams(text))],
  ];

  /** The host's app with this parser, and a response of it with two items of input. */
  async function withParser(parser: unknown) {
    const app = express().set('query parser', parser);
    const client = request.agent(app.use('/v1', responsesRouter({ upstream, store: memoryStore() })));
    const input = ['a', 'b'].map((content) => ({ role: 'user', content }));
    const { body } = await client.post('/v1/responses').send({ ...ask, input });
    return { client, path: `/v1/responses/${body.id}` };
  }

  it.each(PARSERS)('[X-01] has its queries read: %s', async (_, parser) => {
    const { client, path } = await withParser(parser);
    const { body } = await client.get(`${path}/input_items?limit=1&order=asc&x=%zz&__proto__=1&constructor=2`);
    const streamed = await client.get(`${path}?stream=true`);
    const param = streamed.body.error.param;
    expect([body.data.length, body.data[0].content[0].text, body.has_more, param]).toEqual([1, 'a', true, 'stream']);
  });

  it.each(['a=1&a=2&a=3', 'include[]=x&include[]=y&z', 'a=%20+b&c=&constructor=1', ''])(
    '[X-01] has lists of repeated names, as the parser of Node makes them: %s',
    (text) => expect(queryFrom(new URLSearchParams(text))).toEqual({ ...parse(text) }),
  );

  it('[X-01] keeps what the app has made of the query', async () => {
    const { client, path } = await withParser(() => ({ limit: '1', order: 'asc' }));
    const { body } = await client.get(`${path}/input_items?limit=2&order=desc`);
    expect([body.data.length, body.data[0].content[0].text]).toEqual([1, 'a']);
  });
});
