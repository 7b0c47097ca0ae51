/** One model call: what goes on to the client at once, what waits, and what is written anew. */

import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { calls, chunk, deltaIn, frame, run, type Setting, TIGHT } from './answer-frames.ts';

const TEXT = chunk({ content: 'Hi' });
const END = chunk({}, 'tool_calls');
/** The answer that ends a turn whose tools have run. */
const LAST = [chunk({ content: 'Done' }), chunk({}, 'stop')];

/** What goes out for each of these, and at the end of the answer. */
async function take(data: readonly string[], setting?: Setting): Promise<readonly string[]> {
  const { frames } = await run([data, LAST], setting);
  return frames.slice(0, data.length + 1);
}

/** Why the answer broke off. */
async function failure(data: readonly string[], setting?: Setting): Promise<unknown> {
  return (await run([[...data, '[DONE]'], LAST], setting)).error;
}

describe('what goes on at once', () => {
  it('[S-19] is text and everything else that begins no call', async () => {
    const data = [
      TEXT,
      chunk({ reasoning: 'Hm' }),
      '{"choices":[]}',
      '{"unheard":"of"}',
      chunk({ tool_calls: [] }),
      END,
    ];
    for (const hasTools of [true, false]) expect(await take(data, { hasTools })).toEqual([...data.map(frame), '']);
  });

  it('[P-08] is neither an empty event nor the end of the stream', async () => {
    for (const hasTools of [true, false]) {
      const { frames, error } = await run([['', '[DONE]', ' [DONE] ']], { hasTools });
      expect([frames.join(''), error]).toEqual(['', undefined]);
    }
  });

  it('[A-29] is a call whose first piece identifies its owner, and its pieces', async () => {
    const data = [calls([0, 'theirs', '{']), calls([0, undefined, '}']), END];
    expect(await take(data)).toEqual([...data.map(frame), '']);
  });

  it('[S-19] is every call where the server has no tools', async () => {
    const data = [calls([0, 'theirs']), calls([0, undefined, '{}']), '[DONE]'];
    expect(await take(data, { hasTools: false })).toEqual([...data.slice(0, 2).map(frame), '', '']);
  });
});

describe('what waits', () => {
  it('[A-28] [A-29] is a call without arguments, until it has some', async () => {
    const [opening, rest] = [calls([0, 'theirs']), calls([0, undefined, '{}'])];
    // An empty object may stand in front of the arguments.
    expect(await take([opening, rest, END])).toEqual(['', '', '', frame(opening) + frame(rest) + frame(END)]);
  });

  it('[P-05] is a call whose name may go on', async () => {
    const data = [calls([0, 'ou']), chunk({ tool_calls: [{ index: 0, function: { name: 'rs' } }] })];
    const outcome = await run([[...data, calls([0, undefined, '{}']), END], LAST]);
    expect(outcome.frames.slice(0, 5)).toEqual(['', '', '', '', '']);
    expect(outcome.calls).toEqual([{ name: 'ours', arguments: '{}' }]);
  });

  it('[P-05] is a call that begins where another one goes on', async () => {
    const data = [calls([0, 'theirs', '{']), calls([0, undefined, '}'], [1, 'ours']), calls([1, undefined, '{}'])];
    const [first, second, third, ...end] = await take([...data, END]);
    expect([first, second, third]).toEqual([frame(data[0] ?? ''), '', '']);
    expect(deltaIn(end.join('').split('\n\n')[0])).toEqual({
      role: 'assistant',
      tool_calls: [{ index: 0, function: { arguments: '}' } }],
    });
  });

  it('[A-29] is let go by whatever comes after it, and by the end', async () => {
    const opening = calls([0, 'theirs']);
    expect(await take([opening, TEXT, calls([1, 'more']), END])).toEqual([
      '',
      frame(opening) + frame(TEXT),
      '',
      '',
      frame(calls([1, 'more'])) + frame(END),
    ]);
  });

  it('[S-10] is the usage behind such a call', async () => {
    const opening = calls([0, 'theirs']);
    const usage = '{"choices":[], "usage":{"prompt_tokens":1}}';
    expect(await take([opening, usage, '[DONE]'])).toEqual(['', '', '', frame(opening) + frame(usage)]);
  });

  it('[V-18] is a call whose name and arguments stand beside its id, too', async () => {
    const data = [chunk({ tool_calls: [{ index: 0, id: 'id_0', name: 'ours', arguments: '{"a":1}' }] }), END];
    const outcome = await run([data, LAST]);
    expect(outcome.frames.slice(0, 3)).toEqual(['', '', '']);
    expect(outcome.calls).toEqual([{ name: 'ours', arguments: '{"a":1}' }]);
  });

  it('[A-28] is a legacy call, too', async () => {
    const data = [chunk({ function_call: { name: 'ours' } }), chunk({ function_call: { arguments: '{}' } })];
    const outcome = await run([[...data, chunk({}, 'function_call')], LAST], { isLegacy: true });
    expect(outcome.frames.slice(0, 4)).toEqual(['', '', '', '']);
    expect(outcome.calls).toEqual([{ name: 'ours', arguments: '{}' }]);
  });
});

