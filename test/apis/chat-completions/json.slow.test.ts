/** Every recorded JSON answer through a chat router: byte for byte, and in chunks for a client that wants a stream. */
import type OpenAI from 'openai';
import { recordedJson } from '../../support/replay.ts';
import { describeShared, listShared, readShared } from '../../support/shared.ts';
import { ask, type ChatApp, openaiClient, plainAndTooled, QUESTION } from './chat-app.ts';

describeShared('a recorded JSON answer, through a chat router', () => {
  let plain: ChatApp;
  let tooled: ChatApp;
  plainAndTooled((apps) => {
    ({ plain, tooled } = apps);
  });

  const names = listShared('corpus/chat-json', '.json')
    .map((file) => file.replace('.json', ''))
    .filter((name) => !name.endsWith('.request'));
  describe.each(names)('%s', (name) => {
    it('[S-19] [A-27] is passed on byte for byte', async () => {
      plain.fake.reply(recordedJson(name));
      expect(await received(plain.url)).toEqual(due(name));
    });

    it('[S-19] [A-27] is passed on byte for byte where a tool of the server was offered', async () => {
      tooled.fake.reply(recordedJson(name));
      expect(await received(tooled.url)).toEqual(due(name));
    });

    it('[S-19] [A-28] says the same in chunks where the client wants a stream', async () => {
      plain.fake.reply(recordedJson(name));
      const final = await openaiClient(plain.url).chat.completions.stream(QUESTION).finalChatCompletion();
      expect(written(final)).toEqual(written(JSON.parse(readShared(`corpus/chat-json/${name}.json`))));
    });
  });
});

async function received(url: string) {
  const answer = await ask(url);
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

function due(name: string) {
  return { status: 200, type: 'application/json; charset=utf-8', text: String(recordedJson(name).body) };
}

/** What the answer says, in the one spelling that chunks have for it. */
function written({ id, choices: [choice] }: OpenAI.Chat.ChatCompletion) {
  const { content, tool_calls: calls, function_call: legacy } = choice?.message ?? {};
  const called = calls?.map((call) => ('function' in call ? call.function : inputOf(call.custom))) ?? [];
  return {
    id,
    text: textOf(content),
    calls: [...called, ...(legacy?.name ? [legacy] : [])].map((call) => [call.name, call.arguments || '{}']),
    finish: choice?.finish_reason || 'stop',
  };
}

/** The model server's `custom` call as a function's. */
function inputOf({ name, input }: { name: string; input: string }) {
  return { name, arguments: JSON.stringify({ input }) };
}

/** Mistral's content is in parts, some of which are thoughts; Cloudflare's JSON mode answers with the object itself. */
function textOf(content: unknown): string {
  if (content && !Array.isArray(content) && typeof content === 'object') return JSON.stringify(content);
  if (!Array.isArray(content)) return String(content ?? '');
  return content.map(({ text = '' }) => text).join('');
}
