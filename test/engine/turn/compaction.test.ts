/** What the machine says of a compaction. */
import { NO_USAGE, type TurnInput } from '../../../src/protocol/events.ts';
import { endOf, feed, SEED, START, wholeTurn } from './whole-turn.ts';

const BEGUN: TurnInput = { type: 'compacting' };
const DONE: TurnInput = { type: 'compacted', encrypted: 'sealed', usage: NO_USAGE };
const ITEM = { id: `cmp_${SEED}0000`, type: 'compaction', encrypted_content: 'sealed' };

describe('a compaction', () => {
  it('[S-14] is announced empty, reported as running, and whole at its end', () => {
    const events = wholeTurn([BEGUN, DONE]).slice(2, -1);
    expect([events.map(({ type }) => type), endOf([BEGUN, DONE]).output]).toEqual([
      ['item-start', 'call-state', 'item-end'],
      [ITEM],
    ]);
  });

  it('[S-14] [S-18] is announced once, though another process begins it again', () => {
    const types = feed([START, BEGUN, { type: 'resume' }, BEGUN, DONE]).map(({ type }) => type);
    expect(types.slice(2)).toEqual(['item-start', 'call-state', 'call-state', 'item-end']);
  });

  it('[S-14] is announced whole where nobody saw its beginning', () => {
    expect([wholeTurn([DONE]).length, endOf([DONE]).output]).toEqual([5, [ITEM]]);
  });
});
