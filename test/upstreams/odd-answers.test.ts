/** Answers and histories that contradict themselves, or that other servers accept. */

import { ChatDecoder } from '../../src/protocol/chat-completions/decoder.ts';
import { readUsage } from '../../src/protocol/chat-completions/usage.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import type { Item } from '../../src/protocol/items.ts';
import { pairCalls } from '../../src/protocol/tool-calls/conversation/pair-calls.ts';
import { toMessagesBody } from '../../src/upstreams/anthropic/body.ts';
import { MessagesDecoder } from '../../src/upstreams/anthropic/decoder.ts';
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

  it('[V-40] has counts whose sums are numbers in JSON, too, whatever it says', () => {
    const usage = readUsage({ prompt_tokens: 1e308, completion_tokens: 1e308, total_tokens: 1e308 });
    expect(JSON.parse(JSON.stringify(usage))).toEqual(usage);
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

describe('an answer of a Responses server', () => {
  const CALL = { type: 'function_call', id: 'fc', call_id: 'c', name: 'get', arguments: { city: 'Paris' } };
  const MESSAGE = { type: 'message', id: 'm', role: 'assistant', content: 'Hi.' };
  const added = (item: object) => ({ type: 'response.output_item.added', output_index: 0, item });
  const done = (item: object) => ({ type: 'response.output_item.done', output_index: 0, item });
  const completed = (item: object) => ({
    type: 'response.completed',
    response: { object: 'response', status: 'completed', output: [item] },
  });

  it.each<[string, (item: object) => readonly object[]]>([
    ['one object', (item) => [completed(item).response]],
    ['its last event', (item) => [completed(item)]],
    ['the event of its end', (item) => [done(item), completed(item)]],
    ['all events', (item) => [added(item), done(item), completed(item)]],
  ])('[V-37] [V-10] has arguments that are an object, and content that is a text, in %s', (_, eventsFor) => {
    const read = (item: object) => {
      const events: ModelEvent[] = [];
      const decoder = new ResponsesDecoder(() => {}, { tools: [{ name: 'get', parameters: { type: 'object' } }] });
      for (const event of eventsFor(item)) decoder.take(event, events);
      return readEvents(events).text;
    };
    expect([read(CALL), read(MESSAGE)]).toEqual(['{"city":"Paris"}', 'Hi.']);
  });
});

describe('an answer of a Messages server', () => {
  const read = (...list: readonly object[]) => {
    const notes: string[] = [];
    const events: ModelEvent[] = [];
    const decoder = new MessagesDecoder(({ code }) => void notes.push(code));
    for (const event of list) decoder.take(event, events);
    return { notes, ...readEvents(events) };
  };
  const message = (content: unknown, more: object = {}) => ({
    ...{ type: 'message', role: 'assistant', stop_reason: 'end_turn', content },
    ...more,
  });
  const call = (input: unknown) => ({ type: 'tool_use', id: 't', name: 'get', input });

  it.each<[string, readonly object[]]>([
    ['text in a whole answer', [message([call('{"city":"Paris"}')])]],
    [
      'text in a block',
      [
        { type: 'content_block_start', index: 0, content_block: call('{"city":"Paris"}') },
        { type: 'content_block_stop', index: 0 },
      ],
    ],
    [
      'an object in a delta',
      [
        { type: 'content_block_start', index: 0, content_block: call({}) },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: { city: 'Paris' } } },
        { type: 'content_block_stop', index: 0 },
      ],
    ],
  ])('[V-37] has arguments that are %s', (_, list) => {
    expect(read(...list).text).toBe('{"city":"Paris"}');
  });

  it('[V-10] has content that is a text', () => {
    expect(read(message('Hi.')).text).toBe('Hi.');
  });

  it('[V-06] has its counts where they are written as text', () => {
    const usage = { input_tokens: '30', cache_read_input_tokens: '20', output_tokens: '2' };
    expect(read(message('Hi.', { usage })).usage).toMatchObject({ input_tokens: 50, output_tokens: 2 });
  });

  it('[V-04] leaves a note of a reason for its end that is not known', () => {
    const reasons = ['end_turn', 'tool_use', 'stop_sequence', 'max_tokens', 'refusal', 'pause_turn', 'tired'];
    const notes = reasons.map((stop_reason) => read(message('Hi.', { stop_reason })).notes);
    expect(notes).toEqual([...reasons.slice(1).map(() => []), ['finish_reason_unknown']]);
  });
});

