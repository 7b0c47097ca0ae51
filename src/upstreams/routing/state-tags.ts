/** Keeps provider state with the server that wrote it, where several servers take turns. */
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord } from '../../protocol/record.ts';

/** The owner of all state that a routing upstream hands on: each state has its server's owner within it. */
export const ROUTED_STATE = 'express-open-responses/routing';

/** The state with its owner; the other names are taken by the states of the servers. */
interface OwnedState {
  readonly routedOwner: string;
  readonly state: unknown;
}

type Batch = readonly ModelEvent[];

/** The events with their state tagged. */
export function withOwner(batch: Batch, owner: string): Batch {
  if (!batch.some(hasProviderState)) return batch;
  return batch.map((event) => {
    if (!hasProviderState(event)) return event;
    const state: OwnedState = { routedOwner: owner, state: event.state };
    return { ...event, state };
  });
}

function hasProviderState(event: ModelEvent): event is Extract<ModelEvent, { type: 'reasoning-end' | 'search-end' }> {
  return (event.type === 'reasoning-end' || event.type === 'search-end') && event.state !== undefined;
}

/** Who is asked, and whose a state without a tag is, such as that of a page that a client sends back; undefined for nobody's. */
interface StateOwners {
  readonly owner: string;
  readonly untagged: () => string | undefined;
}

/** The request with the state of this owner as it wrote it, and without that of the others, which is noted. */
export function forOwner(
  request: ModelRequest,
  { owner: asked, untagged }: StateOwners,
  note: (note: Note) => void,
): ModelRequest {
  if (!request.items.some(({ providerState }) => providerState !== undefined)) return request;
  let dropped = 0;
  const items = request.items.map((item) => {
    if (item.providerState === undefined) return item;
    const { providerState: owned, ...rest } = item;
    const isTagged = isRecord(owned) && typeof owned.routedOwner === 'string';
    const owner = isTagged ? owned.routedOwner : untagged();
    if (owner === asked) return { ...rest, providerState: isTagged ? owned.state : owned };
    dropped += 1;
    return rest;
  });
  const what = dropped === 1 ? 'The state of one item' : `The state of ${dropped} items`;
  const message = `${what} is left out: another model server wrote it than the one that answers now.`;
  if (dropped > 0) note({ code: 'server_replaced', message });
  return { ...request, items };
}
