/** Answers and histories that contradict themselves, or that other servers accept. */

import { readUsage } from '../../src/protocol/chat-completions/usage.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import type { Item } from '../../src/protocol/items.ts';
import { pairCalls } from '../../src/protocol/tool-calls/conversation/pair-calls.ts';
import { toMessagesBody } from '../../src/upstreams/anthropic/body.ts';
import { anthropicSettings } from '../../src/upstreams/anthropic/options.ts';
import { ResponsesDecoder } from '../../src/upstreams/responses/decoder.ts';
import { describeShared, readShared } from '../support/shared.ts';

const items = (...list: readonly object[]) => list as readonly Item[];

describe('an answer', () => {
  it('[V-40] has no more cached tokens than its prompt, whatever its counts say', () => {
    const usage = {
      prompt_tokens: 2168,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 2161, cache_write_tokens: 2161 },
    };
    expect(readUsage(usage)?.input_tokens_details).toEqual({ cached_tokens: 2161, cache_write_tokens: 7 });
  });

  it('[V-40] is not complete when it has only begun', () => {
    const decoder = new ResponsesDecoder(() => {});
    const events: ModelEvent[] = [];
    decoder.take({ object: 'response', status: 'in_progress', output: [] }, events);
    expect([decoder.done, events]).toEqual([false, []]);
    decoder.take(
      {
        object: 'response',
        status: 'completed',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] }],
      },
      events,
    );
    expect([decoder.done, events.map(({ type }) => type)]).toEqual([true, ['message-start', 'text-delta', 'finish']]);
  });
});

describeShared('a recorded stream without types', () => {
  it('[V-40] has the text of its last response', () => {
    const decoder = new ResponsesDecoder(() => {});
    const events: ModelEvent[] = [];
    const data = readShared('recordings/outside/R11-no-type-in-data.sse').match(/^data: .*$/gm) ?? [];
    for (const line of data)
      if (!decoder.done && line !== 'data: [DONE]') decoder.take(JSON.parse(line.slice(6)), events);
    expect(events.some((event) => event.type === 'text-delta' && event.text !== '')).toBe(true);
  });
});

describe('a history', () => {
  const search = { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: {} };
  const output = { type: 'function_call_output', call_id: 's', output: 'Found one.' };

  it('[V-40] may answer a search of the client by the output of a function', () => {
    const list = items({ type: 'message', role: 'user', content: 'Find.' }, search, output);
    const { items: paired, outputs } = pairCalls(list);
    expect([paired, outputs.get(list[1] as Item)]).toEqual([list, output]);
  });

  it('[V-40] answers a function of the same id first', () => {
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const list = items(search, { ...output, type: 'tool_search_output', tools: [] }, call, { ...output, call_id: 'c' });
    expect(pairCalls(list).outputs.size).toBe(2);
    expect(() => pairCalls(items({ ...output, call_id: 'x' }))).toThrow('No tool call found');
  });

  it('[V-40] [V-24] of instructions alone, or that ends with the assistant, has a message of the user for Claude', () => {
    const body = (list: readonly Item[], model: string) =>
      toMessagesBody(
        { model, instructions: 'Write.', items: list, tools: [] },
        anthropicSettings({ baseURL: 'http://h', apiKey: 'k' }),
        () => {},
      ).messages;
    const added = { role: 'user', content: [{ type: 'text', text: 'Continue.' }] };
    const spoke = { type: 'message', role: 'assistant', content: 'Wait.' };
    expect(body(items({ type: 'message', role: 'user', content: '' }), 'claude-3-opus')).toEqual([added]);
    const said = { role: 'assistant', content: [{ type: 'text', text: 'Wait.' }] };
    for (const model of ['claude-opus-4-6', 'claude-sonnet-5', 'x'])
      expect(body(items(spoke), model)).toEqual([said, added]);
    for (const model of ['claude-3-opus', 'claude-sonnet-4-5', 'claude-opus-4-20250514'])
      expect(body(items(spoke), model)).toEqual([said]);
  });
});
