/** What a client sees as one completion. */
import {
  type ClientCall,
  type Completion,
  callFrame,
  closingFrames,
  newCompletion,
  numberCall,
  passedFrame,
  takeHead,
} from '../../../src/apis/chat-completions/answer/completion.ts';
import { ChatEncoder } from '../../../src/apis/chat-completions/answer/encoder.ts';
import type { TurnEvent } from '../../../src/protocol/events.ts';

const HEAD = { id: 'one', created: 1, model: 'm' };
const CHUNK = { ...HEAD, object: 'chat.completion.chunk' };
const USAGE = { prompt_tokens: 1 };

function completion(fields: Partial<Completion> = {}): Completion {
  return { ...newCompletion({ wantsUsage: true, isLegacy: false }), head: HEAD, ...fields };
}

function call(name: string): ClientCall {
  return { id: `call_${name}`, name };
}

const PLACE = { sequence: 0, index: 0, itemId: 'msg', partIndex: 0, logprobs: '' };

/** More text of a part. */
function more(part: 'output_text' | 'reasoning_text' | 'refusal', text: string): TurnEvent {
  return { type: 'part-delta', part, text, ...PLACE };
}

/** The frame of the event where the answer is written anew. */
function eventFrame(one: Completion, event: TurnEvent): string {
  one.isRewritten = true;
  return new ChatEncoder(one).frames([event]);
}

const TEXT = more('output_text', 'Hi');

function chunkOf(frame: string): unknown {
  return JSON.parse(frame.replace(/^data: /, ''));
}

function written(frame: string): unknown {
  const chunk = chunkOf(frame) as { choices: readonly [{ delta: unknown }] };
  return chunk.choices[0].delta;
}

describe('the head', () => {
  it('[S-19] is of the first chunk that has an id', () => {
    const empty = completion({ head: undefined });
    for (const id of ['', 'one', 'two']) takeHead(empty, { id, created: id.length, model: 'm' });
    expect(empty.head).toEqual({ id: 'one', created: 3, model: 'm' });
  });

  it('[S-19] is of the first chunk where none has an id', () => {
    const empty = completion({ head: undefined });
    for (const created of [1, 2]) takeHead(empty, { created, model: 'm' });
    expect(empty.head).toEqual({ id: undefined, created: 1, model: 'm' });
  });
});

describe('a chunk that is passed on', () => {
  it('[S-19] is the data as it came, whatever its id, in the first round', () => {
    expect(passedFrame(completion(), '{"id" : "two"}', { id: 'two' })).toBe('data: {"id" : "two"}\n\n');
  });

  it('[P-08] is framed line by line', () => {
    expect(passedFrame(completion(), '{\n}', {})).toBe('data: {\ndata: }\n\n');
  });

  it('[P-04] [S-19] has the first round’s id in a later one, and all its own fields besides', () => {
    const frame = passedFrame(completion({ isContinued: true }), '', {
      id: 'two',
      model: 'x',
      extra: [1],
      choices: [],
    });
    expect(chunkOf(frame)).toEqual({ ...HEAD, extra: [1], choices: [] });
  });

  it('[S-19] is the data as it came in a later round whose id is the same', () => {
    expect(passedFrame(completion({ isContinued: true }), '{"id":"one" }', { id: 'one' })).toBe(
      'data: {"id":"one" }\n\n',
    );
  });

  it('[S-10] has the usage of all rounds, where it has any', () => {
    const later = completion({ isContinued: true, usage: { prompt_tokens: 2 } });
    const chunk = { id: 'one', choices: [], usage: USAGE };
    expect(chunkOf(passedFrame(later, '', chunk))).toEqual({ ...HEAD, choices: [], usage: { prompt_tokens: 3 } });
  });

  it('[S-10] is dropped if it holds only usage that was not requested', () => {
    const chunks = [
      { choices: [], usage: USAGE },
      { choices: [], usage: null },
      { choices: [{}], usage: USAGE },
    ];
    const frames = chunks.map((chunk) => passedFrame(completion({ wantsUsage: false }), '{}', chunk));
    expect(frames).toEqual(['', 'data: {}\n\n', 'data: {}\n\n']);
  });
});

