/** The chunks of a Chat Completions stream, and whole answers, as model events. */

import { ChatDecoder } from '../../../src/protocol/chat-completions/decoder.ts';
import type { ApiError } from '../../../src/protocol/errors.ts';
import type { ModelEvent } from '../../../src/protocol/events.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';

function chunk(delta: JsonObject, rest: JsonObject = {}): JsonObject {
  return { choices: [{ index: 0, delta, ...rest }] };
}

/** What the chunks say, up to the end; `done` says whether `[DONE]` came. */
function decode(chunks: readonly unknown[], { done = true, think = true } = {}): readonly ModelEvent[] {
  const decoder = new ChatDecoder({ think });
  const events: ModelEvent[] = [];
  for (const each of chunks) decoder.take(each, events);
  decoder.end(events, done);
  return events;
}

/** The same without the finish. */
function written(...chunks: readonly unknown[]): readonly ModelEvent[] {
  return decode(chunks).slice(0, -1);
}

function thrownBy(run: () => unknown): Pick<ApiError, 'code' | 'message' | 'status'> | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    const { code, message, status } = error as ApiError;
    return { code, message, status };
  }
}

const STOP: ModelEvent = { type: 'finish', reason: 'stop' };
const text = (words: string): ModelEvent => ({ type: 'text-delta', text: words });
const reasoning = (words: string): ModelEvent => ({ type: 'reasoning-delta', text: words });
const PARIS = { index: 0, id: 'c1', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } };
const CALL: ModelEvent = {
  type: 'tool-call-delta',
  call: 0,
  id: 'c1',
  name: 'get_weather',
  arguments: '{"city":"Paris"}',
};

