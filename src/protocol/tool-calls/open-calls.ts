/** Which calls of a response the client has to answer. */
import { isRecord, type JsonObject } from '../record.ts';

/** The calls that the client has to answer: those that the server ran have their output beside them. */
export function openCalls({ status, output }: JsonObject): readonly JsonObject[] {
  const items = status === 'completed' && Array.isArray(output) ? output.filter(isRecord) : [];
  const answered = new Set(items.filter(({ type }) => type === 'function_call_output').map((item) => item.call_id));
  return items.filter(({ type, call_id: id }) => CALLS.has(type) && !answered.has(id));
}

const CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call']);
