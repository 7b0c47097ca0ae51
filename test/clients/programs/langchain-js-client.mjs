/**
 * LangChain's model for OpenAI.
 *
 * client: `@langchain/openai` (LangChain)
 * packages: @langchain/openai @langchain/core zod
 * settings: `new ChatOpenAI({ model, apiKey, useResponsesApi: true, configuration: { baseURL } })`, or `false`
 */
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { apiKey, baseURL, HELLO, pieces, shows, WEATHER, weather } from './support/scene.mjs';

const weatherTool = tool(weather, {
  name: 'weather',
  description: 'The weather.',
  schema: z.object({ city: z.string() }),
});
const Weather = z.object({ city: z.string(), celsius: z.number() });

async function called(model) {
  const bound = model.bindTools([weatherTool]);
  const question = { role: 'user', content: WEATHER };
  const answer = await bound.invoke([question]);
  return (await bound.invoke([question, answer, await weatherTool.invoke(answer.tool_calls[0])])).text;
}

for (const [api, useResponsesApi] of [
  ['responses', true],
  ['chat', false],
]) {
  const model = new ChatOpenAI({ model: 'my-model', apiKey, useResponsesApi, configuration: { baseURL } });
  await shows(api, 'text', async () => (await model.invoke(HELLO)).text);
  await shows(api, 'stream', async () => pieces(await model.stream(HELLO), ({ text }) => text));
  await shows(api, 'tool', () => called(model));
  await shows(api, 'structured output', () =>
    model.withStructuredOutput(Weather, { method: 'jsonSchema' }).invoke(WEATHER),
  );
}
