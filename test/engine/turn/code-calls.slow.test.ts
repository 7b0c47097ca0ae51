/** What the turn machine says of code that the model writes and the server runs. */
import fc from 'fast-check';
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { TurnEvent, TurnInput } from '../../../src/protocol/events.ts';
import type { OutputItem } from '../../../src/protocol/items.ts';
import { DEFAULT_PLAN, turnEndIn, wholeTurn } from './whole-turn.ts';

const PLAN: TurnPlan = {
  ...DEFAULT_PLAN,
  owners: new Map([
    [
      'code_interpreter',
      { server: 'code_interpreter', name: 'code_interpreter', container: 'cntr_1', shownAs: 'code_interpreter_call' },
    ],
    ['look_up', { server: 'files', name: 'look.up' }],
  ]),
};

const call = (args: string, name?: string, number = 0): TurnInput => ({
  type: 'tool-call-delta',
  call: number,
  arguments: args,
  ...(name === undefined ? {} : { name, id: `call_${number}` }),
});
const code = (args = '', number = 0): TurnInput => call(args, 'code_interpreter', number);
const FINISH: TurnInput = { type: 'finish', reason: 'stop' };
const CUT_OFF: TurnInput = { type: 'finish', reason: 'length' };
const LOGS = [{ type: 'logs', logs: '4' }] as const;
const result = (index: number, more: Partial<Extract<TurnInput, { type: 'tool-result' }>> = {}): TurnInput => ({
  type: 'tool-result',
  index,
  output: '4',
  failed: false,
  outputs: LOGS,
  ...more,
});

