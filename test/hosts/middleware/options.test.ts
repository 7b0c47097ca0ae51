/** The options of the middlewares. */

import {
  functionTools,
  type GuardMiddlewareOptions,
  guard,
  heartbeat,
  injectTools,
  loadHistory,
  type MiddlewareOptions,
  passThroughRouter,
  recordTurn,
  runTools,
  validateMessages,
} from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { chatCompletion } from '../../../src/testing/index.ts';
import { type HostRequest, type Step, withHost } from './host.ts';

const tools = functionTools({ now: { execute: () => 'noon' } });

/** The tools in the body that reaches the handler behind the middleware. */
async function toolsBehind(options: MiddlewareOptions): Promise<unknown> {
  const bodies: unknown[] = [];
  const answering: Step = (req: HostRequest, res) => {
    bodies.push(req.body);
    res.end('{}');
  };
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'When?' }] };
  await withHost([injectTools({ ...options, tools }) as Step, answering], async ({ post }) => {
    await (await post(body, { path: '/elsewhere' })).text();
  });
  return bodies;
}

describe('the option api of a middleware', () => {
  it('decides the API where the path does not show it', async () => {
    expect(await toolsBehind({})).toMatchObject([{ tools: [{ type: 'function', function: { name: 'now' } }] }]);
    expect(await toolsBehind({ api: 'messages' })).toMatchObject([{ tools: [{ name: 'now', input_schema: {} }] }]);
  });

  it.each([
    ['/api/chat', { messages: [{ role: 'user', content: '' }] }],
    ['/tokenize', { messages: [{ role: 'user', content: '' }] }],
    ['/v1/threads', { messages: [{ role: 'user', content: '' }] }],
    ['/v1/threads/thread_1/messages', { role: 'user', content: 'Go.' }],
    ['/classify', { input: 'Go.' }],
    ['/pooling', { input: [[1, 2]] }],
    ['/elsewhere', { input: ['Go.', 'Stop.'] }],
  ])('[X-01] is none for requests of other APIs, which pass unchanged: %s', async (path, body) => {
    const passed: unknown[] = [];
    const ndjson = '{"done":false}\n{"done":true}\n';
    const handler: Step = (req, res) => {
      passed.push(req.body);
      res.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(ndjson);
    };
    const steps = [
      validateMessages(),
      recordTurn(),
      loadHistory(),
      injectTools({ tools }),
      runTools({ tools, handler }),
    ];
    const answer = await withHost(steps as Step[], async ({ post }) => (await post(body, { path })).text());
    expect([answer, passed]).toEqual([ndjson, [body]]);
  });

  it.each([
    ['/threads/42/chat/completions', undefined],
    ['/api/chat', 'chat-completions'],
  ] as const)('[X-01] is that of the path, or what the host says: %s, %s', async (path, api) => {
    const seen: unknown[] = [];
    const handler: Step = (req, res) => {
      seen.push((req.body as { readonly tools?: readonly unknown[] }).tools?.length);
      res.writeHead(200, { 'content-type': 'application/json' }).end(chatCompletion('Hello.'));
    };
    const steps = [runTools({ tools, handler, api })] as Step[];
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi.' }] };
    await withHost(steps, async ({ post }) => (await post(body, { path })).text());
    expect(seen).toEqual([1]);
  });

  it("is independent of the routers' dialect, which one object of options may have too", async () => {
    const options: MiddlewareOptions = { api: 'messages', dialect: 'tokligence' };
    expect(await toolsBehind(options)).toMatchObject([{ tools: [{ name: 'now', input_schema: {} }] }]);
  });

  it.each([
    [{ api: 'chat' }, "injectTools: api must be one of 'responses', 'chat-completions', 'messages', got 'chat'"],
    [{ dialect: 'messages' }, 'injectTools: dialect must be one of'],
  ])('is a TypeError that quotes a bad value: %j', (options, message) => {
    // The cast: a host's options need not be type-checked.
    expect(() => injectTools(options as MiddlewareOptions)).toThrow(message);
  });
});

describe('the option guards of the middleware guard', () => {
  it.each([
    [{ input: [pii()] }, "guard: unknown option 'input'"],
    [{ guards: { answers: [pii()] } }, "guard: guards: unknown option 'answers'; known are input, output, tools"],
    [{ guards: { output: pii() } }, 'guard: guards: output must be a list of guards, got'],
    [{ guards: { output: [] } }, 'guard: guards must have a guard in one of input, output and tools, got none'],
    [{}, 'guard: guards must have a guard in one of input, output and tools, got none'],
  ])('is a TypeError that names what is wrong: %j', (options, message) => {
    // The cast: a host's options need not be type-checked.
    expect(() => guard(options as unknown as GuardMiddlewareOptions)).toThrow(message);
  });

  it("takes the routers' tools beside it, in one object of options for both", () => {
    expect(() => guard({ guards: { input: [pii()] }, tools })).not.toThrow();
  });
});

describe('the options of a middleware', () => {
  const makers = {
    functionTools,
    guard,
    heartbeat,
    injectTools,
    loadHistory,
    passThroughRouter,
    recordTurn,
    runTools,
    validateMessages,
  };

  it.each(Object.entries(makers))('[X-02] are an object, or a TypeError that says so: %s', (name, make) => {
    // The cast: a host's options need not be type-checked.
    for (const wrong of [null, 5000, 'gpt-4'])
      expect(() => (make as (options: unknown) => unknown)(wrong)).toThrow(
        new RegExp(`^${name}: the (options|tools) must be an object`),
      );
  });

  it.each([
    ['heartbeat', heartbeat, 'intervalMs, style, openAfterMs'],
    ['guard', guard, 'unguardedPaths'],
    ['passThroughRouter', passThroughRouter, 'paths, unguardedPaths'],
  ] as const)('[X-02] are all named where one is unknown: %s', (name, make, own) => {
    const wrong = { everyMs: 1 } as object;
    expect(() => (make as (options: object) => unknown)(wrong)).toThrow(
      new RegExp(`^${name}: unknown option 'everyMs'; known are .*${own}`),
    );
  });
});
