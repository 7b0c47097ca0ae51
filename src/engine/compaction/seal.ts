/** Seals the content of a compaction item, so that only this server can read it, and only for its tenant. */
import { sealer } from '../../ports/sealer.ts';
import type { Item } from '../../protocol/items.ts';

/** The content that replaces a conversation's past. */
export interface Compacted {
  /** The model's summary. */
  readonly summary: string;
  /** How many items directly before the compaction item are still part of the conversation. */
  readonly retained: number;
  /**
   * What could not be summarised since it is unfinished: calls without an output, with the rest of the model's output
   * around them.
   */
  readonly kept: readonly Item[];
}

/** Seals and opens. */
export interface Seal {
  close(compacted: Compacted, scope: string): string;
  /** Undefined for content that was changed, sealed for another scope or with another key, or never sealed. */
  open(sealed: unknown, scope: string): Compacted | undefined;
}

/** The beginning of everything that this server seals so. */
export const SEALED_COMPACTION = 'cmp1.';

/** A seal with a key derived from the given one, which may serve other purposes too. */
export function sealWith(secret: string | Uint8Array): Seal {
  const { seal, open } = sealer(secret, { name: 'compaction', prefix: SEALED_COMPACTION });
  return {
    close: (compacted, scope) => seal(compacted, [scope]),
    // The cast: sealed content was written by `close`.
    open: (sealed, scope) => open(sealed, [scope]) as Compacted | undefined,
  };
}