/** The events of a whole turn by this plan. */
function turn(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly TurnEvent[] {
  return wholeTurn(model, { ...PLAN, ...plan });
}

/** The events between the opening and the end. */
function lines(model: readonly TurnInput[], plan?: Partial<TurnPlan>): readonly string[] {
  return turn(model, plan).slice(2, -1).map(line);
}

function line(event: TurnEvent): string {
  if (event.type === 'arguments-delta') return `delta ${event.index} ${event.text}`;
  if (event.type === 'arguments-end') return `code ${event.index} ${event.call} ${event.arguments}`;
  if (event.type === 'call-state') return `${event.state} ${event.index}`;
  if (event.type === 'item-end') return `end ${event.index} ${'status' in event.item && event.item.status}`;
  return 'index' in event ? `${event.type} ${event.index}` : event.type;
}

function outputOf(model: readonly TurnInput[], plan?: Partial<TurnPlan>): readonly OutputItem[] {
  return turnEndIn(turn(model, plan)).output;
}

/** The one item of a turn. */
function only(model: readonly TurnInput[], plan?: Partial<TurnPlan>): OutputItem | undefined {
  const [item, ...others] = outputOf(model, plan);
  expect(others).toEqual([]);
  return item;
}

/** The arguments with which the waiting calls are run. */
function runs(model: readonly TurnInput[]): readonly string[] {
  let state = startState(PLAN);
  for (const input of [{ type: 'start' } as const, ...model]) [state] = step(state, [input]);
  return state.pending.values().map((waiting) => waiting.arguments);
}

const ITEM = {
  id: 'ci_0123456789abcdef0123456789abcdef0000',
  type: 'code_interpreter_call',
  status: 'completed',
  container_id: 'cntr_1',
  code: '2 + 2',
  outputs: LOGS,
};

describe('a run of code', () => {
  it('[T-11, B-37] is emitted in OpenAI’s order, its code while the model writes the JSON around it', () => {
    const model = [code(), call('{"co'), call('de":"2 '), call('+ '), call('2\\'), call('n"}'), FINISH, result(0)];
    expect(lines(model)).toEqual([
      'item-start 0',
      'in_progress 0',
      'delta 0 2 ',
      'delta 0 + ',
      'delta 0 2',
      'delta 0 \n',
      'code 0 code_interpreter_call 2 + 2\n',
      'interpreting 0',
      'completed 0',
      'end 0 completed',
    ]);
  });

  it('[T-11, B-37] begins as an item in its container, without code or outputs', () => {
    const [start] = turn([code('{"code":"2 + 2"}'), FINISH, result(0)]).filter(({ type }) => type === 'item-start');
    expect(start).toMatchObject({ item: { ...ITEM, status: 'in_progress', code: '', outputs: null } });
  });

  it.each(['mcp_call', 'function_call'] as const)(
    '[T-11, B-38] is one item with its outputs where other calls are %ss',
    (ownedAs) => {
      expect(only([code('{"code":"2 + 2"}'), FINISH, result(0)], { ownedAs })).toEqual(ITEM);
    },
  );

  it('[T-11] that failed is reported by its item only, whose outputs give the reason', () => {
    const failed = { type: 'tool-result', index: 0, output: 'Out of time.', failed: true } as const;
    const model = [code('{"code":"2 + 2"}'), FINISH, failed];
    expect(lines(model).slice(-2)).toEqual(['interpreting 0', 'end 0 failed']);
    expect(only(model)).toEqual({ ...ITEM, status: 'failed', outputs: [{ type: 'logs', logs: 'Out of time.' }] });
  });

  it('[T-11] whose code was cut off is incomplete, and not run', () => {
    const model = [code('{"code":"2 +'), CUT_OFF];
    expect(lines(model)).toEqual([
      'item-start 0',
      'in_progress 0',
      'delta 0 2 +',
      'code 0 code_interpreter_call 2 +',
      'end 0 incomplete',
    ]);
    expect([only(model), runs(model)]).toEqual([{ ...ITEM, status: 'incomplete', code: '2 +', outputs: null }, []]);
  });

  it('[T-11] is left incomplete where the turn fails before its result', () => {
    const error = { message: 'Gone.', type: 'server_error', param: null, code: 'upstream_error' };
    expect(only([code('{"code":"2 + 2"}'), FINISH, { type: 'fail', error }])).toEqual({
      ...ITEM,
      status: 'incomplete',
      outputs: null,
    });
  });

  it('[T-11] that nobody ran has failed when the turn ends', () => {
    expect(only([code('{"code":"2 + 2"}'), FINISH])).toMatchObject({ status: 'failed' });
  });

  it('[T-11, P-05] stands beside others and beside calls of other tools, each with its own result', () => {
    const both = [code('', 0), call('', 'look_up', 1), code('', 2)];
    const written = [call('{"code":"a', undefined, 2), call('{"code":"b"}', undefined, 0), call('"}', undefined, 2)];
    const output = outputOf([...both, ...written, FINISH, result(2, { outputs: [] }), result(0), result(1)]);
    expect(output).toMatchObject([
      { type: 'code_interpreter_call', code: 'b', outputs: LOGS },
      { type: 'mcp_call', arguments: '{}', output: '4' },
      { type: 'code_interpreter_call', code: 'a', outputs: [] },
    ]);
  });
});

describe('the code that is run', () => {
  it.each([
    ['{"code":"print(1)"}', 'print(1)'],
    ['{ "code" : "print(1)", "why": "to see" }', 'print(1)'],
    ['{"why":"to see","code":"print(1)"}', 'print(1)'],
    ['{"python":"print(1)"}', 'print(1)'],
    ['print(1)', 'print(1)'],
    ['', ''],
  ])('[T-11] is the code that was shown, in whatever form it was written: %s', (args, shown) => {
    const model = [code(args), FINISH];
    expect([runs(model), only([...model, result(0)])]).toMatchObject([
      [JSON.stringify({ code: shown })],
      { code: shown },
    ]);
  });

  it('[T-11, B-37] is the same text, however the JSON is cut', () => {
    const sizes = fc.array(fc.nat(6), { maxLength: 12 });
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), sizes, (text, sizes) => {
        let rest = JSON.stringify({ code: text });
        const pieces = sizes.map((size) => {
          const piece = rest.slice(0, size);
          rest = rest.slice(size);
          return call(piece);
        });
        const model = [code(), ...pieces, call(rest), FINISH];
        expect([runs(model), only([...model, result(0)])]).toMatchObject([
          [JSON.stringify({ code: text })],
          { code: text },
        ]);
      }),
    );
  });
});
