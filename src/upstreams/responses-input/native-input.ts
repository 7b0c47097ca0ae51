/** Writes items and calls for a server of the Responses API as the client or that server itself wrote them. */

import { originOfItem, responseIdOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import type { NativeRequest, NativeTool } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { isNativeItem } from '../../protocol/tool-calls/conversation/native-items.ts';
import {
  COMPUTER_CALL,
  COMPUTER_OUTPUT,
  calledToolName,
  isCallOutput,
  isClientCall,
  writtenKind,
} from '../../protocol/tool-calls/kinds.ts';
import { namespacedName } from '../../protocol/tool-calls/names/tool-names.ts';

/** Decides which items of a conversation go to the server as they are, and writes them. */
export class NativeInput {
  private readonly native: NativeRequest | undefined;
  private readonly isOn: boolean;
  private readonly byName: ReadonlyMap<string, NativeTool>;

  /** With `isOn` false, for a server that takes functions only, nothing goes as it is. */
  constructor(native: NativeRequest | undefined, isOn: boolean) {
    this.native = native;
    this.isOn = isOn;
    const tools = isOn ? (native?.tools ?? []) : [];
    this.byName = new Map(tools.flatMap((tool) => tool.names.map((name) => [name, tool] as const)));
  }

  /** Whether the item goes as it is. An answer of the client goes as its call does. */
  has(item: Item): boolean {
    if (!this.isOn) return false;
    if (isNativeItem(item, this.native?.served)) return true;
    // Nobody else may use them, whoever has given them their ids.
    if (item.type === COMPUTER_CALL || item.type === COMPUTER_OUTPUT) return true;
    return item.type !== 'function_call' && isClientCall(item) && this.byName.has(calledToolName(item));
  }

  /** Whether such an item has no partner, or one that goes as it is without being looked for. */
  isAlone(item: Item): boolean {
    if (!this.has(item)) return false;
    return isCallOutput(item) ? originOfItem(item.id) !== undefined : !isClientCall(item);
  }

  /** The item without what only this server knows it by. */
  written({ id, providerState: _, ...item }: Item): JsonObject {
    const origin = originOfItem(id);
    const isOthers = origin === undefined && typeof id === 'string' && responseIdOfItem(id) === undefined;
    const known = isOthers ? id : origin;
    const fields = this.ownFields(item, origin !== undefined);
    return known ? { id: known, ...fields } : fields;
  }

  private ownFields(item: JsonObject & { readonly type: string }, isTheirs: boolean): JsonObject {
    if (item.type === 'mcp_approval_response') {
      const request = originOfItem(item.approval_request_id) ?? item.approval_request_id;
      return { ...item, approval_request_id: request };
    }
    // It has the id of its call, which is not unique here.
    if (item.type === 'local_shell_call_output') return { ...item, id: item.call_id };
    if (isTheirs || !WITHOUT_STATUS.has(item.type)) return item;
    const { status: _, name, ...fields } = item;
    return writtenKind(item) ? { ...fields, name: this.byName.get(String(name))?.tool.name ?? name } : fields;
  }

  /** The name of a function as the server knows it, with its namespace, and what else it knows the call by. */
  call({ namespace, caller }: Item, name: string): JsonObject {
    const { tool } = this.byName.get(name) ?? {};
    const by = this.isOn && isRecord(caller) ? { caller } : {};
    if (tool?.type === 'namespace') return { ...inNamespace(tool, name), ...by };
    const isFound = this.native?.found.has(name) || tool?.defer_loading === true;
    if (!this.isOn || !isFound || typeof namespace !== 'string') return { name, ...by };
    // A function that a search found in a namespace has a name that begins with it here.
    const prefix = namespacedName(namespace, '');
    return { name: name.startsWith(prefix) ? name.slice(prefix.length) : name, namespace, ...by };
  }

  /** What the output of a call has besides its content. */
  output(output: Item | undefined): JsonObject {
    return this.isOn && isRecord(output?.caller) ? { caller: output.caller } : {};
  }
}

/** Items that OpenAI's API has without the status that this server gives them. */
const WITHOUT_STATUS: ReadonlySet<string> = new Set([
  'custom_tool_call',
  'custom_tool_call_output',
  'function_call_output',
]);

/** The name of a tool of this namespace, of which `name` is the model's. */
export function inNamespace({ name: namespace, tools }: JsonObject, name: string): JsonObject {
  const inner = recordsIn(tools);
  const tool = inner.find((each) => namespacedName(String(namespace), String(each.name)) === name);
  return { name: tool?.name ?? name, namespace };
}
