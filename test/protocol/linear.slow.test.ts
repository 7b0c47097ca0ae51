/** What a model server may send by the thousand takes time in proportion, in every piece of code that handles it. */

import { openResponsesServer } from '../../src/apis/dialects/open-responses-server.ts';
import { step } from '../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan, type TurnState } from '../../src/engine/turn/machine/state.ts';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import { ToolCalls } from '../../src/protocol/chat-completions/tool-calls.ts';
import type { ModelEvent, TurnInput } from '../../src/protocol/events.ts';
import { run } from '../apis/chat-completions/answer-frames.ts';
import { expectLinearWork } from '../support/linear-work.ts';

const OWNER = { server: 's', name: 'f' };
const PLAN: TurnPlan = {
  seed: '0'.repeat(32),
  reasoning: 'summary_text',
  queuedEvent: false,
  outputBytes: 1e9,
  argumentBytes: 1e9,
  owners: new Map(),
  ownedAs: 'mcp_call',
};

/** One step for each input, as where each comes in a read of its own. */
function stepped(plan: TurnPlan, inputs: readonly TurnInput[]): TurnState {
  return inputs.reduce((state, input) => step(state, [input])[0], step(startState(plan), [{ type: 'start' }])[0]);
}

const many = <Made>(count: number, make: (index: number) => Made) =>
  Array.from({ length: count }, (_, index) => make(index));
const call = (index: number): ModelEvent => ({
  type: 'tool-call-delta',
  call: index,
  id: `c${index}`,
  name: 'f',
  arguments: '',
});
const STOP: ModelEvent = { type: 'finish', reason: 'stop' };

describe('a turn of thousands of steps', () => {
  it.each<[string, TurnPlan, (size: number) => readonly TurnInput[]]>([
    ['calls', PLAN, (size) => [...many(size, call), STOP]],
    ['calls that are not allowed', { ...PLAN, allowedTools: new Set() }, (size) => [...many(size, call), STOP]],
    [
      'calls that need approval',
      { ...PLAN, owners: new Map([['f', { ...OWNER, needsApproval: true }]]) },
      (size) => [...many(size, call), STOP],
    ],
    [
      'calls of ours and their results',
      { ...PLAN, owners: new Map([['f', OWNER]]) },
      (size) => [
        ...many(size / 2, call),
        STOP,
        ...many(size / 2, (index): TurnInput => ({ type: 'tool-result', index, output: '', failed: false })),
      ],
    ],
    [
      'arguments of hundreds of calls in turn',
      PLAN,
      (size) => [
        ...many(256, call),
        ...many(size, (index): TurnInput => ({ type: 'tool-call-delta', call: index % 256, arguments: ' ' })),
        STOP,
      ],
    ],
    [
      'thoughts and words',
      PLAN,
      (size) => many(size, (index): TurnInput => ({ type: index % 2 ? 'text-delta' : 'reasoning-delta', text: 'a' })),
    ],
    [
      'refusals and words',
      PLAN,
      (size) => many(size, (index): TurnInput => ({ type: index % 2 ? 'text-delta' : 'refusal-delta', text: 'a' })),
    ],
    [
      'searches of one name',
      PLAN,
      (size) =>
        many(size, (): TurnInput => ({ type: 'search-start', search: 's', action: { type: 'open_page', url: 'u' } })),
    ],
    [
      'searches',
      PLAN,
      (size) =>
        many(
          size,
          (index): TurnInput => ({ type: 'search-start', search: `${index}`, action: { type: 'open_page', url: 'u' } }),
        ),
    ],
    [
      'citations',
      PLAN,
      (size) =>
        many(
          size,
          (): TurnInput => ({
            type: 'annotation',
            annotation: { type: 'url_citation', url: 'u', title: '', start_index: 0, end_index: 0 },
          }),
        ),
    ],
  ])('[F-14] takes time in proportion: %s', async (_, plan, inputs) => {
    await expectLinearWork(4096, (size) => step(stepped(plan, inputs(size)), [{ type: 'end', at: 0 }]));
  });

  it('[F-14] counts each item after the first 128, so that not even empty ones are endless', () => {
    const calls = many(100_000, call);
    const [{ ended, output }] = step(startState({ ...PLAN, outputBytes: 1024 * 1024 }), calls);
    expect([ended, output.size < 4500]).toEqual([true, true]);
  });

  it('[F-14] counts log probabilities, of which one token can have megabytes', () => {
    const inputs = many(
      100,
      (): TurnInput => ({ type: 'text-delta', text: 'a', logprobs: `{"token":"${'x'.repeat(100_000)}"}` }),
    );
    expect(step(startState({ ...PLAN, outputBytes: 1024 * 1024 }), inputs)[0].ended).toBe(true);
  });

  it('[F-14] leaves the state before a step as it was, whatever steps follow', () => {
    const whole = (index: number): ModelEvent => ({ ...call(index), arguments: '{}' }) as ModelEvent;
    const before = stepped(PLAN, [...many(299, whole), call(299)]);
    const [one] = step(before, [{ type: 'tool-call-delta', call: 299, arguments: '{"one":1}' }, call(300), STOP]);
    const [other] = step(before, [
      { type: 'tool-call-delta', call: 299, arguments: '{}' },
      { ...call(400), id: 'c400' } as ModelEvent,
      STOP,
    ]);
    const newest = (state: TurnState) => [state.output.size, state.output.at(299), state.output.at(300)];
    expect([newest(before), newest(one), newest(other)]).toMatchObject([
      [300, { status: 'in_progress', arguments: '' }, undefined],
      [301, { status: 'completed', arguments: '{"one":1}' }, { call_id: 'c300' }],
      [301, { status: 'completed', arguments: '{}' }, { call_id: 'c400' }],
    ]);
  });
});

