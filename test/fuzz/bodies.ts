/** Whole requests to each endpoint, which the cases change. */
import type { Json } from './json-edits.ts';
import { recordedRequests } from './samples.ts';

const TOOL = {
  type: 'function',
  name: 'f',
  description: 'd',
  parameters: { type: 'object', properties: {} },
  strict: true,
};

const ITEMS: readonly Json[] = [
  { role: 'system', content: 'Be brief.' },
  {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: 'Hi' },
      { type: 'input_image', image_url: 'http://x/y.png', detail: 'low' },
      { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,aGk=' },
    ],
  },
  { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'a' },
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'ok' }] },
  { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'x' },
  { type: 'custom_tool_call_output', call_id: 'c2', output: 'ok' },
  { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'h', arguments: '{}', output: 'ok', error: null },
  { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [{ name: 'h', input_schema: {} }] },
  { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'h', arguments: '{}' },
  { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: false },
  { type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'c', outputs: [{ type: 'logs', logs: '1' }] },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' },
  {
    type: 'local_shell_call',
    id: 'ls_1',
    call_id: 'c3',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: {} },
  },
  { type: 'local_shell_call_output', id: 'c3', output: 'ok' },
  { type: 'shell_call', call_id: 'c4', action: { commands: ['ls'] } },
  {
    type: 'shell_call_output',
    call_id: 'c4',
    output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
  { type: 'apply_patch_call', call_id: 'c5', status: 'completed', operation: { type: 'delete_file', path: 'a' } },
  { type: 'apply_patch_call_output', call_id: 'c5', status: 'completed', output: 'ok' },
  { type: 'tool_search_call', id: 'ts_1', arguments: { query: 'q' }, status: 'completed' },
  { type: 'tool_search_output', id: 'to_1', tools: [], status: 'completed' },
  { type: 'compaction', encrypted_content: 'a' },
  { type: 'item_reference', id: 'msg_1' },
  {
    type: 'message',
    role: 'assistant',
    id: 'msg_2',
    content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
  },
  { role: 'user', content: 'Go on.' },
];

const RESPONSE: Json = {
  model: 'm',
  input: ITEMS,
  instructions: 'Be kind.',
  tools: [
    TOOL,
    { type: 'custom', name: 'g', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
    {
      type: 'web_search',
      user_location: { type: 'approximate', country: 'DE' },
      filters: { allowed_domains: ['a.example'] },
    },
    {
      type: 'mcp',
      server_label: 's',
      server_url: 'https://x.invalid',
      allowed_tools: ['h'],
      require_approval: 'never',
    },
    { type: 'namespace', name: 'n', description: 'd', tools: [TOOL] },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { type: 'code_interpreter', container: { type: 'auto', file_ids: [] } },
    { type: 'image_generation', size: '1024x1024' },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
  parallel_tool_calls: true,
  max_tool_calls: 3,
  max_output_tokens: 100,
  temperature: 1,
  top_p: 1,
  top_logprobs: 1,
  include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
  text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto' },
  truncation: 'auto',
  context_management: [{ type: 'compaction', compact_threshold: 100_000 }],
  metadata: { a: 'b' },
  service_tier: 'auto',
  safety_identifier: 's',
  prompt_cache_key: 'k',
  user: 'u',
  store: true,
  stream: false,
  stream_options: { include_obfuscation: false },
  background: false,
};

const SHORT: readonly Json[] = [
  { model: 'm', input: 'Hi' },
  { model: 'm', input: 'Hi', stream: true },
  { model: 'm', input: 'Hi', previous_response_id: '{v1.response}' },
  { model: 'm', input: 'Hi', conversation: { id: '{v1.conversation}' }, store: false },
  { model: 'm', input: 'Hi', background: true, stream: true },
];

const CHAT: Json = {
  model: 'm',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'And kind.' }] },
    {
      role: 'user',
      name: 'u',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'image_url', image_url: { url: 'http://x/y.png' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'ok' },
    { role: 'assistant', content: 'So.', refusal: null, reasoning_content: 'Hm.' },
    { role: 'user', content: 'Go on.' },
  ],
  tools: [
    { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } },
  ],
  tool_choice: { type: 'function', function: { name: 'f' } },
  functions: [{ name: 'g', parameters: {} }],
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } },
  temperature: 1,
  n: 1,
  stop: ['END'],
  logprobs: true,
  top_logprobs: 1,
  max_tokens: 10,
  max_completion_tokens: 10,
  stream: false,
  stream_options: { include_usage: true },
  parallel_tool_calls: true,
  reasoning_effort: 'low',
  metadata: { a: 'b' },
  user: 'u',
};

const MESSAGES: Json = {
  model: 'm',
  max_tokens: 4096,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  thinking: { type: 'enabled', budget_tokens: 2048 },
  temperature: 0.5,
  stop_sequences: ['END'],
  metadata: { user_id: 'u' },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
  tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
  tools: [
    { name: 'look', description: 'Looks.', input_schema: { type: 'object' } },
    { name: 'far', input_schema: { type: 'object' }, defer_loading: true },
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Go.' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        { type: 'document', title: 't', source: { type: 'content', content: [{ type: 'text', text: 'a' }] } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'pst1.a' },
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'a' } },
        {
          type: 'web_search_tool_result',
          tool_use_id: 's',
          content: [{ url: 'u', title: 't', encrypted_content: 'e' }],
        },
        { type: 'mcp_tool_use', id: 'm', name: 'a', server_name: 'docs', input: {} },
        { type: 'mcp_tool_result', tool_use_id: 'm', is_error: false, content: [{ type: 'text', text: 'a' }] },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 't', name: 'look', input: {} },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a' }] }] },
    { role: 'user', content: 'Go on.' },
  ],
  stream: false,
};

/** The bodies for each endpoint; ids in braces are those of the world. */
export const BODIES: Readonly<Record<string, readonly Json[]>> = {
  '/responses': [RESPONSE, RESPONSE, RESPONSE, ...SHORT, ...recordedRequests('responses-stream')],
  '/responses/input_tokens': [RESPONSE, ...SHORT],
  '/responses/compact': [{ model: 'm', input: ITEMS, instructions: 'a', previous_response_id: '{v1.response}' }],
  '/responses/{v1.response}/cancel': [{}],
  '/responses/{v1.response}/submit_tool_outputs': [
    { tool_outputs: [{ tool_call_id: 'c1', output: 'a' }], stream: true },
  ],
  '/conversations': [{ items: ITEMS.slice(0, 20), metadata: { a: 'b' } }],
  '/conversations/{v1.conversation}': [{ metadata: { a: 'b', c: 'd' } }],
  '/conversations/{v1.conversation}/items': [{ items: ITEMS.slice(0, 3) }],
  '/chat/completions': [CHAT, CHAT, ...recordedRequests('chat-stream').slice(0, 100)],
  '/messages': [MESSAGES, MESSAGES, ...recordedRequests('anthropic-stream')],
  '/messages/count_tokens': [MESSAGES],
};
