/** A model that tries to get a secret past the guards by what it writes in between. */
import { pii } from '../../src/guards/index.ts';
import { ChatAnswer } from '../../src/inspection/answers/chat-answer.ts';
import { GuardedEvents } from '../../src/inspection/answers/guarded-events.ts';
import { ResponseAnswer } from '../../src/inspection/answers/response-answer.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import { requestGuards } from './support.ts';

/** What is left of the events, one batch each; only calls of `shown` are shown at once. */
async function guarded(...events: readonly ModelEvent[]): Promise<readonly ModelEvent[]> {
  const answer = new GuardedEvents(requestGuards({ output: [pii()] }).guards, (name) => name === 'shown');
  const passed: ModelEvent[] = [];
  for (const event of events) passed.push(...(await answer.take([event])));
  return passed;
}

function textIn(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

const HALF: ModelEvent = { type: 'text-delta', text: 'bob@exam' };
const REST: ModelEvent = { type: 'text-delta', text: 'ple.com!' };
const END: ModelEvent = { type: 'finish', reason: 'stop' };
const call = (name: string): ModelEvent => ({ type: 'tool-call-delta', call: 0, name, arguments: '{}' });

describe('a text', () => {
  it.each<[string, readonly ModelEvent[]]>([
    ['nothing', []],
    ['an empty delta of another kind', [{ type: 'reasoning-delta', text: '' }]],
    [
      'usage and the model’s name',
      [
        { type: 'usage', usage: {} as never },
        { type: 'model-info', model: 'm' },
      ],
    ],
    ['a call that is not shown', [call('dropped')]],
    ['more of a call that is shown', [{ type: 'tool-call-delta', call: 7, arguments: '{"a":1}' }]],
    ['the end of a search', [{ type: 'search-end', search: 's', failed: false, sources: [] }]],
    [
      'a citation',
      [
        {
          type: 'annotation',
          annotation: { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 3 },
        },
      ],
    ],
  ])('is one text across %s', async (_, between) => {
    const open: ModelEvent = { type: 'tool-call-delta', call: 7, name: 'shown', arguments: '' };
    expect(textIn(await guarded(open, HALF, ...between, REST, END))).toBe('[EMAIL]!');
  });

  it('comes before the citations in it', async () => {
    const annotation = {
      type: 'url_citation',
      url: 'https://a.example',
      title: 'A',
      start_index: 0,
      end_index: 8,
    } as const;
    const events = await guarded(
      HALF,
      { type: 'annotation', annotation },
      REST,
      { type: 'text-delta', text: ' x ' },
      END,
    );
    expect(events.map((event) => ('text' in event ? event.text : event.type))).toEqual([
      '[EMAIL]!',
      'annotation',
      ' ',
      'x ',
      'finish',
    ]);
  });

  it('ends where something else is shown, before it', async () => {
    const events = await guarded(HALF, call('shown'), END);
    expect(events.map(({ type }) => type)).toEqual(['text-delta', 'tool-call-delta', 'finish']);
  });

  it('keeps texts of different kinds apart', async () => {
    const thought: ModelEvent = { type: 'reasoning-delta', text: 'bob@exam' };
    const events = await guarded(thought, REST, END);
    expect(events).toEqual([thought, REST, END]);
  });
});

describe('arguments', () => {
  const part = (number: number, text: string, name?: string): ModelEvent => ({
    type: 'tool-call-delta',
    call: number,
    ...(name ? { name } : {}),
    arguments: text,
  });

  async function argumentsOf(...events: readonly ModelEvent[]): Promise<string> {
    const passed = await guarded(part(0, '', 'shown'), part(1, '', 'shown'), ...events, END);
    return passed
      .map((event) => (event.type === 'tool-call-delta' && event.call === 0 ? event.arguments : ''))
      .join('');
  }

  it('are one text each, however they are interleaved', async () => {
    expect(await argumentsOf(part(0, '{"a":"bob@exam'), part(1, '{"b":1}'), part(0, 'ple.com"}'))).toBe(
      '{"a":"[EMAIL]"}',
    );
  });

  it.each([
    ['escapes', '{"a":"bob\\u0040example.com"}', '{"a":"[EMAIL]"}'],
    ['an escape in front', '{"a":"\\nbob@example.com\\n"}', '{"a":"\\n[EMAIL]\\n"}'],
    ['names of fields', '{"bob@example.com":1}', '{"[EMAIL]":1}'],
    ['numbers', '{"a":[4111111111111111, 12]}', '{"a":["[CARD]", 12]}'],
    ['text that is no JSON', 'mail bob@example.com', 'mail "[EMAIL]"'],
    ['a string without an end', '{"a":"bob@example.com', '{"a":"[EMAIL]'],
    ['half an escape', '{"a":"\\u00', '{"a":"\\u00'],
  ])('are read as JSON: %s', async (_, text, shown) => {
    expect(await argumentsOf(part(0, text))).toBe(shown);
    expect(await argumentsOf(...[...text].map((piece) => part(0, piece)))).toBe(shown);
  });
});

it('arguments keep pairs of units that are torn', async () => {
  const text = '{"a":"🎉\\ud83c\\udf89"}';
  const open: ModelEvent = { type: 'tool-call-delta', call: 0, name: 'shown', arguments: '' };
  const pieces = text.split('').map((piece): ModelEvent => ({ type: 'tool-call-delta', call: 0, arguments: piece }));
  const events = await guarded(open, ...pieces, END);
  const passed = events.map((event) => (event.type === 'tool-call-delta' ? event.arguments : '')).join('');
  expect(JSON.parse(passed)).toEqual({ a: '🎉🎉' });
});

/** A chunk of a chat stream, as far as these tests read it. */
interface Chunk {
  readonly choices: readonly { readonly index: number; readonly delta: { readonly content?: string } }[];
}

function contentIn(text: string): string {
  // The cast: these answers have nothing else.
  const chunks = text.split('\n').map((line) => JSON.parse(line) as Chunk);
  const first = chunks.flatMap(({ choices }) => choices).filter(({ index }) => index === 0);
  return first.map(({ delta }) => delta.content ?? '').join('');
}

describe('a chat answer', () => {
  const chunk = (delta: object, finish: string | null = null, index = 0) =>
    JSON.stringify({ id: 'x', choices: [{ index, delta, finish_reason: finish }] });

  async function shown(...data: readonly string[]): Promise<string> {
    const answer = new ChatAnswer(requestGuards({ output: [pii()] }).guards);
    const passed: string[] = [];
    for (const each of data) passed.push(...(await answer.event(each)));
    return [...passed, ...(await answer.end())].join('\n');
  }

  it('holds nothing of a secret that is torn by an end, another field or another choice', async () => {
    for (const between of [chunk({}, 'stop'), chunk({ reasoning_content: 'x ' }), chunk({ content: 'y ' }, null, 1)]) {
      const text = await shown(
        chunk({ content: 'bob@exam' }),
        between,
        chunk({ content: 'ple.com' }),
        chunk({}, 'stop'),
      );
      expect(contentIn(text)).toMatch(/^(\[EMAIL\]|bob@exam)$/);
    }
  });

  it.each([
    ['parts of a content', { content: [{ type: 'text', text: 'bob@example.com' }] }],
    ['thoughts in parts', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'bob@example.com' }] }] }],
    ['details of reasoning', { reasoning_details: [{ type: 'reasoning.text', text: 'bob@example.com', index: 0 }] }],
    ['a legacy call', { function_call: { name: 'f', arguments: '{"a":"bob@example.com"}' } }],
    ['a custom call', { tool_calls: [{ index: 0, custom: { name: 'f', input: 'bob@example.com' } }] }],
    [
      'citations',
      { annotations: [{ type: 'url_citation', url_citation: { title: 'bob@example.com', url: 'https://a.example' } }] },
    ],
    ['an unknown field', { transcript: 'bob@example.com' }],
    ['an unknown object', { audio: { transcript: 'bob@example.com' } }],
  ])('guards %s', async (_, delta) => {
    const text = await shown(chunk(delta), chunk({}, 'stop'));
    expect([text.includes('bob@'), text.includes('[EMAIL]')]).toEqual([false, true]);
  });

  it('leaves log probabilities out, which spell the text', async () => {
    const logprobs = { content: [{ token: 'bob@example.com', logprob: -1 }] };
    const choice = { index: 0, logprobs, finish_reason: null };
    const streamed = await shown(JSON.stringify({ id: 'x', choices: [{ ...choice, delta: { content: 'Hi ' } }] }));
    const answer = new ChatAnswer(requestGuards({ output: [pii()] }).guards);
    const whole = await answer.whole(JSON.stringify({ choices: [{ ...choice, message: { content: 'Hi' } }] }));
    for (const text of [streamed, whole]) expect([text.includes('Hi'), text.includes('bob@')]).toEqual([true, false]);
  });

  it('guards data that is not a chunk', async () => {
    expect(await shown('{"error":{"message":"bob@example.com"}}')).toBe('{"error":{"message":"[EMAIL]"}}');
    expect(await shown('bob@example.com')).toBe('[EMAIL]');
  });
});

