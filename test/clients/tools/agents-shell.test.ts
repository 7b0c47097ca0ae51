/** @openai/agents with its shell, its patches and its deferred tools: the SDK runs what the model of a Chat Completions server calls. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { jest } from '@jest/globals';
import {
  Agent,
  applyDiff,
  applyPatchTool,
  type Editor,
  OpenAIProvider,
  Runner,
  type Shell,
  shellTool,
} from '@openai/agents';
import { calls, chatBody, says, type ToolsApp, toolTexts, withTools } from '../../engine/tools/support.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agents-shell-'));
  await writeFile(join(folder, 'a.md'), 'one\ntwo\n');
});
afterEach(() => {
  jest.restoreAllMocks();
  return rm(folder, { recursive: true });
});

const shell: Shell = {
  async run({ commands }) {
    const run = promisify(execFile);
    const output = [];
    for (const command of commands) {
      const { stdout, stderr } = await run('sh', ['-c', command], { cwd: folder });
      output.push({ stdout, stderr, outcome: { type: 'exit' as const, exitCode: 0 } });
    }
    return { output };
  },
};

const editor: Editor = {
  async createFile({ path, diff }) {
    await writeFile(join(folder, path), applyDiff('', diff, 'create'));
    return { status: 'completed' };
  },
  async updateFile({ path, diff }) {
    const whole = join(folder, path);
    await writeFile(whole, applyDiff(await readFile(whole, 'utf8'), diff));
    return { status: 'completed', output: `Changed ${path}.` };
  },
  async deleteFile({ path }) {
    await rm(join(folder, path));
    return { status: 'completed' };
  },
};

/** An answer of the model that makes this call. */
function called(id: string, name: string, args: unknown) {
  return calls([id, name, JSON.stringify(args)]);
}

/** What the tools answered, as in the last request to the model. */
function lastTexts({ fake }: ToolsApp): readonly unknown[] {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return Object.values(toolTexts(last ?? { messages: [] }));
}

async function ended(url: string, tools: Agent['tools'], stream: boolean) {
  const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: url, useResponses: true });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({ name: 'a', model: 'm', tools });
  if (!stream) return runner.run(agent, 'Change the file.');
  const result = await runner.run(agent, 'Change the file.', { stream: true });
  // The run goes on as its events are read.
  for await (const _ of result);
  await result.completed;
  return result;
}

const DIFF = '@@\n one\n-two\n+three';

describe.each([true, false])('@openai/agents, streamed: %s', (stream) => {
  it('[X-13] runs the commands of shellTool, and changes files with applyPatchTool', () =>
    withTools({}, async (app) => {
      app.fake.reply(
        called('call_a', 'shell', { commands: ['cat a.md', 'ls'] }),
        called('call_b', 'apply_patch', { type: 'update_file', path: 'a.md', diff: DIFF }),
        called('call_c', 'apply_patch', { type: 'create_file', path: 'b.md', diff: '+new' }),
        says('Changed.'),
      );
      const tools = [shellTool({ shell }), applyPatchTool({ editor })];
      const { finalOutput, newItems } = await ended(app.url, tools, stream);
      expect([
        finalOutput,
        newItems.map(({ type }) => type),
        await readFile(join(folder, 'a.md'), 'utf8'),
        await readFile(join(folder, 'b.md'), 'utf8'),
      ]).toEqual([
        'Changed.',
        [...Array(3).fill(['tool_call_item', 'tool_call_output_item']).flat(), 'message_output_item'],
        'one\nthree\n',
        'new',
      ]);
      expect(lastTexts(app)).toEqual([
        'one\ntwo\n\n[exit code 0]\n\na.md\n\n[exit code 0]',
        'The patch was applied.\nChanged a.md.',
        'The patch was applied.',
      ]);
      expect(app.notes).toEqual([]);
    }));

  it('[X-13] learns of a patch that does not fit, and of a file that is not there', () =>
    withTools({}, async (app) => {
      // The SDK prints what failed.
      jest.spyOn(console, 'error').mockImplementation(() => {});
      app.fake.reply(
        called('call_a', 'apply_patch', { type: 'update_file', path: 'a.md', diff: '@@\n-nine\n+ten' }),
        called('call_b', 'apply_patch', { type: 'delete_file', path: 'none.md' }),
        says('I cannot.'),
      );
      const { finalOutput } = await ended(app.url, [applyPatchTool({ editor })], stream);
      expect([finalOutput, lastTexts(app).map((text) => String(text).split('\n')[0])]).toEqual([
        'I cannot.',
        ['The patch failed.', 'The patch failed.'],
      ]);
    }));
});
