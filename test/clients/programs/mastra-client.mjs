/**
 * Mastra's agents, with its own models and with those of the AI SDK.
 *
 * client: `@mastra/core` (Mastra)
 * packages: @mastra/core @ai-sdk/openai zod
 * node: 22
 * settings: `model: createOpenAI({ baseURL, apiKey }).responses('my-model')`, or `model: { id: 'mine/my-model', url, apiKey }` for Chat Completions
 */
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { apiKey, baseURL, HELLO, pieces, shows, WEATHER, weather } from './support/scene.mjs';

const models = {
  responses: createOpenAI({ baseURL, apiKey }).responses('my-model'),
  chat: { id: 'mine/my-model', url: baseURL, apiKey },
};
const inputSchema = z.object({ city: z.string() });
const execute = async (input) => weather(input);
const tools = { weather: createTool({ id: 'weather', description: 'The weather.', inputSchema, execute }) };
const schema = z.object({ city: z.string(), celsius: z.number() });
const agent = (model, more) => new Agent({ id: 'helper', name: 'helper', instructions: 'Be brief.', model, ...more });

for (const [api, model] of Object.entries(models)) {
  await shows(api, 'text', async () => (await agent(model).generate(HELLO)).text);
  await shows(api, 'stream', async () => pieces((await agent(model).stream(HELLO)).textStream));
  await shows(api, 'tool', async () => (await agent(model, { tools }).generate(WEATHER)).text);
  await shows(
    api,
    'structured output',
    async () => (await agent(model).generate(WEATHER, { structuredOutput: { schema } })).object,
  );
}
