/** One model call: what goes on to the client at once, what waits, and what is written anew. */

import { type Completion, newCompletion } from '../../../src/apis/chat-completions/completion/completion.ts';
import { endRound, takeData, takeWhole } from '../../../src/apis/chat-completions/round.ts';
import { newRound, type Round } from '../../../src/apis/chat-completions/round-state.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import { wholeText } from '../../../src/protocol/grown-text.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { RULES } from './rules.ts';

let completion: Completion;
let round: Round;

beforeEach(() => {
  completion = newCompletion({ wantsUsage: true, legacy: false });
  round = newRound(completion, RULES);
});

/** A chunk as text, with blanks that only a passed one still has. */
function chunk(delta: object, finish: string | null = null): string {
  return JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: finish }] }).replaceAll(',"', ', "');
}

function calls(...pieces: readonly (readonly [index: number, name: string | undefined, text?: string])[]): string {
  return chunk({ tool_calls: pieces.map(([index, name, text]) => piece(index, name, text)) });
}

function piece(index: number, name: string | undefined, text = '') {
  return name === undefined
    ? { index, function: { arguments: text } }
    : { index, id: `id_${index}`, type: 'function', function: { name, arguments: text } };
}

function frame(data: string): string {
  return `data: ${data}\n\n`;
}

/** What goes out for each of these. */
function take(...data: readonly string[]): readonly string[] {
  return data.map((each) => takeData(round, each));
}

const TEXT = chunk({ content: 'Hi' });
const END = chunk({}, 'tool_calls');

describe('what goes on at once', () => {
  it('[S-19] is text and everything else that begins no call', () => {
    const data = [
      TEXT,
      chunk({ reasoning: 'Hm' }),
      '{"choices":[]}',
      '{"unheard":"of"}',
      chunk({ tool_calls: [] }),
      END,
    ];
    expect(take(...data)).toEqual(data.map(frame));
  });

  it('[P-08] is neither an empty event nor the end of the stream', () => {
    expect([...take('', '[DONE]', ' [DONE] '), round.done]).toEqual(['', '', '', true]);
  });

  it('[A-29] is a call whose first piece identifies its owner, and its pieces', () => {
    const data = [calls([0, 'theirs', '{']), calls([0, undefined, '}']), END];
    expect([...take(...data), endRound(round)]).toEqual([...data.map(frame), '']);
  });

  it('[S-19] is every call where the server has no tools', () => {
    round = newRound(completion, { ...RULES, hidesCalls: false });
    const data = [calls([0, 'theirs']), calls([0, undefined, '{}'])];
    expect(take(...data)).toEqual(data.map(frame));
  });
});

describe('what waits', () => {
  it('[A-28] [A-29] is a call without arguments, until it has some', () => {
    const [opening, rest] = [calls([0, 'theirs']), calls([0, undefined, '{}'])];
    expect(take(opening, rest)).toEqual(['', frame(opening) + frame(rest)]);
  });

  it('[P-05] is a call whose name may go on', () => {
    expect(take(calls([0, 'ou']), chunk({ tool_calls: [{ index: 0, function: { name: 'rs' } }] }))).toEqual(['', '']);
    expect(take(calls([0, undefined, '{}']))).toEqual(['']);
    expect(round.calls.map(({ name, owned }) => [name, owned])).toEqual([['ours', true]]);
  });

  it('[P-05] is a call that begins where another one goes on', () => {
    const data = [calls([0, 'theirs', '{']), calls([0, undefined, '}'], [1, 'ours']), calls([1, undefined, '{}'])];
    const [first, second, third = ''] = take(...data);
    expect([first, second]).toEqual([frame(data[0] ?? ''), '']);
    expect(JSON.parse(third.slice('data: '.length)).choices[0].delta).toEqual({
      role: 'assistant',
      tool_calls: [{ index: 0, function: { arguments: '}' } }],
    });
  });

  it('[A-29] is let go by whatever comes after it, and by the end', () => {
    const opening = calls([0, 'theirs']);
    expect(take(opening, TEXT, calls([1, 'more']), END)).toEqual(['', frame(opening) + frame(TEXT), '', '']);
    expect(endRound(round)).toBe(frame(calls([1, 'more'])) + frame(END));
  });

  it('[S-10] is the usage behind such a call', () => {
    const usage = '{"choices":[], "usage":{"prompt_tokens":1}}';
    expect(take(calls([0, 'theirs']), usage)).toEqual(['', '']);
    expect(round.usage).toEqual({ prompt_tokens: 1 });
  });

  it('[A-28] is a legacy call, too', () => {
    expect(take(chunk({ function_call: { name: 'ours' } }), chunk({ function_call: { arguments: '{}' } }))).toEqual([
      '',
      '',
    ]);
  });
});

describe('calls that the model server interleaves', () => {
  it('[V-31] wait for the one before them, and keep their own bytes', () => {
    const [first, second, more, rest, text] = [
      calls([0, 'theirs', '{']),
      calls([1, 'others', '{}']),
      calls([1, undefined, ' ']),
      calls([0, undefined, '}']),
      chunk({ content: 'Hi' }),
    ];
    expect(take(first, second, more, rest, text, END)).toEqual([
      frame(first),
      '',
      '',
      frame(rest),
      frame(second) + frame(more) + frame(text),
      frame(END),
    ]);
  });

  it('[V-31] [S-11] wait within the limit of a response', () => {
    round = newRound(completion, { ...RULES, limits: { ...RULES.limits, outputBytes: 1e6 }, hidesCalls: false });
    take(calls([0, 'theirs', '{']), calls([1, 'others', '{']));
    const behind = Array.from({ length: 10_000 }, () => chunk({ unheard: 'of', padding: 'x'.repeat(100) }));
    expect(() => take(...behind)).toThrow("wrote more than this server's limit");
  });
});

