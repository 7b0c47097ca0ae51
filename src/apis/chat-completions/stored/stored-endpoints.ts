/** The endpoints of stored chat completions: listed, retrieved, given other metadata, deleted, and their messages. */

import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { listResource, pageQuery, selectPage } from '../../../engine/request/item-pages.ts';
import type { Limits } from '../../../ports/limits.ts';
import type { ItemPage, ResponseStore } from '../../../ports/store.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { quoteId } from '../../../protocol/ids.ts';
import { contentText } from '../../../protocol/item-text.ts';
import type { Item } from '../../../protocol/items.ts';
import { bodyFields } from '../../../protocol/json/json-shape.ts';
import { lazily } from '../../../protocol/json/lazy-schema.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { type JsonReply, jsonReply } from '../../../protocol/reply.ts';
import { invalid } from '../../../protocol/responses/invalid.ts';
import { metadataSchema } from '../../../protocol/responses/schema.ts';
import { type EndpointSettings, endpointFor, type Handler } from '../../endpoint/endpoint.ts';
import type { Route } from '../../endpoint/routes.ts';
import { StoredCompletions } from './stored-completions.ts';

/** The host's options that stored chat completions need. */
interface StoredSettings extends EndpointSettings {
  readonly store: ResponseStore;
  readonly limits: Limits;
}

/** The body of a change. */
export const updateSchema = lazily((z) => z.object({ metadata: metadataSchema().nullable() }));

/** The routes over these settings. */
export function storedRoutes(settings: StoredSettings): readonly Route[] {
  const on = (handler: (stored: StoredCompletions, request: EndpointRequest, id: string) => Promise<JsonReply>) => {
    const handle: Handler = (request) =>
      handler(new StoredCompletions(settings.store, request.scope), request, String(request.params.id));
    return endpointFor(handle, settings);
  };
  return [
    { method: 'GET', path: '/chat/completions', endpoint: on(list) },
    {
      method: 'GET',
      path: '/chat/completions/:id',
      endpoint: on(async (stored, _, id) => jsonReply((await stored.get(id)).completion)),
    },
    {
      method: 'POST',
      path: '/chat/completions/:id',
      endpoint: on(async (stored, { body }, id) => jsonReply(await stored.update(id, metadataOf(body, settings)))),
    },
    {
      method: 'DELETE',
      path: '/chat/completions/:id',
      endpoint: on(async (stored, _, id) => {
        await stored.delete(id);
        return jsonReply({ object: 'chat.completion.deleted', id, deleted: true });
      }),
    },
    { method: 'GET', path: '/chat/completions/:id/messages', endpoint: on(messages) },
  ];
}

function metadataOf(given: unknown, { limits }: StoredSettings): Readonly<Record<string, string>> {
  const body = bodyFields(given, limits);
  if (body.metadata === undefined)
    throw new ApiError('missing_required_parameter', "Missing required parameter: 'metadata'.", { param: 'metadata' });
  const result = updateSchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  return result.data.metadata ?? {};
}

async function list(stored: StoredCompletions, { query }: EndpointRequest): Promise<JsonReply> {
  const wanted = Object.entries(metadataQuery(query));
  const fitting = (await stored.all()).filter(
    ({ model, metadata }) =>
      (query.model === undefined || query.model === model) &&
      wanted.every(([name, value]) => Object.hasOwn(metadata, name) && metadata[name] === value),
  );
  const items = fitting.map(({ id }) => ({ type: 'stored', id }));
  const { items: some, hasMore } = pageIn(items, query);
  const found = await stored.still(some.map(({ id }) => String(id)));
  return jsonReply(
    listResource(
      found.map(({ completion }) => completion),
      hasMore,
    ),
  );
}

/** The names and values that the query filters by: some frameworks make an object of `metadata[name]=value`, others do not. */
function metadataQuery(query: JsonObject): Readonly<Record<string, unknown>> {
  if (isRecord(query.metadata)) return query.metadata;
  const named = Object.entries(query).flatMap(([name, value]) => {
    const inner = /^metadata\[([^\]]{1,64})\]$/.exec(name)?.[1];
    return inner === undefined ? [] : [[inner, value] as const];
  });
  return Object.fromEntries(named);
}

async function messages(stored: StoredCompletions, { query }: EndpointRequest, id: string): Promise<JsonReply> {
  const { messages: sent } = await stored.get(id);
  const items = sent.map((message, index) => storedMessage(message, `${id}-${index}`));
  const { items: some, hasMore } = pageIn(items, query);
  return jsonReply(
    listResource(
      some.map(({ type: _, ...message }) => message),
      hasMore,
    ),
  );
}

/** OpenAI's form: `content` is always text, and `content_parts` what the client sent as parts. */
function storedMessage(message: JsonObject, id: string): JsonObject & { readonly type: string; readonly id: string } {
  const { content } = message;
  const parts = Array.isArray(content) ? content.filter(isRecord) : undefined;
  const text = parts ? contentText(parts) : (content ?? null);
  return { ...message, type: 'stored', id, content: text, content_parts: parts ?? null };
}

/** The page that the query asks for, oldest first by default. Throws `not_found` for one behind what is not there. */
function pageIn(items: readonly Item[], query: JsonObject): ItemPage {
  const page = selectPage(items, pageQuery({ order: 'asc', ...query }));
  const { unknown } = page;
  if (!unknown) return page;
  throw new ApiError('not_found', `Nothing is stored with id ${quoteId(query[unknown])}.`, { param: unknown });
}
