/** A model that tries to get a secret past the guards by what it writes in between. */

import { ChatAnswer } from '../../../src/engine/guarding/answers/chat-answer.ts';
import { GuardedEvents } from '../../../src/engine/guarding/answers/guarded-events.ts';
import { MessageAnswer } from '../../../src/engine/guarding/answers/message-answer.ts';
import { ResponseAnswer } from '../../../src/engine/guarding/answers/response-answer.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { Guard } from '../../../src/ports/guard.ts';
import type { ModelEvent } from '../../../src/protocol/events.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
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
    ['text that is no JSON', 'mail bob@example.com', 'mail [EMAIL]'],
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

describe('text that is JSON, as the request wants it', () => {
  const guards = () => requestGuards({ input: [pii({ restore: true })], output: [pii()] }).guards;
  const answers = [
    ['numbers', '{"card":4111111111111111,"n":1}', { card: '[CARD]', n: 1 }],
    ['escapes', '{"mail":"bob\\u0040example.com\\n"}', { mail: '[EMAIL]\n' }],
    ['names of fields', '{"bob@example.com":[true]}', { '[EMAIL]': [true] }],
  ] as const;

  it.each(answers)('stays JSON: %s', async (_, text, value) => {
    for (const size of [1, 5, 99]) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      const answer = new GuardedEvents(guards(), () => true);
      const events: ModelEvent[] = [];
      for (const piece of pieces) events.push(...(await answer.take([{ type: 'text-delta', text: piece }])));
      expect(JSON.parse(textIn([...events, ...(await answer.take([END]))]))).toEqual(value);

      const chat = new ChatAnswer(guards());
      const chunks: string[] = [];
      for (const piece of pieces)
        chunks.push(...(await chat.event(JSON.stringify({ choices: [{ index: 0, delta: { content: piece } }] }))));
      expect(JSON.parse(contentIn([...chunks, ...(await chat.end())].join('\n')))).toEqual(value);

      const response = new ResponseAnswer(guards(), 1000);
      const deltas: string[] = [];
      for (const delta of pieces)
        deltas.push(...(await response.event(JSON.stringify({ type: 'response.output_text.delta', delta }))));
      deltas.push(...(await response.event(JSON.stringify({ type: 'response.output_text.done', text }))));
      const parts = deltas.map((each) => JSON.parse(each) as { readonly delta?: string; readonly text?: string });
      expect(JSON.parse(parts.map(({ delta = '' }) => delta).join(''))).toEqual(value);
      expect(JSON.parse(parts.at(-1)?.text ?? '')).toEqual(value);
    }
    const part = { type: 'output_text', text };
    const { output } = JSON.parse(
      await new ResponseAnswer(guards(), 1000).whole(JSON.stringify({ output: [{ content: [part] }] })),
    ) as { readonly output: [{ readonly content: [{ readonly text: string }] }] };
    expect(JSON.parse(output[0].content[0].text)).toEqual(value);
    const whole = await new ChatAnswer(guards()).whole(JSON.stringify({ choices: [{ message: { content: text } }] }));
    const { choices } = JSON.parse(whole) as { readonly choices: [{ readonly message: { readonly content: string } }] };
    expect(JSON.parse(choices[0].message.content)).toEqual(value);
  });

  it('stays JSON where a value with quotes is restored', async () => {
    const names: Guard = {
      name: 'names',
      restore: true,
      inspect: ({ text }) => ({ action: 'replace', findings: [{ start: 0, end: text.length, rule: 'NAME' }] }),
    };
    const restoring = requestGuards({ input: [names] }).guards;
    await restoring.forModel('"Bob"\nSmith', 'input');
    const answer = new GuardedEvents(restoring, () => true);
    const events = await answer.take([{ type: 'text-delta', text: '{"name":"[NAME_1]"}' }, END]);
    expect(JSON.parse(textIn(events))).toEqual({ name: '"Bob"\nSmith' });
  });

  it('keeps the places of citations behind the strings', async () => {
    const answer = new GuardedEvents(guards(), () => true);
    const text = '{"a":"bob@example.com","\\u0062":"x"}';
    const annotation = {
      type: 'url_citation',
      url: 'https://a.example',
      title: 'A',
      start_index: text.indexOf('"x"'),
      end_index: text.length,
    } as const;
    const events = await answer.take([{ type: 'text-delta', text }, { type: 'annotation', annotation }, END]);
    const shown = textIn(events);
    const [cited] = events.flatMap((event) => (event.type === 'annotation' ? [event.annotation] : []));
    const { start_index: start, end_index: end } = cited as typeof annotation;
    expect([shown, shown.slice(start, end)]).toEqual(['{"a":"[EMAIL]","\\u0062":"x"}', '"x"}']);
  });
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
    ['blocks of reasoning', { thinking_blocks: [{ type: 'thinking', thinking: 'bob@example.com', signature: '' }] }],
    [
      'summaries of reasoning',
      { content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'bob@example.com' }] }] },
    ],
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

  it.each([[[0, 1]], [[1]]])('ends every choice of a chunk that is blocked, and no other: %j', async (numbers) => {
    const answer = new ChatAnswer(requestGuards({ output: [pii({ mode: 'enforce' })] }).guards);
    const choice = (index: number) => ({ index, delta: { content: 'bob@example.com ' }, finish_reason: null });
    const [end = ''] = await answer.event(JSON.stringify({ choices: numbers.map(choice) }));
    expect(JSON.parse(end).choices).toEqual(
      numbers.map((index) => ({ index, delta: {}, finish_reason: 'content_filter' })),
    );
  });

  it('[V-18] may have fields whose names are properties of every object', async () => {
    const { guards, reports } = requestGuards({ output: [pii()] });
    const answer = new ChatAnswer(guards);
    await answer.event(chunk({ constructor: 'bob@example.com' }));
    await answer.end();
    expect(reports.map(({ place }) => place)).toEqual(['constructor']);
  });

  it('leaves log probabilities out, which spell the text', async () => {
    const logprobs = { content: [{ token: 'bob@example.com', logprob: -1 }] };
    const choice = { index: 0, logprobs, finish_reason: null };
    const streamed = await shown(JSON.stringify({ id: 'x', choices: [{ ...choice, delta: { content: 'Hi ' } }] }));
    const answer = new ChatAnswer(requestGuards({ output: [pii()] }).guards);
    const whole = await answer.whole(JSON.stringify({ choices: [{ ...choice, message: { content: 'Hi' } }] }));
    for (const text of [streamed, whole]) expect([text.includes('Hi'), text.includes('bob@')]).toEqual([true, false]);
  });

  it('holds nothing of a transcript that is torn, or of a message at the end of a stream', async () => {
    const speech = (transcript: string) => chunk({ audio: { id: 'a', data: 'AAAA', transcript } });
    const message = { content: 'bob@example.com', annotations: [] };
    const text = await shown(
      speech('bob@exam'),
      speech('ple.com!'),
      JSON.stringify({ choices: [{ index: 0, delta: {}, message, finish_reason: 'stop' }] }),
    );
    expect([text.includes('bob@exam'), text.includes('"data":"AAAA"'), text.split('[EMAIL]').length]).toEqual([
      false,
      true,
      3,
    ]);
  });

  it("holds nothing of a thought that is torn in LiteLLM's own fields, and leaves its signature and citations whole", async () => {
    const thought = (thinking: string, signature = '') => {
      const blocks = [{ type: 'thinking', thinking, signature }];
      return chunk({ thinking_blocks: blocks, provider_specific_fields: { thinking_blocks: blocks } });
    };
    const citation = { type: 'char_location', cited_text: 'It is so', document_title: 'A' };
    const signature = 'RXFBYm9iQGV4YW1wbGUuY29t'.repeat(4);
    const text = await shown(
      thought('bob@exam'),
      thought('ple.com!'),
      thought('', signature),
      chunk({ provider_specific_fields: { citation } }),
      chunk({}, 'stop'),
    );
    expect([text.includes('bob@exam'), text.split('[EMAIL]').length]).toEqual([false, 3]);
    expect([text.split(signature).length, text.includes(JSON.stringify({ citation }))]).toEqual([3, true]);
  });

  it('guards what stands beside the choices, and leaves the numbers of tokens out', async () => {
    const beside = { citations: ['https://a.example/bob@example.com'], usage: { total_tokens: 1 } };
    const choice = { index: 0, delta: { content: 'x ' }, token_ids: [1, 2] };
    const answer = new ChatAnswer(requestGuards({ output: [pii()] }).guards);
    const whole = await answer.whole(
      JSON.stringify({ ...beside, choices: [{ message: { content: 'x' }, token_ids: [1] }] }),
    );
    for (const text of [await shown(JSON.stringify({ ...beside, choices: [choice] })), whole])
      expect([/bob@|\[1/.test(text), text.includes('"total_tokens":1')]).toEqual([false, true]);
  });

  it.each([
    [
      'pages',
      (start: number, end: number) => ({
        type: 'url_citation',
        url_citation: { url: 'https://a.example', title: 'A', start_index: start, end_index: end },
      }),
    ],
    ['files', (index: number) => ({ type: 'file_citation', file_citation: { file_id: 'file_1', index } })],
    ['files without a member of their own', (index: number) => ({ type: 'file_citation', file_id: 'file_1', index })],
  ])('moves citations of %s with the text, and waits for it', async (_, citation) => {
    const content = 'Ask bob@example.com - here';
    const annotations = [citation(22, 26)];
    const text = await shown(chunk({ content }), chunk({ annotations }), chunk({}, 'stop'));
    const cited = text.split('\n').flatMap((line) => {
      const [{ delta }] = (JSON.parse(line) as { choices: [{ delta: { annotations?: unknown[] } }] }).choices;
      return delta.annotations ?? [];
    });
    expect([contentIn(text), cited]).toEqual(['Ask [EMAIL] - here', [citation(14, 18)]]);
    const answer = new ChatAnswer(requestGuards({ output: [pii()] }).guards);
    const whole = JSON.parse(await answer.whole(JSON.stringify({ choices: [{ message: { content, annotations } }] })));
    expect(whole.choices[0].message.annotations).toEqual([citation(14, 18)]);
  });

  it('guards data that is not a chunk', async () => {
    expect(await shown('{"error":{"message":"bob@example.com"}}')).toBe('{"error":{"message":"[EMAIL]"}}');
    expect(await shown('bob@example.com')).toBe('[EMAIL]');
  });
});

