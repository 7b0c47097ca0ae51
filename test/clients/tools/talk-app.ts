/** An app with a tool of its own on both endpoints, over a model server that follows a script; and what a talk comes to. */
import express from 'express';
import {
  type CoreOptions,
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTool,
  functionTools,
  type Item,
  memoryStore,
  type ResponseStore,
  responsesRouter,
} from '../../../src/index.ts';
import { type FakeAnswer, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { transcript } from './transcript.ts';

/** A talk of several questions, and the model's part in it. */
export interface Script {
  readonly questions: readonly string[];
  /** What the model answers to each request, in order. */
  readonly rounds: readonly FakeAnswer[];
  /** Whether the client brings a tool of its own, `clock`. */
  readonly bringsClock: boolean;
}

/** What a client is given for its part. */
export interface Talk {
  /** The base URL of both endpoints. */
  readonly url: string;
  readonly questions: readonly string[];
  readonly bringsClock: boolean;
  /** Runs the client's own tool. */
  readonly clock: (args: ClockArguments) => string;
}

/** The arguments of the client's own tool. */
export interface ClockArguments {
  readonly zone: string;
}

/** How one client holds a talk: resolves with its final text for each question, and rejects on any failure it sees. */
export type Converse = (talk: Talk) => Promise<readonly string[]>;

/** Everything that came of a talk. */
export interface Reported {
  readonly answers: readonly string[];
  /** The runs of tools, as `whose: which argument`. */
  readonly ran: readonly string[];
  /** The conversation in each request to the model. */
  readonly requested: readonly (readonly string[])[];
  /** The items of each response that was kept, as `type name status`. */
  readonly shown: readonly (readonly string[])[];
}

/** The client's own tool, as JSON. */
export const CLOCK = {
  name: 'clock',
  description: 'Tells the time.',
  parameters: {
    type: 'object',
    properties: { zone: { type: 'string' } },
    required: ['zone'],
    additionalProperties: false,
  },
};

/** Lets the client hold the talk with an app of its own. */
export async function hold(converse: Converse, script: Script, options: CoreOptions = {}): Promise<Reported> {
  const { questions, rounds, bringsClock } = script;
  const ran: string[] = [];
  const shown: string[][] = [];
  const fake = await startFakeUpstream();
  fake.reply(...rounds);
  const app = await startTalkApp(fake.baseURL, { tools: weatherTools(ran), store: watchedStore(shown), ...options });
  try {
    const answers = await converse({ url: app.url, questions, bringsClock, clock: clockTool(ran) });
    return { answers, ran, requested: fake.requests.map(({ body }) => transcript(body)), shown };
  } finally {
    await Promise.all([app.close(), fake.close()]);
  }
}

function clockTool(ran: string[]): Talk['clock'] {
  return ({ zone }) => {
    ran.push(`client: clock ${zone}`);
    return `Noon in ${zone}.`;
  };
}

function weatherTools(ran: string[]) {
  return functionTools({
    weather: functionTool({
      description: 'Tells the weather.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      execute: ({ city }) => {
        ran.push(`server: weather ${city}`);
        return city === 'Atlantis' ? { content: 'No such city.', isError: true } : `Sunny in ${city}.`;
      },
    }),
  });
}

/** Notes what clients are shown: a response is kept as it was answered. */
function watchedStore(shown: string[][]): ResponseStore {
  const store = memoryStore();
  return {
    ...store,
    put(response) {
      if (response.id.startsWith('resp_')) shown.push(response.output.map(shape));
      return store.put(response);
    },
  };
}

function shape({ type, name, status }: Item): string {
  return [type, name, status].filter(Boolean).join(' ');
}

async function startTalkApp(baseURL: string, options: CoreOptions) {
  const upstream = chatCompletionsUpstream({ baseURL, apiKey: 'upstream-key', retries: 0 });
  const shared = { upstream, ...options };
  const { url, close } = await listening(express().use('/v1', responsesRouter(shared), chatCompletionsRouter(shared)));
  return { url: `${url}/v1`, close: () => Promise.all([close(), upstream.close?.()]) };
}
