/** Containers as SDKs use them: files in, code, files out. */
import { Agent, codeInterpreterTool, OpenAIProvider, Runner } from '@openai/agents';
import { type ContainersApp, startContainersApp, textFile } from '../apis/containers/containers-app.ts';
import { says } from '../engine/tools/support.ts';
import { pythonPackage } from '../support/python-package.ts';
import { runs } from '../tools/code-interpreter/interpreter.ts';
import { ended, openaiVersions } from './hosted-tools.ts';
import { startPythonClient } from './python-client.ts';

const openai = await pythonPackage('openai', '3.54.0');

const CODE = "write('out.txt', String(2 * read('one.txt')))";
const ANSWER = 'See sandbox:/mnt/data/out.txt.';

let app: ContainersApp;
beforeEach(async () => {
  app = await startContainersApp();
  app.fake.reply(runs(CODE), says(ANSWER));
});
afterEach(() => app.close());

openai.describe('openai-python', () => {
  it('[E-04] makes a container, fills it, lets code run there, and fetches the file that is cited', async () => {
    const client = startPythonClient(openai.python, 'containers_client.py');
    try {
      expect(await client.run({ url: app.url })).toEqual({
        status: 'running',
        two: '/mnt/data/two.txt',
        citation: ['AnnotationContainerFileCitation', 'out.txt'],
        content: '42',
        paths: ['/mnt/data/out.txt', '/mnt/data/two.txt'],
        listed: [true],
        left: [],
      });
    } finally {
      await client.close();
    }
  });
});

describe.each(openaiVersions)('%s', (_, Client) => {
  it('[E-04] fetches the file that an answer cites', async () => {
    const client = new Client({ baseURL: app.url, apiKey: 'alice', maxRetries: 0 });
    const { id } = await client.containers.create({ name: 'work' });
    await client.containers.files.create(id, { file: await textFile('21', 'one.txt') });
    const tools = [{ type: 'code_interpreter' as const, container: id }];
    const { output } = await client.responses.create({ model: 'm', input: 'Go.', tools });
    const message = output.find(({ type }) => type === 'message');
    // The cast: it has one text.
    const content = message && 'content' in message ? (message.content as never[]) : [];
    const [{ annotations: [citation] = [] } = {}] = content as readonly {
      annotations?: readonly { file_id: string }[];
    }[];
    const file = await client.containers.files.content.retrieve(citation?.file_id ?? '', { container_id: id });
    expect(await file.text()).toBe('42');
  });
});

describe('@openai/agents', () => {
  it('[E-04] runs codeInterpreterTool in a container of the client’s', async () => {
    const { id } = await app.client.containers.create({ name: 'work' });
    await app.client.containers.files.create(id, { file: await textFile('21', 'one.txt') });
    const modelProvider = new OpenAIProvider({ apiKey: 'alice', baseURL: app.url, useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const agent = new Agent({ name: 'a', model: 'm', tools: [codeInterpreterTool({ container: id })] });
    expect((await ended(runner, agent, 'Go.', false)).finalOutput).toBe(ANSWER);
    const paths = (await app.client.containers.files.list(id)).data.map(({ path }) => path);
    expect(paths).toEqual(['/mnt/data/out.txt', '/mnt/data/one.txt']);
  });
});
