/** The dialect of vllm-responses: raw reasoning under its own names, flat errors in mid-stream, and no lists of MCP tools. */

import type { Dialect } from '../../ports/dialect.ts';
import type { ErrorBody } from '../../protocol/errors.ts';
import type { WireEvent } from '../../protocol/events.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { callErrorText } from '../../protocol/tool-calls/results/call-error.ts';

/** Clients of that server recognize its contents. */
export const vllmResponses: Dialect = {
  name: 'vllm-responses',
  presentation: { reasoning: 'spec', listsTools: false },
  rewriter: vllmRewriter,
  resource,
  errorBody,
};

function vllmRewriter(): (event: WireEvent) => readonly WireEvent[] {
  let waiting: WireEvent | undefined;
  return (event) => {
    if (event.type === 'response.mcp_call.completed') {
      // Its output arrives with the next event.
      waiting = event;
      return [];
    }
    const before = waiting ? [withOutput(waiting, event.item)] : [];
    waiting = undefined;
    return [...before, event.type === 'error' ? flat(event) : spelled(event)];
  };
}

/** The event with its items in this dialect. */
function spelled(event: WireEvent): WireEvent {
  const { item, response } = event;
  if (isRecord(item)) return { ...event, item: spelledItem(item) };
  return isRecord(response) ? { ...event, response: resource(response) } : event;
}

function resource(response: JsonObject): JsonObject {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  return { ...response, output: output.map((item) => (isRecord(item) ? spelledItem(item) : item)) };
}

/** The error of a call is a text. */
function spelledItem(item: JsonObject): JsonObject {
  return item.type === 'mcp_call' && isRecord(item.error) ? { ...item, error: callErrorText(item.error) } : item;
}

function withOutput(completed: WireEvent, item: unknown): WireEvent {
  return isRecord(item) && item.id === completed.item_id ? { ...completed, output: item.output } : completed;
}

function flat({ error, ...fields }: WireEvent): WireEvent {
  return fields;
}

const MISSING: ReadonlySet<string | null> = new Set(['response_not_found', 'previous_response_not_found']);

function errorBody(error: ErrorBody): JsonObject {
  const id = MISSING.has(error.code) ? /'(.*)'/s.exec(error.message)?.[1] : undefined;
  return id === undefined ? { ...error } : { ...error, message: `No response found with id '${id}'.` };
}
