/** What a turn holds when it has ended: items, status, usage, and which limit it met. */

import type { TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import { type ModelEvent, NO_USAGE, type TurnInput, type Usage } from '../../../src/protocol/events.ts';
import type { LogProb } from '../../../src/protocol/items.ts';
import { logProbsText } from '../../../src/protocol/json/log-probs.ts';
import { executionError } from '../../../src/protocol/tool-calls/results/call-error.ts';
import {
  CITATION,
  call,
  cite,
  ERROR,
  eventLines,
  FAIL,
  finish,
  OWNED,
  OWNED_AS_FUNCTION_CALL,
  reasoning,
  refusal,
  result,
  stop,
  text,
  usage,
  used,
} from './turn-script.ts';
import { endOf, outputOf, SEED, wholeTurn } from './whole-turn.ts';

function callIdsOf(model: readonly TurnInput[]): readonly string[] {
  return outputOf(model).flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []));
}

describe('items', () => {
  const reasoned = { id: `rs_${SEED}0000`, type: 'reasoning', status: 'completed' };

  it('[P-03] put the reasoning into the summary, or into the content beside an empty one', () => {
    const model = [reasoning('Hm'), reasoning('m'), finish()];
    expect([outputOf(model), outputOf(model, { reasoning: 'reasoning_text' })]).toEqual([
      [{ ...reasoned, summary: [{ type: 'summary_text', text: 'Hmm' }] }],
      [{ ...reasoned, summary: [], content: [{ type: 'reasoning_text', text: 'Hmm' }] }],
    ]);
  });

  it('[P-03] announce the reasoning without parts, in the shape that it will keep', () => {
    const announced = (plan: Partial<TurnPlan>) => wholeTurn([reasoning('Hm')], plan)[2];
    const start = { type: 'item-start', sequence: 2, index: 0 };
    expect([announced({}), announced({ reasoning: 'reasoning_text' })]).toEqual([
      { ...start, item: { ...reasoned, status: 'in_progress', summary: [] } },
      { ...start, item: { ...reasoned, status: 'in_progress', summary: [], content: [] } },
    ]);
  });

  it('[S-09] keep text, annotations and refusal of a message in its parts', () => {
    const second = { ...CITATION, url: 'https://c.d' };
    expect(outputOf([cite(CITATION), text('Hi'), cite(second), refusal('No.'), finish()])).toEqual([
      {
        id: `msg_${SEED}0000`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'Hi', annotations: [CITATION, second], logprobs: [] },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
    ]);
  });

  it('[S-09] gather the log probabilities of all deltas, of those without text too', () => {
    const probable = (token: string): LogProb => ({ token, logprob: -0.5, bytes: [1], top_logprobs: [] });
    const delta = (text: string, ...tokens: string[]): ModelEvent => ({
      type: 'text-delta',
      text,
      logprobs: tokens.map(probable),
    });
    const events = wholeTurn([delta('ab', 'a', 'b'), text('-'), delta('', 'c'), delta('d', 'd'), finish()]);
    const reported = events.flatMap((event) =>
      event.type === 'part-delta' || event.type === 'text-end' ? [event.logprobs] : [],
    );
    const all = ['a', 'b', 'c', 'd'].map(probable);
    expect(reported).toEqual([all.slice(0, 2), [], all.slice(2, 3), all.slice(3), all].map(logProbsText));
  });

  it('[S-09] [Q-03] take log probabilities as a list or as its JSON', () => {
    const list: readonly LogProb[] = [{ token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] }];
    const of = (logprobs: string | readonly LogProb[]) =>
      wholeTurn([{ type: 'text-delta', text: 'a', logprobs }, { type: 'text-delta', text: '', logprobs }, finish()]);
    expect(of(logProbsText(list))).toEqual(of(list));
    expect(of(list)).toContainEqual(
      expect.objectContaining({ type: 'part-end', part: expect.objectContaining({ logprobs: [...list, ...list] }) }),
    );
  });

  it('[T-02, P-01] have ids that identify their model call, from the second on', () => {
    const model = [
      reasoning('Hm'),
      call(0, '{}', { name: 'look_up' }),
      finish(),
      result(1),
      reasoning('Hm'),
      call(0, '{}', { name: 'ask' }),
      call(1, '{}', { name: 'look_up' }),
      finish(),
      // Its place depends on the rendering; a result that no call waits for is ignored.
      result(4),
      result(5),
      text('Hi'),
      finish(),
    ];
    const ids = (plan: Partial<TurnPlan>) => outputOf(model, plan).map(({ id }) => id.replace(SEED, '_'));
    expect([ids(OWNED), ids(OWNED_AS_FUNCTION_CALL)]).toEqual([
      ['rs__0000', 'mcp__0001', 'rs__0002r1', 'fc__0003r1', 'mcp__0004r1', 'msg__0005r2'],
      ['rs__0000', 'fc__0001', 'fco__0002r1', 'rs__0003r1', 'fc__0004r1', 'fc__0005r1', 'fco__0006r2', 'msg__0007r2'],
    ]);
  });

  it('[T-08] hold the text of a result, and name in its place what is not text', () => {
    const parts = [
      { type: 'input_text', text: 'A cat:' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,AA==' },
    ];
    const [completed, failed, empty] = outputOf(
      [
        ...[0, 1, 2].map((number) => call(number, '{}', { name: 'look_up' })),
        finish(),
        result(0, parts),
        result(1, parts, true),
        result(2, []),
      ],
      OWNED,
    );
    const reported = 'A cat:\n[image/png, 1 bytes]\n[application/pdf, 1 bytes]';
    expect([completed, failed, empty]).toMatchObject([
      { output: reported, error: null },
      { output: null, error: executionError(reported) },
      { output: '', error: null },
    ]);
  });

  it('[C-03] keep the upstream’s call ids where each is given once', () => {
    const model = [call(0, '', { id: 'call_a' }), call(1, '', { id: 'chatcmpl-tool-b' }), finish()];
    expect(callIdsOf(model)).toEqual(['call_a', 'chatcmpl-tool-b']);
  });

  it('[C-03, P-05] get call ids of ours where the upstream’s is missing, empty or taken, over all model calls', () => {
    const model = [
      call(0, '', { id: 'call_a' }),
      call(1, ''),
      call(2, '', { id: '' }),
      call(3, '', { id: 'call_a' }),
      finish(),
      call(0, '', { id: 'call_a' }),
      call(1, '', { id: 'call_b' }),
      finish(),
    ];
    expect(callIdsOf(model)).toEqual([
      'call_a',
      `call_${SEED}001`,
      `call_${SEED}002`,
      `call_${SEED}003`,
      `call_${SEED}004`,
      'call_b',
    ]);
  });
});

