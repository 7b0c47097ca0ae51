/** What the turn machine says of web searches that the server runs. */

import { restoredState, turnCheckpoint } from '../../../src/engine/turn/checkpoint.ts';
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan, type TurnState } from '../../../src/engine/turn/machine/state.ts';
import type { TurnEvent, TurnInput } from '../../../src/protocol/events.ts';
import type { OutputItem } from '../../../src/protocol/items.ts';
import { DEFAULT_PLAN, turnEndIn, wholeTurn } from './whole-turn.ts';

const owner = (name: string) => ({ server: 'web_search', name, shownAs: 'web_search_call' as const });
const PLAN: TurnPlan = {
  ...DEFAULT_PLAN,
  owners: new Map([
    ['web_search', owner('web_search')],
    ['open_page', owner('open_page')],
  ]),
};

const call = (name: string, args: object, number = 0): TurnInput => ({
  type: 'tool-call-delta',
  call: number,
  name,
  id: `call_${number}`,
  arguments: JSON.stringify(args),
});
const FINISH: TurnInput = { type: 'finish', reason: 'stop' };
const RESULTS = [{ url: 'https://e.com/', title: 'E', text: 'x' }];
const result = (index: number, more: object = {}): TurnInput => ({
  type: 'tool-result',
  index,
  output: 'x',
  failed: false,
  results: RESULTS,
  ...more,
});

function outputOf(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly OutputItem[] {
  return turnEndIn(wholeTurn(model, { ...PLAN, ...plan })).output;
}

describe('a search by this server', () => {
  it.each(['mcp_call', 'function_call'] as const)(
    '[B-41] is one item with its results where other calls are %ss',
    (ownedAs) => {
      expect(outputOf([call('web_search', { query: 'x' }), FINISH, result(0)], { ownedAs })).toMatchObject([
        {
          type: 'web_search_call',
          status: 'completed',
          action: { type: 'search', query: 'x', queries: ['x'], sources: [{ type: 'url', url: 'https://e.com/' }] },
          results: RESULTS,
        },
      ]);
    },
  );

  it.each([
    [{ url: 'https://e.com/' }, { type: 'open_page', url: 'https://e.com/' }],
    [
      { url: 'https://e.com/', find: 'x' },
      { type: 'find_in_page', url: 'https://e.com/', pattern: 'x' },
    ],
  ])('[B-41] may open a page instead: %j', (args, action) => {
    expect(outputOf([call('open_page', args), FINISH, result(0)])).toMatchObject([{ action, results: RESULTS }]);
  });

  it('[B-41] that was cut off is failed, and not run', () => {
    const cut: TurnInput = { type: 'tool-call-delta', call: 0, name: 'web_search', id: 'c', arguments: '{"que' };
    expect(outputOf([cut, { type: 'finish', reason: 'length' }])).toMatchObject([
      { status: 'failed', action: { type: 'search', query: '', queries: [] }, results: null },
    ]);
  });

  it('[B-41] without results of its own has the output as one', () => {
    expect(outputOf([call('web_search', { query: 'x' }), FINISH, result(0, { results: undefined })])).toMatchObject([
      { results: [{ text: 'x' }] },
    ]);
  });

  it('[B-41] goes on in another process: it is not taken for a search of the model’s server, and its pages are cited', () => {
    const events: TurnEvent[] = [];
    let state: TurnState = startState(PLAN);
    const take = (...inputs: TurnInput[]) => {
      const [next, emitted] = step(state, inputs);
      state = next;
      events.push(...emitted);
    };
    const carryOver = () => {
      const written = events.filter((event) => 'sequence' in event);
      const checkpoint = JSON.parse(JSON.stringify(turnCheckpoint(state)));
      state = restoredState(PLAN, { checkpoint, events: JSON.parse(JSON.stringify(written)), next: state.sequence });
    };
    take({ type: 'start' }, call('web_search', { query: 'x' }), FINISH);
    carryOver();
    take({ type: 'resume' }, result(0), { type: 'model-call', isForced: false });
    carryOver();
    take({ type: 'text-delta', text: 'https://e.com' }, FINISH, { type: 'end', at: 0 });
    expect(events.filter((event) => event.type === 'item-end' && event.index === 0)).toHaveLength(1);
    expect(turnEndIn(events).output).toMatchObject([
      { type: 'web_search_call', status: 'completed', results: RESULTS },
      { content: [{ annotations: [{ url: 'https://e.com/' }] }] },
    ]);
  });
});

describe('a search by the model’s own server', () => {
  it('[B-41] has no results, and its sources as before', () => {
    const model: readonly TurnInput[] = [
      { type: 'search-start', search: 's', action: { type: 'search', query: 'x', queries: ['x'] } },
      { type: 'search-end', search: 's', failed: false, sources: [{ type: 'url', url: 'https://e.com/' }] },
      { type: 'text-delta', text: 'https://e.com/' },
      FINISH,
    ];
    const [search, message] = outputOf(model);
    expect(search).not.toHaveProperty('results');
    expect([search, message]).toMatchObject([
      { action: { sources: [{ type: 'url', url: 'https://e.com/' }] } },
      { content: [{ annotations: [] }] },
    ]);
  });
});
