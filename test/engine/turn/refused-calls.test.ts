/** Calls that the request does not allow: what the machine remembers of them, and how a turn goes on after its process is lost. */

import { toolRounds } from '../../../src/engine/tools/rounds.ts';
import { restoredState, turnCheckpoint } from '../../../src/engine/turn/checkpoint.ts';
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import { turnRounds } from '../../../src/engine/turn/tool-loop.ts';
import type { TurnInput } from '../../../src/protocol/events.ts';
import type { ModelRequest } from '../../../src/protocol/model-request.ts';
import { call, finish, text } from './turn-script.ts';
import { DEFAULT_PLAN } from './whole-turn.ts';

const PLAN: TurnPlan = { ...DEFAULT_PLAN, allowedTools: new Set(['read']) };
const LIMITS = { toolIterations: 9, toolCalls: 9, parallelTools: 9, repeatedCalls: 9 };
const REQUEST: ModelRequest = {
  model: 'm',
  items: [],
  tools: [{ name: 'read' }, { name: 'write' }],
  toolChoice: 'required',
};

/** The requests of a turn that another process began with these inputs. */
async function requestsAfter(inputs: readonly TurnInput[], plan: TurnPlan): Promise<readonly ModelRequest[]> {
  const [begun, events] = step(startState(plan), [{ type: 'start' }, ...inputs]);
  const checkpoint = JSON.parse(JSON.stringify(turnCheckpoint(begun)));
  let state = restoredState(plan, { checkpoint, events, next: events.length });
  const requests: ModelRequest[] = [];
  const sources = turnRounds(
    {
      takeRequest: () => REQUEST,
      upstream: {
        async *stream(request) {
          requests.push(request);
          yield [text('Done.'), finish()];
        },
      },
      opened: (items) => items,
      // The cast: no other part of a call is read here.
      call: { signal: new AbortController().signal } as never,
      plan,
      lists: new Map(),
      named: new Set(),
      approved: [],
      resumed: { state, modelView: (output) => output },
      beginRounds: () => toolRounds(LIMITS, () => Promise.reject(new Error('Nothing runs here.'))),
    },
    () => state,
  );
  for await (const source of sources) for await (const batch of source) [state] = step(state, batch);
  return requests;
}

it('[O-05] tells the model of them in the process that continues the turn, and demands the call again', async () => {
  const inputs = [call(0, '{"to":"x"}', { id: 'call_1', name: 'write' }), finish()];
  const [request, ...more] = await requestsAfter(inputs, PLAN);
  expect([more, request?.toolChoice, request?.items]).toEqual([
    [],
    'required',
    [
      { type: 'function_call', id: expect.any(String), call_id: 'call_1', name: 'write', arguments: '{"to":"x"}' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: "Not run: 'write' is not allowed for this answer. Call one of: read",
      },
    ],
  ]);
});

it('[O-01] asks no model again in a process that continues a turn whose text is there', async () => {
  const inputs = [text('Well.'), call(0, '{}', { name: 'write' }), finish()];
  expect(await requestsAfter(inputs, { ...PLAN, allowedTools: new Set() })).toEqual([]);
});

it('[O-05] keeps no more of their arguments than a call may have', () => {
  const plan = { ...PLAN, argumentBytes: 10 };
  const long = Array.from({ length: 100 }, () => call(0, '12345678'));
  const [state] = step(startState(plan), [{ type: 'start' }, call(0, '', { name: 'write' }), ...long]);
  expect(state.refused.values()).toEqual([expect.objectContaining({ name: 'write', arguments: '12345678' })]);
});
