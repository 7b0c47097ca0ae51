/** The example as a process of its own, as `npm start` runs it. */
import { once } from 'node:events';
import { itBuilt, run, serve } from './support.ts';

const SERVER = 'build/examples/express/server.js';
const itServer = itBuilt(SERVER);
/** Which it prints with the demo model, without MCP servers and keys. */
const LINES = 7;

describe('the example as a process', () => {
  itServer('[X-01] answers, and lets a running stream finish when it gets SIGTERM', async () => {
    const app = await serve([SERVER], 2, { PORT: '0', LOG: 'off', MCP_CONFIG: 'off' });
    const url = app.lines[1]?.split(' ').at(-1);
    const answer = await fetch(`${url}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo', input: 'word '.repeat(50), stream: true }),
    });
    const stopped = app.stop();
    const text = await answer.text();
    expect([
      app.lines[0],
      text.includes('event: response.completed'),
      text.endsWith('data: [DONE]\n\n'),
      await stopped,
    ]).toEqual([expect.stringMatching(/^No UPSTREAM_BASE_URL: using the embedded demo model/), true, true, 0]);
  });

  itServer('[X-01] prints a request that works as it is printed', async () => {
    const app = await serve([SERVER], LINES, { PORT: '0', LOG: 'off', MCP_CONFIG: 'off' });
    const command = app.lines.find((line) => line.startsWith('Try it: '))?.slice('Try it: '.length);
    const answer = JSON.parse(await run('sh', ['-c', `${command} --silent`]));
    await app.stop();
    expect(answer.output[0].content[0].text).toBe('Hello from the demo model. You wrote "Say hello."');
  });

  itServer('reports which setting is wrong, and ends with status 1', async () => {
    const app = await serve([SERVER], 0, { STORE: 'redis' });
    const [status] = await once(app.process, 'close');
    expect([app.lines, app.errors.join(''), status]).toEqual([
      [],
      "STORE must be 'memory', 'sqlite:FILE', 'redis://…' or 'postgres://…', got 'redis'\n",
      1,
    ]);
  });

  itServer('logs requests without their keys', async () => {
    const app = await serve([SERVER], LINES + 1, { PORT: '0', MCP_CONFIG: 'off', API_KEYS: 'secret-key' });
    const url = app.lines[1]?.split(' ').at(-1);
    await fetch(`${url}/models?key=1`, { headers: { authorization: 'Bearer secret-key', cookie: 'secret-cookie' } });
    await app.stop();
    const logged = JSON.parse(app.lines[LINES + 1] ?? '{}');
    expect([logged.req, logged.res, app.lines.join('\n').includes('secret')]).toEqual([
      { id: expect.stringMatching(/^req_/), method: 'GET', url: '/v1/models?key=1' },
      { statusCode: 200 },
      false,
    ]);
  });
});
