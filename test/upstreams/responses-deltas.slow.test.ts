/** The fast path for the deltas of a Responses server: whatever it reads is what parsing gives. */

import fc from 'fast-check';
import type { ModelEvent } from '../../src/protocol/events.ts';
import { logProbsIn } from '../../src/protocol/json/log-probs.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { ResponsesDecoder } from '../../src/upstreams/responses/decoder.ts';
import { itemDeltaMemo, type PlainItemDelta } from '../../src/upstreams/responses/plain-delta.ts';
import { describeShared, listShared, readShared } from '../support/shared.ts';

/** What a reader of deltas does. */
interface Memo {
  readonly read: (data: string) => PlainItemDelta | undefined;
  readonly learn: (data: string, event: unknown) => void;
}
const NEVER: Memo = { read: () => undefined, learn: () => undefined };

/** Log probabilities read, since a character can be written in several ways. */
function parsed(event: ModelEvent): ModelEvent {
  if (event.type !== 'text-delta' || event.logprobs === undefined) return event;
  if (typeof event.logprobs === 'string') return { ...event, logprobs: logProbsIn(event.logprobs) };
  if (event.logprobs.length > 0) return event;
  return { type: 'text-delta', text: event.text };
}

/** What the decoder says of each event, with the error that ends it, and how many events were not parsed. */
function decoded(stream: readonly string[], memo: Memo) {
  const notes: unknown[] = [];
  const decoder = new ResponsesDecoder((note) => notes.push(note));
  const all: (readonly ModelEvent[] | string)[] = [];
  let read = 0;
  try {
    for (const data of stream) {
      const events: ModelEvent[] = [];
      const delta = memo.read(data);
      if (delta && decoder.takePlainDelta(delta, events)) read += 1;
      else {
        const event: unknown = JSON.parse(data);
        decoder.take(event, events);
        memo.learn(data, event);
      }
      all.push(events.map(parsed));
    }
  } catch (error) {
    all.push(String(error));
  }
  return { all, notes, read };
}

const TEXT = 'response.output_text.delta';
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const added = (item: JsonObject, output_index = 0) =>
  JSON.stringify({ type: 'response.output_item.added', sequence_number: 1, output_index, item });
const MESSAGE = added({ id: 'msg_1', type: 'message', role: 'assistant', content: [] });
const probable = (token: string) => [
  { token, logprob: -1.5, bytes: [...Buffer.from(token)], top_logprobs: [{ token, logprob: -1.5, bytes: [] }] },
];

/** The orders of fields in which servers write a delta: OpenAI's of 2025 and of 2026, pydantic's, and those without a number. */
const ORDERS: Readonly<Record<string, (delta: string, sequence_number: number) => JsonObject>> = {
  'the number first': (delta, sequence_number) => ({ type: TEXT, sequence_number, ...place, delta, logprobs: [] }),
  'the number first, padding last': (delta, sequence_number) => {
    const obfuscation = 'x'.repeat(1 + (sequence_number % 7));
    return { type: TEXT, sequence_number, ...place, delta, logprobs: [], obfuscation };
  },
  'in the order of letters': (delta, sequence_number) => {
    const { item_id, output_index, content_index } = place;
    const obfuscation = 'y'.repeat(1 + (sequence_number % 5));
    return { type: TEXT, content_index, delta, item_id, logprobs: [], obfuscation, output_index, sequence_number };
  },
  'the type last': (delta, sequence_number) => {
    const { item_id, output_index, content_index } = place;
    return { content_index, delta, item_id, logprobs: [], output_index, sequence_number, type: TEXT };
  },
  'no number': (delta) => ({ type: TEXT, ...place, delta }),
  'log probabilities': (delta, sequence_number) => {
    return { type: TEXT, sequence_number, ...place, delta, logprobs: probable(delta), obfuscation: 'z' };
  },
  reasoning: (delta, sequence_number) => {
    return { type: 'response.reasoning_summary_text.delta', sequence_number, output_index: 3, summary_index: 0, delta };
  },
  refusal: (delta, sequence_number) => ({ type: 'response.refusal.delta', sequence_number, ...place, delta }),
};
const WORDS = ['The', ' quick', ' "brown"', ' fox\n', '', ' dög', ' 😀', '\\', ' over', ' it'];

