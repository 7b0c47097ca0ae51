/** A law over interleaved calls: however the model server cuts and mixes them, the client receives all of its own, whole. */

import fc from 'fast-check';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { calls, chunk, run } from './answer-frames.ts';

/** A call, cut into pieces of its arguments. */
interface CutCall {
  readonly isOurs: boolean;
  readonly pieces: readonly string[];
}

const cutCall = fc
  .record({
    isOurs: fc.boolean(),
    // Some servers open a call without arguments.
    opensEmpty: fc.boolean(),
    texts: fc.array(fc.stringMatching(/^[a-z0-9]{0,3}$/), { minLength: 1, maxLength: 4 }),
  })
  .map(({ isOurs, opensEmpty, texts }): CutCall => {
    const pieces = texts.map((text, at) => `${at === 0 ? '{"x":"' : ''}${text}${at === texts.length - 1 ? '"}' : ''}`);
    return { isOurs, pieces: opensEmpty ? ['', ...pieces] : pieces };
  });
/** Which call each piece is of, by turns, and how many pieces a chunk holds. */
const mixes = fc.record({
  cut: fc.array(cutCall, { minLength: 1, maxLength: 4 }),
  order: fc.array(fc.nat(3), { minLength: 24, maxLength: 24 }),
  perRead: fc.integer({ min: 1, max: 3 }),
  sizes: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 24, maxLength: 24 }),
  // What servers write as the number of the only choice.
  choice: fc.constantFrom('"index":0, ', '"index":"0", ', '"index":null, ', '"index":"", ', ''),
});

type Entry = readonly [index: number, name: string | undefined, text?: string];

/** The pieces of the calls in an order that keeps those of each call in theirs; a call opens in the order of the calls. */
function mixed(cut: readonly CutCall[], order: readonly number[]): readonly Entry[] {
  const left = cut.map(({ pieces }) => [...pieces]);
  const entries: Entry[] = [];
  let opened = 0;
  for (const turn of order) {
    const index = Math.min(turn % cut.length, opened);
    const text = left[index]?.shift();
    if (text === undefined) continue;
    entries.push([index, index === opened ? (cut[index]?.isOurs ? 'ours' : 'theirs') : undefined, text]);
    if (index === opened) opened += 1;
  }
  for (const [index, pieces] of left.entries())
    for (const text of pieces) {
      entries.push([index, index >= opened ? (cut[index]?.isOurs ? 'ours' : 'theirs') : undefined, text]);
      opened = Math.max(opened, index + 1);
    }
  return entries;
}

/** The arguments of the calls that the client has put together. */
function received(frames: readonly string[]): readonly string[] {
  const texts = new Map<unknown, string>();
  for (const data of frames.join('').split('\n\n').filter(Boolean)) {
    // The cast: our own frames.
    const { choices } = JSON.parse(data.slice('data: '.length)) as { readonly choices: readonly JsonObject[] };
    const { tool_calls: entries = [] } = (choices[0]?.delta ?? {}) as {
      readonly tool_calls?: readonly { readonly index: number; readonly function?: { readonly arguments?: string } }[];
    };
    for (const { index, function: called } of entries)
      texts.set(index, `${texts.get(index) ?? ''}${called?.arguments ?? ''}`);
  }
  return [...texts.values()];
}

it('[P-05] [A-29] a client receives each of its calls whole, however calls of the server are mixed with them', async () => {
  await fc.assert(
    fc.asyncProperty(mixes, async ({ cut, order, perRead, sizes, choice }) => {
      const entries = [...mixed(cut, order)];
      const data: string[] = [];
      for (const size of sizes) if (entries.length > 0) data.push(calls(...entries.splice(0, size)));
      if (entries.length > 0) data.push(calls(...entries));
      const answers = [
        [...data, chunk({}, 'tool_calls')],
        [chunk({ content: 'Done' }), chunk({}, 'stop')],
      ];
      const outcome = await run(
        answers.map((answer) => answer.map((data) => data.replace('"index":0, "delta"', `${choice}"delta"`))),
        { limits: DEFAULT_LIMITS, perRead },
      );
      const whole = (isOurs: boolean) =>
        cut.filter((call) => call.isOurs === isOurs).map(({ pieces }) => pieces.join(''));
      expect(outcome.error).toBeUndefined();
      expect([received(outcome.frames), outcome.calls.map((call) => call.arguments)]).toEqual([
        whole(false),
        whole(true),
      ]);
    }),
    { numRuns: 1000 },
  );
});
