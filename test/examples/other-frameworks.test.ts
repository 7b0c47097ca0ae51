/** The snippet of docs/mounting.md for other frameworks and the Koa example really run. */
import OpenAI from 'openai';
import { type DemoModel, startDemoModel } from 'express-open-responses/testing';
import { type RunningExample, start } from '../../examples/koa-adapter/start.ts';
import { codeBlocks, itBuilt, readProject, serve } from './support.ts';

const SNIPPET = readProject('examples/web/hono.mjs');
const KOA_SERVER = 'build/examples/koa-adapter/server.js';

function clientOf(url: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
}

/** What both APIs say to a client, and how many pieces of a stream it sees. */
async function talk(url: string): Promise<readonly unknown[]> {
  const client = clientOf(url);
  const { output_text: said, id } = await client.responses.create({ model: 'demo', input: 'Hi.' });
  const stream = await client.responses.create({
    model: 'demo',
    input: 'Go on.',
    previous_response_id: id,
    stream: true,
  });
  let streamed = '';
  for await (const event of stream) if (event.type === 'response.output_text.delta') streamed += event.delta;
  const messages = [{ role: 'user', content: 'Hi.' }] as const;
  const { choices } = await client.chat.completions.create({ model: 'demo', messages: [...messages] });
  return [said, streamed, choices[0]?.message.content];
}

const TALK = [
  'Hello from the demo model. You wrote "Hi."',
  'Hello from the demo model. You wrote "Go on." Before that you wrote "Hi."',
  'Hello from the demo model. You wrote "Hi."',
];

describe('docs/mounting.md on other frameworks', () => {
  let demo: DemoModel;

  beforeAll(async () => {
    demo = await startDemoModel();
  });
  afterAll(() => demo.close());

  it('quotes the example', () => {
    expect(codeBlocks('docs/mounting.md', 'js')).toContain(SNIPPET);
  });

  itBuilt('dist/core.js')('[X-03] serves both APIs with Hono', async () => {
    const anyPort = 'port: 0 }, ({ port }) => console.log(`http://localhost:${port}`)';
    const args = ['--input-type=module', '--eval', SNIPPET.replace('port: 3000 }', anyPort)];
    const app = await serve(args, 1, { OPENAI_BASE_URL: demo.baseURL, OPENAI_API_KEY: 'k' });
    const talked = await talk(String(app.lines[0]));
    await app.stop();
    expect(talked).toEqual(TALK);
  });
});

describe('the Koa example', () => {
  let example: RunningExample;

  beforeAll(async () => {
    example = await start({ PORT: '0' }, () => {});
  });
  afterAll(() => example.close());

  it('[X-03] serves both APIs', async () => {
    expect(await talk(example.url)).toEqual(TALK);
  });

  it('[X-03] keeps its own routes, and Koa’s own 404', async () => {
    const answers = ['/health', '/v1/unknown', '/'].map(async (path) => {
      const answer = await fetch(example.url + path);
      return [answer.status, await answer.text()];
    });
    expect(await Promise.all(answers)).toEqual([
      [200, '{"status":"ok"}'],
      [404, 'Not Found'],
      [404, 'Not Found'],
    ]);
  });

  it('lets a running stream finish before it stops', async () => {
    const stopping = await start({ PORT: '0' }, () => {});
    const stream = await clientOf(stopping.url).responses.create({ model: 'demo', input: 'Hi.', stream: true });
    let closing: Promise<void> | undefined;
    let last = '';
    for await (const event of stream) {
      closing ??= stopping.close();
      last = event.type;
    }
    await closing;
    const afterwards = await fetch(`${stopping.url}/health`).catch(() => 'nobody listens');
    expect([last, afterwards]).toEqual(['response.completed', 'nobody listens']);
  });

  itBuilt(KOA_SERVER)('[X-03] runs as a process, until it gets SIGTERM', async () => {
    const app = await serve([KOA_SERVER], 1, { PORT: '0' });
    const talked = await talk(String(app.lines[0]?.split(' ').at(-1)).replace(/\/v1$/, ''));
    expect([talked, await app.stop()]).toEqual([TALK, 0]);
  });
});
