/** The second turn of a case: converts an answer to the items of the next request. */
import type { ModelEvent } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';

/** An item being built. */
type OpenItem = { -readonly [Field in keyof Item]: Item[Field] };

/** The output as items, in order: messages with their phases, thoughts with their provider state, tool calls. */
export function eventsToItems(events: readonly ModelEvent[]): readonly Item[] {
  const items: OpenItem[] = [];
  const calls = new Map<number, OpenItem>();
  for (const event of events) addEvent(items, calls, event);
  return items.filter(({ type, content }) => type !== 'message' || content !== '');
}

function addEvent(items: OpenItem[], calls: Map<number, OpenItem>, event: ModelEvent): void {
  switch (event.type) {
    case 'message-start':
      items.push({ type: 'message', role: 'assistant', content: '', ...(event.phase ? { phase: event.phase } : {}) });
      return;
    case 'text-delta': {
      const message =
        lastOpenItem(items, 'message') ?? addItem(items, { type: 'message', role: 'assistant', content: '' });
      message.content = `${message.content}${event.text}`;
      return;
    }
    case 'reasoning-delta':
      lastThought(items);
      return;
    case 'reasoning-end':
      lastThought(items).providerState = event.state;
      return;
    case 'tool-call-delta':
      {
        const { call, id, name, arguments: json } = event;
        const open = calls.get(call) ?? addItem(items, { type: 'function_call', call_id: id, name, arguments: '' });
        calls.set(call, open);
        open.arguments = `${open.arguments}${json}`;
      }
      return;
    default:
  }
}

/** An item that has no end yet. */
function lastThought(items: OpenItem[]): OpenItem {
  const last = lastOpenItem(items, 'reasoning');
  return last && !('providerState' in last) ? last : addItem(items, { type: 'reasoning', summary: [] });
}

function lastOpenItem(items: readonly OpenItem[], type: string): OpenItem | undefined {
  const last = items.at(-1);
  return last?.type === type ? last : undefined;
}

function addItem(items: OpenItem[], item: OpenItem): OpenItem {
  items.push(item);
  return item;
}
