/** Separates reasoning from the answer where a model writes it into its text, between `<think>` and `</think>`. */
import type { ModelEvent } from '../events.ts';

const OPEN = '<think>';
const CLOSE = '</think>';
/** Maximum blank characters before a tag, and pieces of text. */
const MAX_BLANK = 1024;
/** Maximum characters of the log probabilities of those blanks. */
const MAX_LOGPROBS = 1024 * 1024;

/** Maximum characters of what may be a thought whose beginning is in the prompt. */
const MAX_PROMPTED = 1024 * 1024;

/**
 * Takes text piece by piece; a possible beginning of a tag is held back until the next piece.
 * Only a tag at the very start of the text counts: in later ones the model writes about tags. With `isPrompted` the
 * template of the model may have written `<think>` into the prompt: the text is held back until `</think>` shows that it
 * was a thought, or until it cannot be one.
 */
export class ThinkTags {
  private mode: 'start' | 'prompted' | 'thinking' | 'answer' = 'start';
  private readonly isPrompted: boolean;
  /** The place in the held text up to which there is no closing tag. */
  private searched = 0;
  private held = '';
  private heldLogprobs = '';
  private heldPieces = 0;

  constructor(isPrompted = false) {
    this.isPrompted = isPrompted;
  }

  /** Whether text now passes through unchanged, so that the caller may skip this step. */
  done(): boolean {
    return this.mode === 'answer';
  }

  /** `logprobs` is the JSON of each, separated by commas. */
  take(text: string, logprobs: string, events: ModelEvent[]): void {
    if (this.mode !== 'thinking' && logprobs !== '')
      this.heldLogprobs = this.heldLogprobs === '' ? logprobs : `${this.heldLogprobs},${logprobs}`;
    if (this.mode === 'answer') return this.answer(text, events);
    this.held += text;
    this.heldPieces += 1;
    if (this.mode === 'start') this.start(events);
    else if (this.mode === 'prompted') this.prompted(events);
    else this.think(events);
  }

  /** Emits the text that was held back. */
  end(events: ModelEvent[]): void {
    if (this.mode === 'thinking') pushReasoning(this.held, events);
    else if (this.held !== '') this.answer(this.held, events);
    this.held = '';
  }

  private start(events: ModelEvent[]): void {
    const text = this.held.trimStart();
    const waiting = this.held.length + this.heldPieces;
    const hasRoom = waiting < MAX_BLANK && this.heldLogprobs.length < MAX_LOGPROBS;
    if (text !== OPEN && OPEN.startsWith(text) && hasRoom) return;
    if (!text.startsWith(OPEN)) {
      if (!this.isPrompted) return this.answer(this.held, events);
      this.mode = 'prompted';
      return this.prompted(events);
    }
    this.mode = 'thinking';
    this.heldLogprobs = '';
    this.held = text.slice(OPEN.length);
    this.think(events);
  }

  /** The server itself separates reasoning: text that is held back is no thought. */
  separated(events: ModelEvent[]): void {
    if (this.mode === 'prompted' || (this.mode === 'start' && this.isPrompted)) this.answer(this.held, events);
  }

  private prompted(events: ModelEvent[]): void {
    const close = this.held.indexOf(CLOSE, this.searched);
    if (close < 0) {
      this.searched = Math.max(this.held.length - CLOSE.length, 0);
      if (this.held.length > MAX_PROMPTED) this.answer(this.held, events);
      return;
    }
    this.heldLogprobs = '';
    pushReasoning(this.held.slice(0, close), events);
    this.answer(this.held.slice(close + CLOSE.length), events);
  }

  private think(events: ModelEvent[]): void {
    const { held } = this;
    const close = held.indexOf(CLOSE);
    if (close >= 0) {
      pushReasoning(held.slice(0, close), events);
      return this.answer(held.slice(close + CLOSE.length), events);
    }
    const safe = held.length - partialClose(held);
    pushReasoning(held.slice(0, safe), events);
    this.held = held.slice(safe);
  }

  private answer(text: string, events: ModelEvent[]): void {
    this.mode = 'answer';
    this.held = '';
    if (text !== '' || this.heldLogprobs !== '') events.push(textDeltaEvent(text, this.heldLogprobs));
    this.heldLogprobs = '';
  }
}

/** A piece of the answer. */
export function textDeltaEvent(text: string, logprobs: string): ModelEvent {
  return logprobs === '' ? { type: 'text-delta', text } : { type: 'text-delta', text, logprobs };
}

function pushReasoning(text: string, events: ModelEvent[]): void {
  if (text !== '') events.push({ type: 'reasoning-delta', text });
}

/** How many characters at the end may be the beginning of the closing tag. */
function partialClose(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1) {
    if (CLOSE.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