describe('calls that the model server interleaves', () => {
  it.each([true, false])(
    '[V-31] wait for the one before them, and keep their own bytes, where the server has tools: %j',
    async (hasTools) => {
      const [first, second, more, rest, text] = [
        calls([0, 'theirs', '{']),
        calls([1, 'others', '{}']),
        calls([1, undefined, ' ']),
        calls([0, undefined, '}']),
        chunk({ content: 'Hi' }),
      ];
      expect(await take([first, second, more, rest, text, END], { hasTools })).toEqual([
        frame(first),
        '',
        '',
        frame(rest),
        frame(second) + frame(more) + frame(text),
        frame(END),
        '',
      ]);
    },
  );

  it('[V-31] come in one chunk, which keeps its bytes unless a part of it has to wait', async () => {
    const both = calls([0, 'theirs', '{}'], [1, 'others', '{"a":']);
    const torn = calls([1, undefined, '1}'], [0, undefined, ' ']);
    const swapped = calls([0, 'theirs', '{'], [1, 'others', '{}']);
    for (const hasTools of [true, false]) {
      expect(await take([both, calls([1, undefined, '1}']), END], { hasTools })).toEqual([
        frame(both),
        frame(calls([1, undefined, '1}'])),
        frame(END),
        '',
      ]);
      const frames = (await take([swapped, torn, END], { hasTools })).join('').split('\n\n');
      const [first, ...rest] = frames;
      expect(deltaIn(first)).toEqual({
        tool_calls: [{ index: 0, id: 'id_0', type: 'function', function: { name: 'theirs', arguments: '{' } }],
      });
      expect(rest.join('')).toContain('"others"');
    }
  });

  it('[V-31] go out at the latest with the chunk that ends the answer', async () => {
    const [first, second] = [calls([0, 'theirs', '{']), calls([1, 'others', '{'])];
    for (const hasTools of [true, false])
      expect(await take([first, second, chunk({}, 'length')], { hasTools })).toEqual([
        frame(first),
        '',
        frame(second) + frame(chunk({}, 'length')),
        '',
      ]);
  });

  it('[V-31] without arguments wait, too, where the server has no tools', async () => {
    const [first, second, rest, last] = [
      calls([0, 'theirs', '{']),
      calls([1, 'others']),
      calls([0, undefined, '}']),
      calls([1, undefined, '{}']),
    ];
    expect(await take([first, second, rest, last, END], { hasTools: false })).toEqual([
      frame(first),
      '',
      frame(rest),
      // An empty object may stand in front of the arguments.
      '',
      frame(second) + frame(last) + frame(END),
      '',
    ]);
  });

  it('[V-31] [S-11] wait within the limit of a response', async () => {
    const behind = Array.from({ length: 10_000 }, () => chunk({ unheard: 'of', padding: 'x'.repeat(100) }));
    const data = [calls([0, 'theirs', '{']), calls([1, 'others', '{']), ...behind];
    expect(await failure(data, { hasTools: false, limits: { ...TIGHT, outputBytes: 1e6 } })).toMatchObject({
      code: 'output_too_large',
    });
  });
});

