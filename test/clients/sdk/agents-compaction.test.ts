/** @openai/agents with its session that lets the server compact the conversation. */
import { Agent, OpenAIProvider, OpenAIResponsesCompactionSession, Runner } from '@openai/agents';
import OpenAI from 'openai7';
import { textStream } from '../../../src/testing/index.ts';
import { startRequestApp } from '../../support/request-app.ts';
import { transcript } from '../tools/transcript.ts';

it('[Q-02] [S-14] goes on after a compaction, with what the model made of it', async () => {
  const app = await startRequestApp();
  app.upstream.reply(...['Hello.', 'They greeted each other.', 'Bye.'].map((text) => ({ body: textStream(text) })));
  const client = new OpenAI({ apiKey: 'client-key', baseURL: app.url, maxRetries: 0 });
  const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: app.url, useResponses: true });
  let turns = 0;
  const session = new OpenAIResponsesCompactionSession({
    // The cast: the package has a copy of the client's types of its own.
    client: client as never,
    shouldTriggerCompaction: () => {
      turns += 1;
      return turns === 1;
    },
  });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({ name: 'greeter', model: 'gpt-5' });

  await runner.run(agent, 'Hi.', { session });
  const { finalOutput } = await runner.run(agent, 'And now?', { session });
  const reported = transcript(app.upstream.requests.at(-1)?.body);
  await app.close();
  expect([
    finalOutput,
    app.upstream.requests.length,
    reported.at(-1),
    reported.some((line) => line.includes('They greeted each other.')),
    reported.some((line) => line.includes('Hello.')),
  ]).toEqual(['Bye.', 3, 'user: And now?', true, false]);
});
