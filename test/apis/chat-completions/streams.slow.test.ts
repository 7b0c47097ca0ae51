/** Every recorded stream through a chat router: the client gets the model server's own data, byte for byte. */

import type { JsonObject } from '../../../src/protocol/record.ts';
import { recordedStream } from '../../support/replay.ts';
import { describeShared, listShared } from '../../support/shared.ts';
import { askData, type ChatApp, openaiClient, plainAndTooled, QUESTION } from './chat-app.ts';

const ASKING = { stream_options: { include_usage: true } };
const BROKEN_OFF = 'The model server broke off its answer.';

describeShared('a recorded stream, through a chat router', () => {
  let plain: ChatApp;
  let tooled: ChatApp;
  plainAndTooled((apps) => {
    ({ plain, tooled } = apps);
  });

  const names = listShared('corpus/chat-stream', '.sse').map((file) => file.replace('.sse', ''));
  describe.each(names)('%s', (name) => {
    it('[S-19] [P-08] is passed on byte for byte', async () => {
      plain.fake.reply(recordedStream(name));
      expect(await received(plain.url)).toEqual(recorded(name));
    });

    it('[S-19] [P-08] is passed on byte for byte where a tool of the server was offered', async () => {
      tooled.fake.reply(recordedStream(name));
      expect(await received(tooled.url, ASKING)).toEqual(recorded(name));
    });

    it('[S-10] [S-19] loses only the usage chunk that the client did not ask for', async () => {
      tooled.fake.reply(recordedStream(name));
      const { data, ...rest } = recorded(name);
      expect(await received(tooled.url)).toEqual({ ...rest, data: data.filter((each) => !isUsageOnly(each)) });
    });

    it('[S-19] is to openai-node what the model server itself says', async () => {
      for (const { fake } of [plain, tooled]) fake.reply(recordedStream(name));
      const direct = await readByOpenai(plain.fake.baseURL);
      // openai-node itself does not notice where a stream has been broken off.
      const broken = recorded(name).failed && !direct.failure;
      const expected = broken ? { ...direct, failure: BROKEN_OFF, final: `"Error: ${BROKEN_OFF}"` } : direct;
      const through = [await readByOpenai(plain.url), await readByOpenai(tooled.url, ASKING)];
      expect(through).toEqual([expected, expected]);
    });
  });
});

/** What a stream held, and how it ended. */
interface Received {
  readonly data: readonly string[];
  /** Whether an error of this package's stood at the end. */
  readonly failed: boolean;
  readonly last: string | undefined;
}

async function received(url: string, body: JsonObject = {}): Promise<Received> {
  const data = await askData(url, body);
  const failed = data.at(-2)?.startsWith('{"error":{"message":') ?? false;
  return { data: data.slice(0, failed ? -2 : -1), failed, last: data.at(-1) };
}

/** What the client is due: the recording's data up to `[DONE]`, an error or what is not JSON. */
function recorded(name: string): Received {
  const lines = String(recordedStream(name).body).split(/\r\n|\r|\n/);
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).replace(/^ /, ''));
  const end = data.findIndex((each) => each.trim() === '[DONE]' || isFailure(each));
  const before = data.slice(0, end < 0 ? undefined : end).filter((each) => each !== '');
  const whole = data[end]?.trim() === '[DONE]' || (end < 0 && before.some((each) => /"finish_reason": ?"/.test(each)));
  return { data: before, failed: !whole, last: '[DONE]' };
}

function isFailure(data: string): boolean {
  try {
    return data !== '' && Boolean(JSON.parse(data).error);
  } catch {
    return true;
  }
}

function isUsageOnly(data: string): boolean {
  const { choices, usage } = JSON.parse(data);
  return Boolean(usage) && choices?.length === 0;
}

/** The chunks that openai-node sees, how they ended, and what it makes of them, with the call ids that it makes up masked. */
async function readByOpenai(url: string, body: JsonObject = {}) {
  const chunks: unknown[] = [];
  let failure = '';
  const client = openaiClient(url).chat.completions;
  try {
    for await (const chunk of await client.create({ ...QUESTION, ...body, stream: true })) chunks.push(chunk);
  } catch (error) {
    failure = (error as Error).message;
  }
  const final = await client
    .stream({ ...QUESTION, ...body })
    .finalChatCompletion()
    .catch(String);
  return { chunks, failure, final: JSON.stringify(final).replace(/call_[\da-f]{8}-[\da-f-]{27}/g, 'call_*') };
}
