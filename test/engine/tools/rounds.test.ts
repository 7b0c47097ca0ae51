/** The rounds of one turn: what runs side by side, in which order results come, and where it ends. */

import { toolRounds } from '../../../src/engine/tools/rounds.ts';
import type { RoundCall, RoundLimits } from '../../../src/engine/turn/machine/tool-rounds.ts';
import type { ToolCallResult } from '../../../src/protocol/items.ts';

const LIMITS: RoundLimits = { toolIterations: 25, toolCalls: 128, parallelTools: 8, repeatedCalls: 3 };
const NOT_RUN = 'Not run: the limit of tool calls for this response is reached.';

type Rounds = ReturnType<typeof toolRounds<RoundCall>>;

const call = (name: string, args = '{}'): RoundCall => ({ name, arguments: args });
const ok = (output: ToolCallResult['output']): ToolCallResult => ({ output, failed: false });

/** One round of calls of these names, as `name: output`. */
async function round(rounds: Rounds, ...calls: readonly (string | RoundCall)[]): Promise<readonly string[]> {
  const reported: string[] = [];
  for await (const { call: ran, outcome } of rounds.run(
    calls.map((one) => (typeof one === 'string' ? call(one) : one)),
  )) {
    reported.push(`${ran.name}: ${outcome.output}${outcome.failed ? ' (failed)' : ''}`);
  }
  return reported;
}

/** Rounds in which every call answers its own name. */
function echoing(limits: Partial<RoundLimits>): Rounds {
  return toolRounds({ ...LIMITS, ...limits }, ({ name }) => Promise.resolve(ok(name)));
}

/** Calls that end when the test says so, and how many ran at the same time. */
function held() {
  const ends = new Map<string, () => void>();
  const begun: string[] = [];
  let most = 0;
  return {
    begun,
    most: () => most,
    end: (name: string) => ends.get(name)?.(),
    async run({ name }: RoundCall): Promise<ToolCallResult> {
      begun.push(name);
      const end = new Promise<void>((resolve) => ends.set(name, resolve));
      most = Math.max(most, ends.size);
      await end;
      ends.delete(name);
      return ok(name);
    },
  };
}

