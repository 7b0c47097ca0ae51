/** The events of a stream, converted back into the events of its turn, so that both are checked by the same laws. */
import type { TurnEnd, TurnEvent } from '../../src/protocol/events.ts';
import type { OutputItem, Part, PartType, ToolCallType } from '../../src/protocol/items.ts';
import { logProbsText } from '../../src/protocol/json/log-probs.ts';
import { unreachable } from '../../src/protocol/record.ts';
import { broken } from './law.ts';
import { isNativeEvent, isNativeId } from './native-items.ts';
import type { WireEvent, WireItem, WireResponse } from './wire-schemas.ts';

type InPart = Extract<
  WireEvent,
  { item_id: string; content_index: number } | { item_id: string; summary_index: number }
>;
type InItem = Extract<WireEvent, { item_id: string }>;

/** The turn's events, one for each of the stream's. Throws if an event reports something that no turn does. */
export function turnEventsOf(events: readonly WireEvent[]): readonly TurnEvent[] {
  const names = new Map<string, string>();
  const natives = new Map<number, string>();
  return events.map((event) => {
    if (isNativeEvent(event)) return nativeEvent(event, natives);
    if (event.type === 'response.output_item.added') names.set(event.item.id, nameOf(event.item));
    return turnEvent(event, names);
  });
}

/** Only those of a start and of an end are read. */
function nativeEvent(event: WireEvent, ids: Map<number, string>): TurnEvent {
  if (event.type === 'response.output_item.added') ids.set(event.output_index, event.item.id);
  if (event.type === 'response.output_item.added' || event.type === 'response.output_item.done')
    return turnEvent(event, new Map());
  // The cast: it has a place in the output.
  const {
    sequence_number: sequence,
    output_index: index,
    item_id: id,
  } = event as InItem & { readonly item_id?: string };
  return { type: 'native-progress', sequence, index, itemId: id ?? ids.get(index) ?? '', event };
}

/** Not every event that ends arguments names the tool, though all events of a turn do. */
function nameOf(item: WireItem): string {
  return 'name' in item ? item.name : '';
}

function turnEvent(event: WireEvent, names: ReadonlyMap<string, string>): TurnEvent {
  const sequence = event.sequence_number;
  switch (event.type) {
    case 'response.created':
      return { type: 'turn-start', sequence };
    case 'response.queued':
      return { type: 'turn-queued', sequence };
    case 'response.in_progress':
      return { type: 'turn-progress', sequence };
    case 'response.completed':
      return turnEnd(event.response, 'completed', sequence);
    case 'response.incomplete':
      return turnEnd(event.response, 'incomplete', sequence);
    case 'response.failed':
      return turnEnd(event.response, 'failed', sequence);
    case 'error':
      return { type: 'error', sequence, error: event.error };
    case 'keepalive':
    case 'ping':
      return { type: 'keepalive', sequence };
    case 'response.output_item.added':
      return { type: 'item-start', sequence, index: event.output_index, item: outputItem(event.item) };
    case 'response.output_item.done':
      return { type: 'item-end', sequence, index: event.output_index, item: outputItem(event.item) };
    case 'response.content_part.added':
    case 'response.reasoning_summary_part.added':
      return { type: 'part-start', ...partPlace(event), part: wholePart(event) };
    case 'response.content_part.done':
    case 'response.reasoning_summary_part.done':
      return { type: 'part-end', ...partPlace(event), part: wholePart(event) };
    case 'response.output_text.delta':
      return { ...textDelta(event, 'output_text'), logprobs: logProbsText(event.logprobs) };
    case 'response.refusal.delta':
      return textDelta(event, 'refusal');
    case 'response.reasoning_summary_text.delta':
      return textDelta(event, 'summary_text');
    case 'response.reasoning_text.delta':
    case 'response.reasoning.delta':
      return textDelta(event, 'reasoning_text');
    case 'response.output_text.done':
      return { ...textEnd(event, 'output_text', event.text), logprobs: logProbsText(event.logprobs) };
    case 'response.refusal.done':
      return textEnd(event, 'refusal', event.refusal);
    case 'response.reasoning_summary_text.done':
      return textEnd(event, 'summary_text', event.text);
    case 'response.reasoning_text.done':
    case 'response.reasoning.done':
      return textEnd(event, 'reasoning_text', event.text);
    case 'response.output_text.annotation.added': {
      const { annotation_index: annotationIndex, annotation } = event;
      return { type: 'annotation', ...partPlace(event), annotationIndex, annotation };
    }
    case 'response.function_call_arguments.delta':
      return argumentsDelta(event, 'function_call');
    case 'response.custom_tool_call_input.delta':
      return argumentsDelta(event, 'custom_tool_call');
    case 'response.mcp_call_arguments.delta':
      return argumentsDelta(event, 'mcp_call');
    case 'response.code_interpreter_call_code.delta':
      return argumentsDelta(event, 'code_interpreter_call');
    case 'response.function_call_arguments.done':
      return argumentsEnd(event, 'function_call', event.name, event.arguments);
    case 'response.custom_tool_call_input.done':
      return argumentsEnd(event, 'custom_tool_call', names.get(event.item_id), event.input);
    case 'response.mcp_call_arguments.done':
      return argumentsEnd(event, 'mcp_call', names.get(event.item_id), event.arguments);
    case 'response.code_interpreter_call_code.done':
      return argumentsEnd(event, 'code_interpreter_call', names.get(event.item_id), event.code);
    case 'response.mcp_list_tools.in_progress':
      return { type: 'list-progress', ...itemPlace(event) };
    case 'response.mcp_list_tools.completed':
      return { type: 'list-end', ...itemPlace(event) };
    case 'response.mcp_list_tools.failed':
      return broken('tools that cannot be listed fail the turn', event);
    case 'response.mcp_call.in_progress':
    case 'response.mcp_call.completed':
    case 'response.mcp_call.failed':
      return callState(event, 'mcp_call');
    case 'response.web_search_call.in_progress':
    case 'response.web_search_call.searching':
    case 'response.web_search_call.completed':
      return callState(event, 'web_search_call');
    case 'response.image_generation_call.in_progress':
    case 'response.image_generation_call.generating':
    case 'response.image_generation_call.completed':
      return callState(event, 'image_generation_call');
    case 'response.image_generation_call.partial_image': {
      const { partial_image_index: number, partial_image_b64: result } = event;
      const image = { number, result, details: {} };
      return { type: 'partial-image', ...itemPlace(event), kind: 'image_generation_call', image };
    }
    case 'response.code_interpreter_call.in_progress':
    case 'response.code_interpreter_call.interpreting':
    case 'response.code_interpreter_call.completed':
      return callState(event, 'code_interpreter_call');
    case 'response.compaction.compacting':
      return callState(event, 'compaction');
    default:
      return unreachable(event);
  }
}

