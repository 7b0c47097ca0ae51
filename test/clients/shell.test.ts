/** The hosted shell as SDKs ask for it: they read every event, and send back what the model needs. */
import { Agent, OpenAIProvider, type RunItem, Runner, shellTool } from '@openai/agents';
import type OpenAI from 'openai';
import OpenAI7 from 'openai7';
import { toolCallStream } from '../../src/testing/index.ts';
import { bubblewrapRuntime, shell } from '../../src/tools/shell/index.ts';
import { says, type ToolsApp, withTools } from '../engine/tools/support.ts';
import { describeWith, findProgram } from '../support/services.ts';
import { ended, lastSent, openaiVersions } from './hosted-tools.ts';

type Streamed = OpenAI.Responses.ResponseCreateParamsStreaming;

const describeSandboxed = describeWith(findProgram('bwrap'), 'bubblewrap');

function runs(id: string, command: string) {
  return { body: toolCallStream([{ id, name: 'shell', arguments: JSON.stringify({ commands: [command] }) }]) };
}

/** Runs with an app whose model runs a command for each of two questions. */
function twoRuns<Result>(run: (app: ToolsApp) => Promise<Result>): Promise<Result> {
  return withTools({ tools: shell({ runtime: bubblewrapRuntime() }) }, (app) => {
    app.fake.reply(runs('call_a', 'echo 41 > x; echo set'), says('Set.'), runs('call_b', 'cat x'), says('41.'));
    return run(app);
  });
}

describeSandboxed('OpenAI’s SDK', () => {
  it.each(openaiVersions)('[E-04] %s reads the commands and their outputs from the events', (_, Client) =>
    twoRuns(async ({ url }) => {
      const client = new Client({ baseURL: url, apiKey: 'client-key', maxRetries: 0 });
      const tools = [{ type: 'shell', environment: { type: 'container_auto' } }] as const;
      // The casts: the request is one that its types allow; version 6 has no types for the events, which its `stream()` refuses.
      const body = { model: 'm', input: 'Set x.', tools, stream: true } as unknown as Streamed;
      const seen: string[] = [];
      let output: readonly unknown[] = [];
      for await (const event of await client.responses.create(body)) {
        seen.push(event.type);
        if (event.type === 'response.completed') output = event.response.output;
      }
      expect([seen.filter((type) => type.includes('shell_call')), output]).toMatchObject([
        [
          ...['added', 'delta', 'done'].map((end) => `response.shell_call_command.${end}`),
          ...['delta', 'done'].map((end) => `response.shell_call_output_content.${end}`),
        ],
        [
          { type: 'shell_call', environment: { type: 'container_reference' } },
          { type: 'shell_call_output', output: [{ stdout: 'set\n', outcome: { type: 'exit', exit_code: 0 } }] },
          { type: 'message' },
        ],
      ]);
    }),
  );
});

describeSandboxed('openai-node 7', () => {
  it('[E-04] accumulates them by its own stream', () =>
    twoRuns(async ({ url }) => {
      const client = new OpenAI7({ baseURL: url, apiKey: 'client-key', maxRetries: 0 });
      const tools = [{ type: 'shell', environment: { type: 'container_auto' } }] as const;
      const stream = client.responses.stream({ model: 'm', input: 'Set x.', tools: [...tools] });
      const { output } = await stream.finalResponse();
      expect(output[1]).toMatchObject({ type: 'shell_call_output', output: [{ stdout: 'set\n' }] });
    }));
});

describeSandboxed('@openai/agents', () => {
  it.each([true, false])('[E-04] runs shellTool in a container, streamed: %s', (stream) =>
    twoRuns(async (app) => {
      const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: app.url, useResponses: true });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      const tools = [shellTool({ environment: { type: 'container_auto' } })];
      const agent = new Agent({ name: 'a', model: 'm', tools });
      const first = await ended(runner, agent, 'Set x.', stream);
      const next = [...first.history, { role: 'user', content: 'Read it.' } as const];
      const second = await ended(runner, agent, next, stream);
      expect([first, second].map(({ newItems }) => newItems.map(({ type }: RunItem) => type))).toEqual([
        ['tool_call_item', 'tool_call_output_item', 'message_output_item'],
        ['tool_call_item', 'tool_call_output_item', 'message_output_item'],
      ]);
      expect([second.finalOutput, lastSent(app)]).toEqual(['41.', ['set\n\n[exit code 0]', '41\n\n[exit code 0]']]);
    }),
  );
});
