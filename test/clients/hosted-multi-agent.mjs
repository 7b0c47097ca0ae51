/** OpenAI's agents SDK with its experimental model of several agents: two runs, whole and streamed; prints what it made of them. */
import { Agent, Runner, tool } from '@openai/agents';
import {
  getHostedAgentMetadata,
  OpenAIHostedMultiAgentModel,
} from '@openai/agents-openai/experimental/hosted-multi-agent';
import OpenAI from 'openai7';
import { z } from 'zod';

const client = new OpenAI({ apiKey: 'client-key', baseURL: process.env.BASE_URL });
const model = new OpenAIHostedMultiAgentModel(client, 'fake-model', { maxConcurrentSubagents: 2 });
const asked = [];
const ask = tool({
  name: 'ask',
  description: 'Asks.',
  parameters: z.object({ what: z.string() }),
  execute: ({ what }, _context, details) => {
    asked.push([what, getHostedAgentMetadata(details)?.agentName]);
    return `${what} is blue`;
  },
});
const agent = new Agent({ name: 'asker', instructions: 'Ask.', model, tools: [ask] });
const runner = new Runner({ tracingDisabled: true });

const whole = await runner.run(agent, 'What is it?');
const streamed = await runner.run(agent, 'What is it?', { stream: true });
let text = '';
for await (const piece of streamed.toTextStream()) text += piece;
await streamed.completed;
console.log(JSON.stringify({ whole: whole.finalOutput, streamed: streamed.finalOutput, text, asked }));
await model.close();