describe('an answer of the Responses API', () => {
  const event = (type: string, fields: object) => JSON.stringify({ type, ...fields });

  it('has at most as many characters as one answer may have', async () => {
    const answer = new ResponseAnswer(requestGuards({ output: [pii()] }).guards, 1000);
    const delta = (text: string) => event('response.output_text.delta', { item_id: 'msg_1', delta: text });
    await answer.event(delta('x '.repeat(500)));
    await expect(answer.event(delta('x'))).rejects.toMatchObject({ code: 'output_too_large' });
  });

  it('has the same text in its deltas and in everything that repeats it, and numbers without gaps', async () => {
    const answer = new ResponseAnswer(requestGuards({ output: [pii()] }).guards, 1000);
    const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const part = { type: 'output_text', text: 'bob@example.com', annotations: [], logprobs: [{ token: 'bob@' }] };
    const item = { id: 'msg_1', type: 'message', content: [part] };
    const call = { id: 'fc_1', type: 'function_call', name: 'f', call_id: 'c', arguments: '{"a":"bob@example.com"}' };
    const events = [
      event('response.created', { sequence_number: 0, response: { id: 'resp_1', output: [] } }),
      ...[...'bob@example.com'].map((delta, at) =>
        event('response.output_text.delta', { sequence_number: at + 1, ...place, delta }),
      ),
      event('response.output_text.done', { sequence_number: 16, ...place, text: 'bob@example.com' }),
      event('response.content_part.done', { sequence_number: 17, ...place, part }),
      event('response.output_item.done', { sequence_number: 18, output_index: 0, item }),
      event('response.function_call_arguments.delta', {
        sequence_number: 19,
        item_id: 'fc_1',
        output_index: 1,
        delta: '{"a":"bob@exam',
      }),
      event('response.function_call_arguments.delta', {
        sequence_number: 20,
        item_id: 'fc_1',
        output_index: 1,
        delta: 'ple.com"}',
      }),
      event('response.function_call_arguments.done', {
        sequence_number: 21,
        item_id: 'fc_1',
        output_index: 1,
        arguments: call.arguments,
      }),
      event('response.completed', { sequence_number: 22, response: { id: 'resp_1', output: [item, call] } }),
    ];
    const passed: { readonly type: string; readonly sequence_number: number }[] = [];
    for (const each of events) for (const data of await answer.event(each)) passed.push(JSON.parse(data));
    const text = JSON.stringify(passed);
    expect([text.includes('bob@'), passed.map(({ sequence_number: number }) => number)]).toEqual([
      false,
      passed.map((_, at) => at),
    ]);
    expect(passed.at(-1)).toMatchObject({
      response: { output: [{ content: [{ text: '[EMAIL]', logprobs: [] }] }, { arguments: '{"a":"[EMAIL]"}' }] },
    });
  });
});
