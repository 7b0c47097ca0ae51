/** The events of background streams that a process keeps: at most so many characters. */
import { startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';
import { ask } from './client.ts';

it('[S-18] make room for newer ones, and what they repeat of a long request counts', async () => {
  const model = await startFakeUpstream({ reply: { body: textStream('Hello') } });
  const app = await startApp({ upstream: model });
  const instructions = 'a'.repeat(25 * 1024 * 1024);
  const kept: unknown[] = [];
  for (const _ of [1, 2, 3]) {
    const answer = await ask(app.url, { background: true, stream: true, instructions });
    kept.push(/"id":"(resp_\w+)"/.exec(await answer.text())?.[1]);
  }
  const statuses = kept.map(async (id) => (await fetch(`${app.url}/responses/${id}?stream=true`)).status);
  expect(await Promise.all(statuses)).toEqual([400, 200, 200]);
  await Promise.all([app.close(), model.close()]);
});
