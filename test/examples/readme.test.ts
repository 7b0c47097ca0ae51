/** The README fits on a few screens, and its commands and snippets run and print what it says. */
import { type DemoModel, startDemoModel } from 'express-open-responses/testing';
import { printedBy, shownIn } from './printed.ts';
import { codeBlocks, itBuilt, itWith, readProject, type Served, serve, startExample } from './support.ts';

const README_BYTES = 10_000;
const README = readProject('README.md');
const [start, test] = codeBlocks('README.md', 'bash');
const [hello, threeWays] = codeBlocks('README.md', 'ts');
const itCurl = await itWith('curl');
/** The snippets as the build makes JavaScript of them. */
const HELLO = 'build/examples/express/hello.js';
const THREE_WAYS = 'build/examples/express/three-ways.js';

describe('the README', () => {
  it('is a welcome and no manual', () => {
    expect(Buffer.byteLength(README)).toBeLessThan(README_BYTES);
  });

  it('starts and tests the project with the scripts that there are', () => {
    const { scripts } = JSON.parse(readProject('package.json'));
    expect([start, test, typeof scripts.start, typeof scripts.test]).toEqual([
      'npm ci && npm start\n',
      'npm ci && npm test\n',
      'string',
      'string',
    ]);
  });

  it('quotes its snippets from the example', () => {
    const files = ['hello', 'three-ways'].map((name) => readProject(`examples/express/${name}.ts`));
    expect([hello, threeWays]).toEqual(files);
  });

  itCurl('[S-01] shows what its request prints, as the example’s own does', async () => {
    const example = await startExample();
    const pages = ['README.md', 'examples/express/README.md'];
    const printed = await Promise.all(pages.map((page) => printedBy(page, example.url)));
    await example.close();
    expect(printed).toEqual(pages.map((page) => expect.stringMatching(shownIn(page))));
  });
});

describe('the README’s apps', () => {
  let demo: DemoModel;
  let app: Served | undefined;

  beforeAll(async () => {
    demo = await startDemoModel();
  });
  afterEach(() => app?.stop());
  afterAll(() => demo.close());

  /** Runs the snippet with the demo model, on a free port, and answers where it listens. */
  async function serveSnippet(file: string): Promise<string> {
    const anyPort = 'listen(0, function () { console.log("http://localhost:" + this.address().port) })';
    const code = readProject(file).replace('listen(3000)', anyPort);
    const variables = { OPENAI_BASE_URL: demo.baseURL, OPENAI_API_KEY: 'k' };
    app = await serve(['--input-type=module', '--eval', code], 1, variables);
    return String(app.lines[0]);
  }

  itBuilt(HELLO)('[X-01] answers the request with ten lines, beside a route of its own', async () => {
    const url = await serveSnippet(HELLO);
    const health = await fetch(`${url}/health`);
    expect([await health.text(), await printedBy('README.md', url)]).toEqual([
      'ok',
      expect.stringMatching(shownIn('README.md')),
    ]);
  });

  itBuilt(THREE_WAYS)('[X-01] [X-02] [S-19] is mounted in three ways, each of which answers', async () => {
    const url = await serveSnippet(THREE_WAYS);
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'demo', ...body }),
      });
      return JSON.parse(await answer.text());
    };
    const messages = [{ role: 'user', content: 'Please tell the time.' }];
    const response = await post('/v1/responses', { input: 'Say hello.' });
    const chat = await post('/all/v1/chat/completions', { messages });
    const proxied = await post('/proxy/v1/chat/completions', { messages });
    const next = [{ role: 'user', content: 'Thanks.' }];
    const continued = await post('/proxy/v1/chat/completions', { messages: next, previous_response_id: proxied.id });
    const models = await fetch(`${url}/proxy/v1/models`);
    const time = expect.stringMatching(/^The tool answered "\d{4}-\d\d-\d\dT/);
    expect([
      response.output[0].content[0].text,
      chat.choices[0].message.content,
      proxied.choices[0].message.content,
      continued.choices[0].message.content,
      models.status,
    ]).toEqual([
      'Hello from the demo model. You wrote "Say hello."',
      time,
      time,
      'Hello from the demo model. You wrote "Thanks." Before that you wrote "Please tell the time."',
      200,
    ]);
  });
});