function turnEnd(response: WireResponse, status: TurnEnd['status'], sequence: number): TurnEvent {
  const { output, usage, completed_at: completedAt, incomplete_details: details, error } = response;
  if (response.status !== status) return broken('the last event names the status of its response', response);
  if (!usage) return broken('a response that has ended has its usage', response);
  return {
    type: 'turn-end',
    sequence,
    status,
    output: output.map(outputItem),
    usage,
    completedAt,
    reason: details?.reason ?? null,
    error: turnError(error),
  };
}

/** A response has a code that clients know, and the more exact code of the event as its reason. */
function turnError(error: WireResponse['error']): TurnEnd['error'] {
  if (!error) return null;
  const { reason, code, type, message, param } = error;
  // The cast: types of errors are text on the wire.
  return { type, code: reason ?? code, message, param } as TurnEnd['error'];
}

function outputItem(item: WireItem): OutputItem {
  // Without `include`, a response does not show the outputs of code that ran.
  if (isNativeId(item.id)) return item as OutputItem;
  if (item.type === 'code_interpreter_call' && (item.status === 'completed' || item.status === 'failed')) {
    return { ...item, outputs: item.outputs ?? [] };
  }
  // The cast: the schema of the wire has the same fields.
  return item as OutputItem;
}

function wholePart({ part }: Extract<WireEvent, { part: unknown }>): Part {
  return part;
}

function itemPlace({ sequence_number: sequence, output_index: index, item_id: itemId }: InItem) {
  return { sequence, index, itemId };
}

function partPlace(event: InPart) {
  return { ...itemPlace(event), partIndex: 'summary_index' in event ? event.summary_index : event.content_index };
}

function textDelta(event: Extract<InPart, { delta: string }>, part: PartType) {
  return { type: 'part-delta', ...partPlace(event), part, text: event.delta, logprobs: '' } as const;
}

function textEnd(event: InPart, part: PartType, text: string) {
  return { type: 'text-end', ...partPlace(event), part, text, logprobs: '' } as const;
}

function argumentsDelta(event: Extract<InItem, { delta: string }>, call: ToolCallType): TurnEvent {
  return { type: 'arguments-delta', ...itemPlace(event), call, text: event.delta };
}

function argumentsEnd(event: InItem, call: ToolCallType, name: string | undefined, text: string): TurnEvent {
  return { type: 'arguments-end', ...itemPlace(event), call, name: name ?? '', arguments: text };
}

function callState(event: InItem, kind: OutputItem['type']): TurnEvent {
  return { type: 'call-state', ...itemPlace(event), kind, state: event.type.slice(`response.${kind}.`.length) };
}
