/** The dialect of vllm-responses: raw reasoning under its own names, flat errors in mid-stream, and no lists of MCP tools. */

import { callErrorText } from '../protocol/call-error.ts';
import type { ErrorBody } from '../protocol/errors.ts';
import { isRecord } from '../protocol/record.ts';
import type { Dialect, Fields, Frame } from './dialect.ts';

/** Clients of that server find in it what they know. */
export const vllmResponses: Dialect = {
  name: 'vllm-responses',
  shown: { reasoning: 'spec', listsTools: false },
  rewriter: vllmRewriter,
  resource,
  errorBody,
};

function vllmRewriter(): (frame: Frame) => readonly Frame[] {
  let waiting: Frame | undefined;
  return (frame) => {
    if (frame.type === 'response.mcp_call.completed') {
      // Its output is known with the next frame.
      waiting = frame;
      return [];
    }
    const before = waiting ? [withOutput(waiting, frame.item)] : [];
    waiting = undefined;
    return [...before, frame.type === 'error' ? flat(frame) : spelled(frame)];
  };
}

/** The frame with its items in this dialect. */
function spelled(frame: Frame): Frame {
  const { item, response } = frame;
  if (isRecord(item)) return { ...frame, item: spelledItem(item) };
  return isRecord(response) ? { ...frame, response: resource(response) } : frame;
}

function resource(response: Fields): Fields {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  return { ...response, output: output.map((item) => (isRecord(item) ? spelledItem(item) : item)) };
}

/** The error of a call is a text. */
function spelledItem(item: Fields): Fields {
  return item.type === 'mcp_call' && isRecord(item.error) ? { ...item, error: callErrorText(item.error) } : item;
}

function withOutput(completed: Frame, item: unknown): Frame {
  return isRecord(item) && item.id === completed.item_id ? { ...completed, output: item.output } : completed;
}

function flat({ error, ...fields }: Frame): Frame {
  return fields;
}

const MISSING: ReadonlySet<string | null> = new Set(['response_not_found', 'previous_response_not_found']);

function errorBody(error: ErrorBody): Fields {
  const id = MISSING.has(error.code) ? /'(.*)'/s.exec(error.message)?.[1] : undefined;
  return id === undefined ? { ...error } : { ...error, message: `No response found with id '${id}'.` };
}
