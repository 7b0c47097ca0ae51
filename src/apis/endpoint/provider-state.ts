/** Opaque provider state, which a model server needs back, and thoughts: sealed on the way to the client, opened on return, and carried by the item. */

import { type Sealer, sealer } from '../../ports/sealer.ts';
import { readStateOwner, type Upstream } from '../../ports/upstream.ts';
import { originOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isPresent, isRecord } from '../../protocol/record.ts';

/** The state of one tenant's conversations with one model server. */
export interface ProviderStates {
  /** As the `encrypted_content` of an item. */
  readonly seal: (state: unknown) => string;
  /**
   * The same of a thought with its state, for clients that keep the `encrypted_content` of a thought alone. The text is
   * bound to the tenant only: any model server may read it.
   */
  readonly sealThought: (thought: string, state?: unknown) => string;
  /**
   * The items with `providerState`, and the text of sealed thoughts, replacing `encrypted_content`. What cannot be
   * opened is left out, and noted once.
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
  const owner = readStateOwner(upstream, model);
  const bound = [scope, owner];
  const boundThought = [scope, 'thought', 'of any server'];

  /** The text and state of an item's thought; undefined if it carries none that was sealed here. */
  function openedThought({ type, encrypted_content: sealed }: Item): OpenedThought | undefined {
    const found = type === 'reasoning' ? states.open(sealed, boundThought) : undefined;
    // The cast: `sealThought` alone seals with this binding.
    return isRecord(found) ? (found as unknown as OpenedThought) : undefined;
  }

  function opened(items: readonly Item[]): readonly Item[] {
    if (!items.some((item) => isSealed(item) || item.providerState !== undefined)) return items;
    let unreadable = 0;
    const found = items.map((item) => {
      if (item.providerState === undefined && !isSealed(item)) return item;
      // A state that is not sealed is the client's own: only what was sealed here is the server's.
      const { encrypted_content: sealed, providerState: _, ...rest } = item;
      if (!isSealed(item)) return sealed === undefined ? rest : { ...rest, encrypted_content: sealed };
      const state = states.open(sealed, bound);
      if (state !== undefined) return { ...rest, providerState: state };
      const thought = openedThought(item);
      const isUnreadable = thought ? thought.state !== undefined && thought.owner !== owner : isPresent(sealed);
      if (isUnreadable) unreadable += 1;
      if (!thought) return rest;
      const withText = { ...rest, summary: [], content: [{ type: 'reasoning_text', text: thought.text }] };
      return thought.state === undefined || isUnreadable ? withText : { ...withText, providerState: thought.state };
    });
    if (unreadable > 0) {
      const what = unreadable === 1 ? 'The state of one item' : `The state of ${unreadable} items`;
      const why =
        'another model server wrote it, it is of another tenant, or it was changed or sealed with another key';
      note({ code: 'state_unreadable', message: `${what} cannot be given to the model server: ${why}.` });
    }
    return found;
  }

  return {
    seal: (state) => states.seal(state, bound),
    sealThought: (text, state) => {
      const thought: OpenedThought = state === undefined ? { text } : { text, owner, state };
      return states.seal(thought, boundThought);
    },
    opened,
  };
}

/** A thought as it is sealed, and the owner of its state, if it has one. */
interface OpenedThought {
  readonly text: string;
  readonly owner?: string;
  readonly state?: unknown;
}

function isSealed({ type, id, encrypted_content: sealed }: Item): boolean {
  if (type === 'compaction' || !isPresent(sealed)) return false;
  // An item of the model's own server is as that server sent it. Asked last: of most items nothing is sealed.
  return type === 'reasoning' || originOfItem(id) === undefined;
}