describe('what is written anew', () => {
  it('[A-28] is all but the calls of the server, once it has begun one', () => {
    const frames = take(TEXT, calls([0, 'ours', '{}']), chunk({ content: 'more' }), END);
    expect(frames).toEqual([
      frame(TEXT),
      '',
      frame(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion.chunk',
          choices: [{ index: 0, delta: { role: 'assistant', content: 'more' }, finish_reason: null }],
        }),
      ),
      '',
    ]);
    expect([endRound(round), round.finishReason, wholeText(round.text)]).toEqual(['', 'tool_calls', 'Himore']);
  });

  it('[A-28] is a whole answer', () => {
    const text = '{"id":"x","choices":[{"message":{"content":"Hi","reasoning_content":"Hm"},"finish_reason":"stop"}]}';
    const frames = takeWhole(round, text).trim().split('\n\n');
    const deltas = frames.map((each) => JSON.parse(each.slice('data: '.length)).choices[0].delta);
    expect(deltas).toEqual([{ role: 'assistant', reasoning_content: 'Hm' }, { content: 'Hi' }]);
    expect([endRound(round), round.fields.all().reasoning_content]).toEqual(['', 'Hm']);
  });

  it('[P-05] is a call of the client’s without arguments, as one with {}', () => {
    take(calls([0, 'ours', '{}'], [1, 'theirs']), END);
    expect(endRound(round)).toContain('"function":{"arguments":"{}"}');
    expect(round.calls.map(({ arguments: text }) => text)).toEqual(['{}', '{}']);
  });
});

describe('what is remembered', () => {
  it('[P-05] are calls with ids of their own', () => {
    take(
      calls([0, 'ours', '{}']),
      chunk({ tool_calls: [{ index: 1, id: 'id_0', function: { name: 'ours', arguments: '{}' } }] }),
    );
    const [one, other] = round.calls.map(({ id }) => id);
    expect([one, other]).toEqual(['id_0', expect.stringMatching(/^own_/)]);
  });

  it('[T-02] is whether the model was cut off', () => {
    const ends = ['length', 'content_filter', 'stop', 'tool_calls'].map((finish) => {
      const each = newRound(completion, RULES);
      takeData(each, chunk({}, finish));
      endRound(each);
      return each.cutOff;
    });
    expect(ends).toEqual([true, true, false, false]);
  });
});

describe('what is refused', () => {
  it.each([['[]'], ['"x"'], ['{'], ['null']])('[P-08] [P-14] is data like %s', (data) => {
    expect(() => takeData(round, data)).toThrow('The model server sent something that is not a JSON object.');
  });

  it('[P-08] is an error in a chunk', () => {
    expect(() => takeData(round, '{"error":"Out of memory."}')).toThrow('Out of memory.');
  });

  it('[P-08] is an end without a sign that it is one', () => {
    take(TEXT);
    expect(() => endRound(round)).toThrow('The model server broke off its answer.');
  });

  it('[P-14] is more than may be written, in UTF-8', () => {
    take(chunk({ content: 'é'.repeat(250) }), chunk({ reasoning: 'é'.repeat(250) }));
    expect(() => take(TEXT)).toThrow("The model wrote more than this server's limit for a response.");
  });

  it('[P-14] is more than one call may be given, in UTF-8', () => {
    take(
      calls([0, 'theirs', 'é'.repeat(25)]),
      calls([0, undefined, 'é'.repeat(25)]),
      calls([1, 'theirs', 'é'.repeat(50)]),
    );
    const more = () => take(calls([0, undefined, 'x']));
    expect(more).toThrow("The model wrote more than this server's limit for the arguments of a tool call.");
  });

  it.each<[string, object, object]>([
    ['ids of calls', {}, { index: 1, id: 'x'.repeat(1000), function: { name: 'theirs', arguments: '{}' } }],
    ['fields of a call without arguments', { index: 0, function: { name: 'ours' } }, { index: 0, x: 'x'.repeat(1000) }],
    ['fields of a call without a name', {}, { index: 0, x: 'x'.repeat(1000) }],
  ])('[P-14] is more than may be written, in %s', (_, before, entry) => {
    take(calls([2, 'ours', '{}']), chunk({ tool_calls: [before] }));
    expect(() => take(chunk({ tool_calls: [entry] }))).toThrow("The model wrote more than this server's limit");
  });

  it.each<[string, unknown]>([
    ['text', 'x'.repeat(1000)],
    ['a list', ['x'.repeat(1000)]],
  ])('[P-14] is more than may be written, in a second field of reasoning: %s', (_, reasoning) => {
    expect(() => take(chunk({ reasoning_content: 'Hm', reasoning }))).toThrow('more than');
  });

  it('[P-14] is no field of a call by itself: many of them are taken in proportion', async () => {
    await expectLinearWork(1_000, async (size) => {
      const many = newRound(completion, { ...RULES, limits: DEFAULT_LIMITS });
      takeData(many, calls([0, 'theirs']));
      for (let index = 0; index < size; index += 1)
        takeData(many, chunk({ tool_calls: [{ index: 0, [`x${index}`]: 1 }] }));
    });
  });
});
