/** Tests that every recorded answer must pass on its way through an app, streamed by its model server or not. */
import type { FakeAnswer } from '../../src/testing/index.ts';
import type { Replay } from './replay.ts';
import {
  accumulatedOutput,
  askForJson,
  askForStream,
  outputOfDeltas,
  reported,
  type StreamedResponse,
  withoutIdentity,
} from './responses-client.ts';

/** Requests a stream once before the tests; returns a function that returns it. */
export function itIsOneAnswer(replay: () => Replay, answer: () => FakeAnswer): () => StreamedResponse {
  let streamed: StreamedResponse;

  beforeAll(async () => {
    replay().fake.reply(answer());
    streamed = await askForStream(replay().url);
  });

  it('[Q-03] [C-02] [C-03] [C-04] is rebuilt by the accumulator of openai-node, even from only its deltas', () => {
    const { events, response } = streamed;
    expect(accumulatedOutput(events)).toEqual(response.output);
    expect(outputOfDeltas(events)).toEqual(response.output.map(reported));
  });

  it('[Q-03] has the same content in JSON', async () => {
    replay().fake.reply(answer());
    expect(withoutIdentity(await askForJson(replay().url))).toEqual(withoutIdentity(streamed.response));
  });

  return () => streamed;
}
