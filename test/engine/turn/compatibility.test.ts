/** The events that docs/compatibility.md calls produced are those that turns make, and no others. */
import { type EncodeOptions, wireEvent } from '../../../src/apis/responses/encoding/wire-events.ts';
import type { TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { ToolOwner } from '../../../src/ports/toolset.ts';
import { ApiError } from '../../../src/protocol/errors.ts';
import { NO_USAGE, type TurnInput } from '../../../src/protocol/events.ts';
import { compatibilityRows } from '../../support/compatibility.ts';
import { DEFAULT_PLAN, wholeTurn } from './whole-turn.ts';

const RUNS_CODE = {
  server: 'code',
  name: 'code_interpreter',
  container: 'cntr_1',
  shownAs: 'code_interpreter_call',
} as const;
const PLAN: TurnPlan = {
  ...DEFAULT_PLAN,
  owners: new Map<string, ToolOwner>([
    ['look_up', { server: 'files', name: 'look.up' }],
    ['code_interpreter', RUNS_CODE],
    ['file_search', { server: 'files', name: 'file_search', shownAs: 'file_search_call' }],
    ['image_generation', { server: 'images', name: 'image_generation', shownAs: 'image_generation_call' }],
  ]),
  forms: new Map([['patch', { kind: 'custom', name: 'patch' }]]),
};

/** A whole call of the tool. */
function call(index: number, name: string, text: string): TurnInput {
  return { type: 'tool-call-delta', call: index, name, id: `call_${index}`, arguments: text };
}

function result(index: number, failed = false): TurnInput {
  return { type: 'tool-result', index, output: 'Found.', failed };
}

const FINISH: TurnInput = { type: 'finish', reason: 'stop' };
const CITATION = {
  type: 'url_citation',
  url: 'https://example.com',
  title: 'A',
  start_index: 0,
  end_index: 1,
} as const;
const SEARCH = { type: 'search', query: 'a', queries: ['a'] } as const;

const TURNS: readonly (readonly [inputs: readonly TurnInput[], plan?: Partial<TurnPlan>])[] = [
  [
    [
      { type: 'reasoning-delta', text: 'Hm.' },
      { type: 'text-delta', text: 'Hi.' },
      { type: 'annotation', annotation: CITATION },
      FINISH,
    ],
  ],
  [
    [{ type: 'reasoning-delta', text: 'Hm.' }, { type: 'refusal-delta', text: 'No.' }, FINISH],
    { reasoning: 'reasoning_text' },
  ],
  [[call(0, 'look', '{"a":1}'), call(1, 'patch', '{"input":"a"}'), FINISH]],
  [
    [
      { type: 'tools-listed', server: 'files', tools: [] },
      call(0, 'look_up', '{}'),
      call(1, 'look_up', '{}'),
      FINISH,
      result(1),
      result(2, true),
    ],
  ],
  [[call(0, 'code_interpreter', '{"code":"1"}'), FINISH, result(0)]],
  [[call(0, 'file_search', '{"queries":["a"]}'), FINISH, result(0)]],
  [
    [
      { type: 'search-start', search: 's', action: SEARCH },
      { type: 'search-end', search: 's', failed: false, sources: [] },
      FINISH,
    ],
  ],
  [
    [
      call(0, 'image_generation', '{"prompt":"a"}'),
      FINISH,
      { type: 'partial-image', index: 0, image: { result: 'AA==', details: {}, number: 0 } },
      result(0, true),
    ],
  ],
  [[{ type: 'image', result: 'AA==', details: {} }, FINISH]],
  [[{ type: 'compacting' }, { type: 'compacted', encrypted: 'sealed', usage: NO_USAGE }], { queuedEvent: true }],
  [
    [
      { type: 'text-delta', text: 'Hi' },
      { type: 'finish', reason: 'length' },
    ],
  ],
  [[{ type: 'fail', error: new ApiError('upstream_error', 'It broke.').body }]],
];

function namesOf([inputs, plan]: (typeof TURNS)[number]): readonly string[] {
  const options: EncodeOptions = {
    started: {},
    reasoning: 'text',
    presentItem: (item) => item,
    keepalive: 'keepalive',
  };
  return wholeTurn(inputs, { ...PLAN, ...plan }).flatMap((event) => wireEvent(event, options)?.type ?? []);
}

describe('the events of a stream', () => {
  it('[Q-09] are those that the page says', () => {
    const produced = compatibilityRows('Stream events').filter(({ claims }) => claims[0]?.[0] === 'produced');
    expect([...new Set(TURNS.flatMap(namesOf))].toSorted()).toEqual(produced.map(({ name }) => name));
  });
});
