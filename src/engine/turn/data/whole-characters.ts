/** Keeps the halves of a character together that a model server has sent in two deltas. */
import type { TurnInput } from '../../../protocol/events.ts';
import type { Mapping } from '../../../streams/pull-stream.ts';

type Delta = Extract<TurnInput, { type: 'text-delta' | 'reasoning-delta' | 'refusal-delta' | 'tool-call-delta' }>;

/** Some servers escape each half, and databases and strict decoders refuse a text with one of them. */
export class WholeCharacters implements Mapping<readonly TurnInput[], readonly TurnInput[]> {
  /** The first half that waits for its other one, by the text that it belongs to. */
  private readonly halves = new Map<string, { readonly delta: Delta; readonly half: string }>();

  map(batch: readonly TurnInput[]): readonly TurnInput[] {
    if (this.halves.size === 0 && !batch.some(endsInHalf)) return batch;
    const whole: TurnInput[] = [];
    for (const input of batch) this.take(input, whole);
    return whole;
  }

  end(): readonly TurnInput[] | undefined {
    const rest: TurnInput[] = [];
    this.release(rest);
    return rest.length > 0 ? rest : undefined;
  }

  private take(input: TurnInput, whole: TurnInput[]): void {
    if (!isDelta(input)) {
      if (!FACTS.has(input.type)) this.release(whole);
      whole.push(input);
      return;
    }
    const key = input.type === 'tool-call-delta' ? String(input.call) : input.type;
    const waiting = this.halves.get(key);
    this.halves.delete(key);
    // What waits before other output comes before it.
    if (input.type !== 'tool-call-delta') this.release(whole);
    const joined = waiting ? withDeltaText(input, waiting.half + deltaText(input)) : input;
    if (!endsInHalf(joined)) return void whole.push(joined);
    const text = deltaText(joined);
    this.halves.set(key, { delta: withDeltaText(joined, ''), half: text.slice(-1) });
    // The beginning of a call holds its name.
    if (text.length > 1 || (joined.type === 'tool-call-delta' && joined.name !== undefined))
      whole.push(withDeltaText(joined, text.slice(0, -1)));
  }

  /** A half that stays alone is shown as what it is: no character. */
  private release(whole: TurnInput[]): void {
    for (const { delta } of this.halves.values()) whole.push(withDeltaText(withoutCallName(delta), '\ufffd'));
    this.halves.clear();
  }
}

const FACTS: ReadonlySet<string> = new Set(['usage', 'model-info', 'keepalive']);

function isDelta(input: TurnInput): input is Delta {
  const { type } = input;
  return type === 'text-delta' || type === 'tool-call-delta' || type === 'reasoning-delta' || type === 'refusal-delta';
}

function deltaText(delta: Delta): string {
  return delta.type === 'tool-call-delta' ? delta.arguments : delta.text;
}

function withDeltaText(delta: Delta, text: string): Delta {
  return delta.type === 'tool-call-delta' ? { ...delta, arguments: text } : { ...delta, text };
}

function withoutCallName(delta: Delta): Delta {
  if (delta.type !== 'tool-call-delta') return delta;
  const { name: _, id: __, ...rest } = delta;
  return rest;
}

function endsInHalf(input: TurnInput): boolean {
  if (!isDelta(input)) return false;
  const text = deltaText(input);
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
