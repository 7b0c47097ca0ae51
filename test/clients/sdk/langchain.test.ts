/** @langchain/openai against the example app. */
import { type AIMessage, type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { type Connection, itServes } from './it-serves.ts';
import { CITY, type Received, type Wanted, WEATHER, weatherIn } from './scenarios.ts';

const weather = tool(({ city }: { readonly city: string }) => weatherIn(city), {
  name: WEATHER.name,
  description: WEATHER.description,
  schema: z.object({ city: z.string() }),
});

type Runnable = Pick<ChatOpenAI, 'invoke' | 'stream'>;

function runnableOf(wanted: Wanted, { url }: Connection): Runnable {
  const configuration = { baseURL: url };
  const model = new ChatOpenAI({
    model: 'fake-model',
    apiKey: 'client-key',
    useResponsesApi: true,
    maxRetries: 0,
    configuration,
  });
  if (wanted.weather) return model.bindTools([weather]);
  const format = { type: 'json_schema', json_schema: { name: 'city', schema: CITY, strict: true } } as const;
  return wanted.json ? model.withConfig({ response_format: format }) : model;
}

async function ask(runnable: Runnable, messages: readonly BaseMessage[], connection: Connection): Promise<AIMessage> {
  const { stream, signal, received } = connection;
  if (!stream) return runnable.invoke([...messages], { signal });
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await runnable.stream([...messages], { signal })) {
    if (chunk.text !== '') received(chunk.text);
    whole = whole?.concat(chunk) ?? chunk;
  }
  if (!whole) throw new Error('There was no answer.');
  return whole;
}

function questionOf(text: string, image: string | undefined): HumanMessage {
  if (image === undefined) return new HumanMessage(text);
  return new HumanMessage({
    content: [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: image } },
    ],
  });
}

function thoughtsIn({ contentBlocks }: AIMessage): string {
  return contentBlocks.map((block) => (block.type === 'reasoning' ? block.reasoning : '')).join('');
}

async function use(wanted: Wanted, connection: Connection): Promise<Received> {
  const runnable = runnableOf(wanted, connection);
  const answers: string[] = [];
  let messages: readonly BaseMessage[] = [];
  let thoughts = '';
  for (const [index, question] of wanted.questions.entries()) {
    let next: readonly BaseMessage[] = [questionOf(question, index === 0 ? wanted.image : undefined)];
    let text = '';
    while (next.length > 0) {
      const message = await ask(runnable, [...messages, ...next], connection);
      messages = [...messages, ...next, message];
      thoughts += thoughtsIn(message);
      text = message.text;
      next = await Promise.all(
        (message.tool_calls ?? []).map((call) => weather.invoke({ ...call, type: 'tool_call' })),
      );
    }
    answers.push(text);
  }
  return { answers, thoughts };
}

itServes({ title: 'LangChain', use });
