/** Tells which items of a conversation a server of the Responses API takes as they are: those that it, or another of its kind, has made. */
import { originOfItem, responseIdOfItem } from '../../ids.ts';
import type { Item } from '../../items.ts';
import type { NativeRequest } from '../../model-request.ts';
import { writtenKind } from '../kinds.ts';

/** Items that are written anew for every server. */
const REWRITTEN_TYPES: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call', 'item_reference']);

/**
 * Whether the item is given to such a server as it is. The id of an item says that the model's own server made it; others that
 * this server has not made are another's too, unless what they show is `served` here. Undefined for a request whose client does
 * not speak that API.
 */
export function isNativeItem(item: Item, served: NativeRequest['served'] | undefined): boolean {
  const { type, id } = item;
  if (REWRITTEN_TYPES.has(type)) return false;
  if (originOfItem(id) !== undefined) return true;
  if (type === 'mcp_approval_response') return originOfItem(item.approval_request_id) !== undefined;
  if (!served || typeof id !== 'string' || responseIdOfItem(id) !== undefined) return false;
  if (served.labels.has(item.server_label)) return false;
  const kind = writtenKind(item);
  if (kind !== undefined) return kind.runBy !== 'client' && !served.types.has(kind.tool ?? type);
  // Answers of the client, and what agents tell this server: only the model's own output is another's.
  const isClientItem = type === 'additional_tools' || type === 'configuration_update';
  return !isClientItem && !/_(?:call|custom)_output$/.test(type);
}
