/** Hosted tools in the background: searches, images, shell calls and patches, read by a client that comes back for the rest. */

import { memoryStore, type ResponseStore } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import {
  calls,
  chatBody,
  says,
  shape,
  streamOf,
  type ToolsApp,
  toolTexts,
  withTools,
} from '../../engine/tools/support.ts';
import { ask, parseStream, type StreamEvent, send } from '../../http/client.ts';
import {
  CLIENT_CALLS,
  CLIENT_OUTPUTS,
  FOUR_CALLS,
  FOUR_RESULTS,
  FOUR_TOOLS,
  SERVER_CALLS,
  withTwoProviders,
} from '../../support/four-tools.ts';
import { gate } from '../../support/gate.ts';
import { expectWireLaws, readWire } from '../../support/wire-laws.ts';

function storeWithoutLog(): ResponseStore {
  const { events: _, ...store } = memoryStore();
  return store;
}

const stores = [
  ['the event log', memoryStore],
  ['the memory of the process', storeWithoutLog],
] as const;

/** Asks in the background, leaves when the search has begun, and returns what came. */
async function leftAtSearch({ url }: ToolsApp, body: JsonObject): Promise<readonly StreamEvent[]> {
  const client = new AbortController();
  const response = await ask(url, { background: true, stream: true, ...body }, { signal: client.signal });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!text.includes('web_search_call.searching')) {
    text += decoder.decode((await reader?.read())?.value, { stream: true });
  }
  client.abort();
  return parseStream(text.slice(0, text.lastIndexOf('\n\n') + 2)).events;
}

async function eventsAfter({ url }: ToolsApp, id: unknown, after: number): Promise<readonly StreamEvent[]> {
  const response = await fetch(`${url}/responses/${id}?stream=true&starting_after=${after}`);
  return parseStream(await response.text()).events;
}

it.each(stores)('[X-13] [X-08] hosted tools go on without the client, which gets the rest from %s', (_, storeOf) => {
  const { open, opened } = gate();
  return withTwoProviders(
    ({ tools, images }) =>
      withTools({ tools, store: storeOf() }, async (app) => {
        app.fake.reply(calls(...SERVER_CALLS), calls(...CLIENT_CALLS), says('Done.'));
        const seen = await leftAtSearch(app, { tools: FOUR_TOOLS });
        const id = idOf(seen);
        const rest = eventsAfter(app, id, seen.length - 1);
        open();
        const whole = [...seen, ...(await rest)];
        const response = expectWireLaws(readWire(textOf(whole)));
        expect([shape(response), response.status, images.requests.length]).toEqual([FOUR_CALLS, 'completed', 1]);
        expect((await send(`${app.url}/responses/${id}`)).body).toEqual(response);
        for (const after of whole.keys()) expect(await eventsAfter(app, id, after)).toEqual(whole.slice(after + 1));
        const next = { input: CLIENT_OUTPUTS, previous_response_id: id, tools: FOUR_TOOLS, background: true };
        const { response: ended } = await streamOf(app.url, next);
        const sentToModel = app.fake.requests.slice(2).map((request) => Object.values(toolTexts(chatBody(request))));
        expect([shape(ended), sentToModel]).toEqual([['message completed'], [FOUR_RESULTS]]);
      }),
    opened,
  );
});

it.each(stores)('[X-13] who reads the events again says what is included of %s', (_, storeOf) =>
  withTwoProviders(({ tools }) =>
    withTools({ tools, store: storeOf() }, async (app) => {
      app.fake.reply(calls(...SERVER_CALLS), says('Done.'));
      const { response } = await streamOf(app.url, { background: true, tools: FOUR_TOOLS });
      const again = async (query: string): Promise<string> =>
        (await fetch(`${app.url}/responses/${response.id}?${query}include[]=web_search_call.results`)).text();
      const read = expectWireLaws(readWire(await again('stream=true&')));
      expect(response.output[0]).not.toHaveProperty('results');
      expect(read.output[0]).toHaveProperty('results');
      expect(read).toEqual(JSON.parse(await again('')));
    }),
  ),
);

it('[X-13] [B-38] includes what the body and the query of a request ask for, in JSON as in a stream', () =>
  withTwoProviders(({ tools }) =>
    withTools({ tools }, async ({ fake, url }) => {
      for (const background of [false, true]) {
        fake.reply(calls(...SERVER_CALLS), says('Done.'), calls(...SERVER_CALLS), says('Done.'));
        const asked = async (stream: boolean): Promise<string> => {
          const body = { model: 'm', input: 'Go.', include: ['web_search_call.action.sources'], tools: FOUR_TOOLS };
          const response = await fetch(`${url}/responses?include[]=web_search_call.results`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ ...body, stream, background: background && stream }),
          });
          return response.text();
        };
        const read = expectWireLaws(readWire(await asked(true)));
        const whole = JSON.parse(await asked(false));
        for (const { output } of [read, whole])
          expect(output[0]).toMatchObject({ action: { sources: expect.anything() }, results: expect.anything() });
      }
    }),
  ));

function idOf([created]: readonly StreamEvent[]): unknown {
  // The cast: it is `response.created`.
  return (created?.response as JsonObject | undefined)?.id;
}

function textOf(events: readonly StreamEvent[]): string {
  const frames = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return `${frames.join('')}data: [DONE]\n\n`;
}
