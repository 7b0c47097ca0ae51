/** The option `secret`: what it seals, and that no error shows it. */
import { chatCompletionsRouter, memoryStore, responsesRouter } from '../../src/index.ts';
import { startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { askForJson, post } from '../support/responses-client.ts';

const KEY = 'a secret of many bytes';

describe('secret', () => {
  it.each([
    ['too short', 'fifteen bytes..', 'a text of 15 bytes'],
    ['too few bytes', new Uint8Array(15), '15 bytes'],
    ['no key', 7, 'a number'],
    ['null', null, 'null'],
    ['a list', ['a very secret key of mine'], 'a list'],
  ])('[V-01] [F-31] is refused where it is %s, and not quoted', (_what, secret, shown) => {
    for (const [name, make] of [
      ['responsesRouter', responsesRouter],
      ['chatCompletionsRouter', chatCompletionsRouter],
    ] as const)
      expect(() => make({ secret: secret as string })).toThrow(
        new TypeError(`${name}: secret must be a text or bytes, at least 16 bytes long, got ${shown}`),
      );
  });

  it('[V-01] [S-14] seals compactions, too', async () => {
    const fake = await startFakeUpstream({ reply: { body: textStream('A summary.') } });
    const apps: App[] = [];
    const start = async (options: Parameters<typeof responsesRouter>[0]) => {
      const app = await startApp({ upstream: fake, options: { store: memoryStore(), ...options } });
      apps.push(app);
      return app.url;
    };
    const urls = [
      await start({ secret: KEY }),
      await start({ secret: Buffer.from(KEY) }),
      await start({ secret: `${KEY}!` }),
      await start({}),
    ];
    const input = [{ role: 'user', content: 'Go.' }, { type: 'compaction_trigger' }];
    const { output } = await askForJson(String(urls[0]), { input });
    const requested = { input: [...output, { role: 'user', content: 'And?' }] };
    const statuses = [];
    for (const url of urls) statuses.push((await post(url, requested)).status);
    expect(statuses).toEqual([200, 200, 400, 400]);
    await Promise.all([...apps.map((app) => app.close()), fake.close()]);
  });
});
