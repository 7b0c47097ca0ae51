/** What holds of every stream over real HTTP, whatever the model writes. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatStream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { expectValidEvent } from '../support/open-responses-schema.ts';
import { finalOf, framesOf, maskedValue, type RequestApp, requestAppPerTest } from '../support/request-app.ts';
import { expectWireLaws, readWire } from '../support/wire-laws.ts';
import { callDelta, finished, OSLO, PARIS, WEATHER } from './response-values.ts';

let app: RequestApp;
requestAppPerTest((started) => {
  app = started;
});

/** Streams of every shape, for what must hold of all of them. */
const STREAMS: Readonly<Record<string, string>> = {
  text: textStream(['Hel', 'lo']),
  'no text': chatStream({ role: 'assistant', content: '' }),
  'reasoning and text': chatStream({ reasoning_content: 'Hm' }, { content: 'Yes' }),
  'thinking tags': textStream(['<think>Hm</think>', 'Yes']),
  refusal: chatStream({ content: 'Well, ' }, { refusal: 'no.' }),
  'parallel calls': toolCallStream([PARIS, OSLO]),
  'text and calls': chatStream(
    { content: 'Look: ' },
    { tool_calls: [{ index: 0, ...callDelta(PARIS) }] },
    { content: 'and' },
    { tool_calls: [{ index: 1, ...callDelta(OSLO) }] },
    { content: 'done' },
  ),
  'a call without arguments': toolCallStream([{ id: 'c', name: 'now', arguments: '' }]),
  citation: chatStream({ content: 'Yes' }, { annotations: [{ type: 'url_citation', url: 'https://example.com' }] }),
  'cut off by length': finished('length', { content: 'Cut' }),
  'cut off by a filter': finished('content_filter', { content: 'Cut' }),
  'cut off before anything': finished('length'),
};

/** The events of Open Responses, and the one that is in OpenAI's schema alone but never sent by default. */
const KNOWN_EVENTS: ReadonlySet<unknown> = new Set([
  'response.created',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.output_item.added',
  'response.output_item.done',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.delta',
  'response.output_text.done',
  'response.output_text.annotation.added',
  'response.refusal.delta',
  'response.refusal.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'response.reasoning_summary_text.delta',
  'response.reasoning_summary_text.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'error',
]);

const TERMINAL: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed']);

describe.each(Object.entries(STREAMS))('every stream: %s', (_, body) => {
  it('[S-02] [C-05] [C-06] [D-03] [D-08] [M-10] [M-11] [M-12] [M-13] [M-15] [M-22] is numbered from 0, named, valid, known, started once and ended once', async () => {
    app.upstream.reply({ body });
    const frames = framesOf(await app.streamed({ input: 'Hi.', tools: [WEATHER] }));
    // The cast: only the last frame is not an event, and the schema asks for a type.
    const events = frames.slice(0, -1).map(({ data }) => data as JsonObject & { readonly type: string });
    events.forEach(expectValidEvent);
    const counted = (type: string) => events.filter((event) => event.type === type).length;
    expect({
      done: frames.at(-1),
      names: frames.slice(0, -1).map(({ event }) => event),
      sequences: events.map(({ sequence_number: sequence }) => sequence),
      unknown: events.filter(({ type }) => !KNOWN_EVENTS.has(type)),
      started: [events[0]?.type, counted('response.created'), counted('response.in_progress')],
      terminal: events.flatMap(({ type }, index) => (TERMINAL.has(type) ? [index] : [])),
    }).toEqual({
      done: { event: undefined, data: '[DONE]' },
      names: events.map(({ type }) => type),
      sequences: events.map((_, index) => index),
      unknown: [],
      started: ['response.created', 1, 1],
      terminal: [events.length - 1],
    });
  });

  it('[S-01] [M-19] [C-04] holds in its last event the response that JSON would have answered', async () => {
    app.upstream.reply({ body });
    const streamed = finalOf(await app.streamed({ input: 'Hi.', tools: [WEATHER] }));
    const { body: whole } = await app.create({ input: 'Hi.', tools: [WEATHER] });
    expect(maskedValue(streamed)).toEqual(maskedValue(whole));
  });

  it('[C-02] [D-07] [D-08] places every item event in an open item of that id', async () => {
    app.upstream.reply({ body });
    const text = await app.streamed({ input: 'Hi.' });
    expect(() => expectWireLaws(readWire(text))).not.toThrow();
  });
});
