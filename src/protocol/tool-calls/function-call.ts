/** A call of a tool that the client runs, or that is shown to it as if it did. */
import type { Item } from '../items.ts';
import { plainText } from '../record.ts';
import type { CalledTool, WrittenToolCallKind } from './kind.ts';

/** `function_call` */
export const functionCall: WrittenToolCallKind = {
  type: 'function_call',
  idPrefix: 'fc',
  runBy: 'client',
  field: 'arguments',
  argumentsEvent: 'function_call_arguments',
  namesTool: true,
  states: {},
  item: ({ id, callId, clientTool, fields, arguments: text }, status) => ({
    id,
    type: 'function_call',
    status,
    call_id: callId,
    ...clientTool,
    ...fields,
    arguments: text,
  }),
  outputItem: {
    idPrefix: 'fco',
    item: ({ callId, fields }, id, result) => ({
      id,
      type: 'function_call_output',
      call_id: callId,
      ...fields,
      status: result ? 'completed' : 'in_progress',
      output: result?.output ?? '',
    }),
  },
  answeredBy: { type: 'function_call_output', missing: (output) => ({ output }) },
  calledTool: calledClientTool,
  answered: ({ call_id: id, name, arguments: text }: Item, output) => ({
    id,
    name,
    arguments: text,
    output,
    failed: false,
  }),
};

/** The tool that such an item names, with its namespace. */
export function calledClientTool({ name, namespace }: Item): CalledTool {
  return { server: typeof namespace === 'string' ? namespace : undefined, name: plainText(name) };
}
