/** How an app holds a talk with openai-node's `chat.completions`. */
import type OpenAI from 'openai';
import { clientOf } from './openai-responses.ts';
import { CLOCK, type Converse, type Talk } from './talk-app.ts';

type Completion = OpenAI.Chat.ChatCompletion;
type Choice = OpenAI.Chat.ChatCompletion.Choice;
type Message = OpenAI.Chat.ChatCompletionMessageParam;
type Body = Omit<OpenAI.Chat.ChatCompletionCreateParamsNonStreaming, 'stream'>;

/** The ways to ask for one completion. */
export const chatAsks = {
  create: (client: OpenAI, body: Body): Promise<Completion> => client.chat.completions.create(body),
  'completions.stream': (client: OpenAI, body: Body): Promise<Completion> =>
    client.chat.completions.stream(body).finalChatCompletion(),
};

/** Answers calls of the app's own tool until there are none. */
export function openaiChat(Client: typeof OpenAI, ask: keyof typeof chatAsks): Converse {
  return async function converse(talk) {
    const client = clientOf(Client, talk);
    const tools = talk.bringsClock ? { tools: [{ type: 'function' as const, function: CLOCK }] } : {};
    const messages: Message[] = [];

    async function turn(added: readonly Message[]): Promise<string> {
      messages.push(...added);
      const { message } = onlyChoice(await chatAsks[ask](client, { model: 'fake-model', messages, ...tools }));
      messages.push(message);
      const outputs = outputsFor(message, talk);
      return outputs.length === 0 ? (message.content ?? '') : turn(outputs);
    }

    const answers: string[] = [];
    for (const content of talk.questions) answers.push(await turn([{ role: 'user', content }]));
    return answers;
  };
}

function onlyChoice({ choices }: Completion): Choice {
  const [choice] = choices;
  if (!choice || choices.length > 1) throw new Error(`One choice is expected, not ${choices.length}.`);
  const expected = choice.message.tool_calls?.length ? 'tool_calls' : 'stop';
  if (choice.finish_reason !== expected) throw new Error(`The finish reason is ${choice.finish_reason}.`);
  return choice;
}

function outputsFor({ tool_calls: calls = [] }: OpenAI.Chat.ChatCompletionMessage, { clock }: Talk): Message[] {
  return calls
    .filter((call) => call.type === 'function')
    .map(({ id, function: called }) => ({
      role: 'tool',
      tool_call_id: id,
      content: clock(JSON.parse(called.arguments)),
    }));
}

/** The helper that runs an app's tools by itself, with `stream` or without. */
export function openaiRunTools(Client: typeof OpenAI, stream: boolean): Converse {
  return async function converse(talk) {
    const { completions } = clientOf(Client, talk).chat;
    const answers: string[] = [];
    let messages: Message[] = [];
    for (const content of talk.questions) {
      const body = {
        model: 'fake-model',
        messages: [...messages, { role: 'user' as const, content }],
        tools: runnableTools(talk),
      };
      const runner = stream ? completions.runTools({ ...body, stream }) : completions.runTools(body);
      answers.push((await runner.finalContent()) ?? '');
      messages = runner.messages;
    }
    return answers;
  };
}

function runnableTools({ bringsClock, clock }: Talk) {
  const called = { ...CLOCK, parse: JSON.parse, function: clock };
  return bringsClock ? [{ type: 'function' as const, function: called }] : [];
}
