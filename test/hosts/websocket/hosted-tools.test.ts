/** Hosted tools over a WebSocket: searches and images by this server, shell calls and patches by the client. */

import { calls, chatBody, says, shape, toolTexts } from '../../engine/tools/support.ts';
import {
  CLIENT_CALLS,
  CLIENT_OUTPUTS,
  FOUR_CALLS,
  FOUR_RESULTS,
  FOUR_TOOLS,
  SERVER_CALLS,
  withTwoProviders,
} from '../../support/four-tools.ts';
import { expectWireLaws } from '../../support/wire-laws.ts';
import { finalOf, type SocketApp, startSocketApp } from './support.ts';

let app: SocketApp;
afterEach(() => app.close());

it.each([true, false])('[X-13] hosted tools are run, and answered in the next turn; stored: %s', (store) =>
  withTwoProviders(async ({ tools, images }) => {
    app = await startSocketApp({ tools });
    const talk = await app.connect();
    app.fake.reply(calls(...SERVER_CALLS), calls(...CLIENT_CALLS), says('Done.'));
    const asked = { tools: FOUR_TOOLS, store };
    const first = await talk.ask(asked);
    const second = await talk.ask({ ...asked, input: CLIENT_OUTPUTS, previous_response_id: finalOf(first).id });
    const sentToModel = app.fake.requests.slice(2).map((request) => Object.values(toolTexts(chatBody(request))));
    // The cast: what comes are the stream's events.
    const responses = [first, second].map((events) => expectWireLaws(events as never));
    expect([responses.map(shape), sentToModel, images.requests.length]).toEqual([
      [FOUR_CALLS, ['message completed']],
      [FOUR_RESULTS],
      1,
    ]);
  }),
);
