/** What a model server may have us hold before any output, since the limits of a turn count the output. */
import type { ModelEvent } from '../../src/protocol/events.ts';
import { MessagesDecoder } from '../../src/upstreams/anthropic/decoder.ts';
import { ResponsesDecoder } from '../../src/upstreams/responses/decoder.ts';
import { expectLinearWork } from '../support/linear-work.ts';

const LONG = 'x'.repeat(64 * 1024);
const MIB = 1024 * 1024;

interface Decoder {
  take(event: unknown, events: ModelEvent[]): void;
}

/** Characters that were taken until the decoder had enough, up to 64 Mi; and the code of its refusal. */
function takenBy(decoder: Decoder, eventAt: (index: number) => object) {
  const written: ModelEvent[] = [];
  let taken = 0;
  try {
    for (let index = 0; taken < 64 * MIB; index += 1) {
      const event = eventAt(index);
      taken += JSON.stringify(event).length;
      decoder.take(event, written);
    }
  } catch (error) {
    return { code: (error as { code?: string }).code, isSoon: taken < 48 * MIB, written: written.length };
  }
  return { code: 'taken', isSoon: false, written: written.length };
}

const begun = (index: number, block: object) => ({ type: 'content_block_start', index, content_block: block });
const added = (delta: object) => ({ type: 'content_block_delta', index: 0, delta });
const use = { type: 'server_tool_use', id: 'u', name: 'web_search', input: {} };

describe('a Messages stream that goes on without saying anything', () => {
  it.each<[string, (index: number) => object]>([
    ['the input of a search', (index) => (index === 0 ? begun(0, use) : added({ partial_json: LONG }))],
    ['a signature', (index) => (index === 0 ? begun(0, { type: 'thinking' }) : added({ signature: LONG }))],
    [
      'citations',
      (index) =>
        index === 0
          ? begun(0, { type: 'text', text: '' })
          : added({ type: 'citations_delta', citation: { url: 'https://a', cited_text: LONG } }),
    ],
    ['thoughts that nobody may read', (index) => begun(index, { type: 'redacted_thinking', data: LONG })],
    ['searches that do not begin', (index) => begun(index, { ...use, id: `${index}` })],
    ['searches whose beginnings are long', (index) => begun(index, { ...use, id: `${index}`, input: { long: LONG } })],
    ['texts that are empty', (index) => begun(index, { type: 'text', text: '' })],
  ])('[F-14] is refused: %s', (_, eventAt) => {
    expect(takenBy(new MessagesDecoder(() => {}), eventAt)).toEqual({
      code: 'output_too_large',
      isSoon: true,
      written: 0,
    });
  });

  it('[F-14] is informed of a hundred kinds of blocks that are left out, and of no more', () => {
    const notes: string[] = [];
    const decoder = new MessagesDecoder(({ message }) => void notes.push(message));
    for (let index = 0; index < 1000; index += 1) decoder.take(begun(0, { type: `kind ${index} ${LONG}` }), []);
    expect([notes.length <= 100, notes.every(({ length }) => length < 200)]).toEqual([true, true]);
  });
});

it('[F-14] counts of ever new names are passed on only up to some thousand characters, in time in proportion', async () => {
  await expectLinearWork(8000, async (size) => {
    const decoder = new MessagesDecoder(() => {});
    let events: ModelEvent[] = [];
    for (let index = 0; index < size; index += 1) {
      events = [];
      decoder.take({ type: 'message_delta', usage: { output_tokens: index, [`x${index}`]: 1 } }, events);
    }
    const [event] = events;
    if (event?.type !== 'usage') throw new Error('There is no usage.');
    expect(event.usage.output_tokens).toBe(size - 1);
    expect(JSON.stringify(event.reported).length).toBeLessThan(8192);
  });
});

describe('a stream of the Responses API that goes on without saying anything', () => {
  it.each<[string, (index: number) => object]>([
    [
      'deltas of ever new items',
      (index) => ({ type: 'response.function_call_arguments.delta', delta: '', output_index: index }),
    ],
    [
      'deltas under strange indices',
      (index) => ({ type: 'response.function_call_arguments.delta', delta: '', output_index: index + 0.5 }),
    ],
    [
      'long ids',
      (index) => ({ type: 'response.output_item.added', output_index: index, item: { type: 'reasoning', id: LONG } }),
    ],
    ['items without a type', (index) => ({ type: 'response.output_item.added', output_index: index, item: {} })],
  ])('[F-14] is refused: %s', (_, eventAt) => {
    const decoder = new ResponsesDecoder(() => {});
    expect(takenBy(decoder, eventAt)).toEqual({ code: 'output_too_large', isSoon: true, written: 0 });
  });
});
