/** The images of a conversation, for a tool that changes them. */

import type { Toolset } from '../../ports/toolset.ts';
import { dataURL } from '../../protocol/images.ts';
import type { Item } from '../../protocol/items.ts';
import { recordsIn } from '../../protocol/record.ts';
import { IMAGE_GENERATION, imageGenerationCall } from '../../protocol/tool-calls/image-generation-call.ts';
import { namesServing } from './toolset.ts';

/** Reads them as data URLs, oldest first; undefined where no tool needs them, so that nothing holds the conversation. */
export function conversationImages<Conversation>(
  toolset: Toolset,
  conversation: Conversation,
  readItems: (conversation: Conversation) => readonly Item[],
): (() => readonly string[]) | undefined {
  if (namesServing(toolset, IMAGE_GENERATION).length === 0) return undefined;
  return () =>
    readItems(conversation).flatMap(({ type, result, output_format: format, content, output }) => {
      if (type === imageGenerationCall.type)
        return typeof result === 'string' && result ? [dataURL(result, format)] : [];
      // Addresses are left out: nothing is fetched for them.
      return [...recordsIn(content), ...recordsIn(output)].flatMap(({ type: partType, image_url: url }) =>
        partType === 'input_image' && typeof url === 'string' && url.startsWith('data:image/') ? [url] : [],
      );
    });
}
