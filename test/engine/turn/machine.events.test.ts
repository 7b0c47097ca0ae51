/** Each field of the events that the machine emits, from the opening on. */
import { type ModelEvent, NO_USAGE } from '../../../src/protocol/events.ts';
import type { Annotation } from '../../../src/protocol/items.ts';
import { executionError } from '../../../src/protocol/tool-calls/results/call-error.ts';
import {
  CITATION,
  call,
  cite,
  FAIL,
  finish,
  KEEPALIVE,
  LISTED,
  line,
  listed,
  OWNED,
  OWNED_AS_FUNCTION_CALL,
  result,
  text,
} from './turn-script.ts';
import { endOf, feed, SEED, START, wholeTurn } from './whole-turn.ts';

describe('the opening', () => {
  it('[A-02, A-03] reports that the turn started and is in progress', () => {
    expect(feed([START])).toEqual([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-progress', sequence: 1 },
    ]);
  });

  it('[M-14] emits `queued` in between if the host wants it', () => {
    expect(feed([START], { queuedEvent: true })).toEqual([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-queued', sequence: 1 },
      { type: 'turn-progress', sequence: 2 },
    ]);
  });

  it('[P-04] stands before the error of a turn that fails before it starts', () => {
    expect(feed([FAIL]).map(line)).toEqual(['turn-start', 'turn-progress', 'error upstream_error', 'turn-end failed']);
  });

  it('[P-15] is followed by keepalives with numbers of their own, which close nothing', () => {
    expect(feed([START, KEEPALIVE, text('a'), KEEPALIVE, text('b')])).toMatchObject([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-progress', sequence: 1 },
      { type: 'keepalive', sequence: 2 },
      { type: 'item-start', sequence: 3 },
      { type: 'part-start', sequence: 4 },
      { type: 'part-delta', sequence: 5 },
      { type: 'keepalive', sequence: 6 },
      { type: 'part-delta', sequence: 7, partIndex: 0 },
    ]);
  });
});

