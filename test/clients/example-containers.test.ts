/** The example app with containers, as each SDK uses it: files in, code and commands that share them, files out. */
import { Agent, codeInterpreterTool, OpenAIProvider, Runner, shellTool } from '@openai/agents';
import type OpenAI from 'openai';
import type { Example } from '../../examples/express/start.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { textFile } from '../apis/containers/containers-app.ts';
import { calls, chatBody, says, toolTexts } from '../engine/tools/support.ts';
import { startExample } from '../examples/support.ts';
import { pythonPackage } from '../support/python-package.ts';
import { describeWith, findProgram } from '../support/services.ts';
import { ended, openaiVersions } from './hosted-tools.ts';
import { startPythonClient } from './python-client.ts';

const openaiPython = await pythonPackage('openai', '3.54.0');
const agentsPython = await pythonPackage('openai-agents', '0.24.0', { imported: 'agents', along: ['openai==3.54.0'] });

const PATIENCE = 120_000;
const CODE = "open('out.txt', 'w').write(str(2 * int(open('one.txt').read())))";
/** What a command makes of the file of the code, and one in a container of its own. */
const COMMAND = 'cat out.txt; tr 4 5 < out.txt > last.txt';
const OWN_COMMAND = 'echo 42 | tee last.txt';

let example: Example;
let fake: FakeUpstream;

beforeAll(async () => {
  fake = await startFakeUpstream();
  example = await startExample({ CODE: 'on', UPSTREAM_BASE_URL: fake.baseURL });
}, PATIENCE);
afterAll(async () => {
  await example?.close();
  await fake.close();
});

/** The model's four answers to two questions: Python, then a command. */
function followScript(command: string): void {
  fake.reply(
    calls(['call_a', 'code_interpreter', JSON.stringify({ code: CODE })]),
    says('See sandbox:/mnt/data/out.txt.'),
    calls(['call_b', 'shell', JSON.stringify({ commands: [command] })]),
    says('See sandbox:/mnt/data/last.txt.'),
  );
}

/** What the tools told the model, as in its last request. */
function lastTexts(): readonly unknown[] {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return Object.values(toolTexts(last ?? { messages: [] }));
}

/** What the Python printed, and the command. */
const TOLD = [expect.stringMatching(/^2\n|Files written: out\.txt/), expect.stringContaining('42')];

const DONE = {
  content: '42',
  last: '52',
  paths: ['/mnt/data/last.txt', '/mnt/data/one.txt', '/mnt/data/out.txt'],
  left: 0,
};

describeWith(findProgram('bwrap'), 'bubblewrap')('the example app', () => {
  it.each(openaiVersions)(
    '[E-04] serves %s: containers, files in and out, code and commands in one container',
    async (_, Client) => {
      followScript(COMMAND);
      const client = new Client({ baseURL: `${example.url}/v1`, apiKey: 'any', maxRetries: 0 });
      const { id } = await client.containers.create({ name: 'work' });
      await client.containers.files.create(id, { file: await textFile('21', 'one.txt') });
      const ask = async (tool: unknown, previous?: string) => {
        const more = previous === undefined ? {} : { previous_response_id: previous };
        // The cast: a tool of both versions' types.
        const tools = [tool] as OpenAI.Responses.Tool[];
        const response = await client.responses.create({ model: 'm', input: 'Go.', tools, ...more });
        const part = response.output.flatMap((item) => (item.type === 'message' ? item.content : []))[0];
        const [cited] = part?.type === 'output_text' ? part.annotations : [];
        if (cited?.type !== 'container_file_citation') throw new Error(JSON.stringify(response.output));
        const where = { container_id: cited.container_id };
        const content = await (await client.containers.files.content.retrieve(cited.file_id, where)).text();
        return { id: response.id, content };
      };
      const first = await ask({ type: 'code_interpreter', container: id });
      const reference = { type: 'container_reference', container_id: id };
      const second = await ask({ type: 'shell', environment: reference }, first.id);
      const paths = (await client.containers.files.list(id)).data.map(({ path }) => path).sort();
      await client.containers.delete(id);
      const left = (await client.containers.list()).data.length;
      expect({ content: first.content, last: second.content, paths, left }).toEqual(DONE);
    },
    PATIENCE,
  );

  it.each([false, true])(
    '[E-04] serves @openai/agents: codeInterpreterTool, then shellTool with a container of its own, streamed: %s',
    async (stream) => {
      followScript(OWN_COMMAND);
      const modelProvider = new OpenAIProvider({ apiKey: 'agent', baseURL: `${example.url}/v1`, useResponses: true });
      const client = new openaiVersions[0][1]({ baseURL: `${example.url}/v1`, apiKey: 'agent', maxRetries: 0 });
      const { id } = await client.containers.create({ name: 'work' });
      await client.containers.files.create(id, { file: await textFile('21', 'one.txt') });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      const coder = new Agent({ name: 'a', model: 'm', tools: [codeInterpreterTool({ container: id })] });
      const first = await ended(runner, coder, 'Go.', stream);
      const tools = [shellTool({ environment: { type: 'container_auto' } })];
      const next = [...first.history, { role: 'user', content: 'Again.' } as const];
      const second = await ended(runner, new Agent({ name: 'b', model: 'm', tools }), next, stream);
      expect([first.finalOutput, second.finalOutput, lastTexts()]).toEqual([
        'See sandbox:/mnt/data/out.txt.',
        'See sandbox:/mnt/data/last.txt.',
        TOLD,
      ]);
    },
    PATIENCE,
  );

  openaiPython.it(
    '[E-04] serves openai-python: containers, files in and out, code and commands in one container',
    async () => {
      followScript(COMMAND);
      const client = startPythonClient(openaiPython.python, 'example_client.py');
      try {
        expect(await client.run({ url: `${example.url}/v1` })).toEqual(DONE);
      } finally {
        await client.close();
      }
    },
    PATIENCE,
  );

  describe('with openai-agents of Python', () => {
    agentsPython.it.each([false, true])(
      '[E-04] serves CodeInterpreterTool, then ShellTool with container_auto, streamed: %s',
      async (stream) => {
        followScript(OWN_COMMAND);
        const client = startPythonClient(agentsPython.python, 'agents_client.py');
        const openai = new openaiVersions[1][1]({ baseURL: `${example.url}/v1`, apiKey: 'client-key', maxRetries: 0 });
        const { id } = await openai.containers.create({ name: 'work' });
        await openai.containers.files.create(id, { file: await textFile('21', 'one.txt') });
        try {
          const tools = { code_interpreter: { container: id }, shell: { environment: { type: 'container_auto' } } };
          const scene = { url: `${example.url}/v1`, tools, inputs: ['Go.', 'Again.'], stream };
          const { texts, items } = await client.run(scene);
          expect([texts, items, lastTexts()]).toEqual([
            ['See sandbox:/mnt/data/out.txt.', 'See sandbox:/mnt/data/last.txt.'],
            [
              ['tool_call_item', 'message_output_item'],
              ['tool_call_item', 'tool_call_output_item', 'message_output_item'],
            ],
            TOLD,
          ]);
        } finally {
          await client.close();
        }
      },
      PATIENCE,
    );
  });
});
