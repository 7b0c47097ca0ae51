/** The shortest app with everything: it compiles by itself, under strict rules, and all of it works. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { WebSocket } from 'ws';
import { type DemoModel, startDemoModel } from '../../src/testing/index.ts';
import { codeBlocks, itBuilt, readProject, serve } from './support.ts';

const example = readProject('examples/express/whole.ts');
/** The example as the build makes JavaScript of it. */
const BUILT = 'build/examples/express/whole.js';

describe('the app with five APIs, WebSocket, inspector and shutdown', () => {
  let demo: DemoModel;
  const folder = mkdtempSync(join(tmpdir(), 'whole-'));

  beforeAll(async () => {
    demo = await startDemoModel();
  });
  afterAll(async () => {
    await demo.close();
    rmSync(folder, { recursive: true });
  });

  it('has fewer than 40 lines, and is what the page shows', () => {
    expect([example.trimEnd().split('\n').length < 40, codeBlocks('docs/mounting.md', 'ts').includes(example)]).toEqual(
      [true, true],
    );
  });

  itBuilt(BUILT)('answers every API behind its authentication, over HTTP and WebSocket, and stops', async () => {
    const code = readProject(BUILT).replace(
      'app.listen(process.env.PORT ?? 3000)',
      'app.listen(0, function () { console.log("http://localhost:" + this.address().port) })',
    );
    const variables = { OPENAI_BASE_URL: demo.baseURL, OPENAI_API_KEY: 'k', FILES: folder };
    const app = await serve(['--input-type=module', '--eval', code], 1, variables);
    const url = String(app.lines[0]);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'key-of-ada', maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'Hi.' }];
    const file = await client.files.create({ file: await toFile(Buffer.from('Hi'), 'a.txt'), purpose: 'user_data' });
    const headers = { authorization: 'Bearer key-of-ada', 'content-type': 'application/json' };
    const ofAnthropic = { 'x-api-key': 'key-of-ada', 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'demo', max_tokens: 9, messages });
    const seen = [
      (await client.responses.create({ model: 'demo', input: 'Hi.' })).status,
      (await client.chat.completions.create({ model: 'demo', messages })).object,
      (await fetch(`${url}/v1/messages`, { method: 'POST', headers: ofAnthropic, body })).status,
      (await client.files.retrieve(file.id)).filename,
      (await client.vectorStores.create({})).object,
      (await fetch(`${url}/v1/models`)).status,
      (await fetch(`${url}/inspect/`)).status,
      ((await (await fetch(`${url}/health`)).json()) as { readonly status: string }).status,
    ];
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers });
    await once(socket, 'open');
    const ended = Promise.all([once(socket, 'close'), once(app.process, 'exit')]);
    app.process.kill('SIGTERM');
    const [[code1], [exit]] = await ended;
    expect([seen, code1, exit]).toEqual([
      ['completed', 'chat.completion', 200, 'a.txt', 'vector_store', 401, 200, 'ok'],
      1001,
      0,
    ]);
  });
});