describe('the whole of an event', () => {
  const place = { index: 0, itemId: `msg_${SEED}0000` };
  const message = { id: place.itemId, type: 'message', role: 'assistant' };
  const empty = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  const hello = { ...empty, text: 'Hello' };

  it('[A-02, A-03, B-01] is as follows for a plain text', () => {
    const output = [{ ...message, status: 'completed', content: [hello] }];
    const part = 'output_text';
    expect(wholeTurn([text('Hel'), text('lo'), finish()])).toEqual([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-progress', sequence: 1 },
      { type: 'item-start', sequence: 2, index: 0, item: { ...message, status: 'in_progress', content: [] } },
      { type: 'part-start', sequence: 3, ...place, partIndex: 0, part: empty },
      { type: 'part-delta', sequence: 4, ...place, partIndex: 0, part, text: 'Hel', logprobs: '' },
      { type: 'part-delta', sequence: 5, ...place, partIndex: 0, part, text: 'lo', logprobs: '' },
      { type: 'text-end', sequence: 6, ...place, partIndex: 0, part, text: 'Hello', logprobs: '' },
      { type: 'part-end', sequence: 7, ...place, partIndex: 0, part: hello },
      { type: 'item-end', sequence: 8, index: 0, item: output[0] },
      {
        type: 'turn-end',
        sequence: 9,
        status: 'completed',
        reason: null,
        error: null,
        completedAt: 1_700_000_000,
        output,
        usage: NO_USAGE,
      },
    ]);
  });

  it('[B-09, C-03, P-05] is as follows for a call, whose name stands at the end of its arguments too', () => {
    const place = { index: 0, itemId: `fc_${SEED}0000` };
    const item = { id: place.itemId, type: 'function_call', call_id: 'call_a', name: 'look_up' };
    expect(wholeTurn([call(0, '{"a":1}', { id: 'call_a', name: 'look_up' }), finish()]).slice(2, -1)).toEqual([
      { type: 'item-start', sequence: 2, index: 0, item: { ...item, status: 'in_progress', arguments: '' } },
      { type: 'arguments-delta', sequence: 3, ...place, call: 'function_call', text: '{"a":1}' },
      {
        type: 'arguments-end',
        sequence: 4,
        ...place,
        call: 'function_call',
        name: 'look_up',
        arguments: '{"a":1}',
      },
      { type: 'item-end', sequence: 5, index: 0, item: { ...item, status: 'completed', arguments: '{"a":1}' } },
    ]);
  });

  describe('that reports a call that the server runs', () => {
    const place = { index: 0, itemId: `mcp_${SEED}0000` };
    const call1 = call(0, '{"q":1}', { id: 'call_a', name: 'look_up' });
    const open = {
      id: place.itemId,
      type: 'mcp_call',
      status: 'in_progress',
      approval_request_id: null,
      arguments: '',
      error: null,
      name: 'look.up',
      output: null,
      server_label: 'files',
    };
    const begun = [
      { type: 'item-start', sequence: 2, index: 0, item: open },
      { type: 'call-state', sequence: 3, ...place, kind: 'mcp_call', state: 'in_progress' },
      { type: 'arguments-delta', sequence: 4, ...place, call: 'mcp_call', text: '{"q":1}' },
      { type: 'arguments-end', sequence: 5, ...place, call: 'mcp_call', name: 'look_up', arguments: '{"q":1}' },
    ];

    it('[B-11, T-03, T-07] is as follows where it completes, under the names that the server has for its tools', () => {
      const done = { ...open, status: 'completed', arguments: '{"q":1}', output: 'Found.' };
      expect(wholeTurn([call1, finish(), result(0)], OWNED).slice(2, -1)).toEqual([
        ...begun,
        { type: 'call-state', sequence: 6, ...place, kind: 'mcp_call', state: 'completed' },
        { type: 'item-end', sequence: 7, index: 0, item: done },
      ]);
    });

    it('[B-12, T-03] is as follows where it fails', () => {
      const failed = { ...open, status: 'failed', arguments: '{"q":1}', error: executionError('No such file.') };
      expect(wholeTurn([call1, finish(), result(0, 'No such file.', true)], OWNED).slice(2, -1)).toEqual([
        ...begun,
        { type: 'call-state', sequence: 6, ...place, kind: 'mcp_call', state: 'failed' },
        { type: 'item-end', sequence: 7, index: 0, item: failed },
      ]);
    });

    it('[P-04] is as follows where the turn fails first', () => {
      const abandoned = { ...open, status: 'incomplete', arguments: '{"q":1}' };
      expect(wholeTurn([call1, finish(), FAIL], OWNED).slice(2, -2)).toEqual([
        ...begun,
        { type: 'item-end', sequence: 6, index: 0, item: abandoned },
      ]);
    });

    it('[T-03, M-06] is as follows where it is shown as function call and output', () => {
      const call = { id: `fc_${SEED}0000`, type: 'function_call', call_id: 'call_a', name: 'look_up' };
      // Written after the first model call has finished, so its id is of the next.
      const output = { id: `fco_${SEED}0001r1`, type: 'function_call_output', call_id: 'call_a' };
      const place = { index: 0, itemId: call.id };
      const parts = [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }];
      expect(wholeTurn([call1, finish(), result(0, parts, true)], OWNED_AS_FUNCTION_CALL).slice(2, -1)).toEqual([
        { type: 'item-start', sequence: 2, index: 0, item: { ...call, status: 'in_progress', arguments: '' } },
        { type: 'arguments-delta', sequence: 3, ...place, call: 'function_call', text: '{"q":1}' },
        {
          type: 'arguments-end',
          sequence: 4,
          ...place,
          call: 'function_call',
          name: 'look_up',
          arguments: '{"q":1}',
        },
        { type: 'item-end', sequence: 5, index: 0, item: { ...call, status: 'completed', arguments: '{"q":1}' } },
        { type: 'item-start', sequence: 6, index: 1, item: { ...output, status: 'in_progress', output: '' } },
        { type: 'item-end', sequence: 7, index: 1, item: { ...output, status: 'completed', output: parts } },
      ]);
    });
  });

  it('[B-23, T-03] [K-09] is as follows for a list of tools', () => {
    const item = { id: `mcpl_${SEED}0000`, type: 'mcp_list_tools', server_label: 'files' };
    const place = { index: 0, itemId: item.id };
    expect(wholeTurn([listed('files', LISTED), finish()]).slice(2, -1)).toEqual([
      { type: 'item-start', sequence: 2, index: 0, item: { ...item, status: 'in_progress', tools: [] } },
      { type: 'list-progress', sequence: 3, ...place },
      { type: 'list-end', sequence: 4, ...place },
      { type: 'item-end', sequence: 5, index: 0, item: { ...item, status: 'completed', tools: [LISTED] } },
    ]);
  });

  it('[S-09] is as follows for an annotation', () => {
    const events = wholeTurn([text('Hi'), cite(CITATION), finish()]);
    expect(events.filter(({ type }) => type === 'annotation')).toEqual([
      { type: 'annotation', sequence: 5, ...place, partIndex: 0, annotationIndex: 0, annotation: CITATION },
    ]);
  });

  it('[V-03] puts an annotation without a place where the text has come to', () => {
    const file = { type: 'file_citation', file_id: 'f', filename: 'a.txt', index: 0 } as const;
    const atEnd = (annotation: Annotation): ModelEvent => ({ type: 'annotation', annotation, atEnd: true });
    const events = wholeTurn([text('Hi'), atEnd(CITATION), text(' there'), atEnd(file), finish()]);
    const annotations = events.flatMap((event) => (event.type === 'annotation' ? [event.annotation] : []));
    expect(annotations).toEqual([
      { ...CITATION, start_index: 2, end_index: 2 },
      { ...file, index: 8 },
    ]);
  });

  it('[V-07] counts pictures and citations of files as output', () => {
    const picture: ModelEvent = { type: 'image', result: 'x'.repeat(100), details: {} };
    const file = { type: 'file_citation', file_id: 'f'.repeat(50), filename: 'a'.repeat(50), index: 0 } as const;
    const ends = [[picture], [{ type: 'annotation', annotation: file } as const]].flatMap((model) =>
      [102, 99].map((outputBytes) => endOf([...model, finish()], { outputBytes }).status),
    );
    expect(ends).toEqual(['completed', 'failed', 'completed', 'failed']);
  });
});
