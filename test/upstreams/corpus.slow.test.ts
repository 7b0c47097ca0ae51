/** Every recorded Messages answer through a real app: as JSON, as a stream, and as openai-node sees it. */

import { Readable } from 'node:stream';
import fc from 'fast-check';
import type { ModelEvent } from '../../src/protocol/events.ts';
import { MessagesDecoder } from '../../src/upstreams/anthropic/decoder.ts';
import { readEvents } from '../support/read-events.ts';
import { readingOf } from '../support/recordings.ts';
import {
  accumulatedOutput,
  askForJson,
  askForStream,
  askOpenai,
  outputOfDeltas,
  reported,
  withoutIdentity,
} from '../support/responses-client.ts';
import { describeShared, listShared, readShared } from '../support/shared.ts';
import { sameInAnyPieces } from '../support/split-bytes.ts';
import type { WireItem, WireResponse } from '../support/wire-schemas.ts';
import { type MessagesApp, startMessagesApp, streamOf } from './messages-app.ts';
import { type MessagesReading, readMessagesJson, readMessagesStream, streamsIn } from './naive-messages.ts';

const STREAMS = 'corpus/anthropic-stream';
const MESSAGES = 'corpus/anthropic-json';
const RUNS = 20;

const streams = listShared(STREAMS, '.sse').flatMap((file) =>
  streamsIn(readShared(`${STREAMS}/${file}`)).map((text, index) => [`${file} #${index}`, text] as const),
);
/** One that pauses is not the end of a turn. */
const whole = streams.filter(([, text]) => !text.includes('"pause_turn"'));
const messages = listShared(MESSAGES, '.json')
  .filter((file) => !file.endsWith('.request.json'))
  .map((file) => [file, readShared(`${MESSAGES}/${file}`)] as const);

let app: MessagesApp;

beforeAll(async () => {
  app = await startMessagesApp();
});
afterAll(() => app.close());

describeShared('a recorded Messages stream, through an Express app', () => {
  it('[Q-03] [X-07] is one of many', () => expect(streams.length).toBeGreaterThan(30));

  it.each(whole)('[Q-03] [X-07] [P-02] [P-03] holds what the recording holds: %s', async (_name, text) => {
    app.fake.reply(streamOf(text));
    const { response } = await askForStream(app.url);
    expect(reportedIn(response)).toEqual(readMessagesStream(text));
  });

  it.each(whole)('[Q-03] [X-07] [P-01] is rebuilt by the accumulator of openai-node: %s', async (_name, text) => {
    app.fake.reply(streamOf(text));
    const { events, response } = await askForStream(app.url);
    const { final, reported: last } = await askOpenai(app.url);
    expect(accumulatedOutput(events)).toEqual(response.output);
    expect(outputOfDeltas(events)).toEqual(response.output.map(toldByDeltas));
    expect(final).toEqual(last);
  });

  it.each(whole)('[Q-03] [X-07] says the same in JSON: %s', async (_name, text) => {
    app.fake.reply(streamOf(text));
    const { response } = await askForStream(app.url);
    expect(withoutIdentity(await askForJson(app.url))).toEqual(withoutIdentity(response));
  });

  it.each(streams)('[Q-03] [P-08] means the same in any pieces: %s', async (_name, text) => {
    await sameInAnyPieces(Buffer.from(text), modelEvents, RUNS);
  });

  it.each(streams)('[Q-03] [P-08] never finishes where it is cut off: %s', async (_name, text) => {
    const bytes = Buffer.from(text);
    const end = bytes.lastIndexOf('event: message_delta');
    const cut = fc.nat(Math.max(0, end));
    await fc.assert(
      fc.asyncProperty(cut, async (offset) => {
        expect((await modelEvents([bytes.subarray(0, offset)])).some(({ type }) => type === 'finish')).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });
});

describeShared('a recorded Messages answer in JSON, through an Express app', () => {
  it('[Q-03] [X-07] is one of several', () => expect(messages.length).toBeGreaterThan(5));

  it.each(messages)('[Q-03] [X-07] holds what the recording holds: %s', async (_name, text) => {
    app.fake.reply({ body: text, headers: { 'content-type': 'application/json' } });
    const { response } = await askForStream(app.url);
    expect(reportedIn(response)).toEqual(readMessagesJson(text));
    expect(withoutIdentity(await askForJson(app.url))).toEqual(withoutIdentity(response));
  });
});

/** What a response says, in the words of the naive reading. */
function reportedIn(response: WireResponse): MessagesReading {
  const { segments, status, usage } = readingOf(response);
  return {
    segments,
    status: status as MessagesReading['status'],
    usage,
    thoughts: response.output.flatMap((item) => sealedIn(item, 'reasoning')),
    looks: response.output.flatMap((item) => sealedIn(item, 'web_search_call')),
    cited: response.output.flatMap(citedIn),
  };
}

function sealedIn(item: WireItem, type: 'reasoning' | 'web_search_call'): readonly unknown[] {
  if (item.type !== type || item.encrypted_content === undefined) return [];
  return [app.unsealed(item.encrypted_content)];
}

function citedIn(item: WireItem): readonly (readonly [string, string])[] {
  if (item.type !== 'message') return [];
  return item.content.flatMap((part) => {
    if (part.type === 'refusal') return [];
    return part.annotations.map((cited) => {
      if (cited.type !== 'url_citation') throw new Error(`No recording leads to a ${cited.type}`);
      return [cited.url, part.text.slice(cited.start_index, cited.end_index)] as const;
    });
  });
}

/** What leads back to a thought or a search comes with its end only, and so does what was found. */
function toldByDeltas(item: WireItem): unknown {
  if (item.type !== 'reasoning' && item.type !== 'web_search_call') return reported(item);
  const { encrypted_content, ...rest } = item;
  if (rest.type === 'reasoning' || rest.action.type !== 'search') return reported(rest);
  const { sources, ...action } = rest.action;
  return reported({ ...rest, action });
}

/** The model's output, as far as it came. */
async function modelEvents(chunks: Iterable<Buffer>): Promise<readonly ModelEvent[]> {
  const decoder = new MessagesDecoder(() => {});
  const events: ModelEvent[] = [];
  const body = Readable.from(chunks, { objectMode: false });
  for await (const batch of readEvents(body, { eventBytes: 1 << 20, quietMs: 60_000, onBytes: () => {} })) {
    for (const data of batch) if (!decoder.done && isWhole(data)) decoder.take(JSON.parse(data), events);
  }
  if (!decoder.done) decoder.end(events);
  return events;
}

/** A stream that was cut off may end in half an event. */
function isWhole(data: string): boolean {
  try {
    return typeof JSON.parse(data) === 'object';
  } catch {
    return false;
  }
}