describe('a chunk of ours', () => {
  it('[S-19] sends the role once, unless the model server sent it', () => {
    const fresh = completion();
    const reported = completion();
    passedFrame(reported, '{}', { choices: [{ delta: { role: 'assistant' } }] });
    const unaware = completion();
    passedFrame(unaware, '{}', { choices: [] });
    const frames = [fresh, fresh, reported, unaware].map((each) => written(eventFrame(each, TEXT)));
    const first = { role: 'assistant', content: 'Hi' };
    expect(frames).toEqual([first, { content: 'Hi' }, { content: 'Hi' }, first]);
  });

  it('[A-28] carries text, reasoning and refusals', () => {
    const one = completion({ hasRole: true });
    const events = [TEXT, more('reasoning_text', 'Hm'), more('refusal', 'No')];
    const [text, ...rest] = events.map((event) => eventFrame(one, event));
    expect([chunkOf(text ?? ''), ...rest.map(written)]).toEqual([
      { ...CHUNK, choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] },
      { reasoning_content: 'Hm' },
      { refusal: 'No' },
    ]);
  });

  it('[A-29] carries a call of the client’s, opened once and numbered from 0', () => {
    const one = completion({ hasRole: true });
    const [a, b] = [call('a'), call('b')];
    const frames = [callFrame(one, a, '{'), callFrame(one, b, '{}'), callFrame(one, a, '}')];
    expect(frames.map(written)).toEqual([
      { tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'a', arguments: '{' } }] },
      { tool_calls: [{ index: 1, id: 'call_b', type: 'function', function: { name: 'b', arguments: '{}' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '}' } }] },
    ]);
  });

  it('[P-05] goes on with the model server’s numbers, and counts on past them', () => {
    const one = completion({ hasRole: true });
    const [a, b, c] = [call('a'), call('b'), call('c')];
    numberCall(one, a, 5);
    numberCall(one, b, undefined);
    const deltas = [a, b, c].map((each) => written(callFrame(one, each, '')) as { tool_calls: [{ index: number }] });
    expect(deltas.map(({ tool_calls: [{ index }] }) => index)).toEqual([5, 6, 7]);
  });

  it('[S-19] carries a call in the legacy fields for a client that uses only those', () => {
    const one = completion({ hasRole: true, isLegacy: true });
    const a = call('a');
    expect([callFrame(one, a, '{'), callFrame(one, a, '}')].map(written)).toEqual([
      { function_call: { name: 'a', arguments: '{' } },
      { function_call: { arguments: '}' } },
    ]);
  });

  it('[A-28] carries neither the server’s calls nor what is not part of the message', () => {
    const one = completion();
    const item = {
      id: 'mcp',
      type: 'mcp_call',
      server_label: 's',
      name: 'ours',
      arguments: '',
      output: null,
      error: null,
    };
    // The cast: the fields that nothing reads are left out.
    const ours = { ...item, approval_request_id: null, status: 'in_progress' } as never;
    const events: readonly TurnEvent[] = [
      { type: 'item-start', sequence: 0, index: 1, item: ours },
      { type: 'arguments-delta', sequence: 0, index: 1, itemId: 'mcp', call: 'mcp_call', text: '{}' },
      { type: 'item-end', sequence: 0, index: 1, item: ours },
      { type: 'turn-progress', sequence: 0 },
    ];
    expect(events.map((event) => eventFrame(one, event))).toEqual(['', '', '', '']);
  });
});

describe('the end', () => {
  const finish = (delta: object) => ({ ...CHUNK, choices: [{ index: 0, delta, finish_reason: 'length' }] });

  it('[A-30] [S-10] is one chunk, followed by the usage if the client requested it', () => {
    const frames = closingFrames(completion({ hasRole: true, usage: USAGE }), 'length')
      .trim()
      .split('\n\n');
    expect(frames.map(chunkOf)).toEqual([finish({}), { ...CHUNK, choices: [], usage: USAGE }]);
  });

  it('[A-30] [S-10] has no usage if it was not requested, or if there is none', () => {
    const ends = [{ usage: USAGE, wantsUsage: false }, {}].map((fields) => closingFrames(completion(fields), 'length'));
    expect(ends.map(chunkOf)).toEqual([finish({ role: 'assistant' }), finish({ role: 'assistant' })]);
  });
});
