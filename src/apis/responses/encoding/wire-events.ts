/** Turn events as the events of a Responses stream: a stateless switch, with every name and every field in one place. */

import type { TurnEvent, WireEvent } from '../../../protocol/events.ts';
import type { PartType } from '../../../protocol/items.ts';
import { logProbsIn } from '../../../protocol/json/log-probs.ts';
import { unreachable } from '../../../protocol/record.ts';
import { endedResource } from '../../../protocol/responses/resource.ts';
import { CALL_KINDS, type PresentItem } from '../../../protocol/tool-calls/kinds.ts';

/** The host's settings for its events. */
export interface EncodeOptions {
  /** The resource as in `response.created`. */
  readonly started: Readonly<Record<string, unknown>>;
  /** `spec` spells raw reasoning as Open Responses does, `text` as OpenAI does. */
  readonly reasoning: 'summary' | 'text' | 'spec';
  /** Which fields of an item the client is shown. */
  readonly presentItem: PresentItem;
  /** The event type of heartbeats. */
  readonly keepalive: 'keepalive' | 'ping';
}

/** The event of the stream, without its number; undefined for a turn event that has no stream event. */
export function wireEvent(event: TurnEvent, options: EncodeOptions): WireEvent | undefined {
  switch (event.type) {
    case 'turn-start':
      return { type: 'response.created', response: options.started };
    case 'turn-queued':
      return { type: 'response.queued', response: { ...options.started, status: 'queued' } };
    case 'turn-progress':
      return { type: 'response.in_progress', response: options.started };
    case 'turn-end':
      return { type: `response.${event.status}`, response: endedResource(options.started, event, options.presentItem) };
    case 'item-start':
      return { type: 'response.output_item.added', output_index: event.index, item: options.presentItem(event.item) };
    case 'item-end':
      return { type: 'response.output_item.done', output_index: event.index, item: options.presentItem(event.item) };
    case 'part-start':
      return partEvent('added', event);
    case 'part-end':
      return partEvent('done', event);
    case 'part-delta': {
      const { part, text, logprobs } = event;
      const type = `${textEventName(part, options)}.delta`;
      const probabilities = part === 'output_text' ? { logprobs: logProbsIn(logprobs) } : {};
      return { type, ...partPlace(event, part), delta: text, ...probabilities };
    }
    case 'text-end': {
      const { part, text, logprobs } = event;
      const whole = part === 'refusal' ? { refusal: text } : { text };
      const type = `${textEventName(part, options)}.done`;
      const probabilities = part === 'output_text' ? { logprobs: logProbsIn(logprobs) } : {};
      return { type, ...partPlace(event, part), ...whole, ...probabilities };
    }
    case 'annotation': {
      const { partIndex, annotationIndex, annotation } = event;
      const place = { ...itemPlace(event), content_index: partIndex, annotation_index: annotationIndex };
      return { type: 'response.output_text.annotation.added', ...place, annotation };
    }
    case 'arguments-delta':
      return {
        type: `response.${CALL_KINDS[event.call].argumentsEvent}.delta`,
        ...itemPlace(event),
        delta: event.text,
      };
    case 'arguments-end': {
      const { argumentsEvent, field, namesTool } = CALL_KINDS[event.call];
      const named = namesTool ? { name: event.name } : {};
      return { type: `response.${argumentsEvent}.done`, ...itemPlace(event), ...named, [field]: event.arguments };
    }
    // Only its position and status: with an error in it, every SDK takes the whole stream for failed.
    case 'call-state':
      return { type: `response.${event.kind}.${event.state}`, ...itemPlace(event) };
    case 'partial-image': {
      const { number, result, details } = event.image;
      const image = { partial_image_index: number, partial_image_b64: result, ...details };
      return { type: `response.${event.kind}.partial_image`, ...itemPlace(event), ...image };
    }
    case 'native-progress': {
      const { type, item_id: _, ...fields } = event.event;
      const { item_id, output_index } = itemPlace(event);
      // In the API these events alone name no item.
      const isNameless = type.startsWith('response.shell_call_command.');
      return { type, ...(isNameless ? {} : { item_id }), output_index, ...fields };
    }
    case 'list-progress':
      return { type: 'response.mcp_list_tools.in_progress', ...itemPlace(event) };
    case 'list-end':
      return { type: 'response.mcp_list_tools.completed', ...itemPlace(event) };
    case 'error': {
      // Nested as in the specification and on the wire, flat as in OpenAI's types: each client reads the one it supports.
      const { code, message, param, type } = event.error;
      return { type: 'error', code, message, param, error: { type, code, message, param } };
    }
    case 'keepalive':
      return { type: options.keepalive };
    case 'input-injected':
      return { type: 'response.inject.created', response_id: options.started.id };
    case 'raw':
    case 'heartbeat':
    case 'call-dropped':
      return undefined;
    default:
      return unreachable(event);
  }
}

/** The same with the agent that the event belongs to, where a response has several. */
export function agentEvent(event: TurnEvent, options: EncodeOptions): WireEvent | undefined {
  const plain = wireEvent(event, options);
  if (!plain || !('agent' in event) || event.agent === undefined) return plain;
  return { ...plain, agent: { agent_name: event.agent } };
}

/** The turn event of this type. */
export type Of<Type extends TurnEvent['type']> = Extract<TurnEvent, { type: Type }>;

/** The position of a part: reasoning summaries are counted separately from content. */
type PartPlace = Pick<Of<'part-delta'>, 'index' | 'itemId' | 'partIndex'>;

const CONTENT = { name: 'content_part', index: 'content_index' } as const;
const SUMMARY = { name: 'reasoning_summary_part', index: 'summary_index' } as const;

/** How the events of parts of this type name the part and the field of its position. */
export function partEvents(type: PartType): typeof CONTENT | typeof SUMMARY {
  return type === 'summary_text' ? SUMMARY : CONTENT;
}

function partPlace({ index, itemId, partIndex }: PartPlace, type: PartType) {
  return { item_id: itemId, output_index: index, [partEvents(type).index]: partIndex };
}

function itemPlace({ index, itemId }: { readonly index: number; readonly itemId: string }) {
  return { item_id: itemId, output_index: index };
}

function partEvent(name: 'added' | 'done', event: Of<'part-start' | 'part-end'>): WireEvent {
  const { part } = event;
  return { type: `response.${partEvents(part.type).name}.${name}`, ...partPlace(event, part.type), part };
}

const TEXT_EVENT: Readonly<Record<PartType, string>> = {
  output_text: 'response.output_text',
  refusal: 'response.refusal',
  summary_text: 'response.reasoning_summary_text',
  reasoning_text: 'response.reasoning_text',
};

/** The names of the events of a part's text, without their last word. */
export function textEventName(part: PartType, { reasoning }: Pick<EncodeOptions, 'reasoning'>): string {
  return part === 'reasoning_text' && reasoning === 'spec' ? 'response.reasoning' : TEXT_EVENT[part];
}
