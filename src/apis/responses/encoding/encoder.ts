/** Encodes the events of one response for one reader, in the reader's dialect, as SSE frames or as messages. */

import type { Dialect } from '../../../ports/dialect.ts';
import type { ErrorBody } from '../../../protocol/errors.ts';
import type { TurnEvent, WireEvent } from '../../../protocol/events.ts';
import { DONE_FRAME, HEARTBEAT_FRAME, numberedFrame, numberedJson } from '../../../streams/sse-frames.ts';
import { encodeBatch } from './fast-path.ts';
import type { Written } from './item-json.ts';
import { agentEvent, type EncodeOptions } from './wire-events.ts';

/** The stream's response, and the owner of the tools that the model calls in it. */
export interface EncoderOptions extends EncodeOptions {
  readonly dialect: Dialect;
  /** Whether the server runs the tool of this name. */
  readonly isServerTool: (name: string) => boolean;
}

/** Replaces a message if there is only a heartbeat. */
export const HEARTBEAT = Symbol('heartbeat');

/** An event with its number, as it is written for this reader. */
interface Numbered {
  readonly event: WireEvent;
  readonly sequence: number;
}

/** Records what its dialect needs from earlier events; takes every event of the response, from the first on. */
export class Encoder {
  private readonly options: EncoderOptions;
  private readonly written: Written = new Map();
  private readonly rewrite: ((event: WireEvent) => readonly WireEvent[]) | undefined;
  /** The number of the next event, if the dialect has more or fewer of them. */
  private sequence = 0;
  private fillsSilence = false;
  private hasEnded = false;

  constructor(options: EncoderOptions) {
    const { dialect, isServerTool } = options;
    this.options = options;
    this.rewrite = dialect.rewriter?.({ isServerTool });
  }

  /** The SSE frames of a batch as one string, for one write. */
  frames(events: readonly TurnEvent[]): string {
    return this.framesWith(events, this.written);
  }

  private framesWith(events: readonly TurnEvent[], written?: Written): string {
    const { dialect } = this.options;
    const [first] = events;
    // Of several agents, a batch is one's own, or that of the whole response.
    const isOfAgent = first !== undefined && 'agent' in first;
    if (!this.rewrite && !dialect.stream && !isOfAgent) return encodeBatch(events, this.options, written);
    return events.map((event) => this.frameOf(event)).join('');
  }

  /** Whether it must receive every event from the first on: its dialect renumbers them. */
  get readsAll(): boolean {
    return this.rewrite !== undefined;
  }

  /** The frames of one event that follow the number `after`. Of many readers of one response, none keeps what it was sent. */
  read(event: TurnEvent, after: number): string {
    this.hasEnded ||= event.type === 'turn-end';
    if (!this.rewrite) return this.framesWith([event]);
    const isSeen = this.sequence <= after;
    return isSeen && this.isSilent(event) ? '' : this.frameOf(event, after);
  }

  /** Ends the stream of a response whose own end was not read. */
  end(): string {
    return this.hasEnded ? '' : this.doneFrame;
  }

  /** The frames of an error that ends the stream, but not the response. */
  fail(sequence: number, error: ErrorBody): string {
    return this.frames([{ type: 'error', sequence, error }]) + this.end();
  }

  /** The same as messages of one event each. */
  messages(events: readonly TurnEvent[]): readonly (string | typeof HEARTBEAT)[] {
    return events.flatMap((event) => this.messagesOf(event));
  }

  private messagesOf(event: TurnEvent): readonly (string | typeof HEARTBEAT)[] {
    if (this.isSilent(event)) return [HEARTBEAT];
    return this.numbered(event).map((each) => numberedJson(each.event, each.sequence));
  }

  private frameOf(event: TurnEvent, after = -1): string {
    if (this.isSilent(event)) return HEARTBEAT_FRAME;
    const unseen = this.numbered(event).filter(({ sequence }) => sequence > after);
    const frames = unseen.map((each) => numberedFrame(each.event, each.sequence));
    return frames.join('') + (event.type === 'turn-end' ? this.doneFrame : '');
  }

  private get doneFrame(): string {
    return this.options.dialect.stream?.done === false ? '' : DONE_FRAME;
  }

  /** Whether the event is only a heartbeat for this reader. */
  private isSilent(event: TurnEvent): boolean {
    this.fillsSilence ||= event.type === 'heartbeat';
    if (event.type === 'heartbeat') return true;
    return event.type === 'keepalive' && this.fillsSilence && this.options.dialect.stream?.keepalive === false;
  }

  private numbered(event: TurnEvent): readonly Numbered[] {
    const plain = agentEvent(event, this.options);
    if (!plain || !('sequence' in event)) return [];
    if (!this.rewrite) return [{ event: plain, sequence: event.sequence }];
    return this.rewrite(plain).map((each) => ({ event: each, sequence: this.sequence++ }));
  }
}
