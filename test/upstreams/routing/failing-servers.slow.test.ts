/** Three model servers of which one fails in every way, under 200 clients: no request fails that had not begun. */
import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { balanced } from 'express-open-responses/routing';
import { chatCompletionsUpstream, memoryStore } from '../../../src/index.ts';
import { type App, startApp } from '../../support/app.ts';

const CLIENTS = 200;
const ROUNDS = 2;
const WHOLE = 'word19';

interface Server {
  readonly child: ChildProcess;
  readonly baseURL: string;
}

/** How one request ended, and when its first word came, in milliseconds. */
interface Answer {
  readonly status: number;
  readonly begun: boolean;
  readonly whole: boolean;
  readonly firstMs: number;
}

const words = new EventEmitter();
let servers: readonly Server[] = [];
let app: App;
/** Without routing, over the first server alone. */
let direct: App;

async function startServer(): Promise<Server> {
  const child = fork(join(import.meta.dirname, 'model-server.mjs'), { execArgv: [] });
  const [{ port }] = await once(child, 'message');
  return { child, baseURL: `http://127.0.0.1:${port}/v1` };
}

/** The first server behaves like this from now on. */
async function become(mode: string): Promise<void> {
  const { child } = first();
  const told = once(child, 'message');
  child.send(mode);
  await told;
}

function first(): Server {
  const [server] = servers;
  if (!server) throw new Error('It was started.');
  return server;
}

async function request(url = app.url): Promise<Answer> {
  const began = performance.now();
  const body = JSON.stringify({ model: 'm', input: 'Go.', stream: true });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/responses`, { method: 'POST', headers, body });
  let firstMs = Number.NaN;
  let text = '';
  for await (const bytes of answer.body ?? []) {
    text += Buffer.from(bytes);
    if (text.includes('"slowly "')) words.emit('slow');
    if (!Number.isNaN(firstMs) || !text.includes('output_text.delta')) continue;
    firstMs = performance.now() - began;
    words.emit('first');
  }
  const whole = text.includes('response.completed') && text.includes(WHOLE);
  return { status: answer.status, begun: text.includes('"word0 "'), whole, firstMs };
}

/** The requests of all clients, each with its next one after the last; `meanwhile` runs when a quarter has begun. */
async function load(meanwhile: () => unknown = () => {}, url = app.url): Promise<readonly Answer[]> {
  const clients = Array.from({ length: CLIENTS }, async () => {
    const answers: Answer[] = [];
    for (let round = 0; round < ROUNDS; round += 1) answers.push(await request(url));
    return answers;
  });
  for (let seen = 0; seen < CLIENTS / 4; seen += 1) await once(words, 'first');
  await meanwhile();
  return (await Promise.all(clients)).flat();
}

/** Asks until every server takes calls again. */
async function allBack(): Promise<void> {
  const states = async () => (await app.router.status()).upstream.servers?.map(({ state }) => state) ?? [];
  while ((await states()).some((state) => state !== 'closed')) await request();
}

function report(name: string, answers: readonly Answer[]): void {
  const times = answers.flatMap(({ firstMs }) => (Number.isNaN(firstMs) ? [] : [firstMs])).toSorted((a, b) => a - b);
  const at = (part: number) => Math.round(times[Math.floor(times.length * part)] ?? Number.NaN);
  const lost = answers.filter(({ whole }) => !whole);
  const unbegun = lost.filter(({ begun }) => !begun).length;
  console.log(
    `${name}: ${answers.length} requests, ${unbegun} failed, ${lost.length - unbegun} cut after they had begun; first word after ${at(0.5)} ms (median), ${at(0.99)} ms (p99)`,
  );
}

const failed = (answers: readonly Answer[]) => answers.filter(({ whole, begun }) => !whole && !begun);
const cut = (answers: readonly Answer[]) => answers.filter(({ whole, begun }) => !whole && begun);

beforeAll(async () => {
  servers = await Promise.all([startServer(), startServer(), startServer()]);
  const upstream = balanced(
    servers.map(({ baseURL }, index) => ({
      upstream: chatCompletionsUpstream({ baseURL, apiKey: 'sk-test' }),
      name: `server-${index}`,
    })),
    { firstByteTimeoutMs: 5000, breaker: { failures: 5, resetMs: 1000 } },
  );
  app = await startApp({ options: { upstream, store: memoryStore(), logger: false } });
  const alone = chatCompletionsUpstream({ baseURL: first().baseURL, apiKey: 'sk-test' });
  direct = await startApp({ options: { upstream: alone, store: memoryStore(), logger: false } });
});

afterAll(async () => {
  await Promise.all([app.close(), direct.close()]);
  for (const { child } of servers) child.kill('SIGKILL');
});

describe('[X-11] 200 clients over three servers', () => {
  it('are answered as by one server alone, where all of them work', async () => {
    // The first requests of a process take longest.
    await load();
    const [alone, shared] = [await load(() => {}, direct.url), await load()];
    report('one server, without routing', alone);
    report('three servers', shared);
    expect([failed(alone), cut(alone), failed(shared), cut(shared)]).toEqual([[], [], [], []]);
  });

  it.each(['throttle', 'hang', 'cut early'])('lose no request while one of them does this: %s', async (mode) => {
    await allBack();
    await become(mode);
    const answers = await load();
    report(mode, answers);
    await become('good');
    expect([answers.length, failed(answers), cut(answers)]).toEqual([CLIENTS * ROUNDS, [], []]);
  });

  it('lose only streams that had begun where one of them cuts its streams', async () => {
    await allBack();
    await become('cut late');
    const answers = await load();
    report('cut late', answers);
    await become('good');
    expect([failed(answers), cut(answers).length > 0]).toEqual([[], true]);
  });

  it('lose only streams that had begun where one of them is killed', async () => {
    await allBack();
    await become('slow');
    let running = 0;
    const answers = await load(async () => {
      // One of its streams has begun, and will not end soon.
      await once(words, 'slow');
      const { upstream } = await app.router.status();
      running = upstream.servers?.[0]?.inFlight ?? 0;
      first().child.kill('SIGKILL');
    });
    report('kill -9', answers);
    const after = await load();
    report('after kill -9', after);
    const { status, upstream } = await app.router.status();
    const lost = cut(answers).length;
    expect([failed(answers), lost > 0, lost <= running, failed(after), cut(after)]).toEqual([[], true, true, [], []]);
    expect([status, upstream.servers?.map(({ inFlight }) => inFlight)]).toEqual([expect.any(String), [0, 0, 0]]);
  });
});
