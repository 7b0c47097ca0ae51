/** The dialect of tokligence-gateway: pings, client calls as a required action, JSON under its own name, and programs for a shell. */

import type { Dialect } from '../../ports/dialect.ts';
import type { WireEvent } from '../../protocol/events.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { openCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { ShellCalls, withShellArguments } from './tokligence-shell.ts';

/** A response with open calls is incomplete until their outputs are submitted. */
export const tokligence: Dialect = {
  name: 'tokligence',
  presentation: { heartbeat: { intervalMs: 2000, style: 'ping' } },
  rewriter: () => {
    const shell = new ShellCalls();
    const json = jsonEvents();
    return (event) => shell.rewrite(event).flatMap(json).flatMap(withRequiredAction);
  },
  resource: requiredActionResource,
  submitsToolOutputs: true,
};

const JSON_FORMATS: ReadonlySet<unknown> = new Set(['json_object', 'json_schema']);

/** Repeats text as `output_json` where the request wants JSON, and reports it if it is none. */
function jsonEvents(): (event: WireEvent) => readonly WireEvent[] {
  let isJson = false;
  return (event) => {
    const { type, response, item_id, output_index, content_index } = event;
    if (type === 'response.created') {
      const { text } = isRecord(response) ? response : {};
      const { format } = isRecord(text) ? text : {};
      isJson = isRecord(format) && JSON_FORMATS.has(format.type);
    }
    if (!isJson) return [event];
    const place = { item_id, output_index, content_index };
    if (type === 'response.output_text.delta')
      return [event, { type: 'response.output_json.delta', ...place, delta: event.delta }];
    if (type !== 'response.output_text.done') return [event];
    const done = { type: 'response.output_json.done', ...place };
    const fault = { type: 'response.error', message: 'invalid_json' };
    return jsonIn(String(event.text)) === undefined ? [event, done, fault] : [event, done];
  };
}

function withRequiredAction(event: WireEvent): readonly WireEvent[] {
  if (!isRecord(event.response) || !Array.isArray(event.response.output)) return [event];
  const response = requiredActionResource(event.response);
  if (event.type !== 'response.completed')
    return [{ ...event, response: { ...event.response, output: response.output } }];
  const { required_action, status } = response;
  if (!required_action) return [{ ...event, response }];
  const { id, object, created_at, model } = response;
  const short = { id, object, created_at, status, model };
  return [
    { type: 'response.required_action', response: short, required_action },
    { ...event, response },
  ];
}

function requiredActionResource(stored: JsonObject): JsonObject {
  const { output } = stored;
  const response = Array.isArray(output) ? { ...stored, output: output.map(withShellArguments) } : stored;
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
