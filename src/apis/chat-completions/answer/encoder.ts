/** Writes the events of a turn as the frames of a chat completion: the model server's own chunks wherever that is possible. */

import { turnApiError } from '../../../engine/turn/observe.ts';
import type { RawChunk, TurnEvent } from '../../../protocol/events.ts';
import type { OutputItem } from '../../../protocol/items.ts';
import { objectIn } from '../../../protocol/json/json-text.ts';
import { callEntries } from './chunk.ts';
import {
  addImage,
  type ClientCall,
  type Completion,
  callFrame,
  dataFrame,
  deltaFrame,
  numberCall,
  passedFrame,
} from './completion.ts';

/** The field of a delta that holds the text of a part. */
const PART_FIELDS = {
  output_text: 'content',
  refusal: 'refusal',
  reasoning_text: 'reasoning_content',
  summary_text: 'reasoning_content',
} as const;

/** Items that a client of this API receives; all others show what the server ran. */
export const CLIENT_ITEMS: ReadonlySet<OutputItem['type']> = new Set([
  'message',
  'reasoning',
  'function_call',
] as const);

/** A part of a chunk that has not gone out. */
interface PendingPart {
  readonly raw: RawChunk;
  /** The call that it begins. */
  readonly call: ClientCall | undefined;
  /** What it holds. */
  readonly events: readonly TurnEvent[];
}

/**
 * The frames of one turn. Until the model makes a call that is not the client's, its chunks go out as they came; from there to
 * the end of the answer the client receives chunks of our own, made of the events.
 */
export class ChatEncoder {
  /** The failure that ended the turn. */
  failure: unknown = undefined;
  private readonly completion: Completion;
  /** The client's calls, by their position in the output. */
  private readonly calls = new Map<number, ClientCall>();
  /** The call that has begun last, until its first chunk has been passed on. */
  private newCall: ClientCall | undefined = undefined;
  /** What the chunks that went out do not hold yet. */
  private unsent: TurnEvent[] = [];
  /** The parts of one chunk that have come one right after another. */
  private parts: PendingPart[] = [];

  constructor(completion: Completion) {
    this.completion = completion;
  }

  /** The frames of a batch as one string, for one write. */
  frames(events: readonly TurnEvent[]): string {
    let frames = '';
    for (const event of events) frames += this.take(event);
    return this.parts.length > 0 ? frames + this.partFrames() : frames;
  }

  private take(event: TurnEvent): string {
    switch (event.type) {
      case 'raw':
        return this.passChunk(event);
      case 'part-delta':
      case 'arguments-delta':
        if (this.completion.isRewritten) return this.ownFrame(event);
        this.unsent.push(event);
        return '';
      case 'item-start':
        return this.beginItem(event.index, event.item);
      case 'call-dropped':
        return event.why === 'cut_off' ? '' : this.rewrite();
      case 'item-end':
        return addImage(this.completion, event.item);
      case 'error':
        this.failure = turnApiError(event.error);
        return '';
      default:
        return '';
    }
  }

  private passChunk(raw: RawChunk): string {
    if (this.completion.isRewritten) return '';
    const call = raw.call === undefined ? undefined : this.newCall;
    if (call) this.newCall = undefined;
    const { parts } = this;
    if (raw.parts === 1) {
      const before = parts.length > 0 ? this.partFrames() : '';
      // Emptied, not replaced: each delta would make a list of its own, the largest object that is made for it.
      while (this.unsent.length > 0) this.unsent.pop();
      if (call) this.numberCall(call, raw);
      return before + (raw.chunk ? passedFrame(this.completion, raw.data, raw.chunk) : dataFrame(raw.data));
    }
    const isNext = raw.part === parts.length && (raw.part === 0 || parts[0]?.raw.data === raw.data);
    const before = isNext ? '' : this.partFrames();
    this.parts.push({ raw, call, events: this.unsent });
    this.unsent = [];
    return before + (this.parts.length === raw.parts ? this.partFrames() : '');
  }

  /** The chunk itself if all of its parts are here, else each part as a chunk. */
  private partFrames(): string {
    const { completion, parts } = this;
    const [first] = parts;
    this.parts = [];
    if (!first) return '';
    for (const { raw, call } of parts) if (call) this.numberCall(call, raw);
    const { data } = first.raw;
    if (parts.length === first.raw.parts) return passedFrame(completion, data, objectIn(data) ?? {});
    return parts.map(({ raw: { chunk = {} } }) => passedFrame(completion, JSON.stringify(chunk), chunk)).join('');
  }

  /** The client keeps the model server's own number for the call as long as its chunks are passed on. */
  private numberCall(call: ClientCall, { chunk }: RawChunk): void {
    const [entry] = chunk ? callEntries(chunk) : [];
    numberCall(this.completion, call, entry?.index);
  }

  private beginItem(index: number, item: OutputItem): string {
    if (!CLIENT_ITEMS.has(item.type)) return this.rewrite();
    if (item.type !== 'function_call') return '';
    this.newCall = { id: item.call_id, name: item.name };
    this.calls.set(index, this.newCall);
    return '';
  }

  /** From here on the answer's chunks are our own; returns those of what has not been sent. */
  private rewrite(): string {
    const { completion, parts, unsent } = this;
    if (completion.isRewritten) return '';
    // A part without events holds more of a call that waited, whose events came with its first part.
    const isMade = parts.every(({ events }) => events.length > 0);
    const before = isMade ? '' : this.partFrames();
    const made = isMade ? parts.flatMap(({ events }) => events) : [];
    completion.isRewritten = true;
    this.parts = [];
    this.unsent = [];
    this.newCall = undefined;
    return before + [...made, ...unsent].map((event) => this.ownFrame(event)).join('');
  }

  private ownFrame(event: TurnEvent): string {
    if (event.type === 'part-delta')
      return event.text === '' ? '' : deltaFrame(this.completion, { [PART_FIELDS[event.part]]: event.text });
    const call = event.type === 'arguments-delta' ? this.calls.get(event.index) : undefined;
    // A message holds one call in the legacy form: the first, as in JSON.
    if (this.completion.isLegacy && call !== this.calls.values().next().value) return '';
    return call && event.type === 'arguments-delta' ? callFrame(this.completion, call, event.text) : '';
  }
}
