/** A handler of the host's, called in the place of a model server. */
import express from 'express';
import { callHandler } from '../../../src/hosts/node/handler-answer.ts';
import { listening } from '../../support/listening.ts';

it('[P-10] calls no handler for a turn that has ended already', async () => {
  const reason = new Error('The client left.');
  const stopped = { aborted: true, reason, running: undefined };
  let called = 0;
  const handler = () => {
    called += 1;
  };
  const app = express();
  app.use(async (req, res) => {
    const outcome = await callHandler(handler, req, res, stopped).catch((error: unknown) => error);
    res.send(`${outcome === reason} ${called}`);
  });
  const { url, close } = await listening(app);
  const written = await (await fetch(url)).text();
  await close();
  expect(written).toBe('true 0');
});
