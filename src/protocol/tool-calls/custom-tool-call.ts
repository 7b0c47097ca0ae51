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

/** The JSON around the free text of a call whose pieces arrive one by one: a function's one argument. */
export const INPUT_START = '{"input":"';
export const INPUT_END = '"}';

/** A piece of the free text, for the place between the two; the first one that is not empty may begin the JSON. */
export function inputPiece(text: string, isFirst = false): string {
  if (text === '') return '';
  const json = JSON.stringify(text).slice(1, -1);
  return isFirst ? INPUT_START + json : json;
}
