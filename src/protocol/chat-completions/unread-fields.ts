/** Collects the names of fields that a model server sent and this package does not read, so that the host sees what is lost. */

import type { Note } from '../note.ts';
import { toPrintable } from '../printable.ts';
import { isRecord, type JsonObject } from '../record.ts';
import { REASONING_MESSAGE_FIELDS } from './reasoning-fields.ts';

/** Fields that are read, or that carry no content. */
const CHUNK_FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'object', 'created', 'model', 'system_fingerprint', 'service_tier', 'obfuscation', 'p'],
  ...['choices', 'usage', 'x_groq', 'error', 'type', 'citations', 'search_results'],
  // Facts about the server: who answered, how fast, and what its filters found or did with its cache.
  ...['provider', 'timings', 'time_info', 'prompt_filter_results', 'prompt_cache_options', 'kv_transfer_params'],
  ...['prompt_token_ids', 'prompt_logprobs', 'metadata', 'nvext', 'usage_breakdown', 'perf_metrics', 'request_id'],
  ...['generationId', 'latency_checkpoint', 'cost', 'venice_parameters', 'providerMetadata', 'provider_metadata'],
  ...['generation_id', 'response_id', 'inference_id', 'trace_id', 'databricks_request_id', 'openrouter_metadata'],
  ...['stats', 'model_info', 'runtime', 'model_version', 'created_at', '__verbose', 'generation_settings', 'sglext'],
  ...['_hidden_params', 'hook_results', 'vllm_xargs', 'routed_experts', 'tgi', 'helicone', 'content_filter'],
  ...['note', 'moderation_level', 'amazon-bedrock-guardrailAction', 'sla_metrics', 'prompt_progress', 'is_safe'],
  ...['output_sensitive_type', 'input_sensitive_type', 'output_sensitive', 'input_sensitive', 'output_sensitive_int'],
  ...['input_sensitive_int', 'base_resp', 'ban_round'],
  ...['total_duration', 'load_duration', 'prompt_eval_count', 'prompt_eval_duration', 'eval_count', 'eval_duration'],
  // Echoes of the request.
  ...['seed', 'temperature', 'top_p', 'stream_options'],
]);
const CHOICE_FIELDS: ReadonlySet<string> = new Set([
  ...['index', 'delta', 'message', 'finish_reason', 'stop_reason', 'logprobs', 'usage', 'obfuscation'],
  ...[
    'native_finish_reason',
    'content_filter_results',
    'content_filter_offsets',
    'matched_stop',
    'token_ids',
    'seed',
    'finish_details',
    'routed_experts',
    'moderation_hit_type',
    'hidden_states',
    'flag',
  ],
]);
const MESSAGE_FIELDS: ReadonlySet<string> = new Set([
  ...['role', 'content', 'refusal', 'tool_calls', 'function_call', 'annotations', 'images', 'audio'],
  ...[...REASONING_MESSAGE_FIELDS, 'extra_content', 'executed_tools'],
  ...['token_id', 'provider_metadata', 'name', 'padding'],
]);

const MAX_NAMES = 20;

/** The names of one model call, each once; no more than twenty are kept. */
export class UnreadFields {
  private readonly names = new Set<string>();
  private isMore = false;

  /** Searches the chunk and its choice for names. */
  look(chunk: JsonObject, choice: JsonObject | undefined, message: unknown): void {
    if (this.isMore) return;
    this.addUnknown('', chunk, CHUNK_FIELDS);
    if (choice) this.addUnknown('choices[].', choice, CHOICE_FIELDS);
    if (isRecord(message)) this.addUnknown('message.', message, MESSAGE_FIELDS);
  }

  /** Adds a known field whose value could not be read. */
  add(name: string): void {
    if (this.names.size < MAX_NAMES || this.names.has(name)) this.names.add(name);
    else this.isMore = true;
  }

  /** The note for the host; undefined if everything was read. */
  note(): Note | undefined {
    if (this.names.size === 0) return undefined;
    const names = [...this.names].join(', ') + (this.isMore ? ' and more' : '');
    return {
      code: 'upstream_fields_ignored',
      message: `The model server sent fields that nothing here reads: ${names}.`,
    };
  }

  private addUnknown(place: string, fields: JsonObject, known: ReadonlySet<string>): void {
    for (const name in fields) if (!known.has(name) && !isBlankValue(fields[name])) this.add(place + toPrintable(name));
  }
}

/** Names in nested values. */
const MAX_DEPTH = 3;

/** Whether the value is empty: some servers send every possible field, empty. */
export function isBlankValue(value: unknown, depth = 0): boolean {
  if (value === null || value === undefined || value === '' || value === 0 || value === false) return true;
  if (typeof value !== 'object' || depth === MAX_DEPTH) return false;
  return Object.values(value).every((each) => isBlankValue(each, depth + 1));
}