describe('the deltas of a Responses server', () => {
  it.each(Object.keys(ORDERS))(
    '[Q-03] [V-41] need no parser from the third one on, each of them whole, written with %s',
    (name) => {
      const write = ORDERS[name] ?? (() => ({}));
      for (const first of [5, 95, 998]) {
        for (const spaced of [false, true]) {
          const deltas = WORDS.map((word, at) => JSON.stringify(write(word, first + at)));
          const stream = [MESSAGE, ...deltas.map((data) => (spaced ? data.replaceAll('":', '": ') : data))];
          const { all, notes, read } = decoded(stream, itemDeltaMemo());
          const plain = decoded(stream, NEVER);
          expect([all, notes]).toEqual([plain.all, plain.notes]);
          // Log probabilities with blanks in them are left to the parser.
          const isRead = !(spaced && name === 'log probabilities');
          expect(read).toBeGreaterThanOrEqual(isRead ? WORDS.length - 3 : 0);
        }
      }
    },
  );

  it('[V-41] of an item that is shown as it is keep all their fields', () => {
    const shown = added({ id: 'x_1', type: 'x_note', status: 'in_progress' }, 0);
    const deltas = WORDS.map((delta, at) =>
      JSON.stringify({ type: TEXT, sequence_number: at, ...place, delta, logprobs: [], x_mood: 'calm' }),
    );
    const stream = [shown, ...deltas];
    const { all, read } = decoded(stream, itemDeltaMemo());
    expect([all, read]).toEqual([decoded(stream, NEVER).all, 0]);
    expect(JSON.stringify(all).match(/"x_mood":"calm"/g)).toHaveLength(WORDS.length);
  });

  it.each<[string, (data: string) => string]>([
    ['a number with a leading zero', (data) => data.replace(/"sequence_number":\d+/, '"sequence_number":07')],
    ['no number', (data) => data.replace(/"sequence_number":\d+/, '"sequence_number":')],
    ['a number of many digits', (data) => data.replace(/"sequence_number":\d+/, `"sequence_number":${'9'.repeat(40)}`)],
    ['a text for a number', (data) => data.replace(/"sequence_number":\d+/, '"sequence_number":"7"')],
    ['another text behind the delta', (data) => data.replace('"delta":"MARK"', '"delta":"MARK","delta":"other"')],
    ['another type', (data) => data.replace('"logprobs":[]', '"logprobs":[],"type":"error"')],
    ['another item', (data) => data.replace('"logprobs":[]', '"logprobs":[],"output_index":7')],
    ['a delta that ends early', (data) => data.slice(0, data.indexOf('MARK') + 4)],
  ])('are left to the parser where one has %s', (_, change) => {
    const write = (delta: string, sequence_number: number) =>
      JSON.stringify({ type: TEXT, sequence_number, ...place, delta, logprobs: [], obfuscation: 'x' });
    const memo = itemDeltaMemo();
    for (const [at, word] of ['a', 'b', 'c'].entries()) {
      const data = write(word, at);
      memo.learn(data, JSON.parse(data));
    }
    const usual = write('MARK', 7);
    expect([memo.read(usual)?.text, change(usual) === usual, memo.read(change(usual))]).toEqual([
      'MARK',
      false,
      undefined,
    ]);
  });

  const odd = fc.string({
    unit: fc.constantFrom('a', ' ', '"', '\\', '\n', 'é', '😀', '\ud800', '}', '\u0000', '\u0001'),
  });
  const word = fc.oneof(fc.string({ unit: fc.constantFrom('a', 'x'), maxLength: 3 }), odd);
  type Make = (delta: string, other: string, at: number) => JsonObject;
  const make = fc.constantFrom<Make>(
    ...Object.values(ORDERS).map(
      (write): Make =>
        (delta, _, at) =>
          write(delta, at),
    ),
    (delta, other, sequence_number) => ({ type: TEXT, sequence_number, ...place, item_id: other, delta }),
    (delta, other, sequence_number) => ({ type: TEXT, ...place, delta, object: other, sequence_number }),
    (delta, other, sequence_number) => ({ type: TEXT, ...place, delta, p: other, q: other, sequence_number }),
    (delta, other, sequence_number) => ({ type: TEXT, ...place, delta, [other]: sequence_number }),
    (delta, other, sequence_number) => ({ meta: { delta: other, sequence_number }, type: TEXT, ...place, delta }),
    (delta, other, sequence_number) => ({ sequence_number, type: TEXT, delta, output_index: other.length }),
    (delta, other, at) => ({ type: TEXT, sequence_number: at / 2, ...place, delta, logprobs: [other] }),
    (delta, other, at) => ({ type: TEXT, sequence_number: -at, ...place, delta, logprobs: probable(other) }),
    (delta, other, at) => ({ type: `response.${other}.delta`, sequence_number: at, ...place, delta }),
    (delta, other, at) => ({
      type: 'response.function_call_arguments.delta',
      item_id: other,
      output_index: 1,
      delta,
      at,
    }),
    (delta, _, at) => ({ type: 'response.custom_tool_call_input.delta', output_index: 2, delta, sequence_number: at }),
  );
  const starts = [
    MESSAGE,
    added({ type: 'function_call', call_id: 'c', name: 'f', arguments: '' }, 1),
    added({ type: 'x_note', id: 'n' }, 2),
  ];
  const streams = fc
    .record({
      starts: fc.subarray(starts),
      kinds: fc.array(make, { minLength: 1, maxLength: 3 }),
      written: fc.array(fc.tuple(fc.constantFrom(0, 0, 0, 0, 1, 2), word, word), { maxLength: 16 }),
      faults: fc.array(
        fc.tuple(fc.nat(), fc.nat(), fc.constantFrom('"', '\\', '{', ',', ' ', '\u0000', 'é', '0', '9')),
        {
          maxLength: 2,
        },
      ),
      from: fc.nat(95),
    })
    .map(({ starts, kinds, written, faults, from }) => {
      const stream = written.map(([kind, delta, other], at) =>
        JSON.stringify((kinds[kind] ?? kinds[0])?.(delta, other, from + at)),
      );
      for (const [at, place, character] of faults) {
        const [index, data] = [at % Math.max(stream.length, 1), stream[at % Math.max(stream.length, 1)]];
        if (data === undefined) continue;
        const cut = place % data.length;
        stream[index] = data.slice(0, cut) + character + data.slice(cut + 1);
      }
      return [...starts, ...stream];
    });

  it('[Q-03] are what parsing gives, and fail where parsing fails, on any stream and however damaged', () => {
    let read = 0;
    fc.assert(
      fc.property(streams, (stream) => {
        const found = decoded(stream, itemDeltaMemo());
        const plain = decoded(stream, NEVER);
        read += found.read;
        expect([found.all, found.notes]).toEqual([plain.all, plain.notes]);
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(1000);
  });
});

describeShared('what is read of a recorded Responses stream', () => {
  it.each(listShared('corpus/responses-stream', '.sse'))('[Q-03] is what parsing gives: %s', (name) => {
    const stream = readShared(`corpus/responses-stream/${name}`)
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data: {'))
      .map((line) => line.slice('data: '.length));
    const plain = decoded(stream, NEVER);
    const found = decoded(stream, itemDeltaMemo());
    expect([found.all, found.notes]).toEqual([plain.all, plain.notes]);
  });
});
