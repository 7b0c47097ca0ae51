/** Bounds what a model server has us hold or note while it says nothing, which no limit of a turn counts. */
import { ApiError } from '../../protocol/errors.ts';
import type { Note } from '../../protocol/note.ts';

/** Characters of one answer: signatures, sealed thoughts, citations and inputs of searches take far less. */
const MOST_HELD = 16 * 1024 * 1024;
/** What each block, item or citation counts besides. */
const HELD_PIECE = 256;
/** Kinds that are noted, each once, and the characters that are shown of each. */
const MOST_KINDS = 100;
const SHOWN_KIND = 64;

/** Counts another piece of so many characters; throws `output_too_large` where it is one too many. */
export type Hold = (characters?: number) => void;

/** What is held of one answer, over all of it. */
export function holding(): Hold {
  let held = 0;
  return (characters = 0) => {
    held += characters + HELD_PIECE;
    if (held > MOST_HELD) throw new ApiError('output_too_large', 'The model server sent much and said nothing.');
  };
}

/** Tells of each kind that is left out once; `message` is made of its name. */
export function skippedOnce(note: (note: Note) => void, message: (kind: string) => string): (kind: unknown) => void {
  const noted = new Set<string>();
  return (kind) => {
    const shown = String(kind).slice(0, SHOWN_KIND);
    if (noted.has(shown) || noted.size === MOST_KINDS) return;
    noted.add(shown);
    note({ code: 'item_skipped', message: message(shown) });
  };
}
