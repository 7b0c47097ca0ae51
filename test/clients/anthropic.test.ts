/** Anthropic's own SDK, and Vercel's, as clients of the Messages API, over each upstream. */
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic, { APIError, NotFoundError, RateLimitError } from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import * as ai from 'ai';
import type { MessagesApp } from '../apis/messages/messages-app.ts';
import { SPEECHES, type Speech, startSpeaking } from './speeches.ts';

// It warns of models that it does not know.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

let app: MessagesApp;
afterEach(() => app.close());

async function start(speech: Speech, ...bodies: readonly string[]): Promise<void> {
  app = await startSpeaking(speech, ...bodies);
}

function client(): Anthropic {
  return new Anthropic({ baseURL: app.url.replace(/\/v1$/, ''), apiKey: 'client-key', maxRetries: 0 });
}

const QUESTION = {
  model: 'recorded-model',
  max_tokens: 1024,
  messages: [{ role: 'user' as const, content: 'Go.' }],
};
const look = () => {
  const seen: unknown[] = [];
  const tool = betaTool({
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
    run: (input) => {
      seen.push(input);
      return 'A cat.';
    },
  });
  return { tool, seen };
};

describe.each(Object.entries(SPEECHES))('@anthropic-ai/sdk over %s', (_name, speech) => {
  it('[X-12] streams a message with its thought', async () => {
    await start(speech, speech.thinks('Hm.', 'Hello.'));
    const stream = client().messages.stream(QUESTION);
    const texts: string[] = [];
    const thoughts: string[] = [];
    stream.on('text', (text) => texts.push(text)).on('thinking', (text) => thoughts.push(text));
    const message = await stream.finalMessage();
    expect([texts.join(''), thoughts.join('')]).toEqual(['Hello.', 'Hm.']);
    expect(message).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'Hello.' },
      ],
      stop_reason: 'end_turn',
      usage: { input_tokens: 9, output_tokens: 12 },
    });
  });

  it('[X-12] runs its tools until the model answers', async () => {
    await start(speech, speech.calls('look', { at: 'this' }), speech.says('It is a cat.'));
    const { tool, seen } = look();
    const runner = client().beta.messages.toolRunner({ ...QUESTION, tools: [tool], stream: true });
    const contents: unknown[] = [];
    const { requests } = app.fake;
    for await (const stream of runner) contents.push((await stream.finalMessage()).content);
    expect(seen).toEqual([{ at: 'this' }]);
    expect(contents).toMatchObject([
      [{ type: 'tool_use', name: 'look', input: { at: 'this' } }],
      [{ type: 'text', text: 'It is a cat.' }],
    ]);
    expect([requests.length, JSON.stringify(requests.at(-1)?.body)]).toEqual([2, expect.stringContaining('A cat.')]);
  });

  it('[X-12] counts tokens and lists models', async () => {
    await start(speech, speech.says('Hi.'));
    const { max_tokens: _, ...question } = QUESTION;
    expect(await client().messages.countTokens(question)).toEqual({ input_tokens: expect.any(Number) });
    const models = await client().models.list();
    expect(models.data.map(({ id }) => id)).toEqual(['fake-model']);
    expect(await client().models.retrieve('fake-model')).toMatchObject({ type: 'model', id: 'fake-model' });
  });

  it('[X-12] throws the errors of its own classes', async () => {
    await start(speech);
    app.fake.reply({ status: 429, body: '{"error":{"type":"rate_limit_error","message":"Slow down."}}' });
    const limited = await client()
      .messages.create(QUESTION)
      .catch((error) => error);
    expect(limited).toBeInstanceOf(RateLimitError);
    expect(limited.requestID).toMatch(/^req_/);
    expect(limited.error).toMatchObject({ error: { type: 'rate_limit_error', message: 'Slow down.' } });
    const none = await client()
      .models.retrieve('none')
      .catch((error) => error);
    expect(none).toBeInstanceOf(NotFoundError);
    const bad = await client()
      .messages.create({ ...QUESTION, max_tokens: 0 })
      .catch((error) => error);
    expect([bad instanceof APIError, bad.status]).toEqual([true, 400]);
  });
});

describe.each(Object.entries(SPEECHES))('@ai-sdk/anthropic over %s', (_name, speech) => {
  const model = () => createAnthropic({ baseURL: app.url, apiKey: 'client-key' })('recorded-model');

  it('[X-12] streams text and reasoning', async () => {
    await start(speech, speech.thinks('Hm.', 'Hello.'));
    const { text, reasoningText, usage, finishReason } = ai.streamText({
      model: model(),
      prompt: 'Go.',
      maxRetries: 0,
    });
    expect([await text, await reasoningText, await finishReason]).toEqual(['Hello.', 'Hm.', 'stop']);
    expect(await usage).toMatchObject({ inputTokens: 9, outputTokens: 12 });
  });

  it('[X-12] runs its tools, and sends its reasoning back', async () => {
    await start(speech, speech.calls('look', { at: 'this' }), speech.says('It is a cat.'));
    const seen: unknown[] = [];
    const tools = {
      look: ai.tool({
        inputSchema: ai.jsonSchema<object>({ type: 'object', properties: { at: { type: 'string' } } }),
        execute: (input: object) => {
          seen.push(input);
          return 'A cat.';
        },
      }),
    };
    const stopWhen = ai.stepCountIs(3);
    const { text } = ai.streamText({ model: model(), prompt: 'Go.', tools, stopWhen, maxRetries: 0 });
    expect([await text, seen]).toEqual(['It is a cat.', [{ at: 'this' }]]);
    expect(JSON.stringify(app.fake.requests.at(-1)?.body)).toContain('A cat.');
  });
});
