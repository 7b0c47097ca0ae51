/** A call of a client's tool that takes free text: the model writes it as the one argument `input` of a function. */
import { plainText } from '../record.ts';
import { calledClientTool } from './function-call.ts';
import type { WrittenToolCallKind } from './kind.ts';
import { toModelSafeName } from './names/tool-names.ts';

/** `custom_tool_call` */
export const customToolCall: WrittenToolCallKind = {
  type: 'custom_tool_call',
  idPrefix: 'ctc',
  runBy: 'client',
  field: 'input',
  argumentsEvent: 'custom_tool_call_input',
  states: {},
  item: ({ id, callId, clientTool, fields, input }, status) => ({
    id,
    type: 'custom_tool_call',
    status,
    call_id: callId,
    ...clientTool,
    ...fields,
    input,
  }),
  calledTool: calledClientTool,
  answered: ({ call_id: id, name, input }, output) => ({
    id,
    name,
    arguments: JSON.stringify({ input }),
    output,
    failed: false,
  }),
  answeredBy: { type: 'custom_tool_call_output', missing: (output) => ({ output }) },
  modelName: ({ name }) => toModelSafeName(plainText(name)),
};
