/** The dialect of open-responses-server: bare data lines, snapshots at each tool call, and results told as text. */
import { isRecord } from '../protocol/record.ts';
import type { About, Dialect, Fields, Frame } from './dialect.ts';

/** Its clients read a few events only; they find those, and skip the rest of the strict sequence. */
export const openResponsesServer: Dialect = {
  name: 'open-responses-server',
  shown: { mcpItems: 'function_call' },
  wire: { eventLine: false, sequenceNumbers: false, done: false, keepalive: false },
  rewriter,
  resource,
};

/** Characters of items in all snapshots of a stream: each repeats the whole output, which a hostile model can make long and many. */
const SNAPSHOT_ROOM = 4 * 1024 * 1024;

function rewriter(about: About): (frame: Frame) => readonly Frame[] {
  let response: Fields = {};
  let room = SNAPSHOT_ROOM;
  let size = 0;
  const output: Fields[] = [];
  const snapshot = (): readonly Frame[] => {
    room -= size;
    return room < 0 ? [] : [{ type: 'response.in_progress', response: { ...response, output: [...output] } }];
  };
  return (frame) => {
    switch (frame.type) {
      case 'response.created':
        response = fieldsOf(frame.response);
        return [frame];
      case 'response.output_item.added':
        size += lengthOf(frame.item);
        return added(place(frame, output, about), snapshot);
      case 'response.output_item.done':
        size += lengthOf(frame.item);
        return withResult(place(frame, output, about));
      case 'response.function_call_arguments.done':
        return [{ ...frame, id: frame.item_id }];
      case 'error':
        // Told in the last event.
        return [];
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return [{ ...frame, type: 'response.completed', response: resource(fieldsOf(frame.response)) }];
      default:
        return [frame];
    }
  };
}

/** The frame with its item in this dialect, which takes its place in the output. */
function place(frame: Frame, output: Fields[], about: About): Frame & { readonly item: Fields } {
  const item = spelled(fieldsOf(frame.item), about.isOwned);
  output[Number(frame.output_index)] = item;
  return { ...frame, item };
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function lengthOf(item: unknown): number {
  return JSON.stringify(item).length;
}

/** A call of the client's that was not cut off is `ready`; a result is a JSON list of its texts. */
function spelled(item: Fields, isOwned: About['isOwned']): Fields {
  const { type, status, name, output } = item;
  if (type === 'function_call')
    return status === 'incomplete' || isOwned(String(name)) ? item : { ...item, status: 'ready' };
  return type === 'function_call_output' && status !== 'in_progress' ? { ...item, output: textList(output) } : item;
}

function textList(output: unknown): string {
  const parts = Array.isArray(output) ? output.filter(isRecord).map((part) => part.text ?? `[${part.type}]`) : [output];
  return JSON.stringify(parts);
}

/** What our own ids of calls look like: the model server gave none, as with the legacy `function_call`. */
const OWN_CALL_ID = /^call_[0-9a-f]{35,45}$/;

function added(frame: Frame & { readonly item: Fields }, snapshot: () => readonly Frame[]): readonly Frame[] {
  const { item, output_index } = frame;
  if (item.type !== 'function_call') return [frame];
  if (!OWN_CALL_ID.test(String(item.call_id))) return [frame, ...snapshot()];
  const call = { id: item.call_id, name: item.name, arguments: '' };
  return [
    frame,
    { type: 'response.tool_calls.created', item_id: item.id, output_index, tool_call: call },
    ...snapshot(),
  ];
}

function withResult(frame: Frame & { readonly item: Fields }): readonly Frame[] {
  const { item, output_index } = frame;
  if (item.type !== 'function_call_output') return [frame];
  const told = { item_id: item.id, output_index, content_index: 0, delta: item.output, logprobs: [] };
  return [frame, { type: 'response.output_text.delta', ...told }];
}

/**
 * A call that has its result beside it was the server's. So was one without, in a response that did not come to its
 * end, where the client has no tool of that name: that is all that is known when a response is retrieved.
 */
function resource(response: Fields): Fields {
  const { status, tools, output } = response;
  if (!Array.isArray(output)) return response;
  const items = output.map(fieldsOf);
  const answered = new Set(items.filter(({ type }) => type === 'function_call_output').map((item) => item.call_id));
  const clients = new Set(Array.isArray(tools) ? tools.map((tool) => fieldsOf(tool).name) : []);
  const isServers = ({ call_id: id, name }: Fields) =>
    answered.has(id) || (status !== 'completed' && !clients.has(name));
  return { ...response, output: items.map((item) => spelled(item, () => isServers(item))) };
}
