/** Every recorded stream through a real app: as JSON, as a stream, in random pieces, and as openai-node sees it. */
import fc from 'fast-check';
import { readChatStream } from '../support/naive-chat.ts';
import { itIsOneAnswer } from '../support/recorded-answer.ts';
import { readingOf } from '../support/recordings.ts';
import { type Replay, recordedStream, startReplay } from '../support/replay.ts';
import { askForStream, askOpenai, withoutIdentity } from '../support/responses-client.ts';
import { describeShared, listShared } from '../support/shared.ts';

const SEED = 20_260_424;
const PIECES = 24;

describeShared('a recorded stream, through an Express app', () => {
  let replay: Replay;

  beforeAll(async () => {
    replay = await startReplay();
  });
  afterAll(() => replay.close());

  const files = listShared('corpus/chat-stream', '.sse');
  it('[Q-03] is one of many', () => expect(files.length).toBeGreaterThan(90));

  for (const file of files) {
    const name = file.replace('.sse', '');
    describe(name, () => {
      const streamed = itIsOneAnswer(
        () => replay,
        () => recordedStream(name),
      );

      it('[Q-03] [P-01] [P-02] [P-03] [C-14] [C-15] [C-16] [C-22] holds what the recording holds, in its order', () => {
        const recording = String(recordedStream(name).body);
        expect(readingOf(streamed().response)).toEqual(readChatStream(recording));
      });

      it('[Q-03] [C-05] [C-06] [C-12] is the final response of openai-node, or its error', async () => {
        replay.fake.reply(recordedStream(name));
        const { status, error } = streamed().response;
        if (status === 'failed') return expect(askOpenai(replay.url)).rejects.toThrow(error?.message);
        const { final, reported: last } = await askOpenai(replay.url);
        expect(final).toEqual(last);
      });

      it('[Q-03] [P-08] says the same when it comes in random pieces', async () => {
        replay.fake.reply({ ...recordedStream(name), split: randomCuts(name) });
        const { response } = await askForStream(replay.url);
        expect(withoutIdentity(response)).toEqual(withoutIdentity(streamed().response));
      });
    });
  }
});

/** The same offsets in every run, others for every recording. */
function randomCuts(name: string): readonly number[] {
  const { length } = recordedStream(name).body;
  const cuts = fc.array(fc.integer({ min: 1, max: length - 1 }), { minLength: PIECES, maxLength: PIECES });
  return fc.sample(cuts, { numRuns: 1, seed: SEED + length })[0] ?? [];
}
