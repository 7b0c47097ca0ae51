/** The example runs, and the documentation shows it and names every option. */
import { on, once } from 'node:events';
import { type ClientOptions, WebSocket } from 'ws';
import { attachResponsesWebSocket } from '../../../src/hosts/websocket/index.ts';
import { type DemoModel, startDemoModel } from '../../../src/testing/index.ts';
import { codeBlocks, itBuilt, readProject, serve } from '../../examples/support.ts';

const example = readProject('examples/express/websocket.ts');
/** The example as the build makes JavaScript of it. */
const BUILT = 'build/examples/express/websocket.js';

/** The names of the options, as the message about an unknown one lists them. */
function optionNames(): readonly string[] {
  try {
    // The casts: that they are wrong is the point.
    attachResponsesWebSocket({ on() {}, off() {}, listeners: () => [] }, {}, { unheardOf: 1 } as object);
  } catch (error) {
    return String(error).split('known are ')[1]?.split(', ') ?? [];
  }
  return [];
}

describe('docs/websocket.md', () => {
  it('shows the example', () => {
    expect(codeBlocks('docs/websocket.md', 'ts')).toContain(example);
  });

  it('lists the options that only a WebSocket has', () => {
    const listed = [...readProject('docs/websocket.md').matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name);
    const own = optionNames().slice(optionNames().indexOf('path'));
    expect([own.length > 5, listed]).toEqual([true, own]);
  });
});

describe('the example of a WebSocket', () => {
  let demo: DemoModel;
  beforeAll(async () => {
    demo = await startDemoModel();
  });
  afterAll(() => demo.close());

  const bearer = (user: string): ClientOptions => ({ headers: { authorization: `Bearer key-of-${user}` } });

  async function written(url: string): Promise<string> {
    const socket = new WebSocket(url, bearer('ada'));
    socket.once('open', () =>
      socket.send(JSON.stringify({ type: 'response.create', model: 'demo', input: 'Say hello.' })),
    );
    let text = '';
    for await (const [data] of on(socket, 'message', { close: ['close'] })) {
      const event = JSON.parse(String(data));
      if (event.type === 'response.output_text.delta') text += event.delta;
      if (event.type === 'response.completed') socket.close();
    }
    return text;
  }

  itBuilt(BUILT)('[S-15] [X-01] lets in whom the app knows, answers, and stops at SIGTERM', async () => {
    const anyPort = 'listen(0, function () { console.log("ws://localhost:" + this.address().port) })';
    const changed = readProject(BUILT)
      .replace('http://localhost:8000/v1', demo.baseURL)
      .replace('listen(3000)', anyPort);
    const app = await serve(['--input-type=module', '--eval', changed], 1);
    const url = `${app.lines[0]}/v1/responses`;
    const eve = new WebSocket(url, bearer('eve')).on('error', () => {});
    const [, refused] = await once(eve, 'unexpected-response');
    const text = await written(url);
    expect([refused.statusCode, text, await app.stop()]).toEqual([
      401,
      'Hello from the demo model. You wrote "Say hello."',
      0,
    ]);
  });
});