describe('what is written anew', () => {
  it('[A-28] is all but the calls of the server, once it has begun one', async () => {
    const outcome = await run([[TEXT, calls([0, 'ours', '{}']), chunk({ content: 'more' }), END], LAST]);
    expect(outcome.frames.slice(0, 5)).toEqual([
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
      '',
    ]);
    expect(outcome.bodies[1]?.messages[1]).toMatchObject({ role: 'assistant', content: 'Himore' });
  });

  it.each([true, false])('[A-28] is a whole answer, where the server has tools: %j', async (hasTools) => {
    const text = '{"id":"x","choices":[{"message":{"content":"Hi","reasoning_content":"Hm"},"finish_reason":"stop"}]}';
    const { frames } = await run([[text]], { hasTools, isWhole: true });
    const sent = frames.join('').trim().split('\n\n');
    expect(sent.map(deltaIn)).toEqual([{ role: 'assistant', reasoning_content: 'Hm' }, { content: 'Hi' }, {}]);
    expect(sent.at(-1)).toContain('"finish_reason":"stop"');
  });

  it('[P-05] is a call of the client’s without arguments, as one with {}', async () => {
    const outcome = await run([[calls([0, 'ours', '{}'], [1, 'theirs']), END]]);
    expect(outcome.frames.join('')).toContain('"name":"theirs","arguments":"{}"');
    expect(outcome.calls).toEqual([{ name: 'ours', arguments: '{}' }]);
  });
});

describe('a chunk of several calls', () => {
  it('[A-28] [P-05] hands out the client’s calls where another one is the server’s', async () => {
    const { frames } = await run([[calls([0, 'theirs'], [1, 'ours']), END], LAST]);
    const deltas = frames.join('').split('\n\n').slice(0, 2).map(deltaIn);
    const called = { index: 0, id: 'id_0', type: 'function', function: { name: 'theirs', arguments: '{}' } };
    expect(deltas).toEqual([{ role: 'assistant', tool_calls: [called] }, {}]);
  });
});

describe('what is remembered', () => {
  it('[P-05] are calls with ids of their own', async () => {
    const again = chunk({ tool_calls: [{ index: 1, id: 'id_0', function: { name: 'ours', arguments: '{}' } }] });
    const { bodies } = await run([[calls([0, 'ours', '{}']), again, END], LAST]);
    const [, message, ...results] = bodies[1]?.messages ?? [];
    const ids = Array.from(message?.tool_calls as Iterable<{ readonly id: string }>, ({ id }) => id);
    expect(ids).toEqual(['id_0', expect.stringMatching(/^call_/)]);
    expect(results.map(({ tool_call_id: id }) => id)).toEqual(ids);
  });

  it('[P-05] are the ids of each answer apart: some servers count them from 0 in every one', async () => {
    const asking = [calls([0, 'ours', '{}']), END];
    const { bodies } = await run([asking, [calls([0, 'ours', '{"a":1}']), END], LAST]);
    const ids = bodies[2]?.messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]));
    expect(ids).toEqual(['id_0', 'id_0']);
  });

  it('[T-02] is whether the model was cut off', async () => {
    const ran = [];
    for (const finish of ['length', 'content_filter', 'stop', 'tool_calls']) {
      const outcome = await run([[calls([0, 'ours', '{}']), chunk({}, finish)], LAST]);
      ran.push(outcome.calls.length);
    }
    expect(ran).toEqual([0, 0, 1, 1]);
  });
});

