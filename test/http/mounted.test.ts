/** The router as a guest in an app: behind the host's own auth, beside the host's own routes. */
import express, { type RequestHandler } from 'express';
import request from 'supertest';
import { chatCompletionsUpstream, memoryStore, responsesRouter, type Upstream } from '../../src/index.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';

const auth: RequestHandler = (req, res, next) =>
  req.get('authorization') === 'Bearer good' ? next() : void res.status(401).json({ host: 'says no' });

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
