/** Tells the turns of a model server apart that gives several answers one id. */

import { fromStore, type ResponseStore, type StoredResponse } from '../../ports/store.ts';
import { isUniqueId } from '../../protocol/ids.ts';
import { startedResource } from '../../protocol/responses/resource.ts';
import { responseError } from '../../protocol/responses/response-error.ts';

/**
 * Stores the turn under its model server's id; returns whether that id leads to it. Where another turn has the id, what is
 * stored is a failed response without the words of either, which `findRepeatedId` finds. Throws `store_error`.
 */
export async function putForeignTurn(store: ResponseStore, turn: StoredResponse): Promise<boolean> {
  const earlier = isUniqueId(turn.id) ? undefined : await fromStore(() => store.get(turn));
  // A server that answers from a cache repeats a whole turn, in which only the ids of its items are new.
  const words = (earlier ? [turn, earlier] : []).map(({ previousId, input, output }) =>
    JSON.stringify([previousId, input, output], (name, value) => (name === 'id' ? undefined : value)),
  );
  if (words[0] === words[1] && earlier?.resource.repeated !== true) {
    await fromStore(() => store.put(turn));
    return true;
  }
  const { scope, id, createdAt, resource } = turn;
  const body = { model: String(resource.model) };
  const start = { id, createdAt: Math.floor(createdAt / 1000), body, tools: { tools: [], choice: 'auto' } };
  const error = responseError({ code: 'server_error', message: 'The model server has given several answers this id.' });
  const repeated = { ...startedResource(start), status: 'failed', error, repeated: true };
  await fromStore(() => store.put({ scope, id, createdAt, input: [], output: [], resource: repeated }));
  return false;
}

/** The id of a response of the chain, newest first, that may be that of another conversation; undefined if there is none. */
export function findRepeatedId(chain: readonly StoredResponse[]): string | undefined {
  const ids = new Set<string>();
  let continuedAt = Number.POSITIVE_INFINITY;
  for (const response of chain) {
    const { id, createdAt } = response;
    // What was continued is older. A newer one has taken the place of one that has expired.
    const isLater = createdAt > continuedAt && !isUniqueId(id);
    if (isLater || response.resource.repeated === true || ids.has(id)) return id;
    ids.add(id);
    continuedAt = createdAt;
  }
  return undefined;
}
