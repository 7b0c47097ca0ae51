/** The dialect of vllm-responses: raw reasoning under its own names, flat errors in mid-stream, and no lists of MCP tools. */

import type { Dialect, Fields, Frame } from '../ports/dialect.ts';
import type { ErrorBody } from '../protocol/errors.ts';
import { isRecord } from '../protocol/record.ts';

/** Clients of that server find in it what they know. */
export const vllmResponses: Dialect = {
  name: 'vllm-responses',
  shown: { reasoning: 'spec', listsTools: false },
  rewriter: vllmRewriter,
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
    return [...before, frame.type === 'error' ? flat(frame) : frame];
  };
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
