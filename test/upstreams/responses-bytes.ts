/** Writes what another server of the Responses API says, for tests that do not need a recording. */

import type { JsonObject } from '../../src/protocol/record.ts';
import { type UpstreamExtra, upstreamScript } from '../../src/testing/index.ts';

/** One event as an SSE frame. */
export function responsesEvent(event: JsonObject): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The first events. */
export function responseStart(): string {
  const response = { id: 'resp_there', object: 'response', status: 'in_progress', output: [] };
  return ['created', 'in_progress'].map((name) => responsesEvent({ type: `response.${name}`, response })).join('');
}

/** An item from its start to its end, with the events in between. */
export function item(
  output_index: number,
  whole: JsonObject,
  start: JsonObject,
  ...deltas: readonly JsonObject[]
): string {
  return [
    responsesEvent({ type: 'response.output_item.added', output_index, item: { ...whole, ...start } }),
    ...deltas.map((delta) => responsesEvent({ output_index, item_id: whole.id, ...delta })),
    responsesEvent({ type: 'response.output_item.done', output_index, item: whole }),
  ].join('');
}

/** A message, in one delta for each string. */
export function textItem(index: number, ...texts: readonly string[]): string {
  const content = [{ type: 'output_text', text: texts.join(''), annotations: [], logprobs: [] }];
  const whole = { id: 'msg_there', type: 'message', role: 'assistant', status: 'completed', content };
  const deltas = texts.map((delta) => ({ type: 'response.output_text.delta', content_index: 0, delta, logprobs: [] }));
  return item(index, whole, { content: [] }, ...deltas);
}

/** A call whose arguments come in one delta. */
export function callItem(index: number, call_id: string, name: string, json: string): string {
  const whole = { id: `fc_${call_id}`, type: 'function_call', status: 'completed', call_id, name, arguments: json };
  return item(index, whole, { arguments: '' }, { type: 'response.function_call_arguments.delta', delta: json });
}

const USAGE = { input_tokens: 9, output_tokens: 12, total_tokens: 21 };

/** The last event. */
export function responseEnd(name = 'completed', more: JsonObject = {}): string {
  const response = { id: 'resp_there', object: 'response', status: name, output: [], usage: USAGE, ...more };
  return responsesEvent({ type: `response.${name}`, response });
}

/** A whole stream of these items. */
export function responsesStream(items: readonly string[], end = responseEnd()): string {
  return responseStart() + items.join('') + end;
}

/** What this wire says for each extra of the upstream contract. */
export function responsesExtras(): Readonly<Record<UpstreamExtra, string>> {
  const { thought, state, calls, messages, citation } = upstreamScript;
  const [call] = calls;
  const written = (index: number, text: string, more: JsonObject, ...deltas: readonly JsonObject[]) => {
    const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
    const whole = { id: `msg_${index}`, type: 'message', role: 'assistant', status: 'completed', content, ...more };
    return item(index, whole, { content: [] }, { type: 'response.output_text.delta', delta: text }, ...deltas);
  };
  const reasoning = {
    id: 'rs_there',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: thought }],
    encrypted_content: state,
  };
  const annotation = {
    type: 'url_citation',
    url: citation.url,
    title: citation.title,
    start_index: 0,
    end_index: citation.text.length,
  };
  return {
    state: responsesStream([
      item(0, reasoning, { summary: [] }, { type: 'response.reasoning_summary_text.delta', delta: thought }),
      callItem(1, call.id, call.name, call.arguments),
    ]),
    phase: responsesStream(messages.map(({ phase, text }, index) => written(index, text, { phase }))),
    citations: responsesStream([
      written(0, citation.text, {}, { type: 'response.output_text.annotation.added', annotation }),
    ]),
  };
}
