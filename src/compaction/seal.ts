/** Seals what a compaction item stands for, so that only this server reads it, and only for whom it was made. */
import { sealer } from '../ports/sealer.ts';
import type { Item } from '../protocol/items.ts';

/** What stands in the place of a conversation's past. */
export interface Compacted {
  /** The model's own words. */
  readonly summary: string;
  /** How many items right in front of the compaction item are still part of the conversation. */
  readonly retained: number;
  /** What could not be summarised since it goes on: calls without an output, with what the model wrote along with them. */
  readonly kept: readonly Item[];
}

/** Seals and opens. */
export interface Seal {
  close(compacted: Compacted, scope: string): string;
  /** Undefined for what was changed, sealed for another scope or with another key, or never sealed. */
  open(sealed: unknown, scope: string): Compacted | undefined;
}

/** A seal with a key that is derived from the given one, which may serve other purposes too. */
export function sealWith(secret: string | Uint8Array): Seal {
  const { seal, open } = sealer(secret, { name: 'compaction', prefix: 'cmp1.' });
  return {
    close: (compacted, scope) => seal(compacted, [scope]),
    // The cast: what opens was written by `close`.
    open: (sealed, scope) => open(sealed, [scope]) as Compacted | undefined,
  };
}
