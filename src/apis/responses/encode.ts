/** Writes turn events as the frames of a Responses stream: a switch without memory. */
import type { ShowItem } from '../../protocol/code-outputs.ts';
import type { CallType, TurnEnd, TurnEvent } from '../../protocol/events.ts';
import type { PartType } from '../../protocol/items.ts';
import { unreachable } from '../../protocol/unreachable.ts';
import { DONE_FRAME, frame, HEARTBEAT_FRAME } from '../../streams/sse-frames.ts';
import { itemJson, jsonWith, listJson, partJson } from './item-json.ts';
import { endedResource } from './resource.ts';

/** How the host wants its events spelled. */
export interface EncodeOptions {
  /** The resource as in `response.created`. */
  readonly started: Readonly<Record<string, unknown>>;
  /** `spec` spells raw reasoning as Open Responses does, `text` as OpenAI does. */
  readonly reasoning: 'summary' | 'text' | 'spec';
  /** What the client is shown of an item. */
  readonly show: ShowItem;
  /** The name of the event among the heartbeats. */
  readonly keepalive: 'keepalive' | 'ping';
}

/** The frames of one batch, as one string for one write. */
export function encodeBatch(events: readonly TurnEvent[], options: EncodeOptions): string {
  let text = '';
  let around: DeltaFrame | undefined;
  let started: string | undefined;
  for (const event of events) {
    if (event.type === 'text-delta') {
      if (!around || !isOf(around, event)) around = deltaFrame(event, options);
      text += textDelta(event, around);
    } else if (event.type === 'turn-start' || event.type === 'turn-progress') {
      // Written once for both: it is the larger part of what a short answer costs to encode.
      started ??= JSON.stringify(options.started);
      text += startFrame(event, started);
    } else text += encode(event, options);
  }
  return text;
}

function startFrame({ type, sequence }: Of<'turn-start' | 'turn-progress'>, response: string): string {
  return lifecycle(type === 'turn-start' ? 'created' : 'in_progress', sequence, response);
}

function encode(event: TurnEvent, options: EncodeOptions): string {
  switch (event.type) {
    case 'text-delta':
      return textDelta(event, deltaFrame(event, options));
    case 'arguments-delta':
      return argumentsDelta(event);
    case 'turn-start':
    case 'turn-progress':
      return startFrame(event, JSON.stringify(options.started));
    case 'turn-queued':
      return lifecycle('queued', event.sequence, JSON.stringify({ ...options.started, status: 'queued' }));
    case 'turn-end':
      return turnEnd(event, options) + DONE_FRAME;
    case 'item-start':
      return itemFrame('added', event, JSON.stringify(event.item));
    case 'item-end':
      return itemFrame('done', event, itemJson(options.show(event.item)));
    case 'part-start':
      return partFrame('added', event, JSON.stringify(event.part));
    case 'part-end':
      return partFrame('done', event, partJson(event.part));
    case 'text-end':
      return textEnd(event, options);
    case 'annotation':
      return annotationFrame(event);
    case 'arguments-end':
      return argumentsEnd(event);
    case 'call-progress':
      return stateFrame('mcp_call.in_progress', event);
    case 'call-end':
      return stateFrame(`mcp_call.${event.status}`, event);
    case 'code-progress':
      return stateFrame(`code_interpreter_call.${event.state}`, event);
    case 'list-progress':
      return stateFrame('mcp_list_tools.in_progress', event);
    case 'list-end':
      return stateFrame('mcp_list_tools.completed', event);
    case 'search-progress':
      return stateFrame(`web_search_call.${event.state}`, event);
    case 'error':
      return errorFrame(event);
    case 'heartbeat':
      return HEARTBEAT_FRAME;
    case 'keepalive':
      return frame({ type: options.keepalive, sequence_number: event.sequence } as const);
    case 'call-dropped':
      return '';
    default:
      return unreachable(event);
  }
}

type Of<Type extends TurnEvent['type']> = Extract<TurnEvent, { type: Type }>;

function turnEnd(event: TurnEnd, { started, show }: EncodeOptions): string {
  const response = endedResource(started, event);
  const output = listJson(event.output, (item) => itemJson(show(item)));
  return lifecycle(event.status, event.sequence, jsonWith(response, 'output', output));
}

type Lifecycle = TurnEnd['status'] | 'created' | 'queued' | 'in_progress';

function lifecycle(name: Lifecycle, sequence: number, response: string): string {
  return framed(`response.${name}`, sequence, `"response":${response}`);
}

function itemFrame(name: 'added' | 'done', { sequence, index }: Of<'item-start' | 'item-end'>, item: string): string {
  return framed(`response.output_item.${name}`, sequence, `"output_index":${index},"item":${item}`);
}

function written(type: string, fields: object): string {
  return frame({ type, ...fields });
}

