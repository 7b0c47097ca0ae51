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
  resource: withTextErrors,
  errorBody: vllmErrorBody,
};

function vllmRewriter(): (event: WireEvent) => readonly WireEvent[] {
  let waiting: WireEvent | undefined;
  return (event) => {
    if (event.type === 'response.mcp_call.completed') {
      // Its output arrives with the next event.
      waiting = event;
      return [];
    }
    const { type, item, response, error, ...fields } = event;
    const isCompleted = waiting && isRecord(item) && item.id === waiting.item_id;
    const before = waiting ? [isCompleted ? { ...waiting, output: item.output } : waiting] : [];
    waiting = undefined;
    // Errors are flat.
    if (type === 'error') return [...before, { type, ...fields }];
    if (isRecord(item)) return [...before, { ...event, item: withTextError(item) }];
    return [...before, isRecord(response) ? { ...event, response: withTextErrors(response) } : event];
  };
}

function withTextErrors(response: JsonObject): JsonObject {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  return { ...response, output: output.map((item) => (isRecord(item) ? withTextError(item) : item)) };
}

/** The error of a call is a text. */
function withTextError(item: JsonObject): JsonObject {
  return item.type === 'mcp_call' && isRecord(item.error) ? { ...item, error: callErrorText(item.error) } : item;
}

const MISSING: ReadonlySet<string | null> = new Set(['response_not_found', 'previous_response_not_found']);

function vllmErrorBody(error: ErrorBody): JsonObject {
  const id = MISSING.has(error.code) ? /'(.*)'/s.exec(error.message)?.[1] : undefined;
  return id === undefined ? { ...error } : { ...error, message: `No response found with id '${id}'.` };
}
