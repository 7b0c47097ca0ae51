/** The dialect of open-responses-server: bare data lines, snapshots at each tool call, and results told as text. */
import { isRecord } from '../record.ts';
import type { About, Dialect, Fields, Frame } from './dialect.ts';

/** Its clients read a few events only; they find those, and skip the rest of the strict sequence. */
export const openResponsesServer: Dialect = {
  name: 'open-responses-server',
  shown: { mcpItems: 'function_call' },
  wire: { eventLine: false, sequenceNumbers: false, done: false },
  rewriter,
  resource,
};

function rewriter(about: About): (frame: Frame) => readonly Frame[] {
  let response: Fields = {};
  const output: Fields[] = [];
  return (frame) => {
    switch (frame.type) {
      case 'response.created':
        response = fieldsOf(frame.response);
        return [frame];
      case 'response.output_item.added':
        return added(place(frame, output, about), { ...response, output: [...output] });
      case 'response.output_item.done':
        return withResult(place(frame, output, about));
      case 'response.function_call_arguments.done':
        return [{ ...frame, id: frame.item_id }];
      case 'error':
        // Told in the last event.
        return [];
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return [{ ...frame, type: 'response.completed', response: resource(fieldsOf(frame.response), about) }];
      default:
        return [frame];
    }
  };
}

/** The frame with its item in this dialect, which takes its place in the output. */
function place(frame: Frame, output: Fields[], about: About): Frame & { readonly item: Fields } {
  const item = spelled(fieldsOf(frame.item), about);
  output[Number(frame.output_index)] = item;
  return { ...frame, item };
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** A call of the client's is `ready`; a result is a JSON list of its texts. */
function spelled(item: Fields, { isOwned }: About): Fields {
  if (item.type === 'function_call') return isOwned(String(item.name)) ? item : { ...item, status: 'ready' };
  return item.type === 'function_call_output' && item.output !== '' ? { ...item, output: textList(item.output) } : item;
}

function textList(output: unknown): string {
  const parts = Array.isArray(output) ? output.filter(isRecord).map((part) => part.text ?? `[${part.type}]`) : [output];
  return JSON.stringify(parts);
}

/** What our own ids of calls look like: the model server gave none, as in the legacy form. */
const OWN_CALL_ID = /^call_[0-9a-f]{32}[0-9a-f]{3,}$/;

function added(frame: Frame & { readonly item: Fields }, snapshot: Fields): readonly Frame[] {
  const { item, output_index } = frame;
  if (item.type !== 'function_call') return [frame];
  if (!OWN_CALL_ID.test(String(item.call_id))) return [frame, { type: 'response.in_progress', response: snapshot }];
  const call = { id: item.call_id, name: item.name, arguments: '' };
  return [frame, { type: 'response.tool_calls.created', item_id: item.id, output_index, tool_call: call }];
}

function withResult(frame: Frame & { readonly item: Fields }): readonly Frame[] {
  const { item, output_index } = frame;
  if (item.type !== 'function_call_output') return [frame];
  const told = { item_id: item.id, output_index, content_index: 0, delta: item.output, logprobs: [] };
  return [frame, { type: 'response.output_text.delta', ...told }];
}

/** A call that has its result beside it was the server's, which is all that is known of a stored response. */
function resource(response: Fields, about: About): Fields {
  if (!Array.isArray(response.output)) return response;
  const items = response.output.map(fieldsOf);
  const answered = new Set(items.filter(({ type }) => type === 'function_call_output').map((item) => item.call_id));
  const output = items.map((item) =>
    spelled(item, { isOwned: (name) => about.isOwned(name) || answered.has(item.call_id) }),
  );
  return { ...response, output };
}