describe('how a turn ends', () => {
  function howEnded(model: readonly TurnInput[]) {
    const { status, reason, error, completedAt } = endOf(model);
    return { status, reason, error, completedAt };
  }

  it.each<[string, readonly TurnInput[], ReturnType<typeof howEnded>]>([
    [
      '[B-01] completed',
      [text('Hi'), finish()],
      { status: 'completed', reason: null, error: null, completedAt: 1_700_000_000 },
    ],
    [
      '[B-03, S-11] incomplete after `length`',
      [text('Hi'), finish('length')],
      { status: 'incomplete', reason: 'max_output_tokens', error: null, completedAt: null },
    ],
    [
      '[B-04, C-17, S-11] incomplete after `content_filter`',
      [text('Hi'), finish('content_filter')],
      { status: 'incomplete', reason: 'content_filter', error: null, completedAt: null },
    ],
    [
      '[S-11] incomplete after `length` though nothing was written',
      [finish('length')],
      { status: 'incomplete', reason: 'max_output_tokens', error: null, completedAt: null },
    ],
    [
      '[S-11] as its last model call did',
      [call(0, '{}'), finish(), text('Hi'), finish('length')],
      { status: 'incomplete', reason: 'max_output_tokens', error: null, completedAt: null },
    ],
    [
      '[B-27, T-02] incomplete where the server stopped it for its calls',
      [call(0, '{}'), finish(), stop('max_tool_calls')],
      { status: 'incomplete', reason: 'max_tool_calls', error: null, completedAt: null },
    ],
    [
      '[A-30, T-02] incomplete where the server stopped it for its rounds',
      [call(0, '{}'), finish(), stop('max_tool_iterations')],
      { status: 'incomplete', reason: 'max_tool_iterations', error: null, completedAt: null },
    ],
    [
      '[P-04] failed, even after the server stopped it',
      [call(0, '{}'), finish(), stop('max_tool_calls'), FAIL],
      { status: 'failed', reason: null, error: ERROR, completedAt: null },
    ],
    [
      '[P-04] failed, even after it was cut off',
      [text('Hi'), finish('length'), FAIL],
      { status: 'failed', reason: null, error: ERROR, completedAt: null },
    ],
  ])('%s', (_, model, how) => {
    expect(howEnded(model)).toEqual(how);
  });
});

