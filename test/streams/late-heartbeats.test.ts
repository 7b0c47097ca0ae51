/** What arrives after a heartbeat, before the next pull, waits for that pull. */
import { withHeartbeats } from '../../src/streams/heartbeats.ts';

it('[P-15] loses nothing that arrives between a heartbeat and the next pull', async () => {
  let send: (word: string) => void = () => {};
  async function* source() {
    for (;;) yield await new Promise<string>((resolve) => (send = resolve));
  }
  const stream = withHeartbeats(source(), { intervalMs: 5, openAfterMs: undefined })[Symbol.asyncIterator]();
  const heartbeat = await stream.next();
  send('late');
  await new Promise(setImmediate);
  const late = await stream.next();
  await stream.return?.();
  expect([heartbeat.value, late.value]).toEqual([{ count: 1 }, 'late']);
});
