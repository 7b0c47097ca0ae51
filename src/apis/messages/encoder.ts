/** Encodes the events of a turn as those of a Messages stream: one block after another, whatever the order of the events. */

import type { TurnEnd, TurnEvent } from '../../protocol/events.ts';
import type { OutputItem, ReasoningItem } from '../../protocol/items.ts';
import { exactText } from '../../protocol/json/whole-numbers.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { encodeCallId } from '../../protocol/tool-calls/names/call-ids.ts';
import { citation, emptyMessage, hiddenBlock, type MessageFacts, messageEnd, messageUsage } from './message.ts';
import type { Block } from './request/schema.ts';
import { serverBlocks } from './server-calls.ts';

/** An event of the stream. */
type MessageEvent = JsonObject & { readonly type: string };

/** Makes the data of an `error` event. */
type ErrorEvent = (error: Extract<TurnEvent, { type: 'error' }>['error']) => MessageEvent;

type ItemEvent = Extract<TurnEvent, { readonly index: number }>;

/** Fills idle time. */
export const PING = { type: 'ping' } as const;

/** One whole frame. */
export function messageFrame(event: MessageEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Takes every event of one turn, from the first on. */
export class MessagesEncoder {
  private readonly facts: MessageFacts;
  private readonly errorEvent: ErrorEvent;
  private events: MessageEvent[] = [];
  /** The index of the next block. */
  private block = 0;
  private open: 'text' | 'thinking' | 'tool_use' | undefined = undefined;
  /** White space that waits for text: Anthropic refuses a history with a blank text. */
  private blank = '';
  /** The index of the item that is being written, and the events of those that come after it. */
  private current: number | undefined = undefined;
  private readonly waiting = new Map<number, ItemEvent[]>();

  constructor(facts: MessageFacts, errorEvent: ErrorEvent) {
    this.facts = facts;
    this.errorEvent = errorEvent;
  }

  /** The frames of a batch as one string, for one write. */
  frames(events: readonly TurnEvent[]): string {
    return this.encode(events).map(messageFrame).join('');
  }

  encode(events: readonly TurnEvent[]): readonly MessageEvent[] {
    this.events = [];
    for (const event of events) this.take(event);
    return this.events;
  }

  private take(event: TurnEvent): void {
    if (event.type === 'turn-start') this.add({ type: 'message_start', message: emptyMessage(this.facts) });
    else if (event.type === 'heartbeat' || event.type === 'keepalive') this.add(PING);
    else if (event.type === 'error') this.fail(event.error);
    else if (event.type === 'turn-end') this.end(event);
    else if (event.type === 'item-start') this.begin(event);
    else if ('index' in event) this.route(event);
  }

  private begin(event: Extract<TurnEvent, { type: 'item-start' }>): void {
    if (!this.facts.isShown(event.item)) return;
    if (this.current !== undefined) return void this.waiting.set(event.index, [event]);
    this.current = event.index;
    this.write(event);
  }

  private route(event: ItemEvent): void {
    if (event.index !== this.current) return void this.waiting.get(event.index)?.push(event);
    this.write(event);
    if (event.type === 'item-end') this.advance();
  }

  /** Continues with the next item, and writes all of its events so far at once. */
  private advance(): void {
    for (const [index, events] of this.waiting) {
      this.waiting.delete(index);
      this.current = index;
      for (const event of events) this.write(event);
      if (events.at(-1)?.type !== 'item-end') return;
    }
    this.current = undefined;
  }

  private write(event: ItemEvent): void {
    switch (event.type) {
      case 'item-start':
        if (event.item.type === 'function_call')
          this.start({ type: 'tool_use', id: encodeCallId(event.item.call_id), name: event.item.name, input: {} });
        return;
      case 'part-delta':
        return this.text(event);
      case 'annotation':
        return this.cite(citation(event.annotation));
      case 'part-end':
        this.blank = '';
        return this.open === 'text' ? this.stop() : undefined;
      case 'arguments-delta':
        if (this.open === 'tool_use' && event.text !== '')
          this.delta({ type: 'input_json_delta', partial_json: event.text });
        return;
      case 'item-end':
        return this.finish(event.item);
      default:
    }
  }

  private text({ part, text }: Extract<TurnEvent, { type: 'part-delta' }>): void {
    if (text === '') return;
    if (part !== 'output_text' && part !== 'refusal') this.think(text);
    else if (this.open !== 'text' && text.trim() === '') this.blank += text;
    else this.show(text);
  }

  /** After the white space that has waited. */
  private show(text: string): void {
    const whole = this.blank + text;
    this.blank = '';
    if (this.open !== 'text') this.start({ type: 'text', text: '' });
    if (whole !== '') this.delta({ type: 'text_delta', text: whole });
  }

  /** A thought that is not shown has one empty delta, as at Anthropic. */
  private think(text: string): void {
    const isOmitted = !this.facts.showsThoughts;
    if (this.open !== 'thinking') this.start({ type: 'thinking', thinking: '', signature: '' });
    else if (isOmitted) return;
    this.delta({ type: 'thinking_delta', thinking: isOmitted ? '' : text });
  }

  private cite(cited: JsonObject | undefined): void {
    if (!cited) return;
    this.show('');
    this.delta({ type: 'citations_delta', citation: cited });
  }

  private finish(item: OutputItem): void {
    this.blank = '';
    if (item.type === 'reasoning') this.sign(item);
    if (this.open) this.stop();
    for (const block of serverBlocks(item, this.facts.stateOf)) this.whole(block);
  }

  private sign(item: ReasoningItem): void {
    const signature = this.facts.sealThought(item);
    if (signature === undefined) return;
    if (!this.facts.showsThoughts) this.think('');
    if (this.open === 'thinking') this.delta({ type: 'signature_delta', signature });
    else this.whole({ type: 'redacted_thinking', data: signature });
  }

  /** The input of a use comes as a delta, as everywhere. */
  private whole(block: Block): void {
    const isUse = block.type === 'server_tool_use' || block.type === 'mcp_tool_use';
    this.start(isUse ? { ...block, input: {} } : block);
    if (isUse) this.delta({ type: 'input_json_delta', partial_json: exactText(block.input) });
    this.stop();
  }

  private start(block: Block): void {
    if (this.open) this.stop();
    this.add({ type: 'content_block_start', index: this.block, content_block: block });
    this.open = block.type as 'text';
  }

  private delta(delta: JsonObject): void {
    this.add({ type: 'content_block_delta', index: this.block, delta });
  }

  private stop(): void {
    this.add({ type: 'content_block_stop', index: this.block });
    this.block += 1;
    this.open = undefined;
  }

  private end(end: TurnEnd): void {
    // The error has been sent.
    if (end.status === 'failed') return;
    const hidden = hiddenBlock(end, this.facts);
    if (hidden) this.whole(hidden);
    this.add({ type: 'message_delta', delta: messageEnd(end, this.facts), usage: messageUsage(end, this.facts) });
    this.add({ type: 'message_stop' });
  }

  private fail(error: Parameters<ErrorEvent>[0]): void {
    if (this.open) this.stop();
    this.add(this.errorEvent(error));
  }

  private add(event: MessageEvent): void {
    this.events.push(event);
  }
}
