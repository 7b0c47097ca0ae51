/** Rewrites a conversation without tool calls, for a model that is offered no tools. */

import type { Item } from '../../protocol/items.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';
import { imageGenerationCall } from '../../protocol/tool-calls/image-generation-call.ts';
import { isCallOutput, outputOf, writtenKind } from '../../protocol/tool-calls/kinds.ts';

/**
 * The conversation with calls and outputs as text: some model servers refuse calls in a request that offers no tools,
 * and a model that is offered tools may call one instead of writing a summary. Reasoning is left out.
 */
export function transcriptOf(items: readonly Item[]): readonly Item[] {
  return items.flatMap(asWords);
}

function asWords(item: Item): readonly Item[] {
  if (item.type === 'message') return [item];
  if (isCallOutput(item)) return [userItem(outputOf(item))];
  if (item.type === imageGenerationCall.type) return [assistantItem('[Made an image.]')];
  const kind = writtenKind(item);
  const answered = kind?.answered(item, undefined);
  if (!kind || !answered) return [];
  const { name, arguments: text, output } = answered;
  const call = assistantItem(callText(name, item[kind.field] ?? text));
  return kind.runBy === 'client' ? [call] : [call, userItem(output)];
}

function callText(name: unknown, text: unknown): string {
  return `[Called the tool ${name} with: ${typeof text === 'string' ? text : JSON.stringify(text)}]`;
}

function assistantItem(text: string): Item {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
}

/** Tool outputs become user messages; their images stay images. */
function userItem(output: unknown): Item {
  const parts = isPartList(output) ? output : [{ type: 'input_text', text: textOf(output) }];
  return {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: '[The tool answered:]' }, ...parts],
  };
}

function isPartList(output: unknown): output is readonly JsonObject[] {
  return Array.isArray(output) && output.every((part) => isRecord(part) && plainTextOf(part.type).startsWith('input_'));
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}
