/** Every recorded answer that was not streamed, through a real app. */
import { readChatJson } from '../support/naive-chat.ts';
import { itIsOneAnswer } from '../support/recorded-answer.ts';
import { readingOf } from '../support/recordings.ts';
import { type Replay, recordedJson, startReplay } from '../support/replay.ts';
import { askForJson, askOpenai, withoutIdentity } from '../support/responses-client.ts';
import { describeShared, listShared } from '../support/shared.ts';

describeShared('a recorded answer in JSON, through an Express app', () => {
  let replay: Replay;

  beforeAll(async () => {
    replay = await startReplay();
  });
  afterAll(() => replay.close());

  const files = listShared('corpus/chat-json', '.json').filter((file) => !file.endsWith('.request.json'));
  it('[Q-03] is one of many', () => expect(files.length).toBeGreaterThan(30));

  for (const file of files) {
    const name = file.replace('.json', '');
    describe(name, () => {
      const streamed = itIsOneAnswer(
        () => replay,
        () => recordedJson(name),
      );

      it('[Q-03] [P-01] [P-02] [P-03] [C-16] [C-22] holds what the recording holds, in its order', () => {
        expect(readingOf(streamed().response)).toEqual(readChatJson(String(recordedJson(name).body)));
      });

      it('[Q-03] [C-05] [C-06] is the final response of openai-node', async () => {
        replay.fake.reply(recordedJson(name));
        const { final, reported: last } = await askOpenai(replay.url);
        expect(final).toEqual(last);
      });

      it('[Q-03] says the same when it comes byte by byte', async () => {
        replay.fake.reply({ ...recordedJson(name), split: 'byte' });
        expect(withoutIdentity(await askForJson(replay.url))).toEqual(withoutIdentity(streamed().response));
      });
    });
  }
});
