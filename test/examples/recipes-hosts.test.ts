/** The recipes for what a host has around the API do what their pages say. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  chatCompletion,
  chatStream,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from 'express-open-responses/testing';
import OpenAI, { toFile } from 'openai';
import type { JsonObject } from '../../src/protocol/record.ts';
import { create, line } from '../apis/batches/batches-app.ts';
import { embeddingsServerOf } from '../apis/vector-stores/embeddings-server.ts';
import { newSecret, Receiver, until, unwrap } from '../engine/webhooks/webhooks-world.ts';
import { answerOf, answerTextIn, chat, messagesIn, post, type Recipe, startRecipe, textIn, toolsIn } from './recipe.ts';

const HELLO = { body: textStream('Hello!') };

let fake: FakeUpstream;
let other: FakeUpstream;
let folder: string;
let recipe: Recipe | undefined;

beforeEach(async () => {
  [fake, other] = await Promise.all([startFakeUpstream(), startFakeUpstream({ models: ['large-model'] })]);
  folder = mkdtempSync(join(tmpdir(), 'recipe-'));
});
afterEach(async () => {
  await recipe?.close();
  await Promise.all([fake.close(), other.close()]);
  rmSync(folder, { recursive: true });
});

async function start(name: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
  recipe = await startRecipe(name, { UPSTREAM_BASE_URL: fake.baseURL, ...variables });
  return recipe.url;
}

/** The headers of somebody whom the recipes know. */
function as(name: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer key-of-${name}` };
}

function ask(url: string, input: string, headers: Readonly<Record<string, string>> = {}, more: JsonObject = {}) {
  return answerOf(post(`${url}/responses`, { model: 'm', input, ...more }, headers));
}

describe('the recipe for company auth', () => {
  it('[X-01] [P-13] keeps users apart by id, and offers a tool to those who may have it', async () => {
    const url = `${await start('company-auth')}/v1`;
    fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'refund', arguments: '{"order":"7"}' }]) }, HELLO);
    const { body } = await ask(url, 'Pay order 7 back.', as('ada'));
    const ofAda = toolsIn(fake);
    await ask(url, 'Pay order 7 back.', as('bob'));
    const others = [as('ada'), { authorization: 'Bearer new-key-of-ada' }, as('bob'), as('eve')];
    const seen = others.map(async (headers) => {
      const { status } = await fetch(`${url}/responses/${body.id}`, { headers });
      return status;
    });
    expect([await Promise.all(seen), ofAda, toolsIn(fake), messagesIn(fake, 1).at(-1)]).toEqual([
      [200, 200, 404, 401],
      ['refund'],
      [],
      'tool: ada has refunded order 7.',
    ]);
  });
});

describe('the recipes for several model servers', () => {
  it('[X-01] [P-13] asks each tenant’s own server with its own key', async () => {
    const servers = { ACME_BASE_URL: fake.baseURL, ACME_KEY: 'one', GLOBEX_BASE_URL: other.baseURL, GLOBEX_KEY: 'two' };
    const url = `${await start('tenants', servers)}/v1`;
    const { body } = await ask(url, 'Hi.', as('acme'));
    const globex = await ask(url, 'Hi.', as('globex'));
    const foreign = await ask(url, 'Hi.', as('globex'), { previous_response_id: body.id });
    const { status } = await post(`${url}/responses`, { model: 'm', input: 'Hi.' });
    const keys = [fake, other].map(({ requests }) => requests.map(({ headers }) => headers.authorization));
    expect([textIn(body), textIn(globex.body), foreign.status, status, keys]).toEqual([
      'Hello!',
      'Hello!',
      400,
      401,
      [['Bearer one'], ['Bearer two']],
    ]);
  });

  it('[X-01] [X-11] [S-16] asks the server that has the model, on both APIs, and lists the models of all', async () => {
    const servers = { SMALL_BASE_URL: fake.baseURL, SPARE_BASE_URL: fake.baseURL, LARGE_BASE_URL: other.baseURL };
    const url = `${await start('models', servers)}/v1`;
    await ask(url, 'Hi.');
    await ask(url, 'Hi.', {}, { model: 'large-model' });
    const large = await answerOf(post(`${url}/chat/completions`, chat('Hi.', { model: 'large-model' })));
    const listed = await answerOf(fetch(`${url}/models`));
    const requested = [fake, other].map(({ requests }) =>
      requests.filter(({ method }) => method === 'POST').map(({ body }) => (body as JsonObject).model),
    );
    // The cast: models are a list.
    const ids = (listed.body.data as readonly JsonObject[]).map(({ id }) => id);
    expect([requested, answerTextIn(large.body), ids]).toEqual([
      [['m'], ['large-model', 'large-model']],
      'Hello!',
      ['large-model', 'fake-model', 'best'],
    ]);
  });
});

describe('the recipe for logging', () => {
  it('[X-01] logs a response, an error and both requests under their ids, without a key', async () => {
    const file = join(folder, 'log');
    const url = `${await start('logging', { LOG_FILE: file })}/v1`;
    const headers = { ...as('ada'), 'x-request-id': 'req-1' };
    const { body } = await ask(url, 'Hi.', headers);
    const failed = await post(`${url}/responses`, { model: 'm', input: 'Hi.', previous_response_id: 'resp_0' });
    const id = failed.headers.get('x-request-id');
    await failed.text();
    await recipe?.close();
    recipe = undefined;
    const log = readFileSync(file, 'utf8');
    const lines = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([
      lines.map(({ msg, requestId, req }) => [msg, requestId ?? req.id]),
      lines[0],
      log.includes('key-of'),
    ]).toEqual([
      [
        ['response', 'req-1'],
        ['request completed', 'req-1'],
        ['error', id],
        ['request completed', id],
      ],
      expect.objectContaining({ level: 30, responseId: body.id, model: 'm', status: 'completed' }),
      false,
    ]);
    expect([id, fake.requests[0]?.headers['x-request-id'], lines[2].err.code]).toEqual([
      expect.stringMatching(/^[\da-f-]{36}$/),
      'req-1',
      'previous_response_not_found',
    ]);
  });
});

describe('the recipe for rate limits', () => {
  it('[X-01] [P-11] answers 429 in the envelope, for the key that asked too often', async () => {
    const url = `${await start('rate-limits', { REQUESTS_PER_MINUTE: '2', CONCURRENT_TURNS: '1' })}/v1`;
    fake.reply({ body: HELLO.body, stallAfterBytes: 1 });
    const running = fake.nextRequest();
    const first = post(`${url}/responses`, { model: 'm', input: 'Hi.', stream: true }, as('ada'));
    await running;
    const busy = await ask(url, 'Hi.', as('bob'));
    await ask(url, 'Hi.', as('ada'));
    const third = await ask(url, 'Hi.', as('ada'));
    await fake.close();
    await (await first).text();
    expect([busy, third]).toEqual([
      { status: 429, body: { error: expect.objectContaining({ code: 'too_many_streams' }) } },
      {
        status: 429,
        body: {
          error: {
            message: 'Rate limit reached.',
            type: 'rate_limit_error',
            param: null,
            code: 'rate_limit_exceeded',
          },
        },
      },
    ]);
  });
});

describe('the recipe for budgets', () => {
  it('[X-01] [C-28] charges a key for the router and for the proxy together', async () => {
    const url = await start('budgets', { TOKENS_PER_MINUTE: '40' });
    fake.reply({ body: chatCompletion('Hello') });
    const question = { model: 'my-model', messages: [{ role: 'user', content: 'Hi.' }] };
    const proxied = await post(`${url}/llm`, question, as('ada'));
    await proxied.text();
    const left = proxied.headers.get('x-ratelimit-remaining-tokens');
    const [second, third, other] = [
      await ask(`${url}/v1`, 'Hi.', as('ada')),
      await ask(`${url}/v1`, 'Hi.', as('ada')),
      await ask(`${url}/v1`, 'Hi.', as('bob')),
    ];
    expect([proxied.status, left, second.status, third.status, other.status]).toEqual([200, '40', 200, 429, 200]);
    expect(third.body).toEqual({ error: expect.objectContaining({ code: 'rate_limit_exceeded' }) });
  });
});

describe('the recipe for uploaded files', () => {
  it('[X-01] [X-14] gives the model the text of a file to its owner alone', async () => {
    const url = `${await start('files', { FILES_FOLDER: folder })}/v1`;
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['tea,2\ncoffee,3']), 'prices.csv');
    const file = await answerOf(fetch(`${url}/files`, { method: 'POST', headers: as('ada'), body: form }));
    fake.reply(HELLO);
    const question = { type: 'input_text', text: 'Which is the cheapest?' };
    const input = [{ role: 'user', content: [{ type: 'input_file', file_id: file.body.id }, question] }];
    const asking = (who: string) => answerOf(post(`${url}/responses`, { model: 'm', input }, as(who)));
    const answers = [(await asking('ada')).status, (await asking('bob')).status];
    expect([answers, messagesIn(fake)]).toEqual([
      [200, 400],
      ["user: [The file 'prices.csv':]\n\ntea,2\ncoffee,3\nWhich is the cheapest?"],
    ]);
  });
});

describe('the recipe for batches', () => {
  it('[X-01] [E-10] [E-11] answers a batch, and tells the endpoint of its tenant', async () => {
    const receiver = await Receiver.start();
    const url = await start('batches', { FILES_FOLDER: folder, HOOK_PORT: new URL(receiver.url).port });
    const secret = newSecret();
    const tenant = { 'x-tenant': 'ada' };
    expect((await post(`${url}/endpoint`, { url: receiver.url, secret }, tenant)).status).toBe(204);
    const client = new OpenAI({ baseURL: `${url}/v1`, maxRetries: 0, apiKey: 'unused', defaultHeaders: tenant });
    fake.reply(HELLO);
    const batch = await create(client, [line('one')]);
    await until(() => receiver.events.length === 1);
    expect(await unwrap(receiver.events[0] as never, secret)).toMatchObject({
      type: 'batch.completed',
      data: { id: batch.id },
    });
    expect((await client.batches.retrieve(batch.id)).request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
    await receiver.close();
  });
});

describe('the recipe for vector stores', () => {
  it('[X-01] [X-14] lets the model of their owner search them', async () => {
    const embeddings = await embeddingsServerOf();
    const url = `${await start('vector-stores', { FILES_FOLDER: folder, EMBEDDINGS_BASE_URL: embeddings.baseURL })}/v1`;
    const client = new OpenAI({ baseURL: url, maxRetries: 0, apiKey: 'unused', defaultHeaders: as('ada') });
    try {
      const store = await client.vectorStores.create({ name: 'Papers' });
      const text = 'The rent is due on the third.';
      const { id } = await client.vectorStores.files.uploadAndPoll(
        store.id,
        await toFile(Buffer.from(text), 'rent.md'),
      );
      const queries = JSON.stringify({ queries: ['rent due'] });
      const cited = { body: textStream(`On the third【${id.slice(5, 11)}†rent.md】.`) };
      fake.reply({ body: toolCallStream([{ id: 'c', name: 'file_search', arguments: queries }]) }, cited);
      const tools = [{ type: 'file_search', vector_store_ids: [store.id] }];
      const asking = (who: string) =>
        answerOf(post(`${url}/responses`, { model: 'm', input: 'When?', tools }, as(who)));
      const [one, other] = [await asking('ada'), await asking('bob')];
      expect([one.status, other.status]).toEqual([200, 404]);
    } finally {
      await embeddings.close();
    }
  });
});

describe('the recipe for versions', () => {
  it('[X-01] [P-12] shows the same in two ways, and goes on from one to the other', async () => {
    const url = await start('versions');
    fake.reply({ body: chatStream({ reasoning_content: 'Hm.' }, { content: 'Hello!' }) });
    const one = await ask(`${url}/v1`, 'Hi.');
    const two = await ask(`${url}/v2`, 'Go on.', {}, { previous_response_id: one.body.id });
    // The cast: the output is a list of items.
    const reasoning = [one, two].map(({ body }) => (body.output as readonly JsonObject[])[0]);
    const again = await answerOf(fetch(`${url}/v2/responses/${one.body.id}`));
    expect(again.body.output).toEqual(one.body.output);
    expect([reasoning.map((item) => [item?.summary, item?.content]), messagesIn(fake)]).toEqual([
      [
        [[{ type: 'summary_text', text: 'Hm.' }], undefined],
        [[], [{ type: 'reasoning_text', text: 'Hm.' }]],
      ],
      ['user: Hi.', 'assistant: Hello!', 'user: Go on.'],
    ]);
  });
});
