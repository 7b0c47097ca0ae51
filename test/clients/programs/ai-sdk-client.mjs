/**
 * Vercel's AI SDK with its provider for OpenAI.
 *
 * client: `ai` and `@ai-sdk/openai` (Vercel's AI SDK)
 * packages: ai @ai-sdk/openai zod
 * settings: `createOpenAI({ baseURL, apiKey })`, and of it `responses('my-model')` or `chat('my-model')`
 */
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { apiKey, baseURL, HELLO, pieces, shows, WEATHER, weather } from './support/scene.mjs';

const mine = createOpenAI({ baseURL, apiKey });
const inputSchema = z.object({ city: z.string() });
const tools = { weather: tool({ description: 'The weather.', inputSchema, execute: async (input) => weather(input) }) };
const output = Output.object({ schema: z.object({ city: z.string(), celsius: z.number() }) });
const stopWhen = stepCountIs(3);

for (const api of ['responses', 'chat']) {
  const model = mine[api]('my-model');
  await shows(api, 'text', async () => (await generateText({ model, prompt: HELLO })).text);
  await shows(api, 'stream', () => pieces(streamText({ model, prompt: HELLO }).textStream));
  await shows(api, 'tool', async () => (await generateText({ model, prompt: WEATHER, tools, stopWhen })).text);
  await shows(api, 'structured output', async () => (await generateText({ model, prompt: WEATHER, output })).output);
}
