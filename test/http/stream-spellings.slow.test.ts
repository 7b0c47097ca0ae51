/** Streams that mean the same and are written otherwise: every one of them is the same answer. */
import {
  chatChunk,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { askJson } from './client.ts';

let fake: FakeUpstream;
let app: App;

async function start(...replies: readonly FakeReply[]): Promise<void> {
  fake = await startFakeUpstream();
  fake.reply(...replies);
  app = await startApp({ upstream: fake });
}

afterEach(() => Promise.all([app.close(), fake.close()]));

const WORDS = ['one ', 'two ', 'three ', 'é🙂'];
const TEXT = WORDS.join('');
const STREAM = textStream(WORDS);
const FINISH = chatChunk({}, { finish_reason: 'stop' });

describe('a stream that is spelled otherwise', () => {
  const usage = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 };
  const words = WORDS.map((content) => chatChunk({ content })).join('');
  const done = 'data: [DONE]\n\n';
  const counted = { input_tokens: 9, output_tokens: 12, total_tokens: 21 };
  const uncounted = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

  it.each([
    ['usage after the finish', words + FINISH + chatChunk({}, { choices: [], usage }) + done, counted],
    ['usage with the finish', words + chatChunk({}, { finish_reason: 'stop', usage }) + done, counted],
    ['usage before the finish', words + chatChunk({}, { choices: [], usage }) + FINISH + done, counted],
    [
      'usage on every chunk',
      WORDS.map((content) => chatChunk({ content }, { usage })).join('') + FINISH + done,
      counted,
    ],
    ['no usage', words + FINISH + done, uncounted],
    ['usage null', words + chatChunk({}, { finish_reason: 'stop', usage: null }) + done, uncounted],
    ['no choices at all', words + chatChunk({}, { choices: undefined }) + FINISH + done, uncounted],
    ['CRLF', STREAM.replaceAll('\n', '\r\n'), counted],
    ['CR', STREAM.replaceAll('\n', '\r'), counted],
    ['comments', `: hello\n\n${STREAM.replaceAll('\n\n', '\n\n: OPENROUTER PROCESSING\n\n')}`, counted],
    ['event names and ids', STREAM.replaceAll('data: ', 'id: 7\nevent: chunk\nretry: 1\ndata: '), counted],
    ['no space after the colon', STREAM.replaceAll('data: ', 'data:'), counted],
    ['a byte order mark', `\uFEFF${STREAM}`, counted],
    ['no blank line at the end', STREAM.trimEnd(), counted],
    ['JSON over several data lines', STREAM.replaceAll('"choices":', '"choices":\ndata: '), counted],
    ['words after [DONE]', `${STREAM}${chatChunk({ content: 'never' })}`, counted],
  ])('[P-08] is the same answer: %s', async (_, body, expected) => {
    await start({ body }, { body, split: 'byte' });
    const responses = [await askJson(app.url), await askJson(app.url)];
    const seen = responses.map(({ status, usage: reported, output }) => [
      status,
      reported,
      (output as readonly { content: readonly { text: string }[] }[])[0]?.content[0]?.text,
    ]);
    const one = ['completed', expect.objectContaining(expected), TEXT];
    expect(seen).toEqual([one, one]);
  });
});
