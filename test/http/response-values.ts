/** What endpoints answer, as whole values to compare with, and how a model server writes it; ids and times are masked. */

import type { Upstream } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, type FakeToolCall } from '../../src/testing/index.ts';

/** Says the deltas, then finishes for the reason. */
export function finished(reason: string, ...deltas: readonly JsonObject[]): string {
  const chunks = deltas.map((delta) => chatChunk(delta));
  return [...chunks, chatChunk({}, { finish_reason: reason }), 'data: [DONE]\n\n'].join('');
}

export const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'Tells the weather.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: true,
};

export const PARIS: FakeToolCall = { id: 'call_paris', name: 'get_weather', arguments: '{"city":"Paris"}' };

export const OSLO: FakeToolCall = { id: 'call_oslo', name: 'get_weather', arguments: '{"city":"Oslo"}' };

export const USAGE = {
  input_tokens: 9,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 21,
};

export const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** The resource of a request that gave nothing but `model` and `input`; masked. */
export const STARTED = {
  id: 'resp_SEED',
  object: 'response',
  created_at: 1,
  completed_at: null,
  status: 'in_progress',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: 'fake-model',
  output: [] as readonly unknown[],
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [] as readonly unknown[],
  top_logprobs: 0,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  truncation: 'disabled',
  usage: null as unknown,
  metadata: {},
};

export function completed(output: readonly unknown[]): JsonObject {
  return { ...STARTED, status: 'completed', completed_at: 1, output, usage: USAGE };
}

export function outputText(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** An output message; masked. */
export function messageAt(index: number, ...content: readonly JsonObject[]): JsonObject {
  return { id: `msg_SEED000${index}`, type: 'message', status: 'completed', role: 'assistant', content };
}

/** An output call; masked. */
export function callAt(index: number, { id, name, arguments: text }: FakeToolCall): JsonObject {
  return {
    id: `fc_SEED000${index}`,
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    arguments: text,
  };
}

/** One frame, as it must be on the wire. */
export function frame(type: string, sequence: number, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`;
}

/** The wire form of a call's delta. */
export function callDelta({ id, name, arguments: text }: FakeToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } };
}

/** A model server of our own making. */
export function upstreamOf(stream: Upstream['stream']): Upstream {
  return { name: 'of-this-test', stream };
}
