/** What the encoding of a message must know of its request: which items the client is shown, and what is sealed for it. */

import { readStateOwner } from '../../ports/upstream.ts';
import { idSeed } from '../../protocol/ids.ts';
import { thoughtText } from '../../protocol/item-text.ts';
import type { OutputItem } from '../../protocol/items.ts';
import { isRecord } from '../../protocol/record.ts';
import { toolCallKind, writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { sealHidden, sealThought } from './hidden-items.ts';
import type { MessageFacts } from './message.ts';
import { type RequestWithTools, thinkingDisplay } from './prepare.ts';
import { SERVER_BLOCKS } from './server-calls.ts';
import type { MessagesSettings } from './settings.ts';

const OWN_TYPES: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call']);

/** The facts of the answer to a request. */
export function messageFacts(
  { body, request, tools }: RequestWithTools,
  { toolItems, stateSealer, upstream }: MessagesSettings,
  responseId: string,
): MessageFacts {
  const { scope } = request;
  const servers = new Set(tools.map(({ server_label: label }) => label));
  const hosted = new Set(tools.map(({ type }) => type));
  const showsThoughts = thinkingDisplay(body) !== 'omitted';
  const isShown = (item: OutputItem) => {
    if (!SERVER_BLOCKS.has(item.type)) return OWN_TYPES.has(item.type);
    // The client has named its server or its type, or the model's own server has run the call.
    const isNamed = item.type === 'mcp_call' ? servers.has(item.server_label) : hosted.has(writtenKind(item)?.tool);
    return toolItems === 'shown' || isNamed || toolCallKind(item)?.runBy === 'upstream';
  };
  // Whether the item gives the model something that the client cannot send back.
  const isHidden = (item: OutputItem) =>
    (toolCallKind(item)?.runBy === 'server' || item.type === 'tool_search_output') && !isShown(item);
  return {
    id: `msg_${idSeed(responseId)}`,
    model: body.model,
    // The cast: it has been checked.
    stopSequences: new Set((body.stop_sequences ?? []) as readonly string[]),
    isShown,
    sealHidden: (output) => sealHidden(output, isHidden, stateSealer, scope),
    stateOf: (item) => {
      if (!('encrypted_content' in item)) return undefined;
      const state = stateSealer.open(item.encrypted_content, [scope, readStateOwner(upstream, body.model)]);
      return isRecord(state) && 'routedOwner' in state ? state.state : state;
    },
    showsThoughts,
    sealThought: (item) => {
      if (!showsThoughts) return sealThought(item, stateSealer, scope);
      // What leads back to a server's own thought needs no second seal, and nothing leads back to no thought.
      if (item.encrypted_content !== undefined) return item.encrypted_content;
      return thoughtText(item) === '' ? undefined : sealThought(item, stateSealer, scope);
    },
  };
}
