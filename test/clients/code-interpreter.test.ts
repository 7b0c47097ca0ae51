/** The code interpreter as SDKs ask for it: they read every event, and send back what the model needs. */
import { Agent, codeInterpreterTool, OpenAIProvider, type RunItem, Runner } from '@openai/agents';
import type * as ai from 'ai';
import type OpenAI from 'openai';
import { says, type ToolsApp, withTools } from '../engine/tools/support.ts';
import { ASKING, interpreter, runs } from '../tools/code-interpreter/interpreter.ts';
import { ended, lastSent, openaiVersions, partTypes, vercelVersions } from './hosted-tools.ts';

/** Runs with an app whose model runs code once for each of two questions. */
function twoRuns<Result>(run: (app: ToolsApp) => Promise<Result>): Promise<Result> {
  return withTools({ tools: interpreter().tools }, (app) => {
    app.fake.reply(runs('x = 41'), says('Set.'), runs('x + 1'), says('42.'));
    return run(app);
  });
}

describe.each(openaiVersions)('%s', (_, Client) => {
  it('[T-11, B-37, B-38] builds the run from its events, code and outputs included', () =>
    twoRuns(async ({ url }) => {
      const client = new Client({ baseURL: url, apiKey: 'client-key', maxRetries: 0 });
      // The cast: the request is one that its types allow.
      const body = { model: 'm', input: 'Set x.', ...ASKING } as OpenAI.Responses.ResponseCreateParams;
      const stream = client.responses.stream(body as Parameters<typeof client.responses.stream>[0]);
      const seen: string[] = [];
      stream.on('event', ({ type }) => seen.push(type));
      let code = '';
      stream.on('response.code_interpreter_call_code.delta', ({ delta }) => {
        code += delta;
      });
      const { output } = await stream.finalResponse();
      expect([seen.filter((type) => type.includes('code_interpreter')), code, output[0]]).toMatchObject([
        [
          'response.code_interpreter_call.in_progress',
          'response.code_interpreter_call_code.delta',
          'response.code_interpreter_call_code.done',
          'response.code_interpreter_call.interpreting',
          'response.code_interpreter_call.completed',
        ],
        'x = 41',
        { type: 'code_interpreter_call', code: 'x = 41', outputs: [{ type: 'logs', logs: '41' }] },
      ]);
    }));
});

describe('@openai/agents', () => {
  it.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])('[T-11] runs codeInterpreterTool, streamed: %s, its outputs included: %s', (stream, includeOutputs) =>
    twoRuns(async (app) => {
      const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: app.url, useResponses: true });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      const agent = new Agent({ name: 'a', model: 'm', tools: [codeInterpreterTool({ includeOutputs })] });
      const first = await ended(runner, agent, 'Set x.', stream);
      const next = [...first.history, { role: 'user', content: 'Add one.' } as const];
      const second = await ended(runner, agent, next, stream);
      expect([first, second].map(({ newItems }) => newItems.map(({ type }: RunItem) => type))).toEqual([
        ['tool_call_item', 'message_output_item'],
        ['tool_call_item', 'message_output_item'],
      ]);
      expect([second.finalOutput, lastSent(app)]).toEqual(['42.', ['41', '42']]);
    }),
  );
});

describe.each(vercelVersions)('%s', (_, create, { generateText, streamText }) => {
  function settingsFor({ url }: ToolsApp) {
    const openai = create({ apiKey: 'client-key', baseURL: url });
    // The cast: with exactOptionalPropertyTypes the SDK's own tool is none of its tools.
    const tools = { code: openai.tools.codeInterpreter({}) } as unknown as ai.ToolSet;
    return { model: openai.responses('m'), tools, maxRetries: 0 };
  }

  it('[T-11] generates with openai.tools.codeInterpreter, and again with its own messages', () =>
    twoRuns(async (app) => {
      const messages: ai.ModelMessage[] = [{ role: 'user', content: 'Set x.' }];
      const first = await generateText({ ...settingsFor(app), messages });
      messages.push(...first.response.messages, { role: 'user', content: 'Add one.' });
      const second = await generateText({ ...settingsFor(app), messages });
      expect([first.content.map(({ type }) => type), second.text, lastSent(app)]).toEqual([
        ['tool-call', 'tool-result', 'text'],
        '42.',
        ['41', '42'],
      ]);
      expect(second.toolResults[0]).toMatchObject({ output: { outputs: [{ type: 'logs', logs: '42' }] } });
    }));

  it('[T-11] streams the code and its outputs', () =>
    twoRuns(async (app) => {
      const result = streamText({ ...settingsFor(app), prompt: 'Set x.' });
      expect(await partTypes(result.fullStream)).toEqual(
        expect.arrayContaining(['tool-input-delta', 'tool-call', 'tool-result', 'text-delta']),
      );
      expect(await result.text).toBe('Set.');
    }));
});
