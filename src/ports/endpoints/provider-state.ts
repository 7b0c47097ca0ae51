/** Opaque provider state, which a model server needs back: sealed on the way to the client, opened on return, and carried by the item. */
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { type Sealer, sealer } from '../sealer.ts';
import { stateOwnerOf, type Upstream } from '../upstream.ts';

/** The state of one tenant's conversations with one model server. */
export interface ProviderStates {
  /** As the `encrypted_content` of an item. */
  readonly seal: (state: unknown) => string;
  /**
   * The items with `providerState` replacing `encrypted_content`. State that cannot be opened is left out, and noted
   * once.
   */
  readonly opened: (items: readonly Item[]) => readonly Item[];
}

/** The sealer of all such states. */
export function stateSealer(secret: string | Uint8Array): Sealer {
  return sealer(secret, { name: 'provider state', prefix: 'pst1.' });
}

/** The sealed state is bound to the tenant, and to the server that wrote it: no other receives it. */
export function providerStates(
  states: Sealer,
  { scope, upstream, model }: { readonly scope: string; readonly upstream: Upstream; readonly model: string },
  note: (note: Note) => void,
): ProviderStates {
  const bound = [scope, stateOwnerOf(upstream, model)];

  function opened(items: readonly Item[]): readonly Item[] {
    if (!items.some(isSealed)) return items;
    let unreadable = 0;
    const found = items.map((item) => {
      if (!isSealed(item)) return item;
      // Created by the client itself: only state that was sealed here is the server's.
      const { encrypted_content: sealed, providerState: _, ...rest } = item;
      const state = states.open(sealed, bound);
      if (state === undefined && isGiven(sealed)) unreadable += 1;
      return state === undefined ? rest : { ...rest, providerState: state };
    });
    if (unreadable > 0) note(unreadableNote(unreadable));
    return found;
  }

  return { seal: (state) => states.seal(state, bound), opened };
}

function isSealed({ type, encrypted_content: sealed, providerState }: Item): boolean {
  return type !== 'compaction' && (isGiven(sealed) || providerState !== undefined);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function unreadableNote(count: number): Note {
  const what = count === 1 ? 'The state of one item' : `The state of ${count} items`;
  const why = 'another model server wrote it, it is of another tenant, or it was changed or sealed with another key';
  return { code: 'state_unreadable', message: `${what} cannot be given to the model server: ${why}.` };
}
