/** Sums of usage objects. */
import { addUsage } from '../../../src/apis/chat-completions/answer/usage.ts';

it('[S-10] takes the first usage as it is', () => {
  const usage = { prompt_tokens: 1, cost: null };
  expect(addUsage(undefined, usage)).toBe(usage);
});

it('[S-10] adds every count, nested ones too, and keeps what only one of the two has', () => {
  const one = {
    prompt_tokens: 1,
    total_tokens: 3,
    prompt_tokens_details: { cached_tokens: 1, audio_tokens: 0 },
    cost: 0.5,
  };
  const other = { prompt_tokens: 2, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 2 }, cost: 0.25 };
  expect(addUsage(one, other)).toEqual({
    prompt_tokens: 3,
    completion_tokens: 4,
    total_tokens: 3,
    prompt_tokens_details: { cached_tokens: 3, audio_tokens: 0 },
    cost: 0.75,
  });
});

it('[S-10] lets the later of two other values count, unless it is empty', () => {
  const one = { tier: 'a', region: 'x', details: null, seen: 1 };
  expect(addUsage(one, { tier: 'b', region: null, details: { n: 1 }, seen: 'twice' })).toEqual({
    tier: 'b',
    region: 'x',
    details: { n: 1 },
    seen: 'twice',
  });
});

it('[S-10] adds counts that a server writes as text', () => {
  expect(
    addUsage({ prompt_tokens: '5', cost: '0.5', tier: 'a' }, { prompt_tokens: '7', cost: 0.25, tier: 'a' }),
  ).toEqual({
    prompt_tokens: 12,
    cost: 0.75,
    tier: 'a',
  });
});
