/** Guards what the guards of a turn cannot read of a Messages request: the blocks that its items carry sealed, and the stop sequences. */

import { bodyForModel, guardBody, restoreBody } from '../../../engine/guarding/request/guarded-body.ts';
import { collectGuards, type GuardingSettings } from '../../../engine/guarding/request/guards-of.ts';
import { guardSession } from '../../../engine/guarding/request/request-guards.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import type { Block, MessagesBody } from './schema.ts';

/** A request whose content has been checked, and what has been guarded of it. */
interface GuardedRequest {
  readonly body: MessagesBody;
  /** With the guards in its context, whose placeholders are in the blocks. */
  readonly request: EndpointRequest;
  /** The guarded blocks of the body, each as its model server may receive it: with placeholders. */
  readonly blocks: ReadonlyMap<Block, Block>;
}

/** `isSealed` says which blocks of the assistant's messages its items carry sealed. Throws `content_filter` and `guard_failed`. */
export async function guardSealed(
  body: MessagesBody,
  request: EndpointRequest,
  settings: GuardingSettings,
  isSealed: (block: Block) => boolean,
): Promise<GuardedRequest> {
  const blocks = new Map<Block, Block>();
  const sessions = settings.guards ? [guardSession(settings.guards, request, settings.hooks, false)] : [];
  const context = { ...request.context, guards: [...sessions, ...(request.context?.guards ?? [])] };
  const guards = context.guards.length > 0 ? collectGuards({ ...request, context }, settings) : undefined;
  if (!guards) return { body, request, blocks };
  // Each block at its place, which errors and reports name.
  const messages = body.messages.map(({ role, content }) => {
    if (role !== 'assistant' || !Array.isArray(content)) return {};
    return { content: content.map((block: Block) => (isSealed(block) ? block : null)) };
  });
  const { stop_sequences: stop } = body;
  const sent = await restoreBody(stop ? { messages, stop_sequences: stop } : { messages }, guards);
  const guarded = await guardBody(sent, guards);
  const forModel = guards.restores ? await bodyForModel({ messages: guarded.messages }, guards) : guarded;
  const guardedMessages = body.messages.map((message, at) => {
    if (!Array.isArray(message.content) || !messages[at]?.content) return message;
    const content = message.content.map((block: Block, index) => {
      if (!isSealed(block)) return block;
      const [before = block, after = block, model = after] = [sent, guarded, forModel].map(
        (each) => each.messages[at]?.content?.[index] ?? undefined,
      );
      // The signature of a thought fits no other text.
      const isChanged = ['thinking', 'signature', 'data'].some((field) => before[field] !== model[field]);
      const shown = isChanged ? { ...after, signature: '', data: '' } : after;
      blocks.set(shown, model);
      return shown;
    });
    return { ...message, content };
  });
  const stops = guarded.stop_sequences ? { stop_sequences: guarded.stop_sequences } : {};
  return { body: { ...body, messages: guardedMessages, ...stops }, request: { ...request, context }, blocks };
}
