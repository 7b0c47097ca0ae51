/** Writes a conversation of items as the system prompt and the alternating messages of a Messages request. */

import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { argumentsObject } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import type { AnsweredToolCall } from '../../protocol/tool-calls/kind.ts';
import { addTo, MessageDraft, type OpenMessage } from '../responses-input/message-draft.ts';
import { type Block, toBlocks } from './parts.ts';
import { thoughtIn } from './thinking.ts';
import { searchBlocks } from './web-tools.ts';

/** A message of the API: user and assistant alternate. */
export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Block[];
}

/** A conversation in the API's form. */
export interface Conversation {
  readonly system: readonly Block[];
  readonly messages: readonly Message[];
}

/**
 * Writes the conversation. System and developer messages all move to the front; tool results come first in the next
 * user message. `skipped` receives the items that are not supported, and calls whose arguments are no object. Throws `ApiError` if calls and outputs do not
 * match, and for media that the API does not support.
 */
export function toConversation(request: ModelRequest, skipped: (item: Item) => void): Conversation {
  const draft = new Draft(request.instructions);
  draft.write(request.items, skipped);
  // The API refuses a message that ends with a thought, and a last text that ends in white space.
  const joined: OpenMessage<Message['role'], Block>[] = [];
  for (const { role, content } of draft.messages) {
    const lastSpoken = content.findLastIndex((block) => !isThought(block));
    addTo(joined, role, content.slice(0, lastSpoken + 1));
  }
  const last = joined.at(-1);
  const lastBlock = last?.content.at(-1);
  if (last?.role === 'assistant' && typeof lastBlock?.text === 'string')
    last.content[last.content.length - 1] = { ...lastBlock, text: lastBlock.text.trimEnd() };
  return { system: draft.system, messages: joined };
}

class Draft extends MessageDraft<Message['role'], Block> {
  readonly system: Block[];

  constructor(instructions: string | undefined) {
    super('user');
    this.system = [...toBlocks(instructions)];
  }

  protected callParts(id: string, { name, arguments: args, output, failed }: AnsweredToolCall) {
    const content = toBlocks(output);
    const result = {
      type: 'tool_result',
      tool_use_id: id,
      ...(content.length > 0 ? { content } : {}),
      ...(failed ? { is_error: true } : {}),
    };
    return [{ type: 'tool_use', id, name: String(name), input: argumentsObject(args) }, result] as const;
  }

  protected contentParts(content: unknown): readonly Block[] {
    return toBlocks(content);
  }

  protected addSystem(content: unknown): void {
    for (const block of toBlocks(content)) if (block.type === 'text') this.system.push(block);
  }

  protected addOther(item: Item): boolean {
    if (item.type === 'reasoning') {
      const thought = thoughtIn(item.providerState);
      // Thoughts of another server are unsigned here, and the API would refuse them.
      if (thought) this.addAnswer(item, [thought as Block]);
      return true;
    }
    if (item.type !== 'web_search_call') return false;
    // Searches of another server contain nothing that can be sent back.
    const [use, result] = searchBlocks(item.providerState) ?? [];
    if (!use || !result) return false;
    const id = this.ids(String(use.id));
    this.addAnswer(item, [
      { ...use, id },
      { ...result, tool_use_id: id },
    ]);
    return true;
  }
}

/** Whether the block is a thought, readable or redacted. */
export function isThought({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}