/** Resolves when all that can go on now has. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('the calls of one round', () => {
  it('[T-05] run at the same time, and their results come in the order of the calls', async () => {
    const calls = held();
    const reported = round(toolRounds(LIMITS, calls.run), 'a', 'b', 'c');
    await settled();
    const begun = [...calls.begun];
    for (const name of ['c', 'b', 'a']) calls.end(name);
    expect({ begun, reported: await reported }).toEqual({ begun: ['a', 'b', 'c'], reported: ['a: a', 'b: b', 'c: c'] });
  });

  it('[T-05] run as many at the same time as the limit allows, the next when one has ended', async () => {
    const calls = held();
    const reported = round(toolRounds({ ...LIMITS, parallelTools: 2 }, calls.run), 'a', 'b', 'c', 'd');
    const seen: string[] = [];
    for (const next of ['b', 'a', 'c', 'd']) {
      await settled();
      seen.push(calls.begun.join(''));
      calls.end(next);
    }
    expect({ seen, most: calls.most(), reported: await reported }).toEqual({
      seen: ['ab', 'abc', 'abcd', 'abcd'],
      most: 2,
      reported: ['a: a', 'b: b', 'c: c', 'd: d'],
    });
  });

  it('[T-05] are all reported though one of them failed', async () => {
    const rounds = toolRounds<RoundCall>(LIMITS, ({ name }) => Promise.resolve({ output: name, failed: name === 'b' }));
    expect(await round(rounds, 'a', 'b', 'c')).toEqual(['a: a', 'b: b (failed)', 'c: c']);
  });

  it('[P-10] end with the turn, and leave no rejection unhandled', async () => {
    const reason = new Error('The client left.');
    const unhandled: unknown[] = [];
    const note = (rejected: unknown) => void unhandled.push(rejected);
    process.on('unhandledRejection', note);
    const reported = round(
      toolRounds<RoundCall>({ ...LIMITS, parallelTools: 2 }, () => Promise.reject(reason)),
      'a',
      'b',
      'c',
    );
    await expect(reported).rejects.toBe(reason);
    await settled();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});

describe('the limit of rounds', () => {
  it('[T-02, A-30] runs as many as it allows, and no call of the next', async () => {
    const rounds = echoing({ toolIterations: 2 });
    const reported = [await round(rounds, 'a'), await round(rounds, 'b', 'c')];
    const before = rounds.stopped();
    reported.push(await round(rounds, 'd', 'e'));
    expect({ before, reported, after: rounds.stopped() }).toEqual({
      before: undefined,
      reported: [['a: a'], ['b: b', 'c: c'], [`d: ${NOT_RUN} (failed)`, `e: ${NOT_RUN} (failed)`]],
      after: 'max_tool_iterations',
    });
  });
});

describe('the limit of calls', () => {
  it('[B-27, T-02] runs as many as it allows, over all rounds, and reports that the rest did not run', async () => {
    const rounds = echoing({ toolCalls: 3 });
    const reported = [await round(rounds, 'a', 'b')];
    const before = rounds.stopped();
    reported.push(await round(rounds, 'c', 'd'));
    expect({ before, reported, after: rounds.stopped() }).toEqual({
      before: undefined,
      reported: [
        ['a: a', 'b: b'],
        ['c: c', `d: ${NOT_RUN} (failed)`],
      ],
      after: 'max_tool_calls',
    });
  });

  it('[B-27, T-02] is not met by the last call that it allows', async () => {
    const rounds = echoing({ toolCalls: 2 });
    const reported = await round(rounds, 'a', 'b');
    const before = rounds.stopped();
    expect({ reported, before, next: await round(rounds, 'c'), after: rounds.stopped() }).toEqual({
      reported: ['a: a', 'b: b'],
      before: undefined,
      next: [`c: ${NOT_RUN} (failed)`],
      after: 'max_tool_calls',
    });
  });

  it('is no reason where the limit of rounds is met too', async () => {
    const rounds = echoing({ toolIterations: 1, toolCalls: 1 });
    await round(rounds, 'a');
    await round(rounds, 'b');
    expect(rounds.stopped()).toBe('max_tool_iterations');
  });
});

describe('the same call again and again', () => {
  const note = (name: string, times: number) =>
    `(${name} was called ${times} times in a row with the same arguments and the same result. Answer without tools.)`;

  it('[T-12] is noted in the result from the third time on, and the model goes round in circles', async () => {
    const rounds = echoing({});
    const seen: unknown[] = [];
    for (let count = 1; count <= 4; count += 1) seen.push([await round(rounds, 'a'), rounds.isRepeating()]);
    expect(seen).toEqual([
      [['a: a'], false],
      [['a: a'], false],
      [[`a: a\n${note('a', 3)}`], true],
      [[`a: a\n${note('a', 4)}`], true],
    ]);
  });

  it('[T-12] counts as such within one round, too', async () => {
    const rounds = echoing({ repeatedCalls: 2 });
    expect([await round(rounds, 'a', 'a'), rounds.isRepeating()]).toEqual([['a: a', `a: a\n${note('a', 2)}`], true]);
  });

  it('[T-12] is noted as a part of its own where the result has parts', async () => {
    const parts = [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }];
    const rounds = toolRounds<RoundCall>({ ...LIMITS, repeatedCalls: 1 }, () => Promise.resolve(ok(parts)));
    const outcomes: unknown[] = [];
    for await (const { outcome } of rounds.run([call('a')])) outcomes.push(outcome);
    expect(outcomes).toEqual([{ output: [...parts, { type: 'input_text', text: note('a', 1) }], failed: false }]);
  });

  it.each<[string, readonly RoundCall[]]>([
    ['another tool', [call('a'), call('a'), call('b'), call('a'), call('a')]],
    ['other arguments', [call('a'), call('a'), call('a', '{"page":2}'), call('a'), call('a')]],
  ])('[T-12] starts anew after %s', async (_, calls) => {
    const rounds = echoing({});
    for (const one of calls) await round(rounds, one);
    expect(rounds.isRepeating()).toBe(false);
  });

  it('[T-12] does not count where the result is another each time', async () => {
    let count = 0;
    const rounds = toolRounds<RoundCall>(LIMITS, () => Promise.resolve(ok(String(count++))));
    for (let time = 0; time < 5; time += 1) await round(rounds, 'poll');
    expect(rounds.isRepeating()).toBe(false);
  });
});
