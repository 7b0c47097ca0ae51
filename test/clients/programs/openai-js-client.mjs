/**
 * OpenAI's SDK for JavaScript.
 *
 * client: `openai` for JavaScript
 * packages: openai zod
 * settings: `new OpenAI({ baseURL, apiKey })`
 */
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { apiKey, baseURL, HELLO, pieces, shows, WEATHER, weather } from './support/scene.mjs';

const { responses, chat } = new OpenAI({ baseURL, apiKey });
const model = 'my-model';
const Weather = z.object({ city: z.string(), celsius: z.number() });
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tool = { type: 'function', name: 'weather', parameters };
const hello = { model, messages: [{ role: 'user', content: HELLO }] };

async function responsesTool() {
  const first = await responses.create({ model, input: WEATHER, tools: [tool] });
  const { call_id, arguments: json } = first.output.find(({ type }) => type === 'function_call');
  const input = [{ type: 'function_call_output', call_id, output: weather(JSON.parse(json)) }];
  return (await responses.create({ model, input, previous_response_id: first.id, tools: [tool] })).output_text;
}

await shows('responses', 'text', async () => (await responses.create({ model, input: HELLO })).output_text);
await shows('responses', 'stream', () =>
  pieces(responses.stream({ model, input: HELLO }), ({ type, delta }) => type.endsWith('text.delta') && delta),
);
await shows('responses', 'tool', responsesTool);
const text = { format: zodTextFormat(Weather, 'weather') };
await shows(
  'responses',
  'structured output',
  async () => (await responses.parse({ model, input: WEATHER, text })).output_parsed,
);
await shows('chat', 'text', async () => (await chat.completions.create(hello)).choices[0].message.content);
await shows('chat', 'stream', async () =>
  pieces(chat.completions.stream(hello), ({ choices }) => choices[0]?.delta.content),
);
const asked = { model, messages: [{ role: 'user', content: WEATHER }] };
const run = { type: 'function', function: { name: 'weather', parameters, function: weather, parse: JSON.parse } };
await shows('chat', 'tool', () => chat.completions.runTools({ ...asked, tools: [run] }).finalContent());
const response_format = zodResponseFormat(Weather, 'weather');
await shows(
  'chat',
  'structured output',
  async () => (await chat.completions.parse({ ...asked, response_format })).choices[0].message.parsed,
);
