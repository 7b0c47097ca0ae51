/** The one list of what guards do not read of requests and answers, by position. */

import { REASONING_LISTS } from '../../../protocol/chat-completions/reasoning-fields.ts';
import { CALL_KINDS } from '../../../protocol/tool-calls/kinds.ts';

/** How an object of the APIs, or each member of a list of them, is read. What it does not name is text. */
export interface Position {
  /** Members that are not read where they are a text of their own: what other parts of the API are named by. */
  readonly unread: ReadonlySet<string>;
  /** Members of which nothing is read, whatever they hold. */
  readonly skipped: ReadonlySet<string>;
  /** Members that are not read where they are base64. */
  readonly data: ReadonlySet<string>;
  /** Members with objects of the APIs, or lists of them. */
  readonly members: ReadonlyMap<string, Position>;
  /** The same of members of any other name. */
  readonly others?: Position | undefined;
}

/** The list as `docs/guards.md` has it. */
export const UNREAD = {
  /** Of items, messages, parts, blocks, deltas, choices, sources and citations. */
  piece: {
    unread: [
      ...['id', 'type', 'role', 'status', 'phase', 'object', 'index', 'model', 'detail', 'format', 'voice'],
      ...['call_id', 'caller_id', 'tool_call_id', 'tool_use_id', 'item_id', 'response_id', 'file_id', 'container_id'],
      ...['approval_request_id', 'fingerprint', 'server_label', 'server_name', 'media_type', 'mime_type'],
      ...[
        'finish_reason',
        'native_finish_reason',
        'stop_reason',
        'created_at',
        'completed_at',
        'expires_at',
        'obfuscation',
      ],
    ],
    skipped: ['tools', 'usage', 'providerState', 'cache_control', 'content_filter_results', 'content_filter_offsets'],
    data: [
      ...['data', 'file_data', 'b64_json', 'result', 'partial_image_b64', 'encrypted_content', 'encrypted_index'],
      ...['signature', 'thought_signature'],
    ],
  },
  /** Of the bodies of requests and answers, of events and of chunks, besides those of pieces. */
  body: {
    unread: [
      ...['service_tier', 'system_fingerprint', 'provider', 'previous_response_id', 'conversation', 'container'],
      ...['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'truncation', 'verbosity'],
      ...['reasoning_effort', 'anthropic_version', 'first_id', 'last_id'],
    ],
    skipped: [
      ...['tool_choice', 'functions', 'function_call', 'metadata', 'include', 'modalities', 'models', 'logit_bias'],
      ...['stream_options', 'response_format', 'output_config', 'output_format', 'context_management', 'mcp_servers'],
      ...['anthropic_beta', 'betas', 'prompt_filter_results', 'timings'],
    ],
  },
  /** Of the function that a message calls. */
  call: { unread: ['name'] },
  /** Of a prompt that is stored at the model server. */
  prompt: { unread: ['id', 'version'] },
  /** Of the settings `text` and `reasoning`, and of `incomplete_details`. */
  settings: { unread: ['verbosity', 'effort', 'summary', 'generate_summary', 'reason'], skipped: ['format'] },
} as const;

/** The items, blocks and events that name the tool that they call, or whose result they have. */
const TOOL_TYPES: ReadonlySet<unknown> = new Set([
  ...Object.keys(CALL_KINDS),
  ...['function_call_output', 'custom_tool_call_output', 'mcp_approval_request'],
  ...['tool_use', 'server_tool_use', 'mcp_tool_use'],
  ...['response.function_call_arguments.delta', 'response.function_call_arguments.done'],
]);
const TOOL_ROLES: ReadonlySet<unknown> = new Set(['tool', 'function']);

/** Whether the name of the object is that of a tool. In a message with a role it is that of who speaks, whatever its type is. */
export function namesTool({ type, role }: Readonly<Record<string, unknown>>): boolean {
  return role === undefined || role === null ? TOOL_TYPES.has(type) : TOOL_ROLES.has(role);
}

/** Members that hold log probabilities and numbers of tokens, which spell a text that a guard may have changed. */
export const SPELLINGS: ReadonlySet<string> = new Set(['logprobs', 'token_ids']);

/** The addresses of pictures and files, which are not read where they are the whole of one. */
export const ADDRESSES: ReadonlySet<string> = new Set(['image_url', 'file_url', 'url', 'uri']);

interface Names {
  readonly unread?: readonly string[];
  readonly skipped?: readonly string[];
  readonly data?: readonly string[];
}

function position({ unread = [], skipped = [], data = [] }: Names, members = new Map<string, Position>()): Position {
  return { unread: new Set(unread), skipped: new Set(skipped), data: new Set(data), members };
}

const CALL = position(UNREAD.call);
const ERROR = position({});
const SETTINGS = position(UNREAD.settings);
const members = new Map<string, Position>();

/** An item, a message, a part of one, or anything else that the APIs nest in them. */
export const PIECE: Position = position(UNREAD.piece, members);

const PIECES = [
  ...[
    'content',
    'output',
    'outputs',
    'commandOutputs',
    'outcome',
    'results',
    'passages',
    'summary',
    'annotations',
    'citations',
    'source',
    'images',
  ],
  ...['image_url', 'video_url', 'file', 'input_audio', 'audio', 'part', 'item', 'message', 'delta'],
  ...[...REASONING_LISTS, 'content_block', 'tool_calls', 'extra_content', 'google', 'annotation', 'url_citation'],
  // LiteLLM's, in which it repeats thoughts and signatures.
  'provider_specific_fields',
  ...['citation', 'container', 'choices', 'caller'],
];
for (const name of PIECES) members.set(name, PIECE);
for (const name of ['function', 'custom', 'function_call']) members.set(name, CALL);
for (const name of ['error', 'last_error']) members.set(name, ERROR);

const bodyMembers = new Map(members);
const VARIABLES: Position = { ...position({}), others: PIECE };

/** The whole body of a request or an answer, an event of a stream, or a chunk. */
export const BODY: Position = position(
  {
    unread: [...UNREAD.piece.unread, ...UNREAD.body.unread],
    skipped: [...UNREAD.piece.skipped, ...UNREAD.body.skipped],
    data: UNREAD.piece.data,
  },
  bodyMembers,
);

for (const name of ['input', 'messages', 'system', 'items', 'data', 'instructions', 'conversation', 'prediction'])
  bodyMembers.set(name, PIECE);
for (const name of ['response', 'message']) bodyMembers.set(name, BODY);
for (const name of ['text', 'reasoning', 'incomplete_details']) bodyMembers.set(name, SETTINGS);
bodyMembers.set('prompt', position(UNREAD.prompt, new Map([['variables', VARIABLES]])));
