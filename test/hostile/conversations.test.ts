/** A conversation that would grow longer than the server's memory: it must be refused, and the server must survive. */
import { json } from './race-nodes.ts';
import { codeIn, counted, MIB, type SmallApp, startSmallApp } from './small-app.ts';
import { tally } from './tally.ts';

const { tried } = tally('long conversations');

let app: SmallApp;

beforeAll(async () => {
  app = await startSmallApp(() => {});
});
afterAll(() => app?.close());

it('[F-05] refuses appends to a conversation past its bound, and serves its items in pages', async () => {
  const { id } = (await json(`${app.url}/conversations`, 'POST', {})).body;
  const outcomes: string[] = [];
  for (let append = 0; append < 20; append += 1) {
    const content = 'x'.repeat(1.5 * MIB);
    const items = Array.from({ length: 20 }, () => ({ type: 'message', role: 'user', content }));
    const { status, body } = await json(`${app.url}/conversations/${id}/items`, 'POST', { items });
    outcomes.push(`${status} ${codeIn(body) ?? ''}`);
    const { body: page } = await json(`${app.url}/conversations/${id}/items?limit=1`, 'GET');
    expect(page.has_more).toBe(true);
  }
  const turn = await json(`${app.url}/responses`, 'POST', { model: 'm', input: 'x'.repeat(3 * MIB), conversation: id });
  const next = await json(`${app.url}/responses`, 'POST', { model: 'm', input: 'Hi', conversation: id });
  expect(counted(outcomes)).toEqual({ '200 ': 1, '400 conversation_too_long': 19 });
  expect([turn.status, next.status, codeIn(next.body)]).toEqual([200, 400, 'conversation_too_long']);
  await app.expectSmall();
  tried('an append of 30 MiB to a conversation', 20);
});
