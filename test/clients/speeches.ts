/** What a model says, as the server behind each upstream writes it. */
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { responsesUpstream } from 'express-open-responses/upstreams/responses';
import { functionTools, type RouterOptions } from '../../src/index.ts';
import {
  chatStream,
  type FakeResponder,
  type FakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { messageOf } from '../apis/messages/accumulate.ts';
import { eventsIn, type MessagesApp, startMessages } from '../apis/messages/messages-app.ts';
import { messagesStream, textBlock, thinkingBlock, toolBlock } from '../upstreams/messages-bytes.ts';
import { callItem, item, responsesStream, textItem } from '../upstreams/responses-bytes.ts';

/** The same answers, as each kind of model server writes them. */
export interface Speech {
  readonly options: (fake: FakeUpstream) => RouterOptions;
  readonly says: (text: string) => string;
  readonly thinks: (thought: string, text: string) => string;
  readonly calls: (name: string, args: object) => string;
}

const anthropic = (fake: FakeUpstream) => anthropicUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
/** As Anthropic's server counts today: all tokens again at the end. */
const input = { input_tokens: 9 };
const messagesSpeech = {
  says: (text: string) => messagesStream([textBlock(0, text)], { input }),
  thinks: (thought: string, text: string) =>
    messagesStream([thinkingBlock(0, thought, 'c2ln'), textBlock(1, text)], { input }),
  calls: (name: string, args: object) =>
    messagesStream([toolBlock(0, 'toolu_1', name, JSON.stringify(args))], { input, stop: 'tool_use' }),
};
const unused = functionTools({ never_called: { execute: () => '' } });

export const SPEECHES: Readonly<Record<string, Speech>> = {
  chatCompletionsUpstream: {
    options: () => ({}),
    says: textStream,
    thinks: (thought, text) => chatStream({ reasoning_content: thought }, { content: text }),
    calls: (name, args) => toolCallStream([{ id: 'call_1', name, arguments: JSON.stringify(args) }]),
  },
  responsesUpstream: {
    options: ({ baseURL }) => ({ upstream: responsesUpstream({ baseURL, apiKey: 'k', retries: 0 }) }),
    says: (text) => responsesStream([textItem(0, text)]),
    thinks: (thought, text) => responsesStream([thoughtItem(0, thought), textItem(1, text)]),
    calls: (name, args) => responsesStream([callItem(0, 'call_1', name, JSON.stringify(args))]),
  },
  'anthropicUpstream, passed through': { options: (fake) => ({ upstream: anthropic(fake) }), ...messagesSpeech },
  'anthropicUpstream, with tools': {
    options: (fake) => ({ upstream: anthropic(fake), tools: unused }),
    ...messagesSpeech,
  },
};

function thoughtItem(index: number, text: string): string {
  const whole = { id: 'rs_there', type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text }] };
  const delta = { type: 'response.reasoning_summary_text.delta', summary_index: 0, delta: text };
  return item(index, whole, { summary: [] }, delta);
}

/** An app of the Messages API over such a server, which gives these answers. */
export async function startSpeaking(speech: Speech, ...bodies: readonly string[]): Promise<MessagesApp> {
  const app = await startMessages(speech.options);
  app.fake.reply(...bodies.map(inForm));
  return app;
}

/** The stream; a request that is passed on and wants JSON receives the message that it makes. */
function inForm(body: string): FakeResponder {
  return (request) => {
    const { stream } = request.body as { readonly stream?: boolean };
    if (stream === true || !body.startsWith('event: message_start'))
      return { body, headers: { 'content-type': 'text/event-stream' } };
    return { body: JSON.stringify(messageOf(eventsIn(body))), headers: { 'content-type': 'application/json' } };
  };
}
