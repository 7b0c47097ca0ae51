/** What the machine makes of calls that need approval, and of those that have it. */

import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { TurnInput } from '../../../src/protocol/events.ts';
import { DEFAULT_PLAN, SEED, START, turnEndIn, wholeTurn } from './whole-turn.ts';

const PLAN: TurnPlan = {
  ...DEFAULT_PLAN,
  outputBytes: 1_000,
  argumentBytes: 100,
  owners: new Map([
    ['send', { server: 'mail', name: 'send.it', needsApproval: true }],
    ['read', { server: 'mail', name: 'read' }],
  ]),
};
const STOP: TurnInput = { type: 'finish', reason: 'stop' };

const call = (number: number, args: string, name?: string): TurnInput => ({
  type: 'tool-call-delta',
  call: number,
  arguments: args,
  ...(name === undefined ? {} : { name, id: `call_${number}` }),
});
const text = (words: string): TurnInput => ({ type: 'text-delta', text: words });
const request = (place: number, args: string) => ({
  id: `mcpr_${SEED}000${place}`,
  type: 'mcp_approval_request',
  arguments: args,
  name: 'send.it',
  server_label: 'mail',
});

/** The whole turn: the types of its events, how it ended, and the events. */
function turn(inputs: readonly TurnInput[], plan: Partial<TurnPlan> = {}) {
  const events = wholeTurn(inputs, { ...PLAN, ...plan });
  return { types: events.slice(2, -1).map(({ type }) => type), end: turnEndIn(events), events };
}

describe('a call that needs approval', () => {
  it('[T-09] is one item without deltas, when the model call has ended', () => {
    const { types, end } = turn([call(0, '{"to"', 'send'), call(0, ':1}'), STOP]);
    expect([types, end.output, end.status]).toEqual([
      ['item-start', 'item-end'],
      [request(0, '{"to":1}')],
      'completed',
    ]);
  });

  it('[T-09] follows the model’s later text, and stays separate from calls in between', () => {
    const parts = [call(0, '{"a"', 'send'), call(1, '{', 'read'), call(0, ':1}'), text('So.'), call(2, '', 'send')];
    const { end } = turn([...parts, call(1, '}'), STOP]);
    expect(end.output.map(({ type }) => type)).toEqual([
      'mcp_call',
      'message',
      'mcp_approval_request',
      'mcp_approval_request',
    ]);
    expect(end.output.slice(2)).toEqual([request(2, '{"a":1}'), request(3, '{}')]);
  });

  it('[T-09] is requested if the model’s server ends without a finish', () => {
    expect(turn([call(0, '{}', 'send')]).end.output).toEqual([request(0, '{}')]);
  });

  it.each(['length', 'content_filter'] as const)(
    '[T-09, S-11] is left out where the model was cut off (%s)',
    (reason) => {
      const { end, events } = turn([call(0, '{"to', 'send'), { type: 'finish', reason }]);
      expect([end.output, end.status]).toEqual([[], 'incomplete']);
      expect(events).toContainEqual({ type: 'call-dropped', name: 'send.it', why: 'cut_off' });
    },
  );

  it('[T-09] is left out where the turn fails', () => {
    const error = { message: 'x', type: 'server_error', param: null, code: null };
    expect(turn([call(0, '{}', 'send'), { type: 'fail', error }]).end.output).toEqual([]);
  });

  it('[T-09, S-05] is left out where tool_choice does not allow it', () => {
    const { end, events } = turn([call(0, '{}', 'send'), STOP], { allowedTools: new Set(['read']) });
    expect(end.output).toEqual([]);
    expect(events).toContainEqual({ type: 'call-dropped', name: 'send', why: 'not_allowed' });
  });

  it.each([
    ['arguments', [call(0, 'x'.repeat(60), 'send'), call(0, 'x'.repeat(60))]],
    ['arguments at once', [call(0, 'x'.repeat(120), 'send')]],
    ['answer in one call', Array.from({ length: 20 }, () => call(0, 'x'.repeat(60), 'send'))],
    ['answer', Array.from({ length: 20 }, (_, number) => call(number, 'x'.repeat(60), 'send'))],
  ])('[T-09] counts to the limits: too long an %s fails the turn', (what, inputs) => {
    const { end } = turn(inputs, what.startsWith('answer') ? { argumentBytes: 10_000 } : {});
    expect([end.status, end.error?.code, end.output]).toEqual(['failed', 'output_too_large', []]);
  });

  it('[T-09] of the next model call is another one, though its number is the same', () => {
    const { end } = turn([call(0, '{"a":1}', 'send'), STOP, call(0, '{"b":2}', 'send'), STOP]);
    expect(end.output.map((item) => 'arguments' in item && item.arguments)).toEqual(['{"a":1}', '{"b":2}']);
  });
});

describe('a call that has been approved', () => {
  const approved: TurnInput = {
    type: 'call-approved',
    name: 'send',
    arguments: '{"to":1}',
    approvalRequestId: 'mcpr_1',
  };
  const result: TurnInput = { type: 'tool-result', index: 0, output: 'Sent.', failed: false };

  it('[T-09] is emitted whole and waits for its result', () => {
    const [state] = step(startState(PLAN), [START, approved]);
    expect(state.pending.values().map(({ name, arguments: args, callId }) => [name, args, callId])).toEqual([
      ['send', '{"to":1}', `call_${SEED}000`],
    ]);
    expect(state.openCall).toBeUndefined();
    const { types, end } = turn([approved, result]);
    expect(types).toEqual(['item-start', 'call-state', 'arguments-delta', 'arguments-end', 'call-state', 'item-end']);
    expect(end.output).toEqual([
      {
        id: `mcp_${SEED}0000`,
        type: 'mcp_call',
        status: 'completed',
        approval_request_id: 'mcpr_1',
        arguments: '{"to":1}',
        error: null,
        name: 'send.it',
        output: 'Sent.',
        server_label: 'mail',
      },
    ]);
  });

  it('[T-09] is emitted as a function call where calls are shown so', () => {
    const { end } = turn([approved, result], { ownedAs: 'function_call' });
    expect(end.output.map(({ type }) => type)).toEqual(['function_call', 'function_call_output']);
  });
});
