/** The dialect of open-responses-server: snapshots at each tool call, and results as text. */

import type { Dialect, StreamFacts } from '../../ports/dialect.ts';
import type { WireEvent } from '../../protocol/events.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** Its clients read only some events; those are present, and they skip the rest of the strict sequence. */
export const openResponsesServer: Dialect = {
  name: 'open-responses-server',
  presentation: { mcpItems: 'function_call' },
  stream: { done: false, keepalive: false },
  completesOrphans: true,
  rewriter: snapshotRewriter,
  resource: withServerCalls,
};

/**
 * Maximum characters of items in all snapshots of a stream: each repeats the whole output, which a hostile model can
 * make long and many.
 */
const MAX_SNAPSHOT_CHARACTERS = 4 * 1024 * 1024;

function snapshotRewriter(about: StreamFacts): (event: WireEvent) => readonly WireEvent[] {
  let response: JsonObject = {};
  let budget = MAX_SNAPSHOT_CHARACTERS;
  let size = 0;
  const output: JsonObject[] = [];
  const snapshot = (): readonly WireEvent[] => {
    budget -= size;
    return budget < 0 ? [] : [{ type: 'response.in_progress', response: { ...response, output: [...output] } }];
  };
  return (event) => {
    switch (event.type) {
      case 'response.created':
        response = toFields(event.response);
        return [event];
      case 'response.output_item.added':
        size += JSON.stringify(event.item).length;
        return withSnapshots(replaceItem(event, output, about), snapshot);
      case 'response.output_item.done':
        size += JSON.stringify(event.item).length;
        return withResult(replaceItem(event, output, about));
      case 'response.function_call_arguments.done':
        return [{ ...event, id: event.item_id }];
      case 'error':
        // Sent in the last event.
        return [];
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return [{ ...event, type: 'response.completed', response: withServerCalls(toFields(event.response)) }];
      default:
        return [event];
    }
  };
}

/** The event with its item in this dialect, which replaces the one in the output. */
function replaceItem(
  event: WireEvent,
  output: JsonObject[],
  about: StreamFacts,
): WireEvent & { readonly item: JsonObject } {
  const item = withDialectStatus(toFields(event.item), about.isServerTool);
  output[Number(event.output_index)] = item;
  return { ...event, item };
}

function toFields(value: unknown): JsonObject {
  return isRecord(value) ? value : {};
}

/** A client's call that was not truncated is `ready`; a result is a JSON list of its texts. */
function withDialectStatus(item: JsonObject, isServerTool: StreamFacts['isServerTool']): JsonObject {
  const { type, status, name, output } = item;
  if (type === 'function_call')
    return status === 'incomplete' || isServerTool(String(name)) ? item : { ...item, status: 'ready' };
  if (type !== 'function_call_output' || status === 'in_progress') return item;
  const texts = Array.isArray(output) ? output.filter(isRecord).map((part) => part.text ?? `[${part.type}]`) : [output];
  return { ...item, output: JSON.stringify(texts) };
}

/** The format of generated call ids: the model server gave none, as with the legacy `function_call`. */
const OWN_CALL_ID = /^call_[0-9a-f]{35,45}$/;

function withSnapshots(
  event: WireEvent & { readonly item: JsonObject },
  snapshot: () => readonly WireEvent[],
): readonly WireEvent[] {
  const { item, output_index } = event;
  if (item.type !== 'function_call') return [event];
  if (!OWN_CALL_ID.test(String(item.call_id))) return [event, ...snapshot()];
  const call = { id: item.call_id, name: item.name, arguments: '' };
  return [
    event,
    { type: 'response.tool_calls.created', item_id: item.id, output_index, tool_call: call },
    ...snapshot(),
  ];
}

function withResult(event: WireEvent & { readonly item: JsonObject }): readonly WireEvent[] {
  const { item, output_index } = event;
  if (item.type !== 'function_call_output') return [event];
  const delta = { item_id: item.id, output_index, content_index: 0, delta: item.output, logprobs: [] };
  return [event, { type: 'response.output_text.delta', ...delta }];
}

/**
 * A call with a result beside it was server-run. So was one without, in a response that did not complete, if the client
 * has no tool of that name: a retrieved response holds no more information.
 */
function withServerCalls(response: JsonObject): JsonObject {
  const { status, tools, output } = response;
  if (!Array.isArray(output)) return response;
  const items = output.map(toFields);
  const answered = new Set(items.filter(({ type }) => type === 'function_call_output').map((item) => item.call_id));
  const clients = new Set(Array.isArray(tools) ? tools.map((tool) => toFields(tool).name) : []);
  const isServers = ({ call_id: id, name }: JsonObject) =>
    answered.has(id) || (status !== 'completed' && !clients.has(name));
  return { ...response, output: items.map((item) => withDialectStatus(item, () => isServers(item))) };
}
