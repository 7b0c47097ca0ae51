/** `show: { toolCalls: 'function_call' }`: calls that the server ran, shown in the only items that strict Open Responses clients know. */
import { expectValidEvent, expectValidResponse } from '../../support/open-responses-schema.ts';
import { describeShared } from '../../support/shared.ts';
import {
  calls,
  MESSAGE_EVENTS,
  play,
  played,
  providerOf,
  reported,
  saying,
  says,
  shape,
  typesOf,
  withTools,
} from './support.ts';

const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';
const tools = providerOf('files', ['read', 'fall', 'draw', 'sketch'], ({ name }) => {
  if (name === 'fall') return Promise.reject(new Error('It fell.'));
  // As MCP has it: an image without a `detail`.
  if (name === 'sketch') return Promise.resolve(saying([{ type: 'input_image', image_url: IMAGE }]));
  const drawn = [
    { type: 'input_text', text: 'A cat:' },
    { type: 'input_image', image_url: IMAGE, detail: 'auto' },
  ];
  return Promise.resolve(saying(name === 'draw' ? drawn : 'Read.'));
});
const OPTIONS = { tools, show: { toolCalls: 'function_call' } } as const;

describe('calls that the server ran, shown as function calls', () => {
  it('[T-03, M-06] are the call, its output and then the answer, in the events of the specification', async () => {
    const { response, events } = await played(OPTIONS, [calls(['call_a', 'read', '{"path":"a"}']), says('Done.')]);
    const seed = response.id.slice('resp_'.length);
    expect({ types: typesOf(events), output: response.output.slice(0, 2) }).toEqual({
      types: [
        'created',
        'in_progress',
        'output_item.added',
        'function_call_arguments.delta',
        'function_call_arguments.done',
        'output_item.done',
        'output_item.added',
        'output_item.done',
        ...MESSAGE_EVENTS,
        'completed',
      ],
      output: [
        {
          id: `fc_${seed}0000`,
          type: 'function_call',
          status: 'completed',
          call_id: 'call_a',
          name: 'read',
          arguments: '{"path":"a"}',
        },
        {
          id: expect.stringMatching(`^fco_${seed}0001`),
          type: 'function_call_output',
          status: 'completed',
          call_id: 'call_a',
          output: 'Read.',
        },
      ],
    });
  });

  it('[T-03, T-05] keep the order of parallel calls, and report a failure as an output', async () => {
    const script = [calls(['a', 'read'], ['b', 'fall']), calls(['c', 'read', '{"p":2}']), says('Done.')];
    const { response } = await played(OPTIONS, script);
    expect([shape(response), response.output.slice(2, 4).map(reported)]).toEqual([
      [
        'function_call read completed',
        'function_call fall completed',
        'function_call_output completed',
        'function_call_output completed',
        'function_call read completed',
        'function_call_output completed',
        'message completed',
      ],
      ['Read.', 'It fell.'],
    ]);
  });

  it('[T-03] are not preceded by lists of tools, which the specification does not know', async () => {
    const { response } = await played(OPTIONS, [calls(['a', 'read']), says('Done.')]);
    expect(response.output.map(({ type }) => type)).toEqual(['function_call', 'function_call_output', 'message']);
  });

  it('[T-03, D-17] reach the model in the next turn, with their images', async () => {
    await withTools(OPTIONS, async (app) => {
      const { response } = await play(app, [calls(['call_a', 'draw']), says('A cat.')]);
      const { requested } = await play(app, [says('Still a cat.')], {
        previous_response_id: response.id,
        input: 'And?',
      });
      expect(requested[0]?.messages.slice(1, 4)).toEqual([
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'draw', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_a', content: 'A cat:' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE, detail: 'auto' } }] },
      ]);
    });
  });
});

describeShared('the published schema of Open Responses', () => {
  it.each([
    ['one call', ['read']],
    ['parallel calls, one of which fails', ['read', 'fall']],
    ['a call whose result is an image', ['draw']],
    ['a call whose result is an image that does not say how closely to look', ['sketch']],
  ])('[T-03, M-06, S-02] takes every event and the response of %s', async (_, names) => {
    const round = calls(...names.map((name) => [`call_${name}`, name] as const));
    await withTools(OPTIONS, async (app) => {
      const { response, events } = await play(app, [round, says('Done.')]);
      // The play has held all of it against the schema already, but for what the schema does not know: nothing is.
      expect(events.filter(({ type }) => /mcp/.test(type))).toEqual([]);
      expect(response.output.filter(({ type }) => /mcp/.test(type))).toEqual([]);
      for (const event of events) expect(() => expectValidEvent(event)).not.toThrow();
      expect(() => expectValidResponse(response)).not.toThrow();
    });
  });

  it('[B-27, A-30] takes a response that was stopped', async () => {
    await withTools(OPTIONS, async (app) => {
      const { response } = await play(app, [calls(['a', 'read'], ['b', 'read'])], { max_tool_calls: 1 });
      expect(response.incomplete_details).toEqual({ reason: 'max_tool_calls' });
      expect(() => expectValidResponse(response)).not.toThrow();
    });
  });
});
