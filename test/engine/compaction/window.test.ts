/** What the model receives of a compacted conversation. */
import type { Compacted } from '../../../src/engine/compaction/seal.ts';
import { toTranscript } from '../../../src/engine/compaction/transcript.ts';
import { contextWindow, pendingStart } from '../../../src/engine/compaction/window.ts';
import type { Item } from '../../../src/protocol/items.ts';

const rule: Item = { type: 'message', role: 'developer', content: 'Be brief.' };
const says = (content: string): Item => ({ type: 'message', role: 'user', content });
const answers = (content: string): Item => ({ type: 'message', role: 'assistant', content });
const compaction = (encrypted_content: string): Item => ({ type: 'compaction', encrypted_content });
const call = (call_id: string): Item => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' });
const output = (call_id: string): Item => ({ type: 'function_call_output', call_id, output: 'seen' });

/** Opens items whose content is their summary. */
const open =
  (more: Partial<Compacted> = {}) =>
  ({ encrypted_content: summary }: Item): Compacted => ({ summary: String(summary), retained: 0, kept: [], ...more });

/** The items by their words or types. */
function reported(items: readonly Item[]): readonly unknown[] {
  return items.map(({ type, content, call_id: id }) => {
    if (typeof content === 'string') return content;
    const [part] = (content ?? []) as readonly { text: string }[];
    return part ? part.text.split('\n').at(-1) : `${type} ${id}`;
  });
}

describe('contextWindow', () => {
  it('[S-14] is the conversation itself where nothing was compacted', () => {
    const items = [rule, says('a'), answers('b')];
    expect(contextWindow(items, open())).toEqual({ items, summary: undefined });
  });

  it('[S-14] [P-07] begins with the newest summary and keeps the rules that were set before it', () => {
    const items = [rule, says('a'), compaction('old'), says('b'), compaction('new'), says('c')];
    const { items: window, summary } = contextWindow(items, open());
    expect([reported(window), window[1] === summary]).toEqual([['Be brief.', 'new', 'c'], true]);
  });

  it('[S-14] keeps the user’s input right in front of an item that declares it, and the calls that it carries', () => {
    const items = [says('a'), says('b'), says('c'), compaction('sum'), output('c1')];
    const { items: window } = contextWindow(items, open({ retained: 2, kept: [call('c1')] }));
    expect(reported(window)).toEqual(['b', 'c', 'sum', 'function_call c1', 'function_call_output c1']);
  });

  it('[S-14] has no place for a trigger', () => {
    expect(reported(contextWindow([says('a'), { type: 'compaction_trigger' }], open()).items)).toEqual(['a']);
  });
});

describe('pendingFrom', () => {
  it.each<[string, readonly Item[], number]>([
    ['nothing where every call has its output', [says('a'), call('1'), output('1'), answers('b')], 4],
    ['a call, its thoughts and words', [says('a'), { type: 'reasoning' }, answers('Let me see.'), call('1')], 1],
    ['all calls of one answer, also those with outputs', [says('a'), call('1'), call('2'), output('1')], 1],
    ['code that ran beside a call', [says('a'), { type: 'code_interpreter_call' }, call('1')], 1],
    ['nothing of the round before', [says('a'), call('1'), output('1'), call('2')], 3],
    ['no call that was cut off', [says('a'), { ...call('1'), status: 'incomplete' }], 2],
  ])('[S-14] finds %s', (_, items, from) => {
    expect(pendingStart(items)).toBe(from);
  });
});

describe('transcriptOf', () => {
  it('[S-14] describes calls and outputs in words, keeps images, and leaves out thoughts', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
    const items = toTranscript([
      says('a'),
      { type: 'reasoning', summary: [] },
      call('1'),
      { ...output('1'), output: [image] },
      { type: 'mcp_call', name: 'echo', arguments: '{"a":1}', output: 'one', error: null },
      {
        type: 'code_interpreter_call',
        code: '1',
        outputs: [
          { type: 'logs', logs: '1' },
          { type: 'image', url: 'data:' },
        ],
      },
    ]);
    expect(items.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'a'],
      ['assistant', [{ type: 'output_text', text: '[Called the tool look with: {}]' }]],
      ['user', [{ type: 'input_text', text: '[The tool answered:]' }, image]],
      ['assistant', [{ type: 'output_text', text: '[Called the tool echo with: {"a":1}]' }]],
      [
        'user',
        [
          { type: 'input_text', text: '[The tool answered:]' },
          { type: 'input_text', text: 'one' },
        ],
      ],
      ['assistant', [{ type: 'output_text', text: '[Called the tool code_interpreter with: 1]' }]],
      [
        'user',
        [
          { type: 'input_text', text: '[The tool answered:]' },
          { type: 'input_text', text: '1\n[image]' },
        ],
      ],
    ]);
  });
});
