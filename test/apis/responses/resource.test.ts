/** The response resource, before and after its turn. */

import { planTools } from '../../../src/apis/responses/steps/tools/plan-tools.ts';
import type { TurnEnd } from '../../../src/protocol/events.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { endedResource, startedResource } from '../../../src/protocol/responses/resource.ts';
import type { CreateBody } from '../../../src/protocol/responses/schema.ts';

function started(body: Partial<CreateBody> = {}, sent: readonly JsonObject[] = []): JsonObject {
  const tools = planTools({ tools: sent, choice: undefined }, new Map(), () => {});
  return startedResource({ id: 'resp_1', createdAt: 7, body: { model: 'm', ...body }, tools });
}

/** What PROTOCOL's table of required keys lists, in the alphabet's order. */
const KEYS = [
  'background',
  'completed_at',
  'created_at',
  'error',
  'frequency_penalty',
  'id',
  'incomplete_details',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'object',
  'output',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'status',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'usage',
];

/** Those of them that may be null. */
const NULLABLE: ReadonlySet<string> = new Set([
  'completed_at',
  'error',
  'incomplete_details',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'usage',
]);

describe('startedResource', () => {
  it('[S-01] [B-02] [C-21] has the 31 keys, and null only where null may be', () => {
    const resource = started();
    const nulls = Object.keys(resource).filter((key) => resource[key] === null && !NULLABLE.has(key));
    expect([Object.keys(resource).toSorted(), nulls]).toEqual([KEYS, []]);
  });

  it('[S-01] [S-20] has one more key for the user, who is no part of Open Responses', () => {
    const { user, ...rest } = started({ user: 'u' });
    expect([user, Object.keys(rest).toSorted()]).toEqual(['u', KEYS]);
  });

  it('[S-01] an empty word, which some clients send for none, is none', () => {
    const words = { previous_response_id: '', service_tier: '', safety_identifier: '', prompt_cache_key: '', user: '' };
    expect(started({ ...words, reasoning: { effort: '', summary: '' }, text: { verbosity: '' } })).toEqual(started());
  });

  it('[S-05] echoes tools without what may be secret', () => {
    const tools = [
      { type: 'mcp', server_label: 'x', headers: { a: 'secret' }, authorization: 'secret' },
      { type: 'function', name: 'f' },
    ];
    expect(started({}, tools).tools).toEqual([
      { type: 'mcp', server_label: 'x' },
      { type: 'function', name: 'f', description: null, parameters: null, strict: null },
    ]);
  });

  it.each<readonly [CreateBody['text'], unknown]>([
    [undefined, { format: { type: 'text' } }],
    [{}, { format: { type: 'text' } }],
    [{ verbosity: 'high' }, { format: { type: 'text' }, verbosity: 'high' }],
    [{ format: { type: 'json_object' } }, { format: { type: 'json_object' } }],
    [
      { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
      { format: { type: 'json_schema', name: 'n', description: null, schema: { type: 'object' }, strict: false } },
    ],
  ])('[S-07] [B-35] echoes the text format %j', (text, echoed) => {
    expect(started({ text }).text).toEqual(echoed);
  });

  it.each<readonly [CreateBody['reasoning'], unknown]>([
    [undefined, { effort: null, summary: null }],
    [{ effort: 'low' }, { effort: 'low', summary: null }],
    [
      { effort: null, summary: 'auto' },
      { effort: null, summary: 'auto' },
    ],
  ])('[C-11] [A-26] echoes reasoning %j with both of its keys', (reasoning, echoed) => {
    expect(started({ reasoning }).reasoning).toEqual(echoed);
  });
});

describe('endedResource', () => {
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  const end: TurnEnd = {
    type: 'turn-end',
    sequence: 9,
    status: 'completed',
    output: [{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [] }],
    usage,
    completedAt: 8,
    reason: null,
    error: null,
  };

  it.each<readonly [Partial<TurnEnd>, JsonObject]>([
    [{}, { status: 'completed', completed_at: 8, error: null, incomplete_details: null }],
    [
      { status: 'incomplete', completedAt: null, reason: 'content_filter' },
      { status: 'incomplete', completed_at: null, error: null, incomplete_details: { reason: 'content_filter' } },
    ],
    [
      {
        status: 'failed',
        completedAt: null,
        error: { type: 'server_error', code: null, message: 'No.', param: null },
      },
      {
        status: 'failed',
        completed_at: null,
        error: { code: 'server_error', message: 'No.', type: 'server_error', param: null },
        incomplete_details: null,
      },
    ],
  ])('[S-01] [S-10] [S-11] [A-18] differs from the beginning in how the turn ended, for %j', (how, fields) => {
    expect(endedResource(started(), { ...end, ...how })).toEqual({
      ...started(),
      output: end.output,
      usage,
      ...fields,
    });
  });
});
