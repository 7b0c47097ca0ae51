/** Tells reasoning from answer where a model writes it into its text, between `<think>` and `</think>`. */
import type { LogProb } from '../items.ts';
import type { ModelEvent } from '../turn/events.ts';

const OPEN = '<think>';
const CLOSE = '</think>';
/** Characters of blanks before which a tag may stand. */
const LONGEST_BLANK = 1024;

/** Takes text piece by piece; what could still be a tag is held back until the next piece. */
export interface ThinkTags {
  /** Whether text now passes through untouched, so that the caller may skip this step. */
  done(): boolean;
  take(text: string, logprobs: readonly LogProb[], events: ModelEvent[]): void;
  /** Gives out what was held back. */
  end(events: ModelEvent[]): void;
}

/** Only a tag at the very start of the text counts: later ones are the model speaking of tags. */
export function thinkTags(): ThinkTags {
  let mode: 'start' | 'thinking' | 'answer' = 'start';
  let held = '';
  let heldLogprobs: readonly LogProb[] = [];

  function start(events: ModelEvent[]): void {
    const text = held.trimStart();
    const waiting = held.length + heldLogprobs.length;
    if (text !== OPEN && OPEN.startsWith(text) && waiting < LONGEST_BLANK) return;
    if (!text.startsWith(OPEN)) return answer(held, events);
    mode = 'thinking';
    heldLogprobs = [];
    held = text.slice(OPEN.length);
    think(events);
  }

  function think(events: ModelEvent[]): void {
    const close = held.indexOf(CLOSE);
    if (close >= 0) {
      reason(held.slice(0, close), events);
      return answer(held.slice(close + CLOSE.length), events);
    }
    const safe = held.length - partialClose(held);
    reason(held.slice(0, safe), events);
    held = held.slice(safe);
  }

  function answer(text: string, events: ModelEvent[]): void {
    mode = 'answer';
    held = '';
    if (text !== '' || heldLogprobs.length > 0) events.push(textDelta(text, heldLogprobs));
    heldLogprobs = [];
  }

  return {
    done: () => mode === 'answer',
    take(text, logprobs, events) {
      if (mode !== 'thinking') heldLogprobs = [...heldLogprobs, ...logprobs];
      if (mode === 'answer') return answer(text, events);
      held += text;
      if (mode === 'start') start(events);
      else think(events);
    },
    end(events) {
      if (mode === 'thinking') reason(held, events);
      else if (held !== '') answer(held, events);
      held = '';
    },
  };
}

/** A piece of the answer. */
export function textDelta(text: string, logprobs: readonly LogProb[]): ModelEvent {
  return logprobs.length === 0 ? { type: 'text-delta', text } : { type: 'text-delta', text, logprobs };
}

function reason(text: string, events: ModelEvent[]): void {
  if (text !== '') events.push({ type: 'reasoning-delta', text });
}

/** How many characters at the end may be the beginning of the closing tag. */
function partialClose(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1) {
    if (CLOSE.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