describe('a message of Anthropic’s API', () => {
  const delta = (fields: object, index = 0) => JSON.stringify({ type: 'content_block_delta', index, delta: fields });
  const text = (more: string, index = 0) => delta({ type: 'text_delta', text: more }, index);

  async function shown(...data: readonly string[]): Promise<string> {
    const answer = new MessageAnswer(requestGuards({ output: [pii()] }).guards, 1000);
    const passed: string[] = [];
    for (const each of [...data, '{"type":"content_block_stop","index":0}']) passed.push(...(await answer.event(each)));
    const deltas = passed.map((each) => (JSON.parse(each) as { delta?: { text?: string; content?: string } }).delta);
    return deltas.map((each) => each?.text ?? each?.content ?? '').join('');
  }

  it.each([
    ['a ping', '{"type":"ping"}'],
    ['a citation', delta({ type: 'citations_delta', citation: { type: 'page_location', cited_text: 'x' } })],
  ])('is one text across %s', async (_, between) => {
    expect(await shown(text('bob@exam'), between, text('ple.com!'))).toBe('[EMAIL]!');
  });

  it('[G-05] has no secret that is torn between the start of a block and its deltas', async () => {
    const start = (block: object) => JSON.stringify({ type: 'content_block_start', index: 0, content_block: block });
    expect(await shown(start({ type: 'text', text: 'Ask bob@exam' }), text('ple.com!'))).toBe('Ask [EMAIL]!');
    expect(await shown(start({ type: 'text', text: 'Ask bob@example.com!' }))).toBe('Ask [EMAIL]!');
  });

  it('[V-18] may have deltas whose type is a property of every object', async () => {
    expect(await shown(delta({ type: 'constructor', text: 'bob@exam' }), text('ple.com!'))).toBe('[EMAIL]!');
  });

  it('guards a text that a ping brings', async () => {
    const answer = new MessageAnswer(requestGuards({ output: [pii()] }).guards, 1000);
    expect(await answer.event('{"type":"ping","note":"bob@example.com"}')).toEqual([
      '{"type":"ping","note":"[EMAIL]"}',
    ]);
  });

  it('keeps texts of different blocks apart', async () => {
    expect(await shown(text('bob@exam'), text('ple.com!', 1))).toBe('bob@example.com!');
  });

  it('has no text of a kind that is not known, torn or whole', async () => {
    const summary = (content: string) => delta({ type: 'compaction_delta', content });
    expect(await shown(summary('bob@exam'), summary('ple.com!'))).toBe('[EMAIL]!');
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

  it('moves citations with the text, in events and in the whole', async () => {
    const answer = () => new ResponseAnswer(requestGuards({ output: [pii()] }).guards, 1000);
    const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const text = 'Ask bob@example.com - here.';
    const cited = (start_index: number, end_index: number) => ({
      type: 'url_citation',
      url: 'u',
      start_index,
      end_index,
    });
    const part = (annotation: object) => ({ type: 'output_text', text, annotations: [annotation] });
    const streaming = answer();
    await streaming.event(event('response.output_text.delta', { ...place, delta: text }));
    const added = { ...place, annotation: cited(22, 26) };
    const [own = ''] = await streaming.event(event('response.output_text.annotation.added', added));
    await streaming.event(event('response.output_text.done', { ...place, text }));
    const [whole = ''] = await streaming.event(
      event('response.content_part.done', { ...place, part: part(cited(22, 26)) }),
    );
    expect([JSON.parse(own).annotation, JSON.parse(whole).part]).toEqual([
      cited(14, 18),
      { ...part(cited(14, 18)), text: 'Ask [EMAIL] - here.' },
    ]);
    const files = { type: 'file_citation', file_id: 'file_1', filename: 'a.txt' };
    const body = { output: [{ content: [part({ ...files, index: 26 })] }] };
    const json = JSON.parse(await answer().whole(JSON.stringify(body)));
    expect(json.output[0].content[0].annotations).toEqual([{ ...files, index: 18 }]);
  });

  it.each([
    ['a list', '["bob@example.com"]', '["[EMAIL]"]'],
    ['a string', '"bob@example.com"', '"[EMAIL]"'],
    ['no JSON', 'bob@example.com', '[EMAIL]'],
    ['what begins as the address of data does', '{"output":["data:bob@example.com"]}', '{"output":["data:[EMAIL]"]}'],
  ])('is guarded if it is %s', async (_, text, shown) => {
    expect(await new ResponseAnswer(requestGuards({ output: [pii()] }).guards, 1000).whole(text)).toBe(shown);
  });

  it('[G-05] has no secret that is torn between the beginning of a part and its deltas', async () => {
    const answer = new ResponseAnswer(requestGuards({ output: [pii()] }).guards, 1000);
    const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
    const text = 'Ask bob@example.com.';
    const shown: JsonObject[] = [];
    for (const data of [
      event('response.content_part.added', { ...place, part: part('Ask bob@exam') }),
      event('response.output_text.delta', { ...place, delta: 'ple.com.' }),
      event('response.output_text.done', { ...place, text }),
    ])
      shown.push(...(await answer.event(data)).map((each) => JSON.parse(each)));
    expect(shown[0]).toEqual({ type: 'response.content_part.added', ...place, part: part('') });
    expect(shown.map(({ delta = '' }) => delta).join('')).toBe('Ask [EMAIL].');
    expect(shown.at(-1)).toMatchObject({ text: 'Ask [EMAIL].' });
  });

  it('[G-05] has no secret that is torn where each event gives its item another id', async () => {
    const answer = new ResponseAnswer(requestGuards({ output: [pii()] }).guards, 1000);
    const place = { output_index: 0, content_index: 0 };
    const shown: JsonObject[] = [];
    for (const [id, delta] of Object.entries({ a: 'Ask bob@exam', b: 'ple.com', c: ' now.' }))
      for (const data of await answer.event(event('response.output_text.delta', { ...place, item_id: id, delta })))
        shown.push(JSON.parse(data));
    const text = 'Ask bob@example.com now.';
    for (const data of await answer.event(event('response.output_text.done', { ...place, item_id: 'd', text })))
      shown.push(JSON.parse(data));
    expect(shown.map(({ delta = '' }) => delta).join('')).toBe('Ask [EMAIL] now.');
    expect(shown.at(-1)).toMatchObject({ item_id: 'd', text: 'Ask [EMAIL] now.' });
  });

  it('[F-04] [G-05] takes linear work for events beside thousands of texts that never end', async () => {
    await expectLinearWork(4000, async (size) => {
      const answer = new ResponseAnswer(requestGuards({ output: [pii()] }).guards, 1e6);
      for (let index = 0; index < size; index += 1)
        await answer.event(event('response.output_text.delta', { output_index: index, delta: 'a' }));
      for (let index = 0; index < size; index += 1) await answer.event(event('response.in_progress', { x: 1 }));
    });
  });

  it('leaves parts of a picture alone', async () => {
    const data = event('response.image_generation_call.partial_image', { partial_image_b64: '/4111111111111111/' });
    const answer = new ResponseAnswer(requestGuards({ output: [pii()] }).guards, 1000);
    expect(await answer.event(data)).toEqual([data]);
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

describe('the end of a text that a guard holds back', () => {
  const TEXT = 'Write to bob@example.com now';
  const delta = { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: TEXT };
  const item = { type: 'message', id: 'm', content: [{ type: 'output_text', text: TEXT }] };
  const start = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
  const block = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } };
  const chunk = { choices: [{ index: 0, delta: { content: TEXT } }] };
  const { guards } = requestGuards({ output: [pii()] });

  it.each<[string, ResponseAnswer | MessageAnswer | ChatAnswer, readonly object[]]>([
    ['the end of its part', new ResponseAnswer(guards), [delta, { ...delta, type: 'response.content_part.done' }]],
    [
      'the end of its item',
      new ResponseAnswer(guards),
      [delta, { type: 'response.output_item.done', output_index: 0, item }],
    ],
    [
      'the end of the response',
      new ResponseAnswer(guards),
      [delta, { type: 'response.completed', response: { output: [item] } }],
    ],
    ['a failure', new ResponseAnswer(guards), [delta, { type: 'response.failed', response: { output: [] } }]],
    ['an error', new ResponseAnswer(guards), [delta, { type: 'error', message: 'Broken.' }]],
    ['nothing', new ResponseAnswer(guards), [delta]],
    ['nothing, in a message', new MessageAnswer(guards), [start, block]],
    [
      'an error, in a message',
      new MessageAnswer(guards),
      [start, block, { type: 'error', error: { message: 'Broken.' } }],
    ],
    ['nothing, in a chat', new ChatAnswer(guards), [chunk]],
    ['an error, in a chat', new ChatAnswer(guards), [chunk, { error: { message: 'Broken.' } }]],
  ])('[G-05] is not lost where all that follows it is %s', async (_, answer, events) => {
    const passed: string[] = [];
    for (const event of events) passed.push(...(await answer.event(JSON.stringify(event))));
    passed.push(...(await answer.end()));
    const last = events.at(-1);
    const isLast = passed.at(-1) === JSON.stringify(last) || !JSON.stringify(last).includes('Broken.');
    const texts = passed.map((each) => {
      const { type, delta: of, choices } = JSON.parse(each);
      if (type?.endsWith('.delta')) return of;
      return choices?.[0]?.delta.content ?? (type === 'content_block_delta' ? of.text : '');
    });
    expect([texts.join(''), isLast]).toEqual(['Write to [EMAIL] now', true]);
  });

  it.each([
    ['that of the text', { ...delta, type: 'response.output_text.done', delta: undefined, text: TEXT }],
    ['that of its part', { ...delta, type: 'response.content_part.done', delta: undefined, part: item.content[0] }],
    ['that of its item', { type: 'response.output_item.done', output_index: 0, item }],
    ['none', undefined],
  ])('[G-05] is asked about once, where the event that ends it is %s', async (_, end) => {
    let asked = 0;
    const rewriting: Guard = { name: 'rewriting', inspect: () => ({ action: 'replace', text: `Answer ${++asked}.` }) };
    const answer = new ResponseAnswer(requestGuards({ output: [rewriting] }).guards);
    const completed = { type: 'response.completed', response: { output: [item] } };
    const passed: string[] = [];
    for (const event of [delta, ...(end ? [end] : []), completed])
      passed.push(...(await answer.event(JSON.stringify(event))));
    const { response } = JSON.parse(passed.at(-1) ?? '');
    const streamed = passed.map((each) => JSON.parse(each).delta ?? '').join('');
    expect([response.output[0].content[0].text, streamed]).toEqual(['Answer 1.', 'Answer 1.']);
  });

  it.each([
    ['item', { type: 'response.output_item.done', output_index: 1, item: { type: 'message', id: 'n', content: [] } }],
    ['summary', { type: 'response.reasoning_summary_part.done', output_index: 0, summary_index: 0, part: {} }],
  ])('[G-05] stays held back where another %s ends', async (_, done) => {
    const answer = new ResponseAnswer(guards);
    const half = { ...delta, delta: 'bob@exam' };
    const passed: string[] = [];
    for (const event of [half, done, { ...delta, delta: 'ple.com!' }])
      passed.push(...(await answer.event(JSON.stringify(event))));
    passed.push(...(await answer.end()));
    expect(passed.map((each) => JSON.parse(each).delta ?? '').join('')).toBe('[EMAIL]!');
  });
});
