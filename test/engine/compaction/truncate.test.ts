/** `truncation: "auto"`: which turns are left out, by laws over any conversation, and what a refusal says about it. */
import fc from 'fast-check';
import { requestWeight, truncateRequest } from '../../../src/engine/compaction/truncate.ts';
import { shareThatFits } from '../../../src/engine/compaction/truncating-upstream.ts';
import type { Item } from '../../../src/protocol/items.ts';
import { pairCalls } from '../../../src/protocol/tool-calls/conversation/pair-calls.ts';
import { isCallOutput, isClientAnsweredCall } from '../../../src/protocol/tool-calls/kinds.ts';

const says = (role: string, text: string): Item => ({ type: 'message', role, content: text });
const text = fc.string({ maxLength: 200 });
/** Unique while the conversation is built. */
let calls = 0;

const words = fc
  .tuple(fc.constantFrom('system', 'developer', 'user', 'user', 'assistant'), text)
  .map(([role, said]) => [says(role, said)]);
const round = fc
  .tuple(fc.boolean(), fc.integer({ min: 1, max: 3 }), fc.boolean(), text)
  .map(([thinks, count, waits, output]) => {
    const ids = Array.from({ length: count }, () => `call_${calls++}`);
    const outputs = ids.map((id): Item => ({ type: 'function_call_output', call_id: id, output }));
    return [
      ...(thinks ? [{ type: 'reasoning', summary: [] } as Item] : []),
      ...ids.map((id): Item => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' })),
      // As Semantic Kernel sends it.
      ...(waits ? [says('user', 'Well?')] : []),
      ...outputs,
    ];
  });
const search = fc.boolean().map((): Item[] => [
  { type: 'tool_search_call', arguments: {} },
  { type: 'tool_search_output', tools: [] },
]);
const conversation = fc.array(fc.oneof(words, round, search), { maxLength: 20 }).map((parts) => parts.flat());
const maxWeight = fc.integer({ min: 0, max: 3000 });
const requestOf = (items: readonly Item[]) => ({ model: 'm', items, tools: [] });

it('[O-08] leaves no call without its output, and no output without its call', () => {
  fc.assert(
    fc.property(conversation, maxWeight, (items, most) => {
      const kept = truncateRequest(requestOf(items), most)?.items ?? items;
      pairCalls(kept);
      const ids = (has: (item: Item) => boolean) =>
        kept
          .filter(has)
          .map((item) => item.call_id)
          .sort();
      expect(ids(isClientAnsweredCall)).toEqual(ids(isCallOutput));
      const searches = kept.filter(({ type }) => type === 'tool_search_call').length;
      expect(kept.filter(({ type }) => type === 'tool_search_output')).toHaveLength(searches);
    }),
  );
});

it('[O-08] keeps the rules, the newest message of the user and the end, in their order', () => {
  fc.assert(
    fc.property(conversation, maxWeight, (items, most) => {
      const kept = truncateRequest(requestOf(items), most)?.items ?? items;
      const places = kept.map((item) => items.indexOf(item));
      expect(places).toEqual(places.toSorted((one, other) => one - other));
      const stay = items.filter(({ role }) => role === 'system' || role === 'developer');
      const newest = items.findLast(({ role }) => role === 'user');
      for (const item of [...stay, ...(newest ? [newest] : []), ...items.slice(-1)]) expect(kept).toContain(item);
    }),
  );
});

it('[O-08] leaves out no more than it must: with one turn more it would be too long', () => {
  fc.assert(
    fc.property(conversation, maxWeight, (items, most) => {
      const request = requestOf(items);
      const shorter = truncateRequest(request, most);
      if (requestWeight(request) <= most) return expect(shorter).toBeUndefined();
      if (!shorter) return;
      expect(shorter.turns + shorter.rounds).toBeGreaterThan(0);
      const slightlyMore = truncateRequest(request, requestWeight(requestOf(shorter.items)));
      expect(slightlyMore?.items ?? items).toEqual(shorter.items);
    }),
  );
});

it('[O-08] leaves out whole turns from the oldest on, then rounds of the newest turn', () => {
  const [rule, old, answer, newest] = [
    says('system', 'S'),
    says('user', 'A'),
    says('assistant', 'B'),
    says('user', 'C'),
  ];
  const rounds = ['1', '2'].flatMap((id): Item[] => [
    { type: 'function_call', call_id: id, name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: id, output: 'x' },
  ]);
  const items = [rule, old, answer, newest, ...rounds] as Item[];
  const request = requestOf(items);
  expect(truncateRequest(request, requestWeight(request) - 1)).toEqual({
    items: [rule, newest, ...rounds],
    turns: 1,
    rounds: 0,
  });
  expect(truncateRequest(request, 0)).toEqual({ items: [rule, newest, ...rounds.slice(2)], turns: 1, rounds: 1 });
  const pinned = truncateRequest(request, 0, (item) => item === old);
  expect(pinned?.items).toEqual([rule, old, newest, ...rounds.slice(2)]);
  expect(truncateRequest(requestOf([rule, newest] as Item[]), 0)).toBeUndefined();
});

it('[O-08] counts an image as an image, not as the characters of its base64', () => {
  const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(100_000)}` };
  expect(requestWeight(requestOf([{ type: 'message', role: 'user', content: [image] }]))).toBeLessThan(5000);
  const output = { ...image, type: 'computer_screenshot' };
  expect(requestWeight(requestOf([{ type: 'computer_call_output', call_id: 'call_1', output }]))).toBeLessThan(5000);
});

it.each([
  ['request (12010 tokens) exceeds the available context size (8192 tokens), try increasing it', 8192 / 12010],
  [
    "This model's maximum context length is 4,096 tokens. However, you requested 4927 tokens (3927 in the messages).",
    4096 / 4927,
  ],
  ['prompt is too long: 213456 tokens > 200000 maximum', 200000 / 213456],
  ['claude-3-5-sonnet-20241022: prompt is too long: 213456 tokens > 200000 maximum', 200000 / 213456],
  ['n_keep: 5000 >= n_ctx: 4096.', 4096 / 5000],
])('[O-08] reads from %j what fits', (message, share) => {
  expect(shareThatFits(message)).toBeCloseTo(share * 0.9);
});

it.each(['Prompt too long.', '', 'Limit 4096.', '1'.repeat(30)])(
  '[O-08] halves where %j says too little',
  (message) => {
    expect(shareThatFits(message)).toBe(0.5);
  },
);

it('[O-08] [E-02] goes on behind commands that did not run, since the model was stopped in the middle of its next call', () => {
  const environment = { type: 'container_reference', container_id: 'c' };
  const command = (status: string): Item => ({ type: 'shell_call', status, call_id: status, environment });
  const long = 'x'.repeat(3000);
  const items = [
    says('user', long),
    command('completed'),
    command('incomplete'),
    says('user', long),
    says('assistant', long),
  ];
  const kept = truncateRequest(requestOf([...items, says('user', 'And now?')]), 1000)?.items;
  expect(kept).toEqual([says('user', 'And now?')]);
});
