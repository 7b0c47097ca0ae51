/** Thinking tags in the text, wherever the pieces are cut. */
import fc from 'fast-check';
import { ThinkTags } from '../../../src/protocol/chat-completions/think-tags.ts';
import type { ModelEvent } from '../../../src/protocol/events.ts';

/** Reasoning and answer that the pieces add up to, and what came first. */
function read(...pieces: readonly string[]): { reasoning: string; answer: string; reasoningFirst: boolean } {
  const events = eventsOf(...pieces);
  const kinds = events.map(({ type }) => type);
  return {
    reasoning: textOf(events, 'reasoning-delta'),
    answer: textOf(events, 'text-delta'),
    reasoningFirst:
      kinds.lastIndexOf('reasoning-delta') <= kinds.indexOf('text-delta') || !kinds.includes('text-delta'),
  };
}

function eventsOf(...pieces: readonly string[]): readonly ModelEvent[] {
  const tags = new ThinkTags();
  const events: ModelEvent[] = [];
  for (const piece of pieces) tags.take(piece, '', events);
  tags.end(events);
  return events;
}

function textOf(events: readonly ModelEvent[], type: 'reasoning-delta' | 'text-delta'): string {
  return events.map((event) => (event.type === type ? event.text : '')).join('');
}

describe('thoughts that begin in the prompt', () => {
  const events = (...pieces: readonly string[]) => {
    const tags = new ThinkTags(true);
    const found: ModelEvent[] = [];
    for (const piece of pieces) tags.take(piece, '', found);
    tags.end(found);
    return [textOf(found, 'reasoning-delta'), textOf(found, 'text-delta')];
  };

  it.each([
    ['I think.</think>\n\nYes', 'I think.', '\n\nYes'],
    ['</think>Yes', '', 'Yes'],
    ['<think>Hm</think>Yes', 'Hm', 'Yes'],
    ['Yes, no thought', '', 'Yes, no thought'],
    ['a</thi', '', 'a</thi'],
    ['a</think>b</think>c', 'a', 'b</think>c'],
  ])('[V-27] are read %p, whole or byte by byte', (text, reasoning, answer) => {
    expect([events(text), events(...text)]).toEqual([
      [reasoning, answer],
      [reasoning, answer],
    ]);
  });

  it('[V-27] are held back only while they can be thoughts', () => {
    const tags = new ThinkTags(true);
    const found: ModelEvent[] = [];
    tags.take('Perhaps', '', found);
    expect(found).toEqual([]);
    tags.separated(found);
    expect(found).toEqual([{ type: 'text-delta', text: 'Perhaps' }]);
    const long = new ThinkTags(true);
    long.take('a'.repeat(1024 * 1024 + 1), '', found);
    expect(found).toHaveLength(2);
  });
});

describe('thinkTags', () => {
  it.each([
    ['<think>Hm</think>Yes', 'Hm', 'Yes'],
    ['<think>\nHm\n</think>\n\nYes', '\nHm\n', '\n\nYes'],
    [' \n<think>Hm</think>Yes', 'Hm', 'Yes'],
    ['<think></think>Yes', '', 'Yes'],
    ['<think>Hm', 'Hm', ''],
    ['<think>Hm</thi', 'Hm</thi', ''],
    ['<think>a</b></think>c', 'a</b>', 'c'],
    ['Yes', '', 'Yes'],
    [' \n ', '', ' \n '],
    ['<thi', '', '<thi'],
    ['<thing>', '', '<thing>'],
    ['I say <think>Hm</think>', '', 'I say <think>Hm</think>'],
    ['<think>Hm</think>Yes<think>No</think>', 'Hm', 'Yes<think>No</think>'],
    ['</think>Yes', '', '</think>Yes'],
  ])('[S-08] [C-14] reads %p, whole or byte by byte', (text, reasoning, answer) => {
    const expected = { reasoning, answer, reasoningFirst: true };
    expect([read(text), read(...text)]).toEqual([expected, expected]);
  });

  it('[S-08] reads the same wherever the text is cut', () => {
    const piece = fc.constantFrom('<think>', '</think>', '<', '</', '>', 'think', 'a', ' ', '\n');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect(read(...pieces)).toEqual(read(pieces.join('')));
      }),
    );
  });

  it('[S-02] emits each piece of an answer at once, and reports when it is no longer needed', () => {
    const tags = new ThinkTags();
    const events: ModelEvent[] = [];
    const steps = ['<think>Hm', '</think>Y', 'es'].map((piece) => {
      tags.take(piece, '', events);
      return [tags.done(), events.splice(0)];
    });
    expect(steps).toEqual([
      [false, [{ type: 'reasoning-delta', text: 'Hm' }]],
      [true, [{ type: 'text-delta', text: 'Y' }]],
      [true, [{ type: 'text-delta', text: 'es' }]],
    ]);
  });

  it('[S-09] keeps the log probabilities of text that was held back, and drops those of the tags', () => {
    const events: ModelEvent[] = [];
    const plain = new ThinkTags();
    plain.take('<', '{held}', events);
    plain.take('b>', '{next}', events);
    const thinking = new ThinkTags();
    thinking.take('<think>', '{held}', events);
    thinking.take('</think>', '{held}', events);
    thinking.take('b>', '{next}', events);
    expect(events).toEqual([
      { type: 'text-delta', text: '<b>', logprobs: '{held},{next}' },
      { type: 'text-delta', text: 'b>', logprobs: '{next}' },
    ]);
  });
});
