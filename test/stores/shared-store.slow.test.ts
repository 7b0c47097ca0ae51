/** Two processes of the example app on one Redis, and on one PostgreSQL: whatever one keeps, the other continues. */
import { describePostgres, startPostgres } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import type { Service } from '../support/services.ts';
import { itWhere } from '../support/skipping.ts';
import { type AppProcess, idIn, isBuilt, say, startAppProcess, statusOf, streamUntil } from './shared-store-app.ts';

const CHAINS = 200;

function suite(start: () => Promise<Service>): void {
  // Without the build there is nothing to start; `npm test` builds first.
  const itBuilt = itWhere(isBuilt, 'run `npm run build` first');
  let server: Service;
  let a: AppProcess;
  let b: AppProcess;

  beforeAll(async () => {
    server = await start();
    if (isBuilt) [a, b] = await Promise.all([startAppProcess(server.url), startAppProcess(server.url)]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all([a?.kill(), b?.kill()]);
    await server?.close();
  });

  itBuilt('[P-12] [X-06] continues on B at the moment that A’s completed event is seen', async () => {
    const answers: (string | undefined)[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      const stream = await streamUntil(a, 'event: response.completed', { input: `Turn ${turn}.` });
      answers.push((await say(b, 'Go on.', idIn(stream))).text);
    }
    const expected = (turn: number) =>
      `Hello from the demo model. You wrote "Go on." Before that you wrote "Turn ${turn}."`;
    expect(answers).toEqual(Array.from({ length: 20 }, (_, turn) => expected(turn)));
  });

  itBuilt(
    `[P-12] [X-06] loses nothing of ${CHAINS} chains at the same time that go from A to B and back`,
    async () => {
      async function chain(name: number): Promise<readonly unknown[]> {
        const first = await say(a, `Chain ${name} begins.`);
        const second = await say(b, `Chain ${name} goes on.`, first.id);
        const third = await say(a, `Chain ${name} ends.`, second.id);
        return [third.status, third.text, third.words];
      }
      const ended = await Promise.all(Array.from({ length: CHAINS }, (_, name) => chain(name)));
      const written = (name: number) =>
        `You wrote "Chain ${name} ends." Before that you wrote "Chain ${name} goes on."`;
      // 3 + 4 + 3 words of the user's, and the demo model's answers to the first two.
      const words = 10 + 10 + 18;
      expect(ended).toEqual(
        Array.from({ length: CHAINS }, (_, name) => [200, `Hello from the demo model. ${written(name)}`, words]),
      );
    },
    60_000,
  );

  itBuilt('[P-12] loses only the unfinished turn when A is killed in the middle of a stream', async () => {
    const doomed = await startAppProcess(server.url);
    const first = await say(doomed, 'Keep this.');
    const cut = await streamUntil(doomed, 'response.output_text.delta', {
      input: 'word '.repeat(50),
      previous_response_id: first.id,
    });
    await doomed.kill();
    const unfinished = idIn(cut);
    const [again, refused] = [await say(b, 'Go on.', first.id), await say(b, 'Go on.', unfinished)];
    expect([
      await statusOf(b, first.id),
      again.text,
      await statusOf(b, unfinished),
      [refused.status, refused.code],
    ]).toEqual([
      200,
      'Hello from the demo model. You wrote "Go on." Before that you wrote "Keep this."',
      404,
      [400, 'previous_response_not_found'],
    ]);
  });
}

describeRedis('two processes on one Redis', () => suite(startRedis));
describePostgres('two processes on one PostgreSQL', () => suite(startPostgres));