describe('what is refused', () => {
  it.each([['[]'], ['"x"'], ['{'], ['null']])('[P-08] [P-14] is data like %s', async (data) => {
    for (const hasTools of [true, false])
      expect(await failure([data], { hasTools })).toMatchObject({
        message: 'The model server sent something that is not a JSON object.',
      });
  });

  it('[P-08] is an error in a chunk', async () => {
    expect(await failure(['{"error":"Out of memory."}'])).toMatchObject({ message: 'Out of memory.' });
  });

  it('[P-08] opens no stream where it comes first, also from one server of several', async () => {
    const opened = [];
    for (const hasTools of [true, false])
      for (const setting of [{ hasTools }, { hasTools, server: 'eu' }])
        opened.push((await run([['{"error":"Out of memory."}']], setting)).isOpen);
    expect(opened).toEqual([false, false, false, false]);
  });

  it('[P-08] is an end without a sign that it is one', async () => {
    for (const hasTools of [true, false])
      expect((await run([[TEXT]], { hasTools })).error).toMatchObject({
        message: 'The model server broke off its answer.',
      });
  });

  it('[P-14] is more than may be written, in UTF-8', async () => {
    for (const hasTools of [true, false]) {
      const { frames, error } = await run(
        [[chunk({ content: 'é'.repeat(250) }), chunk({ reasoning: 'é'.repeat(250) }), TEXT]],
        { hasTools },
      );
      expect(frames.slice(0, 2)).not.toContain('');
      expect(error).toMatchObject({ message: "The model wrote more than this server's limit for a response." });
    }
  });

  it('[P-14] is more than one call may be given, in UTF-8', async () => {
    const data = [
      calls([0, 'theirs', 'é'.repeat(25)]),
      calls([0, undefined, 'é'.repeat(25)]),
      calls([1, 'theirs', 'é'.repeat(50)]),
    ];
    const message = "The model wrote more than this server's limit for the arguments of a tool call.";
    for (const hasTools of [true, false]) {
      const plain = await failure([...data, END], { hasTools });
      expect([plain, await failure([...data, calls([0, undefined, 'x'])], { hasTools })]).toEqual([
        undefined,
        expect.objectContaining({ message }),
      ]);
    }
  });

  it.each<[string, object, object]>([
    ['ids of calls', {}, { index: 1, id: 'x'.repeat(1000), function: { name: 'theirs', arguments: '{}' } }],
    ['fields of a call without arguments', { index: 0, function: { name: 'ours' } }, { index: 0, x: 'x'.repeat(1000) }],
    ['fields of a call without a name', {}, { index: 0, x: 'x'.repeat(1000) }],
  ])('[P-14] is more than may be written, in %s', async (_, before, entry) => {
    const data = [calls([2, 'ours', '{}']), chunk({ tool_calls: [before] }), chunk({ tool_calls: [entry] })];
    expect(await failure(data)).toMatchObject({ code: 'output_too_large' });
  });

  it.each<[string, unknown]>([
    ['text', 'x'.repeat(1000)],
    ['a list', ['x'.repeat(1000)]],
  ])('[P-14] is more than may be written, in a second field of reasoning: %s', async (_, reasoning) => {
    expect(await failure([chunk({ reasoning_content: 'Hm', reasoning })])).toMatchObject({ code: 'output_too_large' });
  });

  it('[P-14] is no field of a call by itself: many of them are taken in proportion', async () => {
    await expectLinearWork(1_000, async (size) => {
      const fields = Array.from({ length: size }, (_, at) => chunk({ tool_calls: [{ index: 0, [`x${at}`]: 1 }] }));
      const { error } = await run([[calls([0, 'theirs']), ...fields, END]], { limits: DEFAULT_LIMITS });
      expect(error).toBeUndefined();
    });
  });
});