describe('chatDecoder', () => {
  it('[A-01] [C-14] [P-08] reads the text of each chunk, white space and all, and the finish at the end', () => {
    const chunks = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'a' }), chunk({ content: ' \n' })];
    expect(decode([...chunks, chunk({}, { finish_reason: 'stop' }), { choices: [] }])).toEqual([
      text('a'),
      text(' \n'),
      STOP,
    ]);
  });

  it('[P-08] reads an answer that was not streamed', () => {
    const message = { role: 'assistant', content: 'Hm.', reasoning_content: 'So.', refusal: null, tool_calls: [PARIS] };
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const whole = { object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage };
    expect(decode([whole])).toEqual([
      {
        type: 'usage',
        usage: {
          input_tokens: 1,
          input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
          output_tokens: 2,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 3,
        },
        reported: usage,
      },
      reasoning('So.'),
      text('Hm.'),
      CALL,
      STOP,
    ]);
  });

  it('[P-08] does not say everything again where the last chunk repeats the whole message', () => {
    const last = { choices: [{ index: 0, message: { role: 'assistant', content: 'ab' }, finish_reason: 'stop' }] };
    expect(decode([chunk({ content: 'a' }), chunk({ content: 'b' }), last])).toEqual([text('a'), text('b'), STOP]);
  });

  it('[P-08] reads the first choice only', () => {
    const other = { index: 1, delta: { content: 'other' }, finish_reason: 'length' };
    expect(decode([{ choices: [other, { index: 0, delta: { content: 'a' } }] }, { choices: [other] }])).toEqual([
      text('a'),
      STOP,
    ]);
  });

  it.each([
    ['stop', 'stop'],
    ['tool_calls', 'stop'],
    ['function_call', 'stop'],
    ['end_turn', 'stop'],
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['model_length', 'length'],
    ['content_filter', 'content_filter'],
    ['constructor', 'stop'],
  ])('[S-11] [P-05] reads the finish reason %s as %s, calls or not', (finish, reason) => {
    const chunks = [chunk({ tool_calls: [PARIS] }), chunk({}, { finish_reason: finish })];
    expect(decode(chunks, { done: false })).toEqual([CALL, { type: 'finish', reason }]);
  });

  it('[P-08] [A-18] takes [DONE] for a finish, and neither of them for a broken answer', () => {
    expect([
      decode([chunk({ content: 'a' })]),
      thrownBy(() => decode([chunk({ content: 'a' })], { done: false })),
      thrownBy(() => decode([chunk({ content: 'a' }, { finish_reason: 'error' })])),
    ]).toEqual([
      [text('a'), STOP],
      { code: 'upstream_truncated', message: 'The model server broke off its answer.', status: 502 },
      { code: 'upstream_error', message: 'The model server failed while answering.', status: 502 },
    ]);
  });

  it.each<readonly [unknown, JsonObject]>([
    [
      { error: { message: 'Overloaded.', code: 503 } },
      { code: 'upstream_unavailable', message: 'Overloaded.', status: 503 },
    ],
    [
      { error: { message: 'Filtered.', code: 'content_policy' }, choices: [] },
      { code: 'content_policy', message: 'Filtered.', status: 502 },
    ],
    [{ error: 'No.' }, { code: 'upstream_error', message: 'No.', status: 502 }],
    ['text', { code: 'upstream_error', message: 'The model server sent a chunk that is not an object.', status: 502 }],
  ])('[A-18] [P-08] throws the error that the chunk %j carries', (bad, error) => {
    expect(thrownBy(() => decode([chunk({ content: 'a' }), bad]))).toEqual(error);
  });

  it.each([
    ['an empty object', [{ choices: [], usage: {} }, chunk({}, { finish_reason: 'stop' })]],
    ['null', [{ choices: [], usage: null }, chunk({}, { finish_reason: 'stop' })]],
  ])('[S-10] sends nothing of usage that is %s', (_, chunks) => {
    expect(decode(chunks)).toEqual([STOP]);
  });

  it.each([
    ['with the finish', { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }],
    ['in a chunk of its own', { choices: [] }],
    ['in a chunk without choices', {}],
  ])('[S-10] [P-08] reads usage %s', (_, rest) => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    expect(written({ choices: [] }, { ...rest, usage })).toEqual([
      {
        type: 'usage',
        usage: {
          input_tokens: 10,
          input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
          output_tokens: 5,
          output_tokens_details: { reasoning_tokens: 3 },
          total_tokens: 15,
        },
        reported: usage,
      },
    ]);
  });

  it.each<readonly [string, JsonObject]>([
    ['reasoning_content', { reasoning_content: 'Hm' }],
    ['reasoning', { reasoning: 'Hm' }],
    ['both, saying the same', { reasoning_content: 'Hm', reasoning: 'Hm' }],
    ['reasoning_details', { reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }],
    ['reasoning_details with a summary', { reasoning_details: [{ type: 'reasoning.summary', summary: 'Hm' }] }],
    ['reasoning beside its details', { reasoning: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }],
    ['parts that think', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] }],
    ['thinking_blocks', { thinking_blocks: [{ type: 'thinking', thinking: 'Hm' }] }],
    ['parts with a summary', { content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] }] }],
    ['parts that think in a string', { content: [{ type: 'thinking', thinking: 'Hm' }] }],
  ])('[S-08] reads reasoning from %s', (_, delta) => {
    expect(written(chunk(delta), chunk({ content: [{ type: 'text', text: 'Yes' }] }))).toEqual([
      reasoning('Hm'),
      text('Yes'),
    ]);
  });

  it('[S-08] emits nothing for reasoning that is empty or absent', () => {
    const details = [{ type: 'reasoning.text', text: '' }, null, 'text'];
    expect(written(chunk({ reasoning_content: '', reasoning: null }), chunk({ reasoning_details: details }))).toEqual(
      [],
    );
  });

  it('[V-01] [S-08] emits what is encrypted as state, before the first words, or at the end', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'xyz' }];
    const end = (state: object) => ({ type: 'reasoning-end', state });
    expect([
      written(chunk({ reasoning_details: details })),
      written(chunk({ reasoning: 'Hm' }), chunk({ reasoning_details: details }), chunk({ content: 'Yes' })),
      written(chunk({ content: 'Y' }), chunk({ reasoning_details: details }), chunk({ content: 'es' })),
    ]).toEqual([
      [end({ details })],
      [reasoning('Hm'), end({ field: 'reasoning', details }), text('Yes')],
      [text('Y'), text('es'), end({ late: true, details })],
    ]);
  });

  it('[V-01] [F-12] takes no details that are nested too deeply or too large', () => {
    let nested: unknown = 'x';
    for (let depth = 0; depth < 5000; depth += 1) nested = [nested];
    expect(written(chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', nested }] }))).toEqual([]);
    expect(written(chunk({ extra_content: { nested } }))).toEqual([]);
    const large = chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x'.repeat(1 << 20), index: 0 }] });
    const data = 'x'.repeat(1 << 20);
    const blocks = chunk({ thinking_blocks: [{ type: 'redacted_thinking', data }] });
    const parts = chunk({ content: [{ type: 'reasoning', summary: [{ type: 'summary_encrypted_text', data }] }] });
    for (const each of [large, blocks, parts])
      expect(() => written(...Array(17).fill(each))).toThrow('more than this server keeps');
  });

  it('[S-08] reads thinking tags unless the host declares that they are text', () => {
    const chunks = [chunk({ content: '<think>Hm</think>Yes' })];
    expect([decode(chunks), decode(chunks, { think: false })]).toEqual([
      [reasoning('Hm'), text('Yes'), STOP],
      [text('<think>Hm</think>Yes'), STOP],
    ]);
  });

  it('[S-09] reads refusals, log probabilities with their bytes, and citations nested or flat', () => {
    const logprobs = {
      content: [{ token: '€', logprob: -1, bytes: null, top_logprobs: [{ token: 'E' }, null] }],
      refusal: null,
    };
    const citation = { url: 'https://example.com', title: 'E', start_index: 1, end_index: 2 };
    const annotations = [
      { type: 'url_citation', url_citation: citation },
      { type: 'url_citation', url: 'https://example.com/bare' },
      { type: 'file_citation', file_citation: {} },
    ];
    expect(written(chunk({ content: '€' }, { logprobs }), chunk({ refusal: 'No.' }), chunk({ annotations }))).toEqual([
      {
        type: 'text-delta',
        text: '€',
        logprobs: JSON.stringify({
          token: '€',
          logprob: -1,
          bytes: [0xe2, 0x82, 0xac],
          top_logprobs: [{ token: 'E', logprob: 0, bytes: [0x45] }],
        }),
      },
      { type: 'refusal-delta', text: 'No.' },
      { type: 'annotation', annotation: { type: 'url_citation', ...citation } },
      {
        type: 'annotation',
        annotation: {
          type: 'url_citation',
          url: 'https://example.com/bare',
          title: '',
          start_index: 0,
          end_index: 0,
        },
        atEnd: true,
      },
    ]);
  });

  it('[P-02] [C-16] keeps text and calls of one chunk, and their order over several', () => {
    const bare = { index: 0, id: 'c0', function: { name: 'now', arguments: '' } };
    expect([
      written(chunk({ content: 'Look: ', tool_calls: [PARIS] })),
      written(
        chunk({ tool_calls: [bare] }),
        chunk({ content: 'So.' }),
        chunk({ tool_calls: [{ ...PARIS, index: 1 }] }),
      ),
    ]).toEqual([
      [text('Look: '), CALL],
      [{ type: 'tool-call-delta', call: 0, id: 'c0', name: 'now', arguments: '' }, text('So.'), { ...CALL, call: 1 }],
    ]);
  });

  it('[P-05] emits a call that was given no arguments before the end', () => {
    const bare = { index: 0, id: 'c0', function: { name: 'now' } };
    expect(decode([chunk({ tool_calls: [bare] }), chunk({}, { finish_reason: 'tool_calls' })])).toEqual([
      { type: 'tool-call-delta', call: 0, id: 'c0', name: 'now', arguments: '' },
      STOP,
    ]);
  });

  it('[P-08] reads content that is an object as its JSON', () => {
    const content = { title: 'Apples', tags: ['red'] };
    expect(written({ choices: [{ index: 0, message: { role: 'assistant', content } }] })).toEqual([
      text('{"title":"Apples","tags":["red"]}'),
    ]);
  });

  it('[P-05] takes the legacy function_call for a call', () => {
    const chunks = [
      chunk({ function_call: { name: 'get_weather', arguments: '' } }),
      chunk({ function_call: { arguments: '{"city":' } }),
      chunk({ function_call: { arguments: '"Paris"}' } }, { finish_reason: 'function_call' }),
    ];
    expect(written(...chunks)).toEqual([
      { type: 'tool-call-delta', call: 0, id: '', name: 'get_weather', arguments: '{"city":' },
      { type: 'tool-call-delta', call: 0, arguments: '"Paris"}' },
    ]);
  });

  it('[P-08] [P-14] emits nothing for chunks without content', () => {
    const empty = [
      {},
      { choices: null },
      { choices: [null] },
      { choices: [{}] },
      chunk({ content: null }),
      chunk({ content: 7 }),
    ];
    expect(written(...empty)).toEqual([]);
  });
});
