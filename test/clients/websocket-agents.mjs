/** Two turns of OpenAI's agents SDK over its WebSocket transport, one with a tool; prints what it made of them. */
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';

const provider = new OpenAIProvider({
  apiKey: 'client-key',
  baseURL: process.env.BASE_URL,
  useResponses: true,
  useResponsesWebSocket: true,
});
const runner = new Runner({ modelProvider: provider, tracingDisabled: true });
const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: z.object({}),
  execute: () => 'a tree',
});
const agent = new Agent({ name: 'looker', instructions: 'Look.', model: 'fake-model', tools: [look] });

const first = await runner.run(agent, 'What is there?');
const second = await runner.run(agent, 'And now?', { previousResponseId: first.lastResponseId, stream: true });
await second.completed;
console.log(JSON.stringify([first.finalOutput, second.finalOutput]));
await provider.close?.();
