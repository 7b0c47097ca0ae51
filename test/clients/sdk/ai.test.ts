/** The AI SDK in both versions that people use, with OpenAI's provider and with that of Open Responses, against the example app. */
import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import * as ai6 from 'ai';
import { createOpenResponses as createOpenResponses2 } from 'ai-sdk-open-responses2';
import { createOpenAI as createOpenAI4 } from 'ai-sdk-openai4';
import * as ai7 from 'ai7';
import { z } from 'zod';
import { type Connection, itServes } from './it-serves.ts';
import { type Received, type Wanted, WEATHER, weatherIn } from './scenarios.ts';

// It prints warnings of its own, which are looked at elsewhere.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

type Ai = typeof ai6;
type Model = ai6.LanguageModel;
type Message = ai6.ModelMessage;

/** What is read of one answer, streamed or not. */
interface Ended {
  readonly text: string;
  readonly thoughts: string;
  readonly messages: readonly Message[];
}

function settingsOf(ai: Ai, model: Model, wanted: Wanted, { signal }: Connection) {
  const city = z.object({ city: z.string() });
  const weather = ai.tool({
    description: WEATHER.description,
    inputSchema: city,
    execute: (args: { readonly city: string }) => weatherIn(args.city),
  });
  return {
    model,
    maxRetries: 0,
    abortSignal: signal,
    stopWhen: ai.stepCountIs(5),
    ...(wanted.weather ? { tools: { get_weather: weather } } : {}),
    ...(wanted.json ? { output: ai.Output.object({ schema: city, name: 'city' }) } : {}),
  };
}

type Settings = ReturnType<typeof settingsOf> & { readonly messages: Message[] };

async function generated(ai: Ai, settings: Settings): Promise<Ended> {
  const result = await ai.generateText(settings);
  return { text: result.text, thoughts: thoughtsIn(result.steps), messages: await messagesOf(result) };
}

async function streamed(ai: Ai, settings: Settings, { received }: Connection): Promise<Ended> {
  // Errors are parts of the stream.
  const result = ai.streamText({ ...settings, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw new Error('The app left.');
    if (part.type === 'text-delta') received(part.text);
  }
  const [text, steps] = await Promise.all([result.text, result.steps]);
  return { text, thoughts: thoughtsIn(steps), messages: await messagesOf(result) };
}

/** The newer version has all of them in one place, and only the last step's in the older one's. */
async function messagesOf(result: {
  readonly response: PromiseLike<{ readonly messages: readonly Message[] }> | { readonly messages: readonly Message[] };
  readonly responseMessages?: PromiseLike<readonly Message[]> | readonly Message[];
}): Promise<readonly Message[]> {
  return (await result.responseMessages) ?? (await result.response).messages;
}

function thoughtsIn(steps: readonly { readonly reasoningText?: string | undefined }[]): string {
  return steps.map(({ reasoningText }) => reasoningText ?? '').join('');
}

function questionOf(text: string, image: string | undefined): Message {
  if (image === undefined) return { role: 'user', content: text };
  return {
    role: 'user',
    content: [
      { type: 'text', text },
      { type: 'image', image },
    ],
  };
}

function useOf(ai: Ai, modelOf: (url: string) => Model) {
  return async (wanted: Wanted, connection: Connection): Promise<Received> => {
    const answers: string[] = [];
    let messages: readonly Message[] = [];
    let thoughts = '';
    for (const [index, question] of wanted.questions.entries()) {
      messages = [...messages, questionOf(question, index === 0 ? wanted.image : undefined)];
      const settings = { ...settingsOf(ai, modelOf(connection.url), wanted, connection), messages: [...messages] };
      const ended = await (connection.stream ? streamed(ai, settings, connection) : generated(ai, settings));
      messages = [...messages, ...ended.messages];
      answers.push(ended.text);
      thoughts += ended.thoughts;
    }
    return { answers, thoughts };
  };
}

const apiKey = 'client-key';
// The casts: what is called is the same in both versions.
const newer = ai7 as unknown as Ai;

itServes({
  title: 'ai 6 with @ai-sdk/openai 3',
  use: useOf(ai6, (url) => createOpenAI({ apiKey, baseURL: url }).responses('fake-model')),
});
itServes({
  title: 'ai 6 with @ai-sdk/open-responses 1',
  untold: { thoughtsInOnePiece: true, failures: true },
  use: useOf(ai6, (url) => createOpenResponses({ name: 'fake', apiKey, url: `${url}/responses` })('fake-model')),
});
itServes({
  title: 'ai 7 with @ai-sdk/openai 4',
  use: useOf(newer, (url) => createOpenAI4({ apiKey, baseURL: url }).responses('fake-model') as unknown as Model),
});
itServes({
  title: 'ai 7 with @ai-sdk/open-responses 2',
  use: useOf(
    newer,
    (url) => createOpenResponses2({ name: 'fake', apiKey, url: `${url}/responses` })('fake-model') as unknown as Model,
  ),
});
