/** The budget alone in front of a proxy of the host's own, which knows nothing of this package. */
import { EventEmitter, once } from 'node:events';
import { request, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { functionTools, runTools } from '../../../src/index.ts';
import { type TokenBudget, type TokenBudgetOptions, tokenBudget } from '../../../src/policies/budgets/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatChunk, chatCompletion, textStream } from '../../../src/testing/index.ts';
import { type Host, type Step, withHost } from '../../hosts/middleware/host.ts';
import { gate } from '../../support/gate.ts';
import { rateHeaders, tenantIn } from './budget-app.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const SSE = { 'content-type': 'text/event-stream' };
const USAGE = { input_tokens: 9, output_tokens: 12, total_tokens: 21 };
const MESSAGE = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] };
const RESPONSE = { id: 'resp_1', object: 'response', status: 'completed', output: [MESSAGE], usage: USAGE };
/** Counts a character as a token. */
const countTokens = (text: string) => text.length;

function event(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

const CREATED = event('response.created', { response: { ...RESPONSE, status: 'in_progress', usage: null } });
const DELTA = event('response.output_text.delta', { delta: 'Hello' });
const DONE = event('response.output_text.done', { text: 'Hello' });
const COMPLETED = event('response.completed', { response: RESPONSE });

/** A proxy that answers this, piece by piece. */
function proxy(headers: JsonObject, pieces: readonly (string | Buffer)[], status = 200): Step {
  return (_req, res) => {
    res.writeHead(status, headers as Record<string, string>);
    for (const piece of pieces) res.write(piece);
    res.end();
  };
}

const CHAT = { messages: [{ role: 'user', content: 'Hi' }] };
const RESPONSES = { input: 'Hi' };

const answers: readonly (readonly [string, JsonObject, Step])[] = [
  ['a completion', CHAT, proxy(JSON_TYPE, [chatCompletion('Hello')])],
  ['a completion in pieces', CHAT, proxy(JSON_TYPE, [...chatCompletion('Hello')])],
  ['a stream of chunks', { ...CHAT, stream: true }, proxy(SSE, [textStream('Hello')])],
  ['a stream of chunks in pieces', { ...CHAT, stream: true }, proxy(SSE, [...textStream('Hello')])],
  ['a response', RESPONSES, proxy(JSON_TYPE, [JSON.stringify(RESPONSE)])],
  ['a stream of events', { ...RESPONSES, stream: true }, proxy(SSE, [CREATED, DELTA, DONE, COMPLETED])],
];

/** Runs with the budget in front of the proxy. */
function behind<Result>(
  step: Step,
  run: (host: Host, budget: TokenBudget) => Promise<Result>,
  options: TokenBudgetOptions = {},
): Promise<Result> {
  const budget = tokenBudget({ scope: tenantIn, countTokens, ...options });
  return withHost([budget, step], (host) => run(host, budget));
}

/** Resolves when the tenant may have a turn. */
async function free(budget: TokenBudget): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const turn = await budget.admit('a').catch(() => undefined);
    turn?.end?.();
    if (turn) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('The reserve is never free.');
}

