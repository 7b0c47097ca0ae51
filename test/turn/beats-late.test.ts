/** What arrives after a beat, while nobody asks, waits for the next one to ask. */
import { withHeartbeats } from '../../src/streams/heartbeats.ts';

it('[P-15] loses nothing that arrives between a heartbeat and the next pull', async () => {
  let say: (word: string) => void = () => {};
  async function* source() {
    for (;;) yield await new Promise<string>((resolve) => (say = resolve));
  }
  const beats = withHeartbeats(source(), 5)[Symbol.asyncIterator]();
  const beat = await beats.next();
  say('late');
  await new Promise(setImmediate);
  const late = await beats.next();
  await beats.return?.();
  expect([beat.value, late.value]).toEqual([{ count: 1 }, 'late']);
});
