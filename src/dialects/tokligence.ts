/** The dialect of tokligence-gateway: pings, and client calls as a required action for which it submits outputs. */

import type { Dialect } from '../ports/dialect.ts';
import { isRecord, type JsonObject } from '../protocol/record.ts';
import { openCalls } from '../protocol/tool-calls/pair-calls.ts';
import type { WireEvent } from '../protocol/wire-event.ts';

/** A response with open calls is incomplete until their outputs are submitted. */
export const tokligence: Dialect = {
  name: 'tokligence',
  presentation: { heartbeat: { intervalMs: 2000, style: 'ping' } },
  rewriter: () => rewrite,
  resource,
  submitsToolOutputs: true,
};

function rewrite(event: WireEvent): readonly WireEvent[] {
  if (event.type !== 'response.completed' || !isRecord(event.response)) return [event];
  const response = resource(event.response);
  const { required_action, status } = response;
  if (!required_action) return [event];
  const { id, object, created_at, model } = response;
  const short = { id, object, created_at, status, model };
  return [
    { type: 'response.required_action', response: short, required_action },
    { ...event, response },
  ];
}

function resource(response: JsonObject): JsonObject {
  const calls = openCalls(response);
  if (calls.length === 0) return response;
  return {
    ...response,
    completed_at: null,
    status: 'incomplete',
    incomplete_details: { reason: 'tool_calls' },
    required_action: { type: 'submit_tool_outputs', submit_tool_outputs: { tool_calls: calls.map(requiredCall) } },
  };
}

/** A call in the format of Chat Completions. */
function requiredCall({ type, call_id: id, name, arguments: text, input }: JsonObject): JsonObject {
  if (type === 'custom_tool_call') return { id, type: 'custom', custom: { name, input } };
  return { id, type: 'function', function: { name, arguments: text } };
}
