/** The recipes for Koa, Connect and Node's own server do what their page says. */
import { chatCompletion, type FakeUpstream, startFakeUpstream } from 'express-open-responses/testing';
import { answerOf, answerTextIn, chat, messagesIn, post, type Recipe, startRecipe } from './recipe.ts';

const TIME = { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'time', arguments: '{}' } }] };

let fake: FakeUpstream;
let recipe: Recipe | undefined;

// One for all: a proxy that two recipes share has its address from the first.
beforeAll(async () => {
  fake = await startFakeUpstream();
});
afterEach(() => recipe?.close());
afterAll(() => fake.close());

async function start(name: string): Promise<string> {
  recipe = await startRecipe(name, { UPSTREAM_BASE_URL: fake.baseURL });
  return `${recipe.url}/v1/chat/completions`;
}

describe('the recipe for Koa', () => {
  it('[X-01] [X-03] keeps chats and goes on with them; what a middleware refuses, Koa leaves alone', async () => {
    const url = await start('koa');
    const { body } = await answerOf(post(url, chat('My name is Ada.')));
    await answerOf(post(url, chat('What is my name?', { previous_response_id: body.id })));
    const refused = await answerOf(post(url, chat('Hi.', { previous_response_id: 'unknown' })));
    expect([answerTextIn(body), messagesIn(fake), refused.status, fake.requests.length]).toEqual([
      'Hello!',
      ['user: My name is Ada.', 'assistant: Hello!', 'user: What is my name?'],
      400,
      2,
    ]);
  });
});

describe.each(['connect', 'node'])('the recipe %s', (name) => {
  it('[X-01] [X-02] [T-10] runs the tool between two calls of the proxy; what that throws is a 500', async () => {
    const url = await start(name);
    fake.reply({ body: chatCompletion(TIME) }, { body: chatCompletion('Late.') }, { reset: 'before-headers' });
    const { body } = await answerOf(post(url, chat('What time is it?')));
    const seen = messagesIn(fake);
    const elsewhere = await fetch(`${recipe?.url}/`);
    const failed = await post(url, chat('Hi.'));
    expect([answerTextIn(body), seen, elsewhere.status, failed.status]).toEqual([
      'Late.',
      ['user: What time is it?', 'assistant: null', expect.stringMatching(/^tool: \d{4}-\d\d-\d\dT.*Z$/)],
      404,
      500,
    ]);
  });
});
