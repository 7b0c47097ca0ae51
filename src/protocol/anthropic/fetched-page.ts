/** A page that Anthropic's own server has fetched, as the provider state of its item holds it. */
import { isRecord, type JsonObject } from '../record.ts';

/** The name of the tool. */
export const WEB_FETCH = 'web_fetch';

/** The blocks of the call and of its result, as that server wrote them. */
type FetchedPage = readonly [use: JsonObject, result: JsonObject];

/** The blocks in a state; undefined for the state of anything else. */
export function fetchedPage(state: unknown): FetchedPage | undefined {
  const [use, result] = Array.isArray(state) ? state : [];
  if (!isRecord(use) || !isRecord(result)) return undefined;
  const isFetch = use.type === 'server_tool_use' && use.name === WEB_FETCH;
  return isFetch && result.type === `${WEB_FETCH}_tool_result` ? [use, result] : undefined;
}

/** The state with its page replaced, also where it carries the server that wrote it; any other state as it is. */
export async function mapFetchedPage(
  state: unknown,
  map: (page: FetchedPage) => Promise<FetchedPage>,
): Promise<unknown> {
  if (isRecord(state) && 'routedOwner' in state) return { ...state, state: await mapFetchedPage(state.state, map) };
  const page = fetchedPage(state);
  return page ? map(page) : state;
}
