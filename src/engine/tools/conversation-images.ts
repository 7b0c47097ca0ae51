/** The images of a conversation, for a tool that changes them. */

import type { Toolset } from '../../ports/toolset.ts';
import { dataURL } from '../../protocol/images.ts';
import type { Item } from '../../protocol/items.ts';
import { isRecord } from '../../protocol/record.ts';
import { IMAGE_GENERATION, imageGenerationCall } from '../../protocol/tool-calls/image-generation-call.ts';
import { namesServing } from './toolset.ts';

/** Reads them as data URLs, oldest first; undefined where no tool needs them, so that nothing holds the conversation. */
export function conversationImages<Conversation>(
  toolset: Toolset,
  conversation: Conversation,
  itemsOf: (conversation: Conversation) => readonly Item[],
): (() => readonly string[]) | undefined {
  if (namesServing(toolset, IMAGE_GENERATION).length === 0) return undefined;
  return () => itemsOf(conversation).flatMap(itemImages);
}

/** Those that are addresses are left out: nothing is fetched for them. */
function itemImages(item: Item): readonly string[] {
  const { type, result, output_format: format } = item;
  if (type === imageGenerationCall.type) return typeof result === 'string' && result ? [dataURL(result, format)] : [];
  const parts = [item.content, item.output].flatMap((field) => (Array.isArray(field) ? field : []));
  return parts.flatMap((part) => {
    const url = isRecord(part) && part.type === 'input_image' ? part.image_url : undefined;
    return typeof url === 'string' && url.startsWith('data:image/') ? [url] : [];
  });
}
