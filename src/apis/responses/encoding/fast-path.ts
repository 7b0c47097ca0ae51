/** Writes turn events as SSE frames from templates, at a third of the cost of serializing each event; `wireEvent` is the plain version. */

import type { TurnEnd, TurnEvent } from '../../../protocol/events.ts';
import type { PartType } from '../../../protocol/items.ts';
import { endedFields } from '../../../protocol/responses/resource.ts';
import { CALL_KINDS } from '../../../protocol/tool-calls/kinds.ts';
import { DONE_FRAME, HEARTBEAT_FRAME, numberedFrame } from '../../../streams/sse-frames.ts';
import { itemJson, jsonWith, listJson, partJson, type Written } from './item-json.ts';
import { type EncodeOptions, type Of, partEvents, textEventName, wireEvent } from './wire-events.ts';

/** The frames of one batch, as one string for one write; `written` is what earlier batches of the answer have written, if it is kept. */
export function encodeBatch(events: readonly TurnEvent[], options: EncodeOptions, written?: Written): string {
  let text = '';
  let around: DeltaFrameFields | undefined;
  let started: string | undefined;
  for (const event of events) {
    if (event.type === 'part-delta') {
      if (!around || around.itemId !== event.itemId || around.partIndex !== event.partIndex)
        around = deltaFrameFields(event, options);
      text += deltaFrame(event, around);
    } else if (event.type === 'turn-start' || event.type === 'turn-progress') {
      // Written once for both: it is the larger part of a short answer's encoding cost.
      started ??= JSON.stringify(options.started);
      text += responseFrame(event.type === 'turn-start' ? 'created' : 'in_progress', event.sequence, started);
    } else text += eventFrame(event, options, written);
  }
  return text;
}

function eventFrame(event: TurnEvent, options: EncodeOptions, written: Written | undefined): string {
  switch (event.type) {
    case 'arguments-delta': {
      const { call, sequence, itemId, index, text } = event;
      const type = `response.${CALL_KINDS[call].argumentsEvent}.delta`;
      return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},"item_id":"${itemId}","output_index":${index},"delta":${JSON.stringify(text)}}\n\n`;
    }
    case 'turn-end': {
      const output = listJson(event.output, (item) => itemJson(options.presentItem(item), written));
      const response = jsonWith(endedFields(options.started, event), 'output', output);
      return responseFrame(event.status, event.sequence, response) + DONE_FRAME;
    }
    case 'item-start': {
      const item = JSON.stringify(options.presentItem(event.item));
      return frame('response.output_item.added', event.sequence, `"output_index":${event.index},"item":${item}`);
    }
    case 'item-end': {
      const item = itemJson(options.presentItem(event.item), written);
      return frame('response.output_item.done', event.sequence, `"output_index":${event.index},"item":${item}`);
    }
    case 'part-start':
      return partFrame('added', event, JSON.stringify(event.part));
    case 'part-end':
      return partFrame('done', event, partJson(event.part, written));
    case 'text-end': {
      const { part, sequence, text, logprobs } = event;
      const whole = `"${part === 'refusal' ? 'refusal' : 'text'}":${JSON.stringify(text)}`;
      const after = part === 'output_text' ? `,"logprobs":[${logprobs}]` : '';
      return frame(`${textEventName(part, options)}.done`, sequence, `${placeJson(event, part)},${whole}${after}`);
    }
    case 'heartbeat':
      return HEARTBEAT_FRAME;
    default: {
      const plain = wireEvent(event, options);
      return plain && 'sequence' in event ? numberedFrame(plain, event.sequence) : '';
    }
  }
}

function responseFrame(
  name: TurnEnd['status'] | 'created' | 'in_progress',
  sequence: number,
  response: string,
): string {
  return frame(`response.${name}`, sequence, `"response":${response}`);
}

/** A frame whose other fields are already serialized. */
function frame(type: string, sequence: number, json: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},${json}}\n\n`;
}

/** The position of a part, as JSON without braces. */
function placeJson({ index, itemId, partIndex }: Place, type: PartType): string {
  return `"item_id":"${itemId}","output_index":${index},"${partEvents(type).index}":${partIndex}`;
}

type Place = Pick<Of<'part-delta'>, 'index' | 'itemId' | 'partIndex'>;

function partFrame(name: 'added' | 'done', event: Of<'part-start' | 'part-end'>, part: string): string {
  const { type } = event.part;
  return frame(`response.${partEvents(type).name}.${name}`, event.sequence, `${placeJson(event, type)},"part":${part}`);
}

/** The common fields of all deltas of one part; written once for a batch, which saves a third of framing them. */
interface DeltaFrameFields {
  readonly itemId: string;
  readonly partIndex: number;
  readonly before: string;
  readonly between: string;
}

function deltaFrameFields(event: Of<'part-delta'>, options: EncodeOptions): DeltaFrameFields {
  const { itemId, partIndex, part } = event;
  const type = `${textEventName(part, options)}.delta`;
  const before = `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
  return { itemId, partIndex, before, between: `,${placeJson(event, part)},"delta":` };
}

/** Concatenated by hand: with a whole JSON.stringify for each delta, framing costs more than everything else. */
function deltaFrame(
  { part, sequence, text, logprobs }: Of<'part-delta'>,
  { before, between }: DeltaFrameFields,
): string {
  const after = part === 'output_text' ? `,"logprobs":[${logprobs}]}\n\n` : '}\n\n';
  return before + sequence + between + JSON.stringify(text) + after;
}
