/** How an app holds a talk with @langchain/openai. */
import { type AIMessage, type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai';
import { z } from 'zod';
import { CLOCK, type ClockArguments, type Converse, type Talk } from './talk-app.ts';

/** How the client is set up. */
export interface LangchainWay {
  readonly stream: boolean;
  /** What the app sets besides address and key. */
  readonly fields?: ChatOpenAIFields;
  /** Sends what is new, with the id of the response before. */
  readonly byId?: true;
}

/** Answers calls of the app's own tool until there are none; `seen` is given each of the model's messages. */
export function langchainTalk(way: LangchainWay, seen: (message: AIMessage) => void = () => {}): Converse {
  return async function converse(talk) {
    const model = modelOf(way, talk);
    const clock = clockTool(talk);
    const runnable = talk.bringsClock ? model.bindTools([clock]) : model;
    let messages: readonly BaseMessage[] = [];
    let previous: string | undefined;

    async function turn(added: readonly BaseMessage[]): Promise<string> {
      messages = way.byId ? added : [...messages, ...added];
      const options = way.byId && previous !== undefined ? { previous_response_id: previous } : {};
      const message = await ask(runnable, messages, options, way.stream);
      seen(message);
      previous = String(message.response_metadata.id);
      messages = [...messages, message];
      const outputs = await Promise.all(
        (message.tool_calls ?? []).map((call) => clock.invoke({ ...call, type: 'tool_call' })),
      );
      return outputs.length === 0 ? message.text : turn(outputs);
    }

    const answers: string[] = [];
    for (const question of talk.questions) answers.push(await turn([new HumanMessage(question)]));
    return answers;
  };
}

function modelOf({ fields }: LangchainWay, { url }: Talk): ChatOpenAI {
  const configuration = { baseURL: url };
  return new ChatOpenAI({ model: 'fake-model', apiKey: 'client-key', maxRetries: 0, configuration, ...fields });
}

function clockTool({ clock }: Talk) {
  const { name, description } = CLOCK;
  return tool((args: ClockArguments) => clock(args), { name, description, schema: z.object({ zone: z.string() }) });
}

type Runnable = Pick<ChatOpenAI, 'invoke' | 'stream'>;

async function ask(
  model: Runnable,
  messages: readonly BaseMessage[],
  options: { readonly previous_response_id?: string },
  stream: boolean,
): Promise<AIMessage> {
  if (!stream) return model.invoke([...messages], options);
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await model.stream([...messages], options)) whole = whole?.concat(chunk) ?? chunk;
  if (!whole) throw new Error('There was no answer.');
  return whole;
}
