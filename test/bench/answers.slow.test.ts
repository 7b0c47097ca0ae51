/** The bench's servers say what the bench's model says: a fast wrong answer must not win. */
import { answersAfterTools, answersToPlans, type Compared } from '../../bench/compared.mjs';
import { itBuilt } from '../examples/support.ts';

const ROUND = 'The quick brown fox "jumps" over\n the lazy dög.';
const EIGHT = 'The quick brown fox "jumps" over\n the lazy';

function written(text: string, output: number, calls: readonly string[] = [], input = 9): Compared {
  return { text, calls, usage: { input, output } };
}

describe('the servers of the bench', () => {
  itBuilt('dist/esm/index.js')(
    '[Q-04] answer every plan with exactly the model’s output',
    async () => {
      const right = {
        'burst:500': written(ROUND.repeat(50), 500),
        'padded:500': written(ROUND.repeat(50), 500),
        'logprobs:500': written(ROUND.repeat(50), 500),
        'short:8': written(EIGHT, 8),
        'json:50': written(ROUND.repeat(5), 50),
        'paced:100:20': written(ROUND.repeat(10), 100),
        'arguments:16384': written('', 513, [`{"text":"${'x'.repeat(16_384)}"}`]),
      };
      const names = ['pass-through', 'pass-through in Express', 'ours in Express', 'ours on node:http', 'ours, chat'];
      const all = [...names, 'bare in Express', 'naive'].map((name) => [name, right]);
      expect(await answersToPlans()).toEqual(Object.fromEntries(all));
    },
    120_000,
  );

  itBuilt('dist/esm/index.js')(
    '[Q-04] run the tool and answer with the model’s output then, with the tokens of both rounds',
    async () => {
      const right = { 'ours in Express': written(EIGHT, 9, [], 18), 'ours, chat': written(EIGHT, 9, [], 18) };
      expect(await answersAfterTools()).toEqual({ tool: right, mcp: right });
    },
    120_000,
  );
});
