/** Limits data that a model server makes us hold or note without any output, which no turn limit counts. */
import { ApiError } from '../../protocol/errors.ts';
import type { Note } from '../../protocol/note.ts';

/** Characters per answer: signatures, sealed thoughts, citations and search inputs need far fewer. */
const MAX_HELD = 16 * 1024 * 1024;
/** The extra count of each block, item or citation. */
const PIECE_COST = 256;
/** Maximum number of kinds, noted once each, and of characters shown of each. */
const MAX_KINDS = 100;
const MAX_KIND_LENGTH = 64;

/** Adds so many characters; throws `output_too_large` above the limit. */
export type Hold = (characters?: number) => void;

/** Counts the data held for the whole of one answer. */
export function holding(): Hold {
  let held = 0;
  return (characters = 0) => {
    held += characters + PIECE_COST;
    if (held > MAX_HELD)
      throw new ApiError('output_too_large', 'The model server sent too much data without any output.');
  };
}

/** Notes each omitted kind once; `message` receives its name. */
export function skippedOnce(note: (note: Note) => void, message: (kind: string) => string): (kind: unknown) => void {
  const noted = new Set<string>();
  return (kind) => {
    const shown = String(kind).slice(0, MAX_KIND_LENGTH);
    if (noted.has(shown) || noted.size === MAX_KINDS) return;
    noted.add(shown);
    note({ code: 'item_skipped', message: message(shown) });
  };
}
