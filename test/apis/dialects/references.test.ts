/** What the systems' own documents promise of their streams, held against what is written down of their dialects. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type Event, eventsOf, golden } from './support.ts';

/** The first stream of a scene. */
function streamOf(dialect: Parameters<typeof golden>[0], scene: string): string {
  return golden(dialect, scene).split('\n> ')[0] ?? '';
}

/** Those of the types, in their order, without prefix and with repetitions once. */
function order(text: string, wanted: readonly string[]): readonly string[] {
  const types = eventsOf(text).map(({ type }) => type.replace(/^response\./, ''));
  return types.filter((type, index) => wanted.includes(type) && type !== types[index - 1]);
}

function ofType(text: string, type: string): readonly Event[] {
  return eventsOf(text).filter((event) => event.type === `response.${type}`);
}

function lastResponse(text: string): JsonObject {
  return eventsOf(text).at(-1)?.response as JsonObject;
}

/** Like the documents' own `grep -oP '"<key>":"[^"]+' | sort -u`. */
function distinct(text: string, key: string): readonly string[] {
  return [...new Set(text.match(new RegExp(`(?<="${key}":")[^"]+`, 'g')))];
}

describe('reference 000, of open-responses-server', () => {
  const KNOWN = [
    'created',
    'in_progress',
    'output_text.delta',
    'tool_calls.created',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'completed',
  ];
  const CALLED = ['function_call_arguments.delta', 'function_call_arguments.done'];

  it.each<readonly [rows: string, scene: string, types: readonly string[]]>([
    ['A-01, A-02, A-03', 'text', ['created', 'in_progress', 'output_text.delta', 'completed']],
    ['A-04, A-06, A-10', 'client-call', ['created', 'in_progress', 'in_progress', ...CALLED, 'completed']],
    [
      'A-08',
      'server-call',
      ['created', 'in_progress', 'in_progress', ...CALLED, 'output_text.delta', 'output_text.delta', 'completed'],
    ],
    [
      'A-16',
      'legacy-client-call',
      ['created', 'in_progress', 'tool_calls.created', 'in_progress', ...CALLED, 'completed'],
    ],
    [
      'A-16, A-08',
      'legacy-server-call',
      [
        'created',
        'in_progress',
        'tool_calls.created',
        'in_progress',
        ...CALLED,
        'output_text.delta',
        'output_text.delta',
        'completed',
      ],
    ],
    ['A-17', 'done-early', ['created', 'in_progress', 'output_text.delta', 'completed']],
    ['A-18', 'error-in-mid-stream', ['created', 'in_progress', 'output_text.delta', 'completed']],
  ])('[%s] has its events in the order of the scene %s', (_rows, scene, types) => {
    expect(order(streamOf('open-responses-server', scene), KNOWN)).toEqual(types);
  });

  it('[A-04, A-05] has each new call in a snapshot: the client’s ready, the server’s as far as it is written', () => {
    const snapshots = ofType(streamOf('open-responses-server', 'mixed-calls'), 'in_progress');
    const calls = snapshots.map(({ response }) => (response as { readonly output: readonly JsonObject[] }).output);
    expect(calls.map((output) => output.map(({ name, status }) => `${name} ${status}`))).toEqual([
      [],
      ['read in_progress'],
      ['read completed', 'look ready'],
    ]);
  });

  it('[A-07, M-03] has the whole arguments under an id that is the item’s', () => {
    const [done] = ofType(streamOf('open-responses-server', 'client-call'), 'function_call_arguments.done');
    expect(done).toMatchObject({ id: 'fc_<seed 1>0000', output_index: 0, arguments: '{"path": "a.txt"}' });
    expect(done?.item_id).toBe(done?.id);
  });

  it('[A-08, A-09] has the result as a list of texts, in its item and as a delta', () => {
    const text = streamOf('open-responses-server', 'server-call');
    const { output } = lastResponse(text) as { readonly output: readonly JsonObject[] };
    const result = output.find(({ type }) => type === 'function_call_output');
    const [delta] = ofType(text, 'output_text.delta');
    expect([result?.output, result?.call_id, delta?.delta, delta?.item_id]).toEqual([
      '["a","b"]',
      'call_1',
      '["a","b"]',
      result?.id,
    ]);
  });

  it('[A-10, M-01] leaves the client’s call ready in a completed response', () => {
    const { status, output } = lastResponse(streamOf('open-responses-server', 'client-call'));
    expect([status, (output as readonly JsonObject[])[0]?.status]).toEqual(['completed', 'ready']);
  });

  it('[A-05] has no call ready that the client cannot run: the server’s own, and one that was cut off', () => {
    const text = golden('open-responses-server', 'server-call-left');
    const answers = text.match(/"status":"incomplete".*"output":\[.*\]/g) ?? [];
    const calls = answers.map((answer) => answer.match(/(?<="function_call","status":")\w+/g));
    expect(calls).toEqual(Array(3).fill(['completed', 'incomplete']));
  });

  it('[A-16] announces a legacy call before its arguments', () => {
    const [created] = ofType(streamOf('open-responses-server', 'legacy-client-call'), 'tool_calls.created');
    expect(created).toEqual({
      type: 'response.tool_calls.created',
      sequence_number: 3,
      item_id: 'fc_<seed 1>0000',
      output_index: 0,
      tool_call: { id: 'call_<seed 1>000', name: 'look', arguments: '' },
    });
  });

  it('[A-18, M-09] reports an error in the response of its one terminal event', () => {
    const text = streamOf('open-responses-server', 'error-in-mid-stream');
    const errors = eventsOf(text).filter(({ type }) => type === 'error');
    expect([errors, lastResponse(text).error]).toEqual([
      [],
      { code: 'server_error', message: 'It broke.', type: 'server_error', param: null, reason: 'broken' },
    ]);
  });
});

describe('reference 002, of vllm-responses', () => {
  const text = streamOf('vllm-responses', 'server-call');

  it('[B-11, B-23] has a call of the server’s in its order, without a list of tools', () => {
    const before = eventsOf(text)
      .map(({ type }) => type.replace(/^response\./, ''))
      .slice(0, 10);
    expect(before).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'mcp_call.in_progress',
      'mcp_call_arguments.delta',
      'mcp_call_arguments.delta',
      'mcp_call_arguments.delta',
      'mcp_call_arguments.done',
      'mcp_call.completed',
      'output_item.done',
    ]);
  });

  it('[B-11] has the output in the event that completes the call', () => {
    expect(ofType(text, 'mcp_call.completed')).toEqual([
      {
        type: 'response.mcp_call.completed',
        sequence_number: 8,
        item_id: 'mcp_<seed 1>0000',
        output_index: 0,
        output: 'a\nb',
      },
    ]);
  });

  it('[B-12, M-21] has of a failed call only where it is, and the error in its item', () => {
    const failed = streamOf('vllm-responses', 'server-call-fails');
    const done = ofType(failed, 'output_item.done')[0]?.item as JsonObject;
    expect([ofType(failed, 'mcp_call.failed'), done.status, done.error, lastResponse(failed).status]).toEqual([
      [
        {
          type: 'response.mcp_call.failed',
          sequence_number: 6,
          item_id: 'mcp_<seed 1>0000',
          output_index: 0,
        },
      ],
      'failed',
      'It fell.',
      'completed',
    ]);
  });

  it('[B-36, M-07] has raw reasoning inside its item', () => {
    const types = eventsOf(streamOf('vllm-responses', 'reasoning')).map(({ type }) => type.replace(/^response\./, ''));
    expect(types.slice(2, 9)).toEqual([
      'output_item.added',
      'content_part.added',
      'reasoning.delta',
      'reasoning.delta',
      'reasoning.done',
      'content_part.done',
      'output_item.done',
    ]);
  });

  it('[B-05, M-09] has a flat error, then the failed response', () => {
    const [error, failed] = eventsOf(streamOf('vllm-responses', 'error-in-mid-stream')).slice(-2);
    expect([error, failed?.type]).toEqual([
      { type: 'error', sequence_number: 8, code: 'broken', message: 'It broke.', param: null },
      'response.failed',
    ]);
  });

  it('[M-10] answers a response that failed in mid-sentence whole, where it is asked for JSON', () => {
    const [, json = ''] = golden('vllm-responses', 'error-in-mid-stream').split('\n> ');
    expect(JSON.parse(json.split('\n')[2] ?? '')).toMatchObject({
      object: 'response',
      status: 'failed',
      error: { code: 'server_error', message: 'It broke.', type: 'server_error', param: null, reason: 'broken' },
    });
  });

  it('[B-30] has its own words for a response that is not there', () => {
    expect(golden('vllm-responses', 'refusals').match(/No response found with id '[^"]*/g)).toEqual([
      "No response found with id 'resp_it's'.",
      "No response found with id 'resp_gone'.",
    ]);
  });
});

describe('reference 003, of tokligence', () => {
  const text = streamOf('tokligence', 'client-call');
  const added = ofType(text, 'output_item.added')[0]?.item as JsonObject;
  const done = ofType(text, 'output_item.done')[0]?.item as JsonObject;
  const final = lastResponse(text);
  const [call] = final.output as readonly JsonObject[];

  it('[C-01, C-08] has the whole sequence of a call', () => {
    const types = eventsOf(text).map(({ type }) => type.replace(/^response\./, ''));
    expect(types.filter((type) => type !== 'in_progress')).toEqual([
      'created',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'required_action',
      'completed',
    ]);
  });

  it('[C-02, C-03] has one item_id and one call_id in the whole stream', () => {
    expect([distinct(text, 'item_id'), distinct(text, 'call_id')]).toEqual([[added.id], ['call_1']]);
    expect([added.id, done.id, call?.id]).toEqual(Array(3).fill('fc_<seed 1>0000'));
  });

  it('[C-01, C-04] has the status and the arguments progress, and the type and the name stay', () => {
    const seen = [added, done, call].map((item) => [item?.type, item?.name, item?.status, item?.arguments]);
    const whole = '{"path": "a.txt"}';
    expect(seen).toEqual([
      ['function_call', 'look', 'in_progress', ''],
      ['function_call', 'look', 'completed', whole],
      ['function_call', 'look', 'completed', whole],
    ]);
  });

  it('[C-04] has deltas that add up to the arguments that are done', () => {
    const deltas = ofType(text, 'function_call_arguments.delta').map(({ delta }) => delta);
    const [whole] = ofType(text, 'function_call_arguments.done');
    expect(deltas.join('')).toBe(whole?.arguments);
  });

  it('[C-08, C-09] asks for the outputs, in an event of its own and in the incomplete response', () => {
    const action = {
      type: 'submit_tool_outputs',
      submit_tool_outputs: {
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"path": "a.txt"}' } }],
      },
    };
    expect([ofType(text, 'required_action'), final]).toMatchObject([
      [
        {
          response: { id: 'resp_<seed 1>', object: 'response', status: 'incomplete', model: 'fake-model' },
          required_action: action,
        },
      ],
      {
        status: 'incomplete',
        completed_at: null,
        incomplete_details: { reason: 'tool_calls' },
        required_action: action,
      },
    ]);
  });

  it('[C-11] has reasoning in every response, though null', () => {
    expect(final.reasoning).toEqual({ effort: null, summary: null });
  });

  it('[C-12] has no event of content parts where there is only a call', () => {
    expect(text).not.toContain('content_part');
  });

  it('[C-08] asks for the client’s outputs alone where the server ran a call too', () => {
    const { required_action: action } = lastResponse(streamOf('tokligence', 'mixed-calls'));
    expect(JSON.stringify(action)).toBe(
      '{"type":"submit_tool_outputs","submit_tool_outputs":{"tool_calls":[{"id":"call_2","type":"function","function":{"name":"look","arguments":"{}"}}]}}',
    );
  });
});
