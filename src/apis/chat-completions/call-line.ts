/** Hands on one call after another, although the model server interleaves them: what comes behind an open call waits. */
import { type GrownText, grow, wholeText } from '../../protocol/grown-text.ts';
import { type ObjectEnd, objectEnd } from '../../protocol/json/object-end.ts';

/** More of a call. */
interface LinePiece {
  /** The decoder's number for the call. */
  readonly call: number;
  /** Its arguments, or a part of them. */
  readonly text: string;
  /** Whether the arguments are a text of any form, whose end nothing shows but the next call. */
  readonly isFree?: boolean;
}

/** What waits: a call, or output of another kind where the call is undefined. */
interface Entry {
  readonly call: number | undefined;
  readonly isFree: boolean;
  readonly text: GrownText;
  frames: string;
}

/** The line of one model call. Its methods return the frames that may be sent now. */
export class CallLine {
  /** Characters of the frames that wait. */
  waitingSize = 0;
  private open: number | undefined = undefined;
  private isFree = false;
  /** The arguments of the open call that have not been searched for their end. */
  private unread: GrownText = { text: '', tail: '' };
  private end: ObjectEnd = objectEnd();
  private readonly closed = new Set<number>();
  private waiting: Entry[] = [];
  /** The position of the first that waits. */
  private first = 0;
  private readonly places = new Map<number, Entry>();

  private isEmpty(): boolean {
    return this.first === this.waiting.length;
  }

  /** Whether nothing waits, and nothing would have to. */
  isIdle(): boolean {
    return this.open === undefined && this.isEmpty();
  }

  /** Takes the frame of a piece. Pieces of a call that has ended are late, and go out at once. */
  take(piece: LinePiece, frame: string): string {
    if (piece.call === this.open) return this.goOn(piece, frame);
    if (this.closed.has(piece.call)) return frame;
    const released = this.settle();
    if (piece.call === this.open) return released + this.goOn(piece, frame);
    if (this.closed.has(piece.call)) return released + frame;
    if (this.open === undefined) {
      this.begin(piece.call, piece.isFree === true, { text: '', tail: piece.text });
      return released + frame;
    }
    this.wait(piece, frame);
    return released;
  }

  /** Takes the frame of output that is no call. */
  takeOther(frame: string): string {
    const released = this.settle();
    if (this.isEmpty()) return released + frame;
    this.add(undefined, false, frame);
    return released;
  }

  /** Ends the line: everything that waits. */
  flush(): string {
    let frames = '';
    for (; !this.isEmpty(); this.first += 1) frames += this.waiting[this.first]?.frames ?? '';
    this.clear();
    return frames;
  }

  private goOn({ text }: LinePiece, frame: string): string {
    grow(this.unread, text);
    return frame;
  }

  private begin(call: number, isFree: boolean, text: GrownText): void {
    this.open = call;
    this.isFree = isFree;
    this.unread = text;
    this.end = objectEnd();
  }

  /** Ends the open call if it is whole, and releases what waited for that, up to the next call that is not. */
  private settle(): string {
    let frames = '';
    while (this.open !== undefined && this.isOver()) {
      this.closed.add(this.open);
      this.open = undefined;
      for (; this.open === undefined && !this.isEmpty(); this.first += 1) {
        const entry = this.waiting[this.first];
        if (!entry) continue;
        frames += entry.frames;
        this.waitingSize -= entry.frames.length;
        entry.frames = '';
        if (entry.call !== undefined) this.begin(entry.call, entry.isFree, entry.text);
      }
      if (this.isEmpty()) this.clear();
    }
    return frames;
  }

  private isOver(): boolean {
    if (this.isFree) return true;
    this.end.take(wholeText(this.unread));
    this.unread = { text: '', tail: '' };
    return this.end.isReached();
  }

  private wait({ call, text, isFree = false }: LinePiece, frame: string): void {
    const entry = this.places.get(call) ?? this.add(call, isFree, '');
    grow(entry.text, text);
    entry.frames += frame;
    this.waitingSize += frame.length;
  }

  private add(call: number | undefined, isFree: boolean, frames: string): Entry {
    const entry = { call, isFree, text: { text: '', tail: '' }, frames };
    this.waiting.push(entry);
    if (call !== undefined) this.places.set(call, entry);
    this.waitingSize += frames.length;
    return entry;
  }

  private clear(): void {
    this.waiting = [];
    this.first = 0;
    this.places.clear();
    this.waitingSize = 0;
  }
}
