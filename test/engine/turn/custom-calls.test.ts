/** What the turn machine says of calls by other names than the model's: free text, namespaces, and all kinds beside each other. */
import fc from 'fast-check';
import type { TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { TurnEvent, TurnInput } from '../../../src/protocol/events.ts';
import type { OutputItem } from '../../../src/protocol/items.ts';
import { DEFAULT_PLAN, turnEndIn, wholeTurn } from './whole-turn.ts';

const PLAN: TurnPlan = {
  ...DEFAULT_PLAN,
  owners: new Map([['look_up', { server: 'files', name: 'look.up' }]]),
  forms: new Map([
    ['patch', { kind: 'custom', name: 'patch' }],
    ['run__script', { kind: 'custom', name: 'script', namespace: 'run' }],
    ['mail__send', { kind: 'function', name: 'send', namespace: 'mail' }],
    ['add', { kind: 'function', name: 'add' }],
  ]),
};

const call = (call: number, args: string, name?: string): TurnInput => ({
  type: 'tool-call-delta',
  call,
  arguments: args,
  ...(name === undefined ? {} : { name, id: `call_${name}` }),
});
const CUT_OFF: TurnInput = { type: 'finish', reason: 'length' };
const result = (index: number): TurnInput => ({ type: 'tool-result', index, output: 'Found.', failed: false });

/** The events of a whole turn by this plan. */
function turn(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly TurnEvent[] {
  return wholeTurn(model, { ...PLAN, ...plan });
}

/** The events of arguments: deltas as they are, the end as `name = whole`. */
function reported(model: readonly TurnInput[]): readonly string[] {
  return turn(model).flatMap((event) => {
    if (event.type === 'arguments-delta') return [`${event.call} ${event.text}`];
    return event.type === 'arguments-end' ? [`${event.call} ${event.name} = ${event.arguments}`] : [];
  });
}

function outputOf(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly OutputItem[] {
  return turnEndIn(turn(model, plan)).output;
}

/** The one item of a turn, as `status input`. */
function only(model: readonly TurnInput[]): string {
  const [item, ...others] = outputOf(model);
  if (item?.type !== 'custom_tool_call' || others.length > 0) throw new Error('there is one custom call');
  return `${item.status} ${item.input}`;
}

describe('a call of a custom tool', () => {
  it('[S-06] emits its free text while the model writes the JSON around it', () => {
    expect(
      reported([call(0, '', 'patch'), call(0, '{"inp'), call(0, 'ut": "*** Be'), call(0, 'gin\\'), call(0, 'n"}')]),
    ).toEqual([
      'custom_tool_call *** Be',
      'custom_tool_call gin',
      'custom_tool_call \n',
      'custom_tool_call patch = *** Begin\n',
    ]);
  });

  it('[S-06] [P-01] is an item of its own type, with an id of its own kind', () => {
    expect(outputOf([call(0, '{"input":"a"}', 'patch')])).toEqual([
      {
        id: 'ctc_0123456789abcdef0123456789abcdef0000',
        type: 'custom_tool_call',
        status: 'completed',
        call_id: 'call_patch',
        name: 'patch',
        input: 'a',
      },
    ]);
  });

  it.each([
    ['raw text', '*** Begin', 'completed *** Begin'],
    ['the text under another name', '{"patch":"a"}', 'completed a'],
    ['the text behind something else', '{"why":"b","input":"a"}', 'completed a'],
    ['several texts', '{"a":"b","c":"d"}', 'completed {"a":"b","c":"d"}'],
    ['no text', '{"input":5}', 'completed {"input":5}'],
    ['a list', '["a"]', 'completed ["a"]'],
    ['a bare string', '"a"', 'completed "a"'],
    ['nothing', '', 'completed '],
    ['text whose object never ends', '{"input":"a"', 'completed a'],
    ['text that never ends', '{"input":"a', 'incomplete a'],
  ])('[S-06] loses nothing where the model writes %s', (_, written, expected) => {
    const whole = [call(0, written, 'patch')];
    const byUnit = [call(0, '', 'patch'), ...written.split('').map((unit) => call(0, unit))];
    expect([only(whole), only(byUnit)]).toEqual([expected, expected]);
  });

  it.each([
    ['before its text', '{"inp', 'incomplete '],
    ['inside it', '{"input":"a', 'incomplete a'],
    ['inside an escape', '{"input":"a\\u00', 'incomplete a'],
    ['inside raw text', '*** Be', 'incomplete *** Be'],
  ])('[S-06] [S-11] keeps what there was when the model is cut off %s', (_, written, expected) => {
    expect(only([call(0, written, 'patch'), CUT_OFF])).toBe(expected);
  });

  it('[S-06] [S-11] ends an incomplete turn where its text breaks off, whatever the model server calls that', () => {
    const broken = [call(0, '{}', 'add'), call(1, '{"input":"rm -rf /tmp', 'patch')];
    const { status, reason, output } = turnEndIn(turn([...broken, { type: 'finish', reason: 'stop' }]));
    expect({ status, reason, items: output.map((item) => 'status' in item && item.status) }).toEqual({
      status: 'incomplete',
      reason: 'max_output_tokens',
      items: ['completed', 'incomplete'],
    });
  });

  it('[S-06] [B-24] is dropped where allowed_tools does not name it', () => {
    expect(outputOf([call(0, '{"input":"a"}', 'patch')], { allowedTools: new Set(['add']) })).toEqual([]);
  });
});

describe('a call of a tool in a namespace', () => {
  it.each<readonly [string, string, object]>([
    ['function', 'mail__send', { type: 'function_call', name: 'send', namespace: 'mail', arguments: '{"input":"a"}' }],
    ['custom tool', 'run__script', { type: 'custom_tool_call', name: 'script', namespace: 'run', input: 'a' }],
  ])('[S-06] has the names that the client gave its %s', (_, name, item) => {
    expect(outputOf([call(0, '{"input":"a"}', name)])).toEqual([
      { id: expect.any(String), status: 'completed', call_id: `call_${name}`, ...item },
    ]);
  });

  it('[S-06] names its function in the end of the arguments as the client does', () => {
    expect(reported([call(0, '{}', 'mail__send')])).toEqual(['function_call {}', 'function_call send = {}']);
  });
});

describe('calls of all kinds beside each other', () => {
  const INTERLEAVED = [
    call(0, '{"in', 'patch'),
    call(1, '{"a"', 'add'),
    call(2, '{"q":', 'look_up'),
    call(0, 'put":"x'),
    call(1, ':1}'),
    call(2, '2}'),
    call(0, 'y"}'),
    call(3, '{}', 'mail__send'),
    { type: 'finish', reason: 'stop' } as const,
    result(2),
  ];

  it.each(['mcp_call', 'function_call'] as const)(
    '[S-05] [S-06] [P-05] are kept apart, with the server’s own shown as %s',
    (ownedAs) => {
      expect(outputOf(INTERLEAVED, { ownedAs }).map((item) => `${item.type} ${written(item)}`)).toEqual([
        'custom_tool_call xy',
        'function_call {"a":1}',
        `${ownedAs} {"q":2}`,
        'function_call {}',
        ...(ownedAs === 'function_call' ? ['function_call_output Found.'] : []),
      ]);
    },
  );
});

describe('custom calls, however they are cut and interleaved', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', 'é', '😀'), maxLength: 12 });
  const size = fc.integer({ min: 1, max: 7 });

  /** The JSON of the text, in pieces of that size. */
  function pieces(number: number, text: string, size: number): readonly TurnInput[] {
    const json = JSON.stringify({ input: text });
    const starts = Array.from({ length: Math.ceil(json.length / size) }, (_, index) => index * size);
    return starts.map((start) => call(number, json.slice(start, start + size)));
  }

  it('[S-06] [P-05] keep the laws, and each its own text', () => {
    fc.assert(
      fc.property(text, size, text, size, fc.array(fc.boolean()), (one, oneSize, other, otherSize, order) => {
        const queues: [TurnInput[], TurnInput[]] = [[...pieces(0, one, oneSize)], [...pieces(1, other, otherSize)]];
        const mixed = order.flatMap((first) => queues[first ? 0 : 1].splice(0, 1));
        const opened = [call(0, '', 'patch'), call(1, '', 'run__script')];
        const output = outputOf([...opened, ...mixed, ...queues.flat()]);
        expect(output.map(written)).toEqual([one, other]);
      }),
      { numRuns: 300 },
    );
  });
});

function written(item: OutputItem): unknown {
  if ('input' in item) return item.input;
  return 'arguments' in item ? item.arguments : 'output' in item && item.output;
}
