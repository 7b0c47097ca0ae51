/** A run of OpenAI's agents SDK with a tool, whose trace its own exporter sends; prints what the run came to. */
import {
  Agent,
  BatchTraceProcessor,
  getGlobalTraceProvider,
  OpenAIProvider,
  OpenAITracingExporter,
  Runner,
  setTraceProcessors,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import { z } from 'zod';

const { BASE_URL, API_KEY = '', USE_CHAT } = process.env;
setTracingDisabled(false);
const exporter = new OpenAITracingExporter({ apiKey: API_KEY, endpoint: `${BASE_URL}/traces/ingest` });
setTraceProcessors([new BatchTraceProcessor(exporter)]);
const provider = new OpenAIProvider({ apiKey: API_KEY, baseURL: BASE_URL, useResponses: !USE_CHAT });
const look = tool({ name: 'look', description: 'Looks.', parameters: z.object({}), execute: () => 'a tree' });
const agent = new Agent({ name: 'looker', instructions: 'Look.', model: 'fake-model', tools: [look] });
const result = await new Runner({ modelProvider: provider, workflowName: 'Looking' }).run(agent, 'What is there?');
await getGlobalTraceProvider().forceFlush();
console.log(JSON.stringify(result.finalOutput));
