/** One line of a host that guards its router: behind its authentication, with a guard model and a policy for URLs. */
import express, { type RequestHandler } from 'express';
import { allowUrls, moderation, pii } from 'express-open-responses/guards';
import { chatCompletionsUpstream, functionTools, guard, memoryStore, responsesRouter } from '../../../src/index.ts';
import { type FakeUpstream, startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';

const companyAuth: RequestHandler = (req, res, next) => {
  if (req.headers.authorization === 'Bearer company') next();
  else res.status(401).end();
};

describe('the line of a host', () => {
  let fake: FakeUpstream;
  let judge: FakeUpstream;
  let url: string;
  let close: () => Promise<unknown>;
  const opened: unknown[] = [];

  beforeAll(async () => {
    fake = await startFakeUpstream();
    judge = await startFakeUpstream({ models: ['llama-guard-3'] });
    const main = chatCompletionsUpstream({ baseURL: fake.baseURL });
    const upstream = chatCompletionsUpstream({ baseURL: judge.baseURL });
    const open = (args: unknown) => {
      opened.push(args);
      return 'A page.';
    };
    const tools = functionTools({ open: { parameters: { type: 'object' }, execute: open } });
    const options = { upstream: main, store: memoryStore(), tools };
    const policy = { allow: [{ suffix: '.example.com' }] };
    const app = express();
    // biome-ignore format: as a host would write it
    app.use('/v1', companyAuth, guard({ guards: { input: [pii({ mode: 'redact' })], output: [pii({ mode: 'redact' }), moderation({ upstream })], tools: [allowUrls(policy)] } }), responsesRouter(options));
    const server = await listening(app);
    url = server.url;
    close = () => Promise.all([server.close(), main.close?.(), upstream.close?.(), fake.close(), judge.close()]);
  });
  afterAll(() => close());

  async function ask(input: string, authorization = 'Bearer company') {
    const headers = { 'content-type': 'application/json', authorization };
    const body = JSON.stringify({ model: 'm', input });
    const answer = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body });
    const text = await answer.text();
    return { status: answer.status, text, body: text === '' ? undefined : JSON.parse(text) };
  }

  it('lets nobody in whom the host does not know', async () => {
    expect((await ask('Hello', 'Bearer other')).status).toBe(401);
  });

  it('redacts both ways, and asks the guard model about the answer', async () => {
    fake.reply({ body: textStream([...'Write to alice@example.com.']) });
    judge.reply({ body: textStream('safe') });
    const { body, text } = await ask('I am bob@example.com');
    const [asked] = fake.requests.slice(-1);
    const [judged] = judge.requests.slice(-1);
    expect([body.status, text.includes('Write to [EMAIL].'), JSON.stringify(asked?.body).includes('bob@')]).toEqual([
      'completed',
      true,
      false,
    ]);
    expect(judged?.body).toMatchObject({ model: 'llama-guard-3', messages: [{ content: 'Write to [EMAIL].' }] });
  });

  it('ends an answer that the guard model does not let pass', async () => {
    fake.reply({ body: textStream('Something bad.') });
    judge.reply({ body: textStream('unsafe\nS9') });
    const { body, text } = await ask('Hello');
    expect([body.status, body.incomplete_details, text.includes('Something bad')]).toEqual([
      'incomplete',
      { reason: 'content_filter' },
      false,
    ]);
  });

  it('keeps tools from addresses that the policy does not allow', async () => {
    const call = (id: string, to: string) => toolCallStream([{ id, name: 'open', arguments: JSON.stringify({ to }) }]);
    fake.reply({ body: call('a', 'https://evil.example/') }, { body: call('b', 'https://docs.example.com/') });
    fake.reply({ body: textStream('Done.') });
    judge.reply(...Array.from({ length: 8 }, () => ({ body: textStream('safe') })));
    expect((await ask('Look it up.')).body.status).toBe('completed');
    expect(opened).toEqual([{ to: 'https://docs.example.com/' }]);
  });
});
