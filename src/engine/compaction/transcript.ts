/** Rewrites a conversation without tool calls, for a model that is offered no tools. */

import { originOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import { imageGenerationCall } from '../../protocol/tool-calls/image-generation-call.ts';
import {
  COMPUTER_CALL,
  COMPUTER_OUTPUT,
  callOutput,
  isCallOutput,
  writtenKind,
} from '../../protocol/tool-calls/kinds.ts';
import { foundText } from '../../protocol/tool-calls/tool-search-call.ts';
import { readableItems } from '../tools/toolset.ts';

/**
 * The conversation with calls and outputs as text: some model servers refuse calls in a request that offers no tools,
 * and a model that is offered tools may call one instead of writing a summary. Reasoning is left out.
 */
export function toTranscript(items: readonly Item[]): readonly Item[] {
  return readableItems(items, ({ id }) => originOfItem(id) !== undefined).flatMap((item): readonly Item[] => {
    if (item.type === 'message') return [item];
    if (item.type === 'tool_search_output') return [outputMessage(foundText(item.tools))];
    if (isCallOutput(item)) return [outputMessage(callOutput(item))];
    if (item.type === COMPUTER_CALL)
      return [assistantMessage(`[Used the computer: ${JSON.stringify(item.actions ?? item.action)}]`)];
    if (item.type === COMPUTER_OUTPUT)
      return [outputMessage(isRecord(item.output) ? [{ ...item.output, type: 'input_image' }] : item.output)];
    if (item.type === imageGenerationCall.type) return [assistantMessage('[Made an image.]')];
    const kind = writtenKind(item);
    const answered = kind?.answered(item, undefined);
    if (!kind || !answered) return [];
    const { name, arguments: parsed, output } = answered;
    const text = item[kind.field] ?? parsed;
    const shown = typeof text === 'string' ? text : JSON.stringify(text);
    const call = assistantMessage(`[Called the tool ${name} with: ${shown}]`);
    // The results of some are items of their own.
    const isAlone = kind.runBy === 'client' || kind.answeredBy || (kind.outputItem && item.output === undefined);
    return isAlone ? [call] : [call, outputMessage(output)];
  });
}

function assistantMessage(text: string): Item {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
}

/** Tool outputs become user messages; their images stay images. */
function outputMessage(output: unknown): Item {
  const isPart = (part: unknown) => isRecord(part) && plainText(part.type).startsWith('input_');
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? null);
  const parts: readonly JsonObject[] =
    Array.isArray(output) && output.every(isPart) ? output : [{ type: 'input_text', text }];
  return {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: '[The tool answered:]' }, ...parts],
  };
}
