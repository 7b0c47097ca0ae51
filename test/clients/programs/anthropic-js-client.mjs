/**
 * Anthropic's SDK for JavaScript.
 *
 * client: `@anthropic-ai/sdk`
 * packages: @anthropic-ai/sdk zod
 * settings: `new Anthropic({ baseURL: 'http://localhost:3000', apiKey })`, without `/v1`
 */
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { z } from 'zod';
import { apiKey, baseURL, HELLO, pieces, shows, WEATHER, weather } from './support/scene.mjs';

const { messages, beta } = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey });
const asking = (content) => ({ model: 'my-model', max_tokens: 1000, messages: [{ role: 'user', content }] });
const inputSchema = z.object({ city: z.string() });
const tools = [betaZodTool({ name: 'weather', description: 'The weather.', inputSchema, run: weather })];
const output_config = { format: zodOutputFormat(z.object({ city: z.string(), celsius: z.number() })) };

await shows('messages', 'text', async () => (await messages.create(asking(HELLO))).content[0].text);
await shows('messages', 'stream', () => pieces(messages.stream(asking(HELLO)), ({ delta }) => delta?.text));
await shows(
  'messages',
  'tool',
  async () => (await beta.messages.toolRunner({ ...asking(WEATHER), tools })).content[0].text,
);
await shows(
  'messages',
  'structured output',
  async () => (await messages.parse({ ...asking(WEATHER), output_config })).parsed_output,
);