/** The texts, or the arguments, and the usage in these events. */
function readEvents(events: readonly ModelEvent[]) {
  const texts = events.map((event) =>
    event.type === 'tool-call-delta' ? event.arguments : 'text' in event ? event.text : '',
  );
  return { text: texts.join(''), usage: events.findLast((event) => event.type === 'usage')?.usage };
}

describe('an answer of Chat Completions', () => {
  /** What is read of one whole answer with this choice. */
  function readAnswer(choice: object, usage?: object) {
    return readChunks({ choices: [{ finish_reason: 'stop', ...choice }], usage });
  }

  function readChunks(...chunks: readonly object[]) {
    const notes: string[] = [];
    const decoder = new ChatDecoder({ note: ({ message }) => void notes.push(message) });
    const events: ModelEvent[] = [];
    for (const chunk of chunks) decoder.take(chunk, events);
    decoder.end(events, true);
    return { notes, ...readEvents(events) };
  }

  it.each(['0', null, 'first', 1, 7])('[V-11] is read where its only choice is not number 0: %j', (index) => {
    expect(readAnswer({ index, message: { content: 'Hi.' } }).text).toBe('Hi.');
  });

  it('[V-18] leaves a note of a choice that nobody has asked for', () => {
    const { text, notes } = readChunks(
      { choices: [{ index: 0, delta: { content: 'Hi.' } }] },
      { choices: [{ index: 1, delta: { content: 'Hello.' } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    );
    expect([text, notes]).toEqual(['Hi.', ['The model server sent fields that nothing here reads: choices[1].']]);
  });

  it.each(['message', 'delta'])('[V-04] fails with the error of its choice, in its %s', (place) => {
    const error = { code: 429, message: 'The provider is at its limit.' };
    const choice = { [place]: { content: '' }, finish_reason: 'error', error };
    expect(() => readAnswer(choice)).toThrow(expect.objectContaining({ status: 429, message: error.message }));
  });

  it('[V-06] has its counts where they are written as text', () => {
    const counts = { prompt_tokens: '30', completion_tokens: '2', prompt_tokens_details: { cached_tokens: '20' } };
    expect(readAnswer({ message: { content: 'Hi.' } }, counts).usage).toMatchObject({
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 20 },
      output_tokens: 2,
      total_tokens: 32,
    });
  });

  const details = { prompt_tokens_details: { cached_tokens: 40 } };
  const none = { prompt_tokens_details: { cached_tokens: 0 } };
  it.each<[string, readonly object[], [number, number, number, number]]>([
    [
      'the prompt, and the output at the end',
      [{ prompt_tokens: 50, ...details }, { completion_tokens: 3 }],
      [50, 40, 3, 0],
    ],
    ['the output, and the prompt', [{ completion_tokens: 3 }, { prompt_tokens: 50, ...details }], [50, 40, 3, 0]],
    [
      'the prompt, and the output with the total of both',
      [{ prompt_tokens: 50 }, { completion_tokens: 3, total_tokens: 53 }],
      [50, 0, 3, 0],
    ],
    [
      'the names of Anthropic',
      [{ input_tokens: 50, output_tokens: 1, cache_read_input_tokens: 40 }, { output_tokens: 3 }],
      [50, 40, 3, 0],
    ],
    [
      'zeros after the counts',
      [
        { prompt_tokens: 50, completion_tokens: 3, total_tokens: 53, ...details },
        { prompt_tokens: 0, completion_tokens: '0', total_tokens: 0, ...none },
      ],
      [50, 40, 3, 0],
    ],
    [
      'zeros before the counts',
      [
        { prompt_tokens: 0, completion_tokens: 0 },
        { prompt_tokens: 50, completion_tokens: 3, ...none },
      ],
      [50, 0, 3, 0],
    ],
    [
      'the counts so far, and fewer cached ones at the end',
      [
        { prompt_tokens: 50, completion_tokens: 0, total_tokens: 50, ...details },
        { prompt_tokens: 50, completion_tokens: 2, total_tokens: 52, ...details },
        { prompt_tokens: 50, completion_tokens: 3, total_tokens: 53, ...none },
      ],
      [50, 0, 3, 0],
    ],
    [
      'the prompt and the output, each with a total of its own',
      [
        { prompt_tokens: 50, completion_tokens: 0, total_tokens: 50, ...details },
        { prompt_tokens: 0, completion_tokens: 3, total_tokens: 3 },
      ],
      [50, 40, 3, 0],
    ],
    [
      'the counts, and an output with a total that is not theirs',
      [
        { prompt_tokens: 50, completion_tokens: 3, total_tokens: 53 },
        { prompt_tokens: 0, completion_tokens: 3, total_tokens: 90 },
      ],
      [50, 0, 3, 0],
    ],
    [
      'the counts so far, and a smaller output',
      [{ prompt_tokens: 50, completion_tokens: 20, total_tokens: 70 }, { completion_tokens: 3 }],
      [50, 0, 3, 0],
    ],
    [
      'a total that alone has the reasoning, and other facts behind it',
      [
        { prompt_tokens: 50, completion_tokens: 3, total_tokens: 60 },
        { prompt_tokens: 0, total_tokens: 1, requests: 1 },
      ],
      [50, 0, 10, 7],
    ],
    [
      'the prompt, the output and the total of both',
      [{ prompt_tokens: 50 }, { completion_tokens: 3 }, { total_tokens: 53 }],
      [50, 0, 3, 0],
    ],
    [
      'the prompt, and the output among more than is kept',
      [
        { prompt_tokens: 50, total_tokens: 50, note: 'x'.repeat(3000) },
        { completion_tokens: 3, total_tokens: 3, other: 'x'.repeat(3000) },
      ],
      [50, 0, 3, 0],
    ],
    [
      'the names of Anthropic, among more than is kept',
      [{ input_tokens: 50, a: 'x'.repeat(3000) }, { output_tokens: 3, b: 'x'.repeat(3000) }, { c: 'x'.repeat(5000) }],
      [50, 0, 3, 0],
    ],
    [
      'three reports',
      [{ prompt_tokens: 50 }, { completion_tokens: 3 }, { completion_tokens_details: { reasoning_tokens: 2 } }],
      [50, 0, 3, 2],
    ],
  ])('[V-06] has its counts where they come as %s', (_, reports, [input, cached, output, reasoning]) => {
    const { usage } = readChunks(...reports.map((usage) => ({ choices: [], usage })), {
      choices: [{ delta: {}, finish_reason: 'stop' }],
    });
    expect(usage).toEqual({
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    });
  });

  it('[V-06] keeps no more of reports in pieces than one may have', () => {
    const decoder = new ChatDecoder();
    const events: ModelEvent[] = [];
    for (let at = 0; at < 1000; at += 1)
      decoder.take({ usage: { prompt_tokens: 50, [`field_${at}`]: 'x'.repeat(100) } }, events);
    const last = events.at(-1);
    const reported = last?.type === 'usage' ? JSON.stringify(last.reported) : '';
    expect([reported.length < 8192, reported.includes('"prompt_tokens":50')]).toEqual([true, true]);
  });

  it('[V-10] has the text of a list of texts', () => {
    expect(readAnswer({ message: { content: ['Hi ', { type: 'text', text: 'you' }, '.'] } }).text).toBe('Hi you.');
  });

  const ignored = (...names: readonly string[]) => [
    `The model server sent fields that nothing here reads: ${names.join(', ')}.`,
  ];
  it.each<[string, object, string, readonly string[]]>([
    ['a refusal', { type: 'refusal', refusal: 'No.' }, 'No.', []],
    ['an empty refusal', { type: 'refusal', refusal: '' }, '', []],
    ['a text in an object', { type: 'text', text: { value: 'Hi.' } }, 'Hi.', []],
    ['an empty text', { type: 'text', text: null }, '', []],
    ['references', { type: 'reference', reference_ids: [1] }, '', ignored('message.content[].reference')],
    ['a picture of another API', { type: 'image', source: { data: 'x' } }, '', ignored('message.content[].image')],
    ['a call of another API', { type: 'tool_use', name: 'f' }, '', ignored('message.content[].tool_use')],
    ['a part without a type', { value: 'x' }, '', ignored('message.content[]')],
  ])('[V-10] [V-18] has content of which nothing is lost without a note: %s', (_, part, text, notes) => {
    expect(readAnswer({ message: { content: [part] } })).toMatchObject({ text, notes });
    expect(readChunks({ choices: [{ delta: { content: [part] }, finish_reason: 'stop' }] })).toMatchObject({
      text,
      notes,
    });
  });

  it.each<[string, object]>([
    ['beside its id', { id: 'c', type: 'function', name: 'f', arguments: '{"a":1}' }],
    ['beside its id, as an object', { id: 'c', name: 'f', arguments: { a: 1 } }],
    ['as parameters', { id: 'c', function: { name: 'f', parameters: { a: 1 } } }],
  ])('[V-18] has a call whose arguments stand %s', (_, call) => {
    const read = { text: '{"a":1}', notes: [] };
    expect(readAnswer({ message: { tool_calls: [call] } })).toMatchObject(read);
    expect(readChunks({ choices: [{ delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }] })).toMatchObject(
      read,
    );
  });

  it('[V-18] leaves a note of a call that never has a name, and none of an empty one', () => {
    const [named, nameless] = [{ name: 'f', arguments: '}' }, { arguments: '{' }];
    const notes = ignored('message.tool_calls[].function.name');
    const read = (...calls: readonly object[]) =>
      readChunks(...calls.map((each) => ({ choices: [{ delta: { tool_calls: [each] }, finish_reason: 'stop' }] })));
    expect(read({ index: 0, function: nameless })).toMatchObject({ text: '', notes });
    expect(read({ index: 0, id: 'c', function: { name: '' } })).toMatchObject({ text: '', notes });
    expect(read({ index: 0, function: nameless }, { index: 0, function: named })).toMatchObject({
      text: '{}',
      notes: [],
    });
    expect(read({ index: 0 }, { function: { name: '', arguments: '' } })).toMatchObject({ text: '', notes: [] });
  });

  const calls = [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a":1}' } }];
  it.each<[string, readonly object[], string]>([
    ['all of it', [{ delta: { role: 'assistant', content: '' } }, { message: { content: 'Hi.' } }], 'Hi.'],
    ['its calls', [{ delta: { role: 'assistant' } }, { delta: null, message: { tool_calls: calls } }], '{"a":1}'],
    [
      'its calls, and its text again',
      [{ delta: { content: 'Hi.' } }, { message: { content: 'Hi.', tool_calls: calls } }],
      'Hi.{"a":1}',
    ],
    ['its text again', [{ delta: { content: 'Hi.' } }, { message: { content: 'Hi.' } }], 'Hi.'],
    [
      'its calls again',
      [{ delta: { tool_calls: calls } }, { message: { content: null, tool_calls: calls } }],
      '{"a":1}',
    ],
    ['a piece in each chunk', [{ message: { content: 'H' } }, { message: { content: 'i.' } }], 'Hi.'],
    [
      'a piece in each chunk behind a role',
      [{ delta: { role: 'assistant' } }, { message: { content: 'H' } }, { message: { content: 'i.' } }],
      'Hi.',
    ],
  ])('[V-11] has a message in the place of a delta, with %s', (_, choices, text) => {
    const chunks = [...choices, { delta: {}, finish_reason: 'stop' }].map((choice) => ({ choices: [choice] }));
    expect(readChunks(...chunks)).toMatchObject({
      text,
      notes: [],
    });
  });

  it.each([
    ['content', 5],
    ['reasoning', { text: 'Hm.' }],
    ['reasoning_content', ['Hm.']],
    ['tool_calls', { id: 'a', function: { name: 'f', arguments: '{}' } }],
  ])('[V-18] leaves a note of what cannot be read in a field that is known: %s', (field, value) => {
    const { notes } = readAnswer({ message: { [field]: value } });
    expect(notes).toEqual([`The model server sent fields that nothing here reads: message.${field}.`]);
  });

  it('[V-18] leaves none where such a field is empty', () => {
    const message = { content: 'Hi.', reasoning: { text: '' }, reasoning_content: [], tool_calls: {} };
    expect(readAnswer({ message })).toEqual({ text: 'Hi.', notes: [], usage: undefined });
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
