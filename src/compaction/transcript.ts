/** Writes a conversation without tool calls, as a model can be shown it that is offered no tools. */

import { callErrorText } from '../protocol/call-error.ts';
import { outputText } from '../protocol/code-outputs.ts';
import type { Item } from '../protocol/items.ts';
import { isRecord, plainTextOf } from '../protocol/record.ts';
import { CODE_INTERPRETER } from '../protocol/tool-names.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The conversation with calls and outputs as words: some model servers refuse calls in a request that offers no tools,
 * and a model that is offered tools may call one instead of writing a summary. Thoughts are left out.
 */
export function transcriptOf(items: readonly Item[]): readonly Item[] {
  return items.flatMap(asWords);
}

function asWords(item: Item): readonly Item[] {
  switch (item.type) {
    case 'message':
      return [item];
    case 'function_call':
      return [assistantItem(callText(item.name, item.arguments))];
    case 'custom_tool_call':
      return [assistantItem(callText(item.name, item.input))];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [userItem(item.output)];
    case 'mcp_call':
      return [assistantItem(callText(item.name, item.arguments)), userItem(item.output ?? callErrorText(item.error))];
    case 'code_interpreter_call':
      return [assistantItem(callText(CODE_INTERPRETER, item.code)), userItem(outputText(item.outputs))];
    default:
      return [];
  }
}

function callText(name: unknown, text: unknown): string {
  return `[Called the tool ${name} with: ${text}]`;
}

function assistantItem(text: string): Item {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
}

/** Tools speak to the model as users do; their images stay images. */
function userItem(output: unknown): Item {
  const parts = isPartList(output) ? output : [{ type: 'input_text', text: textOf(output) }];
  return {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: '[The tool answered:]' }, ...parts],
  };
}

function isPartList(output: unknown): output is readonly Fields[] {
  return Array.isArray(output) && output.every((part) => isRecord(part) && plainTextOf(part.type).startsWith('input_'));
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}
