/** Approvals over connections, which remember what the client wants nowhere stored. */
import { textStream, toolCallStream } from '../../../src/testing/index.ts';
import { answerTo, guardedMail, LETTER, type Request } from '../../engine/tools/approvals-support.ts';
import { finalOf, startSocketApp } from './support.ts';

it.each([
  ['the same connection', true, true],
  ['the same connection', true, false],
  ['another connection', false, true],
  ['another connection', false, false],
])('[T-09, S-15] count once, over %s (the same: %s, store: %s)', async (_, isSame, store) => {
  const { options, ran } = guardedMail();
  const app = await startSocketApp(options);
  try {
    const asks = { body: toolCallStream([{ id: 'call_a', name: 'send', arguments: LETTER }]) };
    app.fake.reply(asks, { body: textStream('Done.') });
    const talk = await app.connect();
    const waiting = finalOf(await talk.ask({ store }));
    const output = waiting.output as readonly Request[];
    const past = isSame ? { previous_response_id: waiting.id } : {};
    const body = { ...past, store, input: [answerTo(output[1] as Request)] };
    const next = isSame ? talk : await app.connect();
    const done = finalOf(await next.ask(body));
    expect([done.status, ran]).toEqual(['completed', ['send {"to":"Ann"}']]);
    expect(await next.ask(body)).toMatchObject([{ type: 'error', status: 400 }]);
    expect([ran.length, app.errors]).toEqual([1, ['approval_not_found']]);
  } finally {
    await app.close();
  }
});
