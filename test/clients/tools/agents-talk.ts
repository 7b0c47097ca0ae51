/** How an app holds a talk with @openai/agents. */
import { Agent, type AgentInputItem, MemorySession, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { CLOCK, type Converse, type Talk } from './talk-app.ts';

/** What the app brings along to the next question. */
export type AgentsMemory = 'history' | 'session' | 'previousResponseId';

/** How the client is set up. */
export interface AgentsWay {
  readonly endpoint: 'responses' | 'chat';
  readonly stream: boolean;
  readonly memory: AgentsMemory;
  /** Whether the server may keep the conversation; the client leaves that to the server by default. */
  readonly store?: false;
}

/** Runs one agent for each question; `seen` is given the items that each run added. */
export function agentsTalk(way: AgentsWay, seen: (items: readonly AgentInputItem[]) => void = () => {}): Converse {
  return async function converse(talk) {
    const run = runOf(way, talk);
    const memory = newMemory(way.memory);
    const answers: string[] = [];
    for (const question of talk.questions) {
      const [input, options] = memory.next(question);
      const result = await run(input, options);
      seen(result.output);
      memory.keep(result);
      answers.push(result.finalOutput ?? '');
    }
    return answers;
  };
}

/** What is read of a run that has ended. */
interface Ended {
  readonly finalOutput?: string | undefined;
  readonly history: AgentInputItem[];
  readonly output: readonly AgentInputItem[];
  readonly lastResponseId?: string | undefined;
}

interface Options {
  readonly session?: MemorySession;
  readonly previousResponseId?: string;
}

type Input = string | AgentInputItem[];

function runOf({ endpoint, stream, store }: AgentsWay, talk: Talk) {
  const modelProvider = new OpenAIProvider({
    apiKey: 'client-key',
    baseURL: talk.url,
    useResponses: endpoint === 'responses',
  });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const modelSettings = store === false ? { store } : {};
  const tools = talk.bringsClock ? [clockTool(talk)] : [];
  const agent = new Agent({ name: 'weatherman', model: 'fake-model', modelSettings, tools });
  return async (input: Input, options: Options): Promise<Ended> => {
    if (!stream) return runner.run(agent, input, options);
    const result = await runner.run(agent, input, { ...options, stream });
    // The run goes on as its events are read.
    for await (const _ of result);
    await result.completed;
    return result;
  };
}

function clockTool({ clock }: Talk) {
  const { name, description } = CLOCK;
  return tool({
    name,
    description,
    parameters: z.object({ zone: z.string() }),
    execute: clock,
    // By default the model is informed of the failure, and nobody else.
    errorFunction: null,
  });
}

function newMemory(kind: AgentsMemory) {
  const session = new MemorySession();
  let history: AgentInputItem[] = [];
  let previousResponseId: string | undefined;
  return {
    next(question: string): readonly [Input, Options] {
      if (kind === 'history') return [[...history, { role: 'user', content: question }], {}];
      if (kind === 'session') return [question, { session }];
      return [question, previousResponseId === undefined ? {} : { previousResponseId }];
    },
    keep(ended: Ended): void {
      history = ended.history;
      previousResponseId = ended.lastResponseId;
    },
  };
}
