/** Reads the messages of a request as items. */

import { exactText } from '../../protocol/json/whole-numbers.ts';
import type { Note } from '../../protocol/note.ts';
import { type JsonObject, plainText } from '../../protocol/record.ts';
import { decodeCallId } from '../../protocol/tool-calls/names/call-ids.ts';
import { type HiddenItem, SEALED } from './hidden-items.ts';
import { userParts } from './parts.ts';
import type { Block, MessagesBody } from './request/schema.ts';
import { type Blocks, isOwnUse, serverCallItem } from './server-calls.ts';

/** What reading the messages needs besides them. */
export interface InputContext {
  /** The items that the data or signature of a block of this server carries; undefined for any other. */
  readonly openHidden: (data: string) => readonly HiddenItem[] | undefined;
  /** The `encrypted_content` of an item with this state of Anthropic's; undefined if this model server cannot read it. */
  readonly sealForeign: (state: unknown) => string | undefined;
  /** The blocks that guards have seen, each as its model server may receive it. */
  readonly guardedBlocks: ReadonlyMap<Block, Block>;
  /** Receives the items that are made of those alone. */
  readonly guardedItems: Set<unknown>;
  readonly note: (note: Note) => void;
  /** Reports thoughts of another server whose signature nobody here can read. */
  readonly noteForeign: () => void;
}

/** The items of the conversation, oldest first. */
export function messageItems({ messages }: MessagesBody, context: InputContext): readonly JsonObject[] {
  const uses = new Map<unknown, Block>();
  const lastOfUser = messages.findLastIndex(({ role }) => role === 'user');
  return messages.flatMap(({ role, content, clear_at: clears }, index) => {
    if (role === 'system' && clears === 'next_user_message' && index < lastOfUser) return [];
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
    if (role === 'system')
      return userItems(
        blocks.filter(({ type }) => type === 'text'),
        role,
        context,
      );
    if (role !== 'assistant') return userItems(blocks, role, context);
    return withHidden(new AssistantReader(uses, context), blocks);
  });
}

/** Results of tools in their order, and what stands between them as messages. */
function userItems(blocks: readonly Block[], role: string, { note }: InputContext): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let parts: JsonObject[] = [];
  const finish = () => {
    if (parts.length > 0) items.push({ type: 'message', role, content: parts });
    parts = [];
  };
  for (const block of blocks) {
    if (block.type === 'tool_result') {
      finish();
      items.push(resultItem(block, note));
    } else for (const part of userParts(block, note)) parts.push(part);
  }
  finish();
  return items;
}

const FAILED = 'The tool failed:';

/** Only Anthropic's own server has a field for a failure; the others read it in words. */
function resultItem({ tool_use_id: id, content, is_error: failed }: Block, note: (note: Note) => void): JsonObject {
  let output: unknown;
  if (typeof content === 'string') output = failed ? `${FAILED} ${content}` : content;
  else {
    const parts = Array.isArray(content) ? content.flatMap((block: Block) => userParts(block, note)) : [];
    if (failed) output = [{ type: 'input_text', text: FAILED }, ...parts];
    else output = parts.length > 0 ? parts : '';
  }
  const item = { type: 'function_call_output', call_id: decodeCallId(id), output };
  return failed === true ? { ...item, is_error: true } : item;
}

/** Reads the blocks with the hidden items at their places: each before its call, the rest at the end. */
function withHidden(reader: AssistantReader, blocks: readonly Block[]): readonly JsonObject[] {
  const hidden = new Map<string | undefined, HiddenItem[]>();
  const itemIds = new Map<string | undefined, string>();
  const shown = blocks.filter((block) => {
    const found = block.type === 'redacted_thinking' ? reader.hiddenIn(block) : undefined;
    for (const each of found ?? []) {
      // Added in place: a client may repeat a block as often as it likes.
      const list = hidden.get(each.before);
      if (list) list.push(each);
      else hidden.set(each.before, [each]);
      for (const [callId, itemId] of each.calls ?? []) itemIds.set(callId, itemId);
    }
    return found === undefined;
  });
  for (const block of shown) {
    const id = block.type === 'tool_use' ? plainText(decodeCallId(block.id)) : undefined;
    const before = (id === undefined ? undefined : hidden.get(id)) ?? [];
    if (id !== undefined) hidden.delete(id);
    for (const { item } of before) reader.items.push(item);
    reader.take(block, itemIds.get(id));
  }
  for (const { item } of [...hidden.values()].flat()) reader.items.push(item);
  return reader.items;
}

