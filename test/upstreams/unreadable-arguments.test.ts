/** Arguments that are no JSON object, as models write them where they are cut off: no API and no upstream makes nothing of them. */

import express from 'express';
import { chatCompletionsUpstream, memoryStore, messagesRouter, responsesRouter } from '../../src/index.ts';
import type { Item } from '../../src/protocol/items.ts';
import type { Note } from '../../src/protocol/note.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { startFakeUpstream, toolCallStream } from '../../src/testing/index.ts';
import { toMessagesBody } from '../../src/upstreams/anthropic/body.ts';
import { anthropicSettings } from '../../src/upstreams/anthropic/options.ts';
import { toChatBody } from '../../src/upstreams/chat-completions/chat-body.ts';
import { chatSettings } from '../../src/upstreams/chat-completions/chat-options.ts';
import { skippedItem } from '../../src/upstreams/http/skipped-item.ts';
import { toInput } from '../../src/upstreams/responses-input/input.ts';
import { listening } from '../support/listening.ts';

const CUT = '{"summary": "Disk';

function historyOf(text: string): readonly Item[] {
  return [
    { type: 'message', role: 'user', content: 'Hi' },
    { type: 'function_call', call_id: 'c', name: 'report', arguments: text },
    { type: 'function_call_output', call_id: 'c', output: 'error: no JSON' },
  ];
}

/** The arguments as each upstream sends them, and the codes of its notes. */
function sent(text: string) {
  const request = { model: 'm', items: historyOf(text), tools: [] };
  const notes: Note[] = [];
  const note = (each: Note) => void notes.push(each);
  const chat = toChatBody(request, chatSettings({ baseURL: 'http://localhost/v1' }), {
    skipped: (item) => note(skippedItem(item, 'a chat request')),
    leftOut() {},
  });
  const anthropic = toMessagesBody(request, anthropicSettings({ apiKey: 'k' }), note);
  const input = toInput(request, (item) => note(skippedItem(item, 'a request there')));
  // The casts: all three are written here.
  const [, call] = chat.messages as { tool_calls: { function: { arguments: string } }[] }[];
  const [, use] = anthropic.messages as { content: { input: unknown }[] }[];
  return {
    chat: call?.tool_calls[0]?.function.arguments,
    anthropic: use?.content[0]?.input,
    responses: (input[1] as JsonObject).arguments,
    notes: notes.map(({ code }) => code),
  };
}

describe('a call of the history', () => {
  it.each([CUT, '[1]', '"x"', 'report(x)'])('[V-37] goes to every model with what it wrote: %s', (text) => {
    expect(sent(text)).toEqual({
      chat: JSON.stringify({ invalid_json: text }),
      anthropic: { invalid_json: text },
      responses: text,
      notes: ['arguments_wrapped', 'arguments_wrapped'],
    });
  });

  it.each(['', ' \n'])('[V-37] without arguments has an empty object, and is no note: %j', (text) => {
    const { chat, anthropic, notes } = sent(text);
    expect({ chat, anthropic, notes }).toEqual({ chat: '{}', anthropic: {}, notes: [] });
  });

  it('[V-37] that is whole stays as it is, byte for byte', () => {
    const text = '{ "n": 9007199254740993 }';
    expect(sent(text)).toMatchObject({ chat: text, responses: text, notes: [] });
  });
});

it('[V-37] the Messages API says the same in JSON as in a stream, with a note', async () => {
  const fake = await startFakeUpstream();
  const codes: string[] = [];
  const options = {
    upstream: chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 }),
    store: memoryStore(),
    hooks: { onNote: ({ code }: Note) => void codes.push(code) },
  };
  const app = await listening(express().use('/v1', messagesRouter(options), responsesRouter(options)));
  try {
    const ask = async (stream: boolean) => {
      fake.reply({ body: toolCallStream([{ id: 'c', name: 'report', arguments: CUT }]) });
      const tools = [{ name: 'report', input_schema: { type: 'object' } }];
      const messages = [{ role: 'user', content: 'Hi' }];
      const answer = await fetch(`${app.url}/v1/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': 'k' },
        body: JSON.stringify({ model: 'm', max_tokens: 99, stream, tools, messages }),
      });
      return answer.text();
    };
    const whole = JSON.parse(await ask(false)) as { readonly content: readonly JsonObject[] };
    expect(whole.content).toMatchObject([{ type: 'tool_use', name: 'report', input: { invalid_json: CUT } }]);
    const pieces = [...(await ask(true)).matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)].map(([, json]) =>
      JSON.parse(String(json)),
    );
    expect(pieces.join('')).toBe(CUT);
    expect(codes).toEqual(['arguments_wrapped']);
  } finally {
    await app.close();
    await fake.close();
  }
});
