/** How an app holds a talk with the AI SDK, whatever its provider. */

import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import {
  convertToModelMessages,
  generateText,
  type LanguageModel,
  type ModelMessage,
  type ProviderMetadata,
  readUIMessageStream,
  stepCountIs,
  streamText,
  tool,
  type UIMessage,
} from 'ai';
import { z } from 'zod';
import { CLOCK, type Converse, type Talk } from './talk-app.ts';

// It prints what is sent without the server's calls; the tests look at that themselves.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** The models of the providers that speak to this package. */
export const models = {
  openai: ({ url }: Talk): LanguageModel =>
    createOpenAI({ apiKey: 'client-key', baseURL: url }).responses('fake-model'),
  openaiChat: ({ url }: Talk): LanguageModel => createOpenAI({ apiKey: 'client-key', baseURL: url }).chat('fake-model'),
  openResponses: ({ url }: Talk): LanguageModel =>
    createOpenResponses({ name: 'fake', apiKey: 'client-key', url: `${url}/responses` })('fake-model'),
};

/** How the client is set up. */
export interface AiWay {
  readonly model: keyof typeof models;
  readonly stream: boolean;
  /** What the app says of OpenAI's `store`; the provider leaves it out by default. */
  readonly store?: false;
  /** Sends what is new, with the id of the response before. */
  readonly byId?: true;
}

/** A part of what was written and done, by the model and by tools. */
export interface Part {
  readonly type: string;
  readonly toolName?: string;
  readonly output?: unknown;
}

/** What is read of one answer, streamed or not. */
interface Ended {
  readonly text: string;
  readonly parts: readonly Part[];
  readonly messages: readonly ModelMessage[];
  readonly metadata: ProviderMetadata | undefined;
}

/** Asks with the messages so far; `seen` is given the parts of each answer. */
export function aiTalk(way: AiWay, seen: (parts: readonly Part[]) => void = () => {}): Converse {
  return async function converse(talk) {
    const ask = way.stream ? streamed : generated;
    const memory = newMemory(way);
    const answers: string[] = [];
    for (const question of talk.questions) {
      const ended = await ask({ ...settingsOf(models[way.model](talk), talk), ...memory.next(question) });
      seen(ended.parts);
      refuseFailures(ended.parts);
      memory.keep(ended);
      answers.push(ended.text);
    }
    return answers;
  };
}

function settingsOf(model: LanguageModel, { bringsClock, clock }: Talk) {
  const { description } = CLOCK;
  const own = tool({ description, inputSchema: z.object({ zone: z.string() }), execute: (args) => clock(args) });
  return { model, maxRetries: 0, stopWhen: stepCountIs(3), ...(bringsClock ? { tools: { clock: own } } : {}) };
}

function newMemory({ store, byId }: AiWay) {
  let messages: ModelMessage[] = [];
  let previousResponseId: string | undefined;
  return {
    next(content: string) {
      messages = [...messages, { role: 'user', content }];
      const previous = previousResponseId === undefined ? {} : { previousResponseId };
      return { messages, providerOptions: { openai: { ...(store === false ? { store } : {}), ...previous } } };
    },
    keep({ messages: answered, metadata }: Ended): void {
      messages = byId ? [] : [...messages, ...answered];
      if (byId) previousResponseId = String(metadata?.openai?.responseId);
    },
  };
}

type Settings = ReturnType<typeof settingsOf> & ReturnType<ReturnType<typeof newMemory>['next']>;

async function generated(settings: Settings): Promise<Ended> {
  const { text, steps, response, providerMetadata: metadata } = await generateText(settings);
  return { text, parts: steps.flatMap(({ content }) => content), messages: response.messages, metadata };
}

async function streamed(settings: Settings): Promise<Ended> {
  // Errors are parts of the stream.
  const result = streamText({ ...settings, onError: () => {} });
  for await (const part of result.fullStream) if (part.type === 'error') throw part.error;
  const [text, steps, response] = await Promise.all([result.text, result.steps, result.response]);
  const metadata = await result.providerMetadata;
  return { text, parts: steps.flatMap(({ content }) => content), messages: response.messages, metadata };
}

/** The app's own tool failed, or the model called one that the app does not have. */
function refuseFailures(parts: readonly Part[]): void {
  const failed = parts.find(({ type }) => type === 'tool-error');
  if (failed) throw new Error(`A call of ${failed.toolName} failed.`);
}

/** Keeps the talk as a chat's user interface does: each message as the stream of it was shown. */
export function aiUiTalk(model: keyof typeof models): Converse {
  return async function converse(talk) {
    const settings = settingsOf(models[model](talk), talk);
    let shown: readonly UIMessage[] = [];
    for (const [index, text] of talk.questions.entries()) {
      shown = [...shown, { id: `question-${index}`, role: 'user', parts: [{ type: 'text', text }] }];
      const result = streamText({ ...settings, messages: await convertToModelMessages([...shown]) });
      shown = [...shown, await lastShown(result.toUIMessageStream())];
    }
    return shown.filter(({ role }) => role === 'assistant').map(lastText);
  };
}

async function lastShown(stream: Parameters<typeof readUIMessageStream>[0]['stream']): Promise<UIMessage> {
  let message: UIMessage | undefined;
  for await (const latest of readUIMessageStream({ stream, terminateOnError: true })) message = latest;
  if (!message) throw new Error('Nothing was shown.');
  return message;
}

function lastText({ parts }: UIMessage): string {
  const last = parts.at(-1);
  return last?.type === 'text' ? last.text : '';
}
