/** The plan of a request without tools, which is made once, against the one that is made for each request. */
import { buildToolPlan, planTools } from '../../../src/apis/responses/steps/tools/plan-tools.ts';
import { NO_TOOLS } from '../../../src/ports/toolset.ts';
import type { Item } from '../../../src/protocol/items.ts';

const note = () => {
  throw new Error('There is nothing to note.');
};
const found: Item = { type: 'message', id: 'msg_1', role: 'user', content: 'Hi' } as Item;

describe('planTools', () => {
  it.each([
    { tools: [], choice: undefined },
    { tools: [], choice: null },
    { tools: [], additional: [], choice: undefined, conversation: [found] },
    { tools: [], choice: 'auto' },
    { tools: [], choice: 'none' },
    { tools: [{ type: 'function', name: 'echo' }], choice: undefined },
  ])('[Q-04] plans %j as if every request were planned by itself', (given) => {
    expect(planTools(given, NO_TOOLS, note)).toEqual(buildToolPlan(given, NO_TOOLS, note));
  });

  it('[Q-04] makes the plan of requests without tools once', () => {
    const plan = planTools({ tools: [], choice: undefined }, NO_TOOLS, note);
    expect(planTools({ tools: [], choice: null, conversation: [found] }, NO_TOOLS, note)).toBe(plan);
  });
});