const USES: ReadonlySet<unknown> = new Set(['web_search', 'web_fetch']);
const RESULTS: ReadonlySet<unknown> = new Set(['web_search_tool_result', 'web_fetch_tool_result']);

/** Whether Anthropic's own server, where it has the request, receives the block as it is. What this server has made is in items. */
export function goesBack({ type, id, tool_use_id: useId, name, signature, data }: Block): boolean {
  if (type === 'thinking') return !String(signature).startsWith(SEALED);
  if (type === 'redacted_thinking') return !String(data).startsWith(SEALED);
  if (type === 'server_tool_use') return USES.has(name) && !isOwnUse(id);
  return RESULTS.has(type) && !isOwnUse(useId);
}

class AssistantReader {
  readonly items: JsonObject[] = [];
  private readonly uses: Map<unknown, Block>;
  private readonly context: InputContext;
  /** The parts of the message that is being read. */
  private parts: JsonObject[] | undefined = undefined;

  constructor(uses: Map<unknown, Block>, context: InputContext) {
    this.uses = uses;
    this.context = context;
  }

  hiddenIn({ data }: Block): readonly HiddenItem[] | undefined {
    return this.context.openHidden(plainText(data));
  }

  /** `id` is that of a call's item, where it is known. */
  take(block: Block, id?: string): void {
    if (block.type === 'text') return this.text(plainText(block.text));
    this.parts = undefined;
    switch (block.type) {
      case 'thinking':
        return this.thought(plainText(block.thinking), plainText(block.signature), block);
      case 'redacted_thinking':
        return this.thought('', plainText(block.data), block);
      case 'tool_use':
        return void this.items.push({
          type: 'function_call',
          ...(id === undefined ? {} : { id }),
          call_id: decodeCallId(block.id),
          name: block.name,
          arguments: exactText(block.input),
        });
      case 'server_tool_use':
      case 'mcp_tool_use':
        return void this.uses.set(block.id, block);
      default:
        return this.serverResult(block);
    }
  }

  private text(text: string): void {
    if (text === '') return;
    if (!this.parts) {
      this.parts = [];
      this.items.push({ type: 'message', role: 'assistant', content: this.parts });
    }
    this.parts.push({ type: 'output_text', text, annotations: [], logprobs: [] });
  }

  /** A thought that no server can read again is kept as its text; one that was not shown is in its signature. */
  private thought(text: string, signature: string, block: Block): void {
    const { type } = block;
    const omitted = type === 'thinking' ? this.context.openHidden(signature) : undefined;
    if (omitted) return void this.items.push(...omitted.map(({ item }) => item));
    const state = type === 'thinking' ? { type, thinking: text, signature } : { type, data: signature };
    const foreign = signature === '' ? undefined : this.context.sealForeign(state);
    const sealed = signature.startsWith(SEALED) ? signature : foreign;
    if (sealed === undefined && signature !== '') this.context.noteForeign();
    if (text === '' && sealed === undefined) return;
    const item = {
      type: 'reasoning',
      summary: text === '' ? [] : [{ type: 'summary_text', text }],
      ...(sealed === undefined ? {} : { encrypted_content: sealed }),
    };
    if (this.context.guardedBlocks.has(block)) this.context.guardedItems.add(item);
    this.items.push(item);
  }

  private serverResult(block: Block): void {
    const use = this.uses.get(block.tool_use_id);
    this.uses.delete(block.tool_use_id);
    const { guardedBlocks: guarded, guardedItems, sealForeign, note } = this.context;
    const seal = ([called, result]: Blocks) => {
      const { id, name, input } = guarded.get(called) ?? called;
      const { type, content } = guarded.get(result) ?? result;
      return sealForeign([
        { type: 'server_tool_use', id, name, input },
        { type, tool_use_id: id, content },
      ]);
    };
    const item = use ? serverCallItem(use, block, seal) : undefined;
    if (!item) {
      const message = `A block of type '${block.type}' has no item here; it is left out.`;
      return note({ code: 'item_skipped', message });
    }
    if (use && guarded.has(use) && guarded.has(block)) guardedItems.add(item);
    this.items.push(item);
  }
}