/** The same where the JSON of the other fields is written. */
function framed(type: string, sequence: number, json: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},${json}}\n\n`;
}

/** Where a part is, as JSON without braces: reasoning summaries are counted apart from content. */
function placeJson({ index, itemId, partIndex }: Place, type: PartType): string {
  const counted = type === 'summary_text' ? 'summary_index' : 'content_index';
  return `"item_id":"${itemId}","output_index":${index},"${counted}":${partIndex}`;
}

type Place = Pick<Of<'text-delta'>, 'index' | 'itemId' | 'partIndex'>;

function partFrame(name: 'added' | 'done', event: Of<'part-start' | 'part-end'>, part: string): string {
  const { type } = event.part;
  const kind = type === 'summary_text' ? 'reasoning_summary_part' : 'content_part';
  return framed(`response.${kind}.${name}`, event.sequence, `${placeJson(event, type)},"part":${part}`);
}

const TEXT_EVENT: Readonly<Record<PartType, string>> = {
  output_text: 'response.output_text',
  refusal: 'response.refusal',
  summary_text: 'response.reasoning_summary_text',
  reasoning_text: 'response.reasoning_text',
};

function textEvent(part: PartType, { reasoning }: EncodeOptions): string {
  return part === 'reasoning_text' && reasoning === 'spec' ? 'response.reasoning' : TEXT_EVENT[part];
}

/** What all deltas of one part share; written once for a batch, it saves a third of framing them. */
interface DeltaFrame {
  readonly itemId: string;
  readonly partIndex: number;
  readonly before: string;
  readonly between: string;
}

function isOf(frame: DeltaFrame, { itemId, partIndex }: Of<'text-delta'>): boolean {
  return frame.itemId === itemId && frame.partIndex === partIndex;
}

function deltaFrame(event: Of<'text-delta'>, options: EncodeOptions): DeltaFrame {
  const { itemId, partIndex, part } = event;
  const type = `${textEvent(part, options)}.delta`;
  const before = `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
  return { itemId, partIndex, before, between: `,${placeJson(event, part)},"delta":` };
}

/** Written by hand: with a whole JSON.stringify for each delta, framing costs more than all the rest. */
function textDelta({ part, sequence, text, logprobs }: Of<'text-delta'>, { before, between }: DeltaFrame): string {
  const after = part === 'output_text' ? `,"logprobs":[${logprobs}]}\n\n` : '}\n\n';
  return before + sequence + between + JSON.stringify(text) + after;
}

function textEnd(event: Of<'text-end'>, options: EncodeOptions): string {
  const { part, sequence, text, logprobs } = event;
  const whole = `"${part === 'refusal' ? 'refusal' : 'text'}":${JSON.stringify(text)}`;
  const after = part === 'output_text' ? `,"logprobs":[${logprobs}]` : '';
  return framed(`${textEvent(part, options)}.done`, sequence, `${placeJson(event, part)},${whole}${after}`);
}

function annotationFrame(event: Of<'annotation'>): string {
  const { sequence, itemId, index, partIndex, annotationIndex, annotation } = event;
  return written('response.output_text.annotation.added', {
    sequence_number: sequence,
    item_id: itemId,
    output_index: index,
    content_index: partIndex,
    annotation_index: annotationIndex,
    annotation,
  });
}

const ARGUMENTS: Readonly<Record<CallType, string>> = {
  function_call: 'function_call_arguments',
  custom_tool_call: 'custom_tool_call_input',
  mcp_call: 'mcp_call_arguments',
  code_interpreter_call: 'code_interpreter_call_code',
};

/** The field for all of it together. */
const WHOLE: Readonly<Record<CallType, string>> = {
  function_call: 'arguments',
  custom_tool_call: 'input',
  mcp_call: 'arguments',
  code_interpreter_call: 'code',
};

function argumentsDelta({ call, sequence, itemId, index, text }: Of<'arguments-delta'>): string {
  const type = `response.${ARGUMENTS[call]}.delta`;
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},"item_id":"${itemId}","output_index":${index},"delta":${JSON.stringify(text)}}\n\n`;
}

function argumentsEnd({ call, sequence, itemId, index, name, arguments: text }: Of<'arguments-end'>): string {
  const named = call === 'function_call' ? { name } : {};
  const fields = { sequence_number: sequence, item_id: itemId, output_index: index, ...named, [WHOLE[call]]: text };
  return written(`response.${ARGUMENTS[call]}.done`, fields);
}

/** Nothing but where and what: with an error in it, every SDK takes the whole stream for failed. */
function stateFrame(
  name: string,
  {
    sequence,
    itemId,
    index,
  }: Of<'call-progress' | 'call-end' | 'code-progress' | 'list-progress' | 'list-end' | 'search-progress'>,
) {
  return written(`response.${name}`, { sequence_number: sequence, item_id: itemId, output_index: index });
}

/** The event of an error. Nested for the specification and the wire, flat for OpenAI's types: each client reads the one it knows. */
export function errorFrame({ sequence, error }: Of<'error'>): string {
  const { code, message, param, type } = error;
  return written('error', { sequence_number: sequence, code, message, param, error: { type, code, message, param } });
}