describe('thousands of pieces of calls', () => {
  const read = (entries: readonly unknown[]) => {
    const calls = new ToolCalls();
    const events: ModelEvent[] = [];
    for (const entry of entries) calls.take([entry], events);
    calls.settle(events);
    return events;
  };

  it.each([
    ['with the id of the call', { id: 'c' }],
    ['without an id, so that it has to be known whether the call is whole', {}],
  ])('[F-14] take time in proportion under a name that is repeated, %s', async (_, id) => {
    const repeated = (text: string) => ({ index: 0, ...id, function: { name: 'f', arguments: text } });
    await expectLinearWork(1000, (size) =>
      read([repeated(`{"a":"${'x'.repeat(15 * size)}`), ...many(size, () => repeated('}'))]),
    );
  });

  it('[F-14] are refused where none of them has a name, however many calls they are of', () => {
    const entries = many(20_000, (index) => ({ index, id: `c${index}`, function: { arguments: '{' } }));
    expect(() => read(entries)).toThrow(expect.objectContaining({ code: 'output_too_large' }));
    const ids = many(20, (index) => ({ index, id: `${index}${'x'.repeat(100_000)}` }));
    expect(() => read(ids)).toThrow(expect.objectContaining({ code: 'output_too_large' }));
  });
});

describe('an answer of thousands of calls without arguments', () => {
  const limits = { ...DEFAULT_LIMITS, outputBytes: 1e9, argumentBytes: 1e9, eventBytes: 1e9 };
  const chunk = (delta: object) => JSON.stringify({ id: 'x', choices: [{ index: 0, delta }] });
  const begun = (index: number, name = 'f') =>
    chunk({ tool_calls: [{ index, id: `c${index}`, function: { name, arguments: '' } }] });

  it.each([
    ['of the client', (index: number) => begun(index)],
    ['of ours and of the client', (index: number) => begun(index, index % 2 ? 'f' : 'ours')],
  ])('[F-14] takes time in proportion: %s', async (_, make) => {
    await expectLinearWork(1000, async (size) => {
      const { frames, error } = await run([[...many(size, make), '[DONE]']], { limits });
      expect([error, frames.join('').split('"name":"f"').length > size / 4]).toEqual([undefined, true]);
    });
  });

  it('[F-14] holds back no more than it may, while it is not known whose call has begun', async () => {
    const junk = JSON.stringify({ id: 'x', choices: [], padding: 'x'.repeat(5000) });
    const { error, frames } = await run([[begun(0), ...many(10, () => junk), '[DONE]']], {
      limits: { ...limits, outputBytes: 10_000, eventBytes: 10_000 },
    });
    expect([error, frames.join('')]).toEqual([expect.objectContaining({ code: 'output_too_large' }), '']);
  });
});

it('[F-14] snapshots of the dialect of open-responses-server do not grow with the square of the calls', () => {
  const rewrite = openResponsesServer.rewriter?.({ isServerTool: () => false });
  const item = (index: number) => ({
    type: 'function_call',
    id: `fc_${index}`,
    call_id: 'c',
    name: 'f',
    arguments: 'x'.repeat(1000),
  });
  const frames = many(4000, (index) => [
    { type: 'response.output_item.added', output_index: index, item: item(index) },
    { type: 'response.output_item.done', output_index: index, item: item(index) },
  ]).flat();
  const begun = frames.filter(({ type }) => type.endsWith('added'));
  const open = openResponsesServer.rewriter?.({ isServerTool: () => false });
  expect(begun.flatMap((frame) => open?.(frame) ?? []).length).toBeLessThan(4200);
  const written = frames.flatMap((frame) => rewrite?.(frame) ?? []);
  const snapshots = written.filter(({ type }) => type === 'response.in_progress');
  expect([written.length - snapshots.length, snapshots.length > 30, snapshots.length < 150]).toEqual([
    8000,
    true,
    true,
  ]);
});