describe('usage', () => {
  const first = used(usage(1, 2, 3, 4, 5));
  const second = used(usage(10, 20, 30, 40, 50));

  it.each<[string, readonly TurnInput[], Usage]>([
    ['[S-10] is zero if the upstream reports none', [text('Hi'), finish()], NO_USAGE],
    [
      '[S-10] of a model call is its last reported usage',
      [first, text('Hi'), second, finish()],
      usage(10, 20, 30, 40, 50),
    ],
    [
      '[S-10, B-42] is summed over the model calls, field by field',
      [call(0, '{}'), first, finish(), text('Hi'), second, finish()],
      usage(11, 22, 33, 44, 55),
    ],
    [
      '[S-10] counts a model call once though another reports none',
      [call(0, '{}'), first, finish(), text('Hi'), finish()],
      usage(1, 2, 3, 4, 5),
    ],
    ['[S-10] counts the model call that failed', [text('Hi'), first, FAIL], usage(1, 2, 3, 4, 5)],
    ['[S-10, P-08] counts a model call that never reported a finish', [text('Hi'), first], usage(1, 2, 3, 4, 5)],
    ['[S-10, P-08] counts a model call that reported nothing else', [first], usage(1, 2, 3, 4, 5)],
    [
      '[S-10, P-08] counts usage that is reported after the finish',
      [text('Hi'), finish(), first],
      usage(1, 2, 3, 4, 5),
    ],
  ])('%s', (_, model, total) => {
    expect(endOf(model).usage).toEqual(total);
  });
});

describe('limits', () => {
  function howFar(model: readonly TurnInput[], plan: Partial<TurnPlan>) {
    const { status, error } = endOf(model, plan);
    return [status, error?.code];
  }

  // Ten UTF-8 bytes each; `é` and the call's own id and name count as bytes too.
  it.each<[string, readonly TurnInput[]]>([
    ['text', [text('éééé'), text('ab')]],
    ['refusals', [refusal('éééé'), refusal('ab')]],
    ['reasoning', [reasoning('éééé'), reasoning('ab')]],
    ['annotations', [cite({ ...CITATION, url: 'a:éé', title: 'éé' })]],
    ['arguments', [call(0, '"é"', { id: 'abc', name: 'abc' })]],
    ['different items', [reasoning('ab'), text('ab'), call(0, '{}', { id: 'ab', name: 'ab' })]],
    ['different model calls', [text('abcde'), finish(), text('abcde')]],
  ])('[P-14] allow %s up to the last byte of the output, and fail the turn one byte past it', (_, model) => {
    expect([howFar(model, { outputBytes: 10 }), howFar(model, { outputBytes: 9 })]).toEqual([
      ['completed', undefined],
      ['failed', 'output_too_large'],
    ]);
  });

  it('[P-14] allow each call arguments up to the last byte, and fail the turn one byte past it', () => {
    const model = [call(0, '中'), call(1, '中'), call(0, '中'), call(1, '中'), finish()];
    expect([howFar(model, { argumentBytes: 6 }), howFar(model, { argumentBytes: 5 })]).toEqual([
      ['completed', undefined],
      ['failed', 'output_too_large'],
    ]);
  });

  it('[P-14, P-04] close what is open, once, and stop listening', () => {
    const plan = { outputBytes: 9, argumentBytes: 1 };
    expect(eventLines([call(0, '{}', { id: 'abcd', name: 'abcd' }), text('Hi'), finish()], plan)).toEqual([
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'arguments-end 0 abcd {}',
      'item-end 0 incomplete',
      'error output_too_large',
      'turn-end failed',
    ]);
  });

  it('[P-14] name the limit in the error', () => {
    const messages = [{ outputBytes: 1 }, { argumentBytes: 1 }].map((plan) => endOf([call(0, '{}')], plan).error);
    const error = { type: 'server_error', param: null, code: 'output_too_large' };
    expect(messages).toEqual([
      { ...error, message: "The model wrote more than this server's limit for a response." },
      { ...error, message: "The model wrote more than this server's limit for the arguments of a tool call." },
    ]);
  });
});
