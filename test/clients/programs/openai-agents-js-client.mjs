/**
 * OpenAI's agents SDK for JavaScript.
 *
 * client: `@openai/agents`
 * packages: @openai/agents zod
 * settings: `new OpenAIProvider({ baseURL, apiKey, useResponses: true })`, or `false`, and `tracingDisabled: true` of the `Runner`
 */
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { apiKey, baseURL, HELLO, pieces, shows, WEATHER, weather } from './support/scene.mjs';

const parameters = z.object({ city: z.string() });
const tools = [
  tool({ name: 'weather', description: 'The weather.', parameters, execute: async (input) => weather(input) }),
];
const outputType = z.object({ city: z.string(), celsius: z.number() });
const agent = (more) => new Agent({ name: 'helper', instructions: 'Be brief.', model: 'my-model', ...more });

for (const [api, useResponses] of [
  ['responses', true],
  ['chat', false],
]) {
  const runner = new Runner({
    modelProvider: new OpenAIProvider({ baseURL, apiKey, useResponses }),
    tracingDisabled: true,
  });
  const answer = async (made, question) => (await runner.run(made, question)).finalOutput;
  await shows(api, 'text', () => answer(agent(), HELLO));
  await shows(api, 'stream', async () => pieces((await runner.run(agent(), HELLO, { stream: true })).toTextStream()));
  await shows(api, 'tool', () => answer(agent({ tools }), WEATHER));
  await shows(api, 'structured output', () => answer(agent({ outputType }), WEATHER));
}
