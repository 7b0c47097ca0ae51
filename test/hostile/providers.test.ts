/** Model servers that send hundreds of thousands of extras beside an answer: sources, pictures, unknown names, joined events. */

import { ChatDecoder } from '../../src/protocol/chat-completions/decoder.ts';
import { readFinish } from '../../src/protocol/chat-completions/finish-reasons.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import { splitEvents } from '../../src/streams/event-lines.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import {
  chunkStream,
  completion,
  deltaChunk,
  jsonBody,
  type ProviderApp,
  startProviderApp,
} from '../support/provider-app.ts';
import { eventStream } from '../support/replay.ts';
import { workOf } from '../support/work.ts';
import { tally } from './tally.ts';

const { tried } = tally('answers of providers');
let app: ProviderApp;

beforeAll(async () => {
  app = await startProviderApp();
});
afterAll(() => app.close());

function decoded(chunks: Iterable<unknown>): readonly ModelEvent[] {
  const decoder = new ChatDecoder({ note() {} });
  const events: ModelEvent[] = [];
  for (const chunk of chunks) decoder.take(chunk, events);
  decoder.end(events, true);
  return events;
}

const STOP = { finish_reason: 'stop' };
const many = <Made>(count: number, make: (index: number) => Made) =>
  Array.from({ length: count }, (_, index) => make(index));

describe('extras beside an answer', () => {
  it.each<readonly [string, (count: number) => readonly object[]]>([
    [
      'sources, others in every chunk',
      (count) => many(count, (at) => deltaChunk({ content: 'a' }, { citations: [`https://a/${at}`] })),
    ],
    [
      'the same hundred sources in every chunk',
      (count) =>
        many(count / 20, () => deltaChunk({ content: 'a' }, { citations: many(100, (at) => `https://a/${at}`) })),
    ],
    [
      'unknown names, others in every chunk',
      (count) => many(count, (at) => deltaChunk({ content: 'a', [`name_${at}`]: 1 }, { [`top_${at}`]: 1 })),
    ],
    [
      'placeless annotations',
      (count) => many(count, (at) => deltaChunk({ annotations: [{ type: 'url_citation', url: `https://a/${at}` }] })),
    ],
    ['deltas of other roles', (count) => many(count, (at) => deltaChunk({ role: `role_${at}`, content: 'x' }))],
    [
      'pictures that are none',
      (count) =>
        many(count, () =>
          deltaChunk({ content: 'a', images: [{ image_url: { url: 'data:image/svg+xml;base64,AA==' } }] }),
        ),
    ],
    [
      'blocks and parts of reasoning',
      (count) =>
        many(count, (at) =>
          deltaChunk({
            thinking_blocks: [{ type: 'thinking', thinking: 'a', signature: at % 2 === 0 ? '' : `${at}` }],
            content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }] }],
          }),
        ),
    ],
    [
      'finish reasons',
      (count) => many(count, (at) => deltaChunk({ content: 'a' }, {}, { finish_reason: `reason ${at}` })),
    ],
  ])('[V-18] [P-14] takes linear work: %s', async (what, make) => {
    await expectLinearWork(16_000, (count) => {
      const chunks = [...make(count), deltaChunk({ content: 'a' }, {}, STOP)];
      tried(what, chunks.length);
      decoded(chunks);
    });
  });

  it('[V-03] shows at most 1024 sources, and at most a mebibyte of them', () => {
    const long = many(64, (at) => `https://a/${at}/${'x'.repeat(64 * 1024)}`);
    const reported = [many(100_000, (at) => `https://a/${at}`), long].map(
      (citations) =>
        decoded([deltaChunk({ content: 'a' }, { citations }, STOP)]).filter(({ type }) => type === 'annotation').length,
    );
    tried('lists of sources', 2);
    expect(reported).toEqual([1024, 15]);
  });

  it('[V-13] splits joined lines, and reads each at most twice', async () => {
    await expectLinearWork(32_000, (size) => {
      const lines = 'data: {"a":1}\n'.repeat(size).replaceAll('data: ', '').trimEnd();
      const spoilt = `${lines}\n{"a":`;
      tried('joined lines', 2 * size);
      expect([splitEvents(lines).length, splitEvents(spoilt).length]).toEqual([size, 1]);
    });
  });

  it('[V-04] reads a finish reason of megabytes without rewriting it', async () => {
    const written = (length: number) => `${' '.repeat(length)}:`.repeat(2);
    const [short, long] = [written(2 ** 10), written(4 * 2 ** 20)];
    readFinish(short);
    const work = [await workOf(() => readFinish(short)), await workOf(() => readFinish(long))];
    tried('long finish reasons', 1);
    expect([work[1]?.steps, (work[1]?.passed ?? 0) < 10_000]).toEqual([work[0]?.steps, true]);
  });
});

describe('through an app', () => {
  it('[V-07] pictures without end stop at the limit of the output', async () => {
    const url = `data:image/png;base64,${'A'.repeat(512 * 1024)}`;
    const chunk = deltaChunk({ images: [{ type: 'image_url', image_url: { url } }] });
    const { response } = await app.of(chunkStream(...many(40, () => chunk), deltaChunk({}, {}, STOP)));
    tried('pictures', 40);
    expect([response.error?.reason, response.output.length < 25]).toEqual(['output_too_large', true]);
  });

  it('[V-07] empty pictures and blank parts in thousands make no items', async () => {
    const images = many(100_000, (at) => (at % 2 ? {} : { image_url: { url: '' } }));
    const { response } = await app.of(jsonBody(completion({ content: 'a', images }, {}, STOP)));
    tried('blank pictures', images.length);
    expect([response.status, response.output.length]).toEqual(['completed', 1]);
  });

  it('[V-11] an invalid answer of megabytes is shown to the host in 200 characters, whatever they are', async () => {
    const answers = [
      jsonBody(`[${'"\u0000\\u0000",'.repeat(100_000)}1]`),
      jsonBody('{'.repeat(1_000_000)),
      eventStream(`: ${'x'.repeat(1_000_000)}\n\n`),
      eventStream('x'.repeat(1_000_000)),
      { body: '\n'.repeat(1_000_000), headers: { 'content-type': 'text/html' } },
    ];
    for (const answer of answers) {
      const { status, text } = await app.requested(answer);
      tried('answers of another kind');
      const [error] = app.errors;
      expect([status, error?.code, String(error?.cause).length < 400, text.length < 400]).toEqual([
        502,
        'upstream_error',
        true,
        true,
      ]);
    }
  });

  it('[V-18] names that could forge log lines or prototypes are harmless', async () => {
    const body =
      '{"__proto__":{"a":1},"constructor":1,"a\\nb":1,"choices":[{"index":0,"__proto__":{"delta":1},"message":{"content":"a","\\u001b[31m":1},"finish_reason":"toString"}]}';
    const { response, notes } = await app.of(jsonBody(body));
    tried('forged names');
    expect([response.status, notes.length, notes.every(({ message }) => /^[\x20-\x7e]+$/.test(message))]).toEqual([
      'completed',
      2,
      true,
    ]);
  });
});
