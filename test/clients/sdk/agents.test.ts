/** @openai/agents against the example app, with each of its ways to remember. */
import {
  Agent,
  type AgentInputItem,
  MemorySession,
  OpenAIConversationsSession,
  OpenAIProvider,
  Runner,
  type Session,
  tool,
} from '@openai/agents';
import { z } from 'zod';
import { type Connection, itServes } from './it-serves.ts';
import { type Received, type Wanted, WEATHER, weatherIn } from './scenarios.ts';

/** What the app gives the runner so that it knows the conversation. */
interface Memory {
  readonly session?: Session;
  readonly previousResponseId?: string;
  readonly input: AgentInputItem[];
}

/** What is read of a run that has ended. */
interface Ended {
  readonly finalOutput?: unknown;
  readonly history: AgentInputItem[];
  readonly output: readonly AgentInputItem[];
  readonly lastResponseId?: string | undefined;
}

/** How the app remembers: makes what the runner is given for the next question. */
type Remember = (url: string) => (question: AgentInputItem, before: Ended | undefined) => Memory;

const byHistory: Remember = () => (question, before) => ({ input: [...(before?.history ?? []), question] });

const bySession =
  (open: (url: string) => Session): Remember =>
  (url) => {
    const session = open(url);
    return (question) => ({ input: [question], session });
  };

const byId: Remember = () => (question, before) => ({
  input: [question],
  ...(before?.lastResponseId === undefined ? {} : { previousResponseId: before.lastResponseId }),
});

function conversations(url: string): Session {
  return new OpenAIConversationsSession({ apiKey: 'client-key', baseURL: url });
}

function runnerOf({ url }: Connection): Runner {
  const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: url, useResponses: true });
  return new Runner({ modelProvider, tracingDisabled: true });
}

const weather = tool({
  name: WEATHER.name,
  description: WEATHER.description,
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => weatherIn(city),
  errorFunction: null,
});

function agentOf(wanted: Wanted) {
  const tools = wanted.weather ? [weather] : [];
  const model = { name: 'weatherman', model: 'fake-model', tools };
  return wanted.json ? new Agent({ ...model, outputType: z.object({ city: z.string() }) }) : new Agent(model);
}

async function run(wanted: Wanted, { input, ...memory }: Memory, connection: Connection): Promise<Ended> {
  const { stream, signal, received } = connection;
  // The cast: agents of both kinds of output are run alike.
  const agent = agentOf(wanted) as Agent;
  const options = { ...memory, signal };
  // With a session, a list would need a callback that says how to join it to the conversation.
  const given = memory.session ? textIn(input) : input;
  if (!stream) return runnerOf(connection).run(agent, given, options);
  const result = await runnerOf(connection).run(agent, given, { ...options, stream: true });
  for await (const event of result)
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') received(event.data.delta);
  // A run that was left ends without an error.
  signal.throwIfAborted();
  await result.completed;
  return result;
}

function textIn([question]: readonly AgentInputItem[]): string | AgentInputItem[] {
  if (question && 'content' in question && typeof question.content === 'string') return question.content;
  return question ? [question] : [];
}

function questionOf(text: string, image: string | undefined): AgentInputItem {
  if (image === undefined) return { role: 'user', content: text };
  return {
    role: 'user',
    content: [
      { type: 'input_text', text },
      { type: 'input_image', image },
    ],
  };
}

function thoughtsIn({ output }: Ended): string {
  return output
    .flatMap((item) => (item.type === 'reasoning' ? item.content : []))
    .map(({ text }) => text)
    .join('');
}

function useOf(remember: Remember) {
  return async (wanted: Wanted, connection: Connection): Promise<Received> => {
    const next = remember(connection.url);
    const answers: string[] = [];
    let thoughts = '';
    let before: Ended | undefined;
    for (const [index, question] of wanted.questions.entries()) {
      const requested = questionOf(question, index === 0 ? wanted.image : undefined);
      before = await run(wanted, next(requested, before), connection);
      const { finalOutput: written } = before;
      answers.push(typeof written === 'string' ? written : JSON.stringify(written));
      thoughts += thoughtsIn(before);
    }
    return { answers, thoughts };
  };
}

itServes({ title: 'agents, with their history', use: useOf(byHistory) });
itServes({ title: 'agents, with a session in memory', use: useOf(bySession(() => new MemorySession())) });
itServes({ title: 'agents, with a conversation kept by the server', use: useOf(bySession(conversations)) });
itServes({ title: 'agents, with previousResponseId', use: useOf(byId) });
