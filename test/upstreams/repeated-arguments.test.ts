/** Arguments that servers of other APIs repeat, in the events of all of them. */
import type { ModelEvent } from '../../src/protocol/events.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { MessagesDecoder } from '../../src/upstreams/anthropic/decoder.ts';
import { ResponsesDecoder } from '../../src/upstreams/responses/decoder.ts';

const TEXT = '{"city":"Paris","days":[1,{"n":100}]}';
const WAYS: readonly (readonly [string, readonly string[]])[] = [
  ['each fragment repeats all so far', [TEXT.slice(0, 7), TEXT.slice(0, 20), TEXT]],
  ['the whole comes once more at the end', [TEXT.slice(0, 7), TEXT.slice(7), TEXT]],
  ['the whole comes once more in other words', [TEXT, JSON.stringify(JSON.parse(TEXT), undefined, 2)]],
  ['the whole comes once more as JSON of its text', [TEXT.slice(0, 7), TEXT.slice(7), JSON.stringify(TEXT)]],
  ['an empty object comes first', ['{}', TEXT.slice(0, 7), TEXT.slice(7)]],
  ['they are deltas', [TEXT.slice(0, 7), TEXT.slice(7, 20), TEXT.slice(20)]],
];

function written(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'tool-call-delta' ? event.arguments : '')).join('');
}

describe('the arguments of a call', () => {
  it.each(WAYS)('[V-19] of a Responses server are read once, where %s', (_way, deltas) => {
    const notes: unknown[] = [];
    const tools = [{ name: 'get', parameters: { type: 'object' } }];
    const decoder = new ResponsesDecoder((note) => notes.push(note), { tools });
    const call = { type: 'function_call', id: 'fc', call_id: 'c', name: 'get', arguments: '' };
    const done = { ...call, arguments: TEXT };
    const events: ModelEvent[] = [];
    const take = (event: JsonObject) => decoder.take(event, events);
    take({ type: 'response.output_item.added', output_index: 0, item: call });
    for (const delta of deltas) take({ type: 'response.function_call_arguments.delta', output_index: 0, delta });
    take({ type: 'response.output_item.done', output_index: 0, item: done });
    take({ type: 'response.completed', response: { object: 'response', status: 'completed', output: [done] } });
    expect([written(events), notes]).toEqual([TEXT, []]);
  });

  it.each(WAYS)('[V-19] of a Responses server are read once behind a beginning that has them: %s', (_way, deltas) => {
    const decoder = new ResponsesDecoder(() => {}, { tools: [{ name: 'get', parameters: { type: 'object' } }] });
    const [begun = '', ...more] = deltas;
    const call = { type: 'function_call', id: 'fc', call_id: 'c', name: 'get', arguments: begun };
    const done = { ...call, arguments: TEXT };
    const events: ModelEvent[] = [];
    const take = (event: JsonObject) => decoder.take(event, events);
    take({ type: 'response.output_item.added', output_index: 0, item: call });
    for (const delta of more) take({ type: 'response.function_call_arguments.delta', output_index: 0, delta });
    take({ type: 'response.completed', response: { object: 'response', status: 'completed', output: [done] } });
    expect(written(events)).toBe(TEXT);
  });

  it.each([
    ['a beginning', [], '{}', []],
    ['a delta', ['{}'], '', []],
    ['a delta and the end', ['{}'], '', [{ arguments: '{}' }]],
    ['a beginning and the end', [], '{}', [{ arguments: '{}' }]],
  ])('[V-19] of a Responses server are an empty object where they are one in %s', (_way, deltas, begun, ends) => {
    const call = { type: 'function_call', id: 'fc', call_id: 'c', name: 'get' };
    const done = ends.map((end) => ({ ...call, ...end }));
    for (const isEnded of [true, false]) {
      const notes: unknown[] = [];
      const decoder = new ResponsesDecoder((note) => notes.push(note), { tools: [{ name: 'get', parameters: {} }] });
      const events: ModelEvent[] = [];
      const take = (event: JsonObject) => decoder.take(event, events);
      take({ type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: begun } });
      for (const delta of deltas) take({ type: 'response.function_call_arguments.delta', output_index: 0, delta });
      if (isEnded) for (const item of done) take({ type: 'response.output_item.done', output_index: 0, item });
      take({ type: 'response.completed', response: { object: 'response', status: 'completed', output: done } });
      expect([written(events), notes]).toEqual(['{}', []]);
    }
  });

  it.each(WAYS)('[V-19] of a Messages server are read once, where %s', (_way, deltas) => {
    const decoder = new MessagesDecoder(() => {});
    const events: ModelEvent[] = [];
    const take = (event: JsonObject) => decoder.take(event, events);
    take({ type: 'message_start', message: { id: 'm', content: [] } });
    take({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 't', name: 'get', input: {} },
    });
    for (const text of deltas)
      take({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text } });
    take({ type: 'content_block_stop', index: 0 });
    expect(written(events)).toBe(TEXT);
  });
});
