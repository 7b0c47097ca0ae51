/** The snippet of docs/mounting.md for other frameworks and the examples of Koa and Hono really run. */
import { on } from 'node:events';
import { type DemoModel, startDemoModel } from 'express-open-responses/testing';
import OpenAI from 'openai';
import { WebSocket } from 'ws';
import { start as startHono } from '../../examples/hono/start.ts';
import { type RunningExample, start as startKoa } from '../../examples/koa-adapter/start.ts';
import { freePort } from '../support/services.ts';
import { printedBy, shownIn } from './printed.ts';
import { closedWhileStreaming, codeBlocks, itBuilt, itWith, readProject, serve } from './support.ts';

const SNIPPET = 'build/examples/hono/hono.js';
const itCurl = await itWith('curl');

function clientOf(url: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
}

/** What both APIs say to a client, in one piece, as a stream and over WebSocket. */
async function talk(url: string): Promise<readonly unknown[]> {
  const client = clientOf(url);
  const { output_text: written, id } = await client.responses.create({ model: 'demo', input: 'Hi.' });
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
  return [written, streamed, choices[0]?.message.content, await overWebSocket(url, id)];
}

/** What a turn over WebSocket says that continues a response over HTTP. */
async function overWebSocket(url: string, id: string): Promise<string> {
  const headers = { authorization: 'Bearer any' };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers });
  const turn = { type: 'response.create', model: 'demo', input: 'And here.', previous_response_id: id };
  socket.once('open', () => socket.send(JSON.stringify(turn)));
  let text = '';
  for await (const [data] of on(socket, 'message', { close: ['close'] })) {
    const event = JSON.parse(String(data));
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (event.type === 'response.completed' || event.type === 'error') socket.close();
  }
  return text;
}

const TALK = [
  'Hello from the demo model. You wrote "Hi."',
  'Hello from the demo model. You wrote "Go on." Before that you wrote "Hi."',
  'Hello from the demo model. You wrote "Hi."',
  'Hello from the demo model. You wrote "And here." Before that you wrote "Hi."',
];

describe('docs/mounting.md on other frameworks', () => {
  let demo: DemoModel;

  beforeAll(async () => {
    demo = await startDemoModel();
  });
  afterAll(() => demo.close());

  it('quotes the example', () => {
    expect(codeBlocks('docs/mounting.md', 'ts')).toContain(readProject('examples/hono/hono.ts'));
  });

  itBuilt(SNIPPET)('[X-03] [S-15] serves both APIs with Hono, and the WebSocket', async () => {
    const anyPort = 'listen(0, function () { console.log("http://localhost:" + this.address().port) })';
    const args = ['--input-type=module', '--eval', readProject(SNIPPET).replace('listen(3000)', anyPort)];
    const app = await serve(args, 1, { OPENAI_BASE_URL: demo.baseURL, OPENAI_API_KEY: 'k' });
    const talked = await talk(String(app.lines[0]));
    await app.stop();
    expect(talked).toEqual(TALK);
  });
});

describe.each([
  { name: 'Koa', folder: 'koa-adapter', start: startKoa, notFound: 'Not Found' },
  { name: 'Hono', folder: 'hono', start: startHono, notFound: '404 Not Found' },
])('the $name example', ({ folder, start, notFound }) => {
  const server = `build/examples/${folder}/server.js`;
  let example: RunningExample;

  beforeAll(async () => {
    example = await start({ PORT: '0' }, () => {});
  });
  afterAll(() => example.close());

  it('[X-03] [S-15] serves both APIs, and the WebSocket', async () => {
    expect(await talk(example.url)).toEqual(TALK);
  });

  it('[X-03] keeps its own routes, and the framework’s own 404', async () => {
    const answers = ['/health', '/'].map(async (path) => {
      const answer = await fetch(example.url + path);
      return [answer.status, await answer.text()];
    });
    expect([...(await Promise.all(answers)), (await fetch(`${example.url}/v1/unknown`)).status]).toEqual([
      [200, '{"status":"ok"}'],
      [404, notFound],
      404,
    ]);
  });

  itCurl('shows in its README what the request prints', async () => {
    const page = `examples/${folder}/README.md`;
    expect(await printedBy(page, example.url)).toMatch(shownIn(page));
  });

  it('lets a running stream finish before it stops', async () => {
    const stopping = await start({ PORT: String(await freePort()) }, () => {});
    expect(await closedWhileStreaming(stopping)).toEqual(['response.completed', 'nobody listens']);
  });

  itBuilt(server)('[X-03] runs as a process, until it gets SIGTERM', async () => {
    const app = await serve([server], 1, { PORT: '0' });
    const talked = await talk(String(app.lines[0]?.split(' ').at(-1)).replace(/\/v1$/, ''));
    expect([talked, await app.stop()]).toEqual([TALK, 0]);
  });
});
