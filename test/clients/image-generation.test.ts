/** Images as SDKs ask for them: they read the image, and send it back with the next question. */
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, imageGenerationTool, OpenAIProvider, Runner } from '@openai/agents';
import * as ai from 'ai';
import { createOpenAI as createOpenAI4 } from 'ai-sdk-openai4';
import * as ai7 from 'ai7';
import { chatBody, says, type ToolsApp, toolTexts } from '../engine/tools/support.ts';
import { draws, type ImagesServer, PNG, withImages } from '../tools/image-generation/images-server.ts';

// It prints what it sends again.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const MADE = 'The image was made and shown to the user.';

/** Runs with an app whose model draws for the first of two questions. */
function oneImage(run: (app: ToolsApp & { readonly images: ImagesServer }) => Promise<void>): Promise<void> {
  return withImages((app) => {
    app.fake.reply(draws('A cat.'), says('There it is.'), says('A cat.'));
    return run(app);
  });
}

/** What the model received of the image in its last request, and what the server of images was asked. */
function sentToModel({ fake, images }: ToolsApp & { readonly images: ImagesServer }): readonly unknown[] {
  const [last] = fake.requests.slice(-1).map(chatBody);
  const texts = Object.values(toolTexts(last ?? { messages: [] }));
  return [texts, images.requests.map(({ body }) => JSON.parse(body).size)];
}

describe('@openai/agents', () => {
  it.each([true, false])(
    '[X-13] has images made with imageGenerationTool, and sends them back; streamed: %s',
    (stream) =>
      oneImage(async (app) => {
        const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: app.url, useResponses: true });
        const runner = new Runner({ modelProvider, tracingDisabled: true });
        const agent = new Agent({ name: 'a', model: 'm', tools: [imageGenerationTool({ size: '1024x1024' })] });
        const ask = async (input: Parameters<typeof runner.run>[1]) => {
          if (!stream) return runner.run(agent, input);
          const result = await runner.run(agent, input, { stream: true });
          // The run goes on as its events are read.
          for await (const _ of result);
          await result.completed;
          return result;
        };
        const first = await ask('Draw a cat.');
        const second = await ask([...first.history, { role: 'user', content: 'What is it?' } as const]);
        const [call] = first.newItems.map(({ rawItem }) => rawItem);
        expect([call, first.finalOutput, second.finalOutput, sentToModel(app)]).toEqual([
          expect.objectContaining({ type: 'hosted_tool_call', name: 'image_generation_call', output: PNG }),
          'There it is.',
          'A cat.',
          [[MADE], ['1024x1024']],
        ]);
      }),
  );
});

// The casts: what the test calls is the same in both.
const providers = [
  ['@ai-sdk/openai 3', createOpenAI, ai],
  ['@ai-sdk/openai 4', createOpenAI4 as unknown as typeof createOpenAI, ai7 as unknown as typeof ai],
] as const;

describe.each(providers)('%s', (_, create, { generateText, streamText }) => {
  it.each([true, false])('[X-13] has images made with openai.tools.imageGeneration; streamed: %s', (stream) =>
    oneImage(async (app) => {
      const openai = create({ apiKey: 'client-key', baseURL: app.url });
      // The cast: with exactOptionalPropertyTypes the SDK's own tool is none of its tools.
      const tools = { image_generation: openai.tools.imageGeneration({ size: '1024x1024' }) } as unknown as ai.ToolSet;
      const settings = { model: openai.responses('m'), tools, maxRetries: 0 };
      const messages: ai.ModelMessage[] = [{ role: 'user', content: 'Draw a cat.' }];
      const ask = () => (stream ? streamText({ ...settings, messages }) : generateText({ ...settings, messages }));
      const first = await ask();
      const [made] = await first.toolResults;
      messages.push(...(await first.response).messages, { role: 'user', content: 'What is it?' });
      const second = await ask();
      expect([made?.output, await first.text, await second.text, sentToModel(app)]).toEqual([
        { result: PNG },
        'There it is.',
        'A cat.',
        [[MADE], ['1024x1024']],
      ]);
    }),
  );
});
