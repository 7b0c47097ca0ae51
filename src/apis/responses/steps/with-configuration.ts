/** Applies the items of type `configuration_update` to the settings of a request. */
import type { Item } from '../../../protocol/items.ts';
import { type CreateBody, configurationSchema } from '../../../protocol/responses/schema.ts';

/**
 * The body with the newest effort and format of the conversation: an update stays in effect until a later one replaces
 * it, whatever the requests of later turns say.
 */
export function withConfiguration(body: CreateBody, conversation: readonly Item[]): CreateBody {
  let { reasoning, text } = body;
  // A loop: most of thousands of items are none.
  for (const item of conversation) {
    if (item.type !== 'configuration_update') continue;
    // History that another server wrote has not been validated.
    const update = configurationSchema().safeParse(item).data;
    if (update?.reasoning?.effort) reasoning = { ...reasoning, effort: update.reasoning.effort };
    if (update?.text) text = { ...text, format: update.text.format };
  }
  return reasoning === body.reasoning && text === body.text ? body : { ...body, reasoning, text };
}
