/** Anthropic's Messages API over routing upstreams: which requests are passed on as they are, and what never is. */
import { balanced, routedUpstream, withFailover, withKeys } from 'express-open-responses/routing';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import type { AttemptInfo, ResponseInfo, Upstream } from '../../../src/index.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { ask, startMessages } from '../../apis/messages/messages-app.ts';
import { messagesStream, textBlock, thinkingBlock } from '../messages-bytes.ts';
import { chatAt, closeAll, refuses } from './servers.ts';

const SIGNED = messagesStream([thinkingBlock(0, 'Hm.', 'signature-of-claude'), textBlock(1, 'Hello')]);
const SYSTEM = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
const THOUGHT = { type: 'thinking', thinking: 'Hm.', signature: 'signature-of-claude' };
const ANSWERED = {
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [THOUGHT, { type: 'text', text: 'Hello' }] },
    { role: 'user', content: 'And?' },
  ],
};

const started: FakeUpstream[] = [];
afterEach(closeAll);
afterEach(async () => void (await Promise.all(started.splice(0).map((fake) => fake.close()))));

async function claude(): Promise<FakeUpstream> {
  const fake = await startFakeUpstream({ reply: { body: SIGNED } });
  started.push(fake);
  return fake;
}

const at = ({ baseURL }: FakeUpstream, apiKey = 'sk-test-1234567890') =>
  anthropicUpstream({ baseURL, apiKey, retries: 0 });
const bodyOf = ({ requests }: FakeUpstream) => requests.at(-1)?.body as { readonly [name: string]: unknown };

/** Asks once over this upstream; the events as the client reads them, and what hooks receive. */
async function asked(upstream: Upstream, body: object) {
  const attempts: AttemptInfo[] = [];
  const seen: ResponseInfo[] = [];
  const hooks = {
    onAttempt: (info: AttemptInfo) => void attempts.push(info),
    onResponse: (info: ResponseInfo) => void seen.push(info),
    onError: () => {},
  };
  const app = await startMessages({ upstream, hooks });
  const answer = await ask(app.url, { stream: true, ...body });
  const text = await answer.text();
  await app.close();
  return { status: answer.status, text, servers: [...attempts, ...seen].map(({ server }) => server) };
}

describe('[X-11] [X-12] messages over several model servers', () => {
  it('are passed on by the route of their model, byte for byte but for its name', async () => {
    const [fake, other] = [await claude(), await startFakeUpstream({ reply: { body: textStream('Hello') } })];
    started.push(other);
    const routes = { 'claude-*': { upstream: at(fake), model: 'claude-real' }, '*': chatAt(other) };
    const upstream = routedUpstream({ routes, aliases: { best: 'claude-x' } });
    const { text, servers } = await asked(upstream, { model: 'best', system: SYSTEM, ...ANSWERED });
    expect([text, servers]).toEqual([SIGNED, ['claude-*', 'claude-*']]);
    expect(bodyOf(fake)).toMatchObject({ model: 'claude-real', system: SYSTEM, ...ANSWERED });
  });

  it('become items for the servers of another API, and are a 404 for a model that there is not', async () => {
    const [fake, other] = [await claude(), await startFakeUpstream({ reply: { body: textStream('Hello') } })];
    started.push(other);
    const upstream = routedUpstream({ routes: { 'claude-*': at(fake), 'qwen-*': chatAt(other) } });
    const answers = [await asked(upstream, { model: 'qwen-3', ...ANSWERED }), await asked(upstream, { model: 'none' })];
    expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    expect(answers[0]?.text).toContain('"text":"Hello"');
    expect(JSON.stringify(bodyOf(other))).not.toContain('signature-of-claude');
    expect(fake.requests).toEqual([]);
  });

  it('go to the next key of a server, the first of which is throttled', async () => {
    const fake = await claude();
    fake.reply(refuses(429), { body: SIGNED });
    const upstream = withKeys((key) => at(fake, key), ['sk-one-1234567890', 'sk-two-1234567890']);
    const { text, servers } = await asked(upstream, { model: 'claude-x', ...ANSWERED });
    const keys = fake.requests.map(({ headers }) => headers['x-api-key']);
    expect([text, keys, servers]).toEqual([
      SIGNED,
      ['sk-one-1234567890', 'sk-two-1234567890'],
      ['key-1', 'key-2', 'key-2'],
    ]);
  });

  it.each([
    ['withFailover', withFailover],
    ['balanced', balanced],
  ])('never carry the signature of one server to another: %s', async (_, make) => {
    const [one, two] = [await claude(), await claude()];
    one.reply(refuses(503));
    const { text } = await asked(make([at(one), at(two)]), { model: 'claude-x', ...ANSWERED });
    expect([text.includes('Hello'), one.requests.length, two.requests.length]).toEqual([true, 1, 1]);
    const sent = [one, two].map((fake) => JSON.stringify(bodyOf(fake)).includes('signature-of-claude'));
    expect(sent).toEqual([false, false]);
  });

  it('never carry the signature of one server to another: a client that changes its model', async () => {
    const [one, two] = [await claude(), await claude()];
    const upstream = routedUpstream({ routes: { 'claude-*': at(one), 'other-*': at(two) } });
    const { text } = await asked(upstream, { model: 'other-x', ...ANSWERED });
    expect([text.includes('Hello'), JSON.stringify(bodyOf(two)).includes('signature-of-claude')]).toEqual([
      true,
      false,
    ]);
  });

  it('are passed on by several routes and servers that are one to their state', async () => {
    const fake = await claude();
    const routes = { 'claude-opus': at(fake), 'claude-*': balanced([at(fake, 'sk-2-1234567890'), at(fake)]) };
    const upstream = balanced([at(fake, 'sk-2-1234567890'), at(fake)]);
    expect((await asked(upstream, { model: 'claude-x', ...ANSWERED })).text).toBe(SIGNED);
    // What is behind another routing upstream is not looked into.
    expect(routedUpstream({ routes }).speaksMessages?.('claude-opus')).toBe(false);
  });

  it('are passed on nested, and no longer once there are two servers', async () => {
    const [one, two] = [await claude(), await claude()];
    const pool = balanced([at(one)]);
    const upstream = routedUpstream({ routes: { 'claude-*': pool } });
    const before = upstream.speaksMessages?.('claude-x');
    pool.add(at(two));
    expect([before, upstream.speaksMessages?.('claude-x'), upstream.speaksMessages?.('gpt')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