/** What was counted of the tenant, once something was. */
async function counted(budget: TokenBudget): Promise<readonly number[]> {
  for (let tries = 0; tries < 500; tries += 1) {
    const [row] = await budget.report({ scope: 'a' });
    if (row) return [row.requests, row.inputTokens, row.outputTokens];
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('Nothing is ever counted.');
}

describe.each(answers)('[C-28] %s of a proxy', (_, body, step) => {
  it('arrives unchanged, and its usage is charged', async () => {
    const expected = await withHost([step], async ({ post }) => (await post(body)).text());
    await behind(step, async ({ post }, budget) => {
      const text = await (await post(body)).text();
      expect([text === expected, await counted(budget)]).toEqual([true, [1, 9, 12]]);
    });
  });

  it('is refused past the limit, and shows what is left before', async () => {
    const limits = { requests: { points: 5, duration: 60 }, tokens: { points: 20, duration: 3600 } };
    await behind(
      step,
      async ({ post }) => {
        const first = await post(body);
        await first.text();
        const second = await post(body);
        // Not `json()`, whose objects are of another realm.
        const { error } = JSON.parse(await second.text());
        expect([first.status, rateHeaders(first)['x-ratelimit-remaining-tokens']]).toEqual([200, '20']);
        expect([second.status, error, second.headers.get('retry-after')]).toEqual([
          429,
          {
            message: expect.stringMatching(
              /^The rate limit for tokens is reached\. Try again in (?:1h0m0|59m\d\d)s\.$/,
            ),
            type: 'rate_limit_error',
            param: null,
            code: 'rate_limit_exceeded',
          },
          expect.stringMatching(/^3(?:600|5\d\d)$/),
        ]);
      },
      { limits },
    );
  });
});

describe('[C-28] a proxy', () => {
  it('that refuses costs nothing', async () => {
    await behind(proxy(JSON_TYPE, [JSON.stringify({ error: {}, usage: USAGE })], 400), async ({ post }, budget) => {
      await (await post(CHAT)).text();
      expect(await budget.report({ scope: 'a' })).toEqual([]);
    });
  });

  it('that answers another API costs no tokens, and one of embeddings those that it reports', async () => {
    await behind(proxy(JSON_TYPE, ['{"object":"list"}']), async ({ post }, budget) => {
      await (await post({}, { path: '/files' })).text();
      expect(await budget.report({ scope: 'a' })).toEqual([]);
    });
    const usage = { prompt_tokens: 7, total_tokens: 7 };
    await behind(proxy(JSON_TYPE, [JSON.stringify({ data: [], usage })]), async ({ post }, budget) => {
      await (await post({ input: 'Hi' }, { path: '/embeddings' })).text();
      expect(await counted(budget)).toEqual([1, 7, 0]);
    });
  });

  it('is counted once where the same budget stands in front of it twice', async () => {
    const limits = { requests: { points: 5, duration: 60 } };
    const budget = tokenBudget({ scope: tenantIn, limits });
    await withHost([budget, budget, proxy(JSON_TYPE, [chatCompletion('Hello')])], async ({ post }) => {
      const answer = await post(CHAT);
      await answer.text();
      const { 'x-ratelimit-remaining-requests': left } = rateHeaders(answer);
      expect([left, await counted(budget)]).toEqual(['4', [1, 9, 12]]);
    });
  });

  const LONG = 'A'.repeat(11 * 1024 * 1024);
  const PICTURES = [{ message: { content: 'Hello', images: [{ image_url: { url: LONG } }] }, finish_reason: 'stop' }];
  const VECTORS = [{ object: 'embedding', index: 0, embedding: LONG }];
  const COUNTS = { prompt_tokens: 9, completion_tokens: 12, prompt_tokens_details: { cached_tokens: 3 } };

  it.each([
    ['behind pictures', CHAT, { choices: PICTURES, usage: COUNTS, system_fingerprint: 'fp_1' }, [1, 9, 12]],
    [
      'behind an object of that name in what the server repeats of the request',
      { model: 'm', input: 'Hi' },
      {
        object: 'response',
        output: [{ type: 'image_generation_call', result: LONG }],
        tools: [{ type: 'function', parameters: { properties: { usage: { input_tokens: 0, output_tokens: 0 } } } }],
        usage: { input_tokens: 9, output_tokens: 12, total_tokens: 21 },
      },
      [1, 9, 12],
    ],
    ['nowhere beside the text', CHAT, { choices: PICTURES }, [1, expect.any(Number), 12]],
    ['behind vectors', { input: 'Hi' }, { data: VECTORS, usage: { prompt_tokens: 7, total_tokens: 7 } }, [1, 7, 0]],
  ])('whose JSON is too long to be kept is charged, with its usage %s', async (_, body, answer, expected) => {
    const whole = JSON.stringify(answer);
    for (const pieces of [[whole], whole.match(/.{1,1000000}/g) ?? []])
      await behind(proxy(JSON_TYPE, pieces), async ({ post }, budget) => {
        const path = 'messages' in body ? '/chat/completions' : 'model' in body ? '/responses' : '/embeddings';
        const text = await (await post(body, { path })).text();
        expect([text === whole, await counted(budget)]).toEqual([true, expected]);
      });
  });

  it('that answers with speech is charged with what the model has read', async () => {
    const speech = proxy({ 'content-type': 'audio/mpeg' }, [Buffer.alloc(10_000, 65)]);
    await behind(speech, async ({ post }, budget) => {
      const body = { model: 'm', input: 'Say this.' };
      await (await post(body, { path: '/audio/speech' })).arrayBuffer();
      const [requests, input = 0, output] = await counted(budget);
      expect([requests, input >= JSON.stringify(body).length, output]).toEqual([1, true, 0]);
    });
  });

  it('cannot be made to answer in an encoding that hides its usage', async () => {
    let asked: unknown = 'never';
    const step: Step = (req, res) => {
      asked = req.headers['accept-encoding'];
      return proxy(JSON_TYPE, [chatCompletion('Hello')])(req, res, () => {});
    };
    await behind(step, async ({ post }, budget) => {
      await (await post(CHAT, { headers: { 'accept-encoding': 'gzip' } })).text();
      expect([asked, await counted(budget)]).toEqual([undefined, [1, 9, 12]]);
    });
  });

  it('that encodes its answer all the same is charged by its bytes', async () => {
    const bytes = gzipSync(chatCompletion('Hello'));
    await behind(proxy({ ...JSON_TYPE, 'content-encoding': 'gzip' }, [bytes]), async ({ post }, budget) => {
      const text = await (await post(CHAT)).text();
      const [requests, input = 0, output = 0] = await counted(budget);
      expect([text, requests, input > 20, output]).toEqual([chatCompletion('Hello'), 1, true, bytes.length + 7]);
    });
  });

  it.each([
    ['chunks', { ...CHAT, stream: true }, chatChunk({ content: 'Hello' }), 'Hello'],
    ['events', { ...RESPONSES, stream: true }, CREATED + DELTA, 'Hello'],
  ])('whose client leaves in the middle of its %s is charged with what was written', async (_, body, written, text) => {
    const step: Step = (_req, res) => void res.writeHead(200, SSE).write(written);
    await behind(step, async ({ post }, budget) => {
      const client = new AbortController();
      const response = await post(body, { signal: client.signal });
      await response.body?.getReader().read();
      client.abort();
      const [requests, input = 0, output] = await counted(budget);
      expect([requests, input > 20, output]).toEqual([1, true, text.length + 7]);
    });
  });

  it.each([
    ['chunks', { ...CHAT, stream: true }, (text: string) => chatChunk({ content: text })],
    ['events', { ...RESPONSES, stream: true }, (delta: string) => event('response.output_text.delta', { delta })],
  ])('[C-28] whose %s have no end is charged with more than is kept of it', async (_, body, written) => {
    const pieces = Array<string>(12).fill(written('x'.repeat(2 ** 20)));
    await behind(proxy(SSE, pieces), async ({ post }, budget) => {
      await (await post(body)).arrayBuffer();
      const [requests, , output = 0] = await counted(budget);
      expect([requests, Math.round(output / 2 ** 20)]).toEqual([1, 12]);
    });
  });

  it('whose client leaves before the answer is charged with the input', async () => {
    let arrived = () => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await behind(
      () => arrived(),
      async ({ post }, budget) => {
        const client = new AbortController();
        const response = post(CHAT, { signal: client.signal }).catch(() => 'left');
        await arrival;
        client.abort();
        const [requests, input = 0, output] = await counted(budget);
        expect([await response, requests, input > 20, output]).toEqual(['left', 1, true, 0]);
      },
    );
  });

  it('behind two budgets is counted by both, such as one by key and one by user', async () => {
    const byUser = tokenBudget({ scope: () => 'user', limits: { requests: { points: 3, duration: 60 } } });
    const byKey = tokenBudget({ scope: tenantIn, limits: { requests: { points: 2, duration: 60 } } });
    await withHost([byUser, byKey, proxy(JSON_TYPE, [chatCompletion('Hello')])], async ({ post }) => {
      const statuses: number[] = [];
      for (const key of ['a', 'a', 'a', 'b']) {
        const response = await post(CHAT, { headers: { authorization: `Bearer ${key}` } });
        await response.text();
        statuses.push(response.status);
      }
      const used = await Promise.all([byUser.report({ scope: 'user' }), byKey.report({ scope: 'a' })]);
      expect([statuses, used.map(([row]) => row?.requests)]).toEqual([
        [200, 200, 429, 429],
        [2, 2],
      ]);
    });
  });

  it('that is runTools is charged with each model call, and with what passes it by', async () => {
    const tools = functionTools({ now: { execute: () => 'noon' } });
    let calls = 0;
    const handler: Step = (req, res) => {
      calls += 1;
      const isFirst = calls === 1;
      const call = { id: '1', type: 'function', function: { name: 'now', arguments: '{}' } };
      const answer = isFirst ? chatCompletion({ tool_calls: [call] }) : chatCompletion('Noon');
      return proxy(JSON_TYPE, [answer])(req, res, () => {});
    };
    const budget = tokenBudget({ scope: tenantIn, countTokens });
    await withHost([budget, runTools({ tools, handler })], async ({ post }) => {
      await (await post({ model: 'm', ...CHAT })).text();
      const looped = await counted(budget);
      await (await post({ model: 'm', input: 'Hi' }, { path: '/embeddings' })).text();
      const [row] = await budget.report({ scope: 'a' });
      expect([looped, row?.inputTokens]).toEqual([[1, 18, 24], 27]);
    });
  });

  it('holds its reserve until its answer has ended, or its client has left', async () => {
    const options = { limiter: { points: 1000, duration: 60 }, reserve: { tokens: 1000 } };
    let answering: ServerResponse | undefined;
    const step: Step = (_req, res) => {
      answering = res.writeHead(200, SSE);
      res.write(chatChunk({ content: 'Hi' }));
    };
    await behind(
      step,
      async ({ post }, budget) => {
        const client = new AbortController();
        const [left, whole] = [{ signal: client.signal }, {}];
        const statuses: number[] = [];
        for (const init of [left, whole]) {
          const running = await post({ ...CHAT, stream: true }, init);
          statuses.push(running.status, (await post(CHAT)).status);
          const closed = once(answering as ServerResponse, 'close');
          if (init === left) client.abort();
          else answering?.end();
          await closed;
          await free(budget);
        }
        expect(statuses).toEqual([200, 429, 200, 429]);
      },
      options,
    );
  });

  it('holds no reserve for a client that left while the budget was asked', async () => {
    const asked = gate();
    const get = async () => {
      await asked.opened;
      return null;
    };
    const none = { remainingPoints: 0, msBeforeNext: 0 };
    const limiter = { points: 10, get, consume: async () => none, penalty: async () => none };
    const budget = tokenBudget({ scope: tenantIn, limiter, reserve: { tokens: 10 } });
    const isLeft = new EventEmitter();
    const first: Step = (_req, res, next) => {
      res.once('close', () => isLeft.emit('left'));
      next();
    };
    await withHost([first, budget, proxy(JSON_TYPE, [chatCompletion('Hello')])], async ({ post }) => {
      const client = new AbortController();
      const left = once(isLeft, 'left');
      const answer = post(CHAT, { signal: client.signal }).catch(() => 'left');
      setTimeout(() => client.abort(), 20);
      await Promise.all([answer, left]);
      asked.open();
      await new Promise(setImmediate);
      expect((await post(CHAT)).status).toBe(200);
    });
  });

  it('is refused before its body is read', async () => {
    let bytesRead = -1;
    const budget = tokenBudget({ scope: tenantIn, limits: { requests: { points: 1, duration: 60 } } });
    const watching: Step = (req, res, next) => {
      res.once('finish', () => {
        bytesRead = req.readableDidRead ? 1 : 0;
      });
      next();
    };
    await withHost([watching, budget, proxy(JSON_TYPE, ['{}'])], async ({ post }) => {
      const statuses = [(await post(CHAT)).status, (await post(CHAT)).status];
      expect([statuses, bytesRead]).toEqual([[200, 429], 0]);
    });
  });

  it('answers GET requests without taking any', async () => {
    await behind(
      proxy(JSON_TYPE, ['{}']),
      async ({ url }) => {
        const statuses = await Promise.all([1, 2, 3].map(async () => (await fetch(`${url}/models`)).status));
        expect(statuses).toEqual([200, 200, 200]);
      },
      { limits: { requests: { points: 1, duration: 60 } } },
    );
  });

  it.each(['GET', 'DELETE', 'HEAD', 'OPTIONS', 'PUT', 'PATCH'])(
    '[G-09] counts a %s that a proxy makes a call of the model',
    async (method) => {
      await behind(
        proxy(JSON_TYPE, [chatCompletion('Hello')]),
        async ({ url }, budget) => {
          const call = async () => {
            const response = await fetch(`${url}/chat/completions`, { method });
            await response.text();
            return response.status;
          };
          const first = await call();
          if (method !== 'HEAD') await counted(budget);
          expect([first, await call()]).toEqual([200, 429]);
        },
        { limits: { requests: { points: 1, duration: 60 } } },
      );
    },
  );

  it.each(['DELETE', 'OPTIONS', 'GET'])(
    '[G-09] refuses a %s with a body before it reaches the model',
    async (method) => {
      let calls = 0;
      const calling: Step = (req, res, next) => {
        calls += 1;
        return proxy(JSON_TYPE, ['{}'])(req, res, next);
      };
      await behind(
        calling,
        async ({ url }) => {
          const { port, hostname } = new URL(url);
          const call = () =>
            new Promise((resolve, reject) => {
              const length = { 'content-length': JSON.stringify(CHAT).length };
              const headers = { ...JSON_TYPE, ...length, 'access-control-request-method': 'POST' };
              const sent = request({ port, hostname, method, path: '/llm/models', headers }, (answer) => {
                answer.resume().once('end', () => resolve(answer.statusCode));
              });
              sent.once('error', reject).end(JSON.stringify(CHAT));
            });
          expect([await call(), await call(), calls]).toEqual([200, 429, 1]);
        },
        { limits: { requests: { points: 1, duration: 60 } } },
      );
    },
  );

  it('[G-09] counts no page and no preflight that a model has not answered', async () => {
    await behind(
      proxy(JSON_TYPE, [JSON.stringify({ content: 'A page', text: 'of the host' })]),
      async ({ url, post }, budget) => {
        const preflight = { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } };
        const seen = [];
        for (const init of [{}, preflight, {}, preflight]) seen.push((await fetch(`${url}/page`, init)).status);
        expect([seen, (await post(CHAT)).status, (await fetch(`${url}/page`)).status]).toEqual([
          [200, 200, 200, 200],
          200,
          429,
        ]);
        expect(await counted(budget)).toEqual([1, expect.any(Number), expect.any(Number)]);
      },
      { limits: { requests: { points: 1, duration: 60 } } },
    );
  });

  it('is not reached while a limiter fails, if the host wants that', async () => {
    const consume = () => Promise.reject(new Error('ECONNREFUSED'));
    const options = { limits: { requests: { points: 1, consume } }, onLimiterError: 'refuse' } as const;
    await behind(
      proxy(JSON_TYPE, ['{}']),
      async ({ post }) => {
        const response = await post(CHAT);
        expect([response.status, JSON.parse(await response.text()).error.code]).toEqual([503, 'budget_unavailable']);
      },
      options,
    );
  });
});
