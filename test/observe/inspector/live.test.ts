/** Open pages receive changes while they happen, and cost nothing while there are none. */
import { textStream } from '../../../src/testing/index.ts';
import { type InspectedApp, startInspected } from './inspected-app.ts';

let app: InspectedApp;

beforeEach(async () => {
  app = await startInspected();
});

afterEach(() => app.close());

/** Reads the versions that the page receives. */
async function openPage() {
  const leaving = new AbortController();
  const response = await fetch(`${app.origin}/inspect/api/live`, { signal: leaving.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    next: async () => (await reader?.read())?.value,
    leave: () => leaving.abort(),
  };
}

it('[X-10] shows an open page a response before it has ended', async () => {
  const page = await openPage();
  expect([page.status, page.type, await page.next()]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    'data: {"version":0}\n\n',
  ]);
  app.fake.reply({ body: textStream('Hello!'), stallAfterBytes: 10 });
  const client = new AbortController();
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'fake-model', input: 'Hi', stream: true });
  const answer = fetch(`${app.origin}/v1/responses`, { method: 'POST', headers, body, signal: client.signal });
  expect(await page.next()).toMatch(/^data: \{"version":[1-9]\d*\}\n\n$/);
  expect((await app.rows())[0]?.status).toBe('running');
  client.abort();
  await answer.catch(() => {});
  page.leave();
});

it('[X-10] refuses more pages than it serves, until one leaves', async () => {
  const pages = await Promise.all(Array.from({ length: 32 }, openPage));
  const late = await fetch(`${app.origin}/inspect/api/live`);
  expect([pages.every(({ status }) => status === 200), late.status]).toEqual([true, 503]);
  for (const page of pages) page.leave();
});

it('[X-10] ends the answers of open pages when it is closed, and forgets what it kept', async () => {
  await app.post({ model: 'fake-model', input: 'Hi' });
  const page = await openPage();
  await page.next();
  app.inspector.close();
  expect([await page.next(), await app.rows()]).toEqual([undefined, []]);
});
