/** How the JSON Schemas of the OpenAPI document are written: the shapes that the descriptions of all APIs are made of, imported whole as `shape`. */
import type { JsonObject } from '../../protocol/record.ts';

/** A text. */
export const text: JsonObject = { type: 'string' };
/** A whole number. */
export const integer: JsonObject = { type: 'integer' };
/** A time, in seconds since the epoch. */
export const seconds: JsonObject = { type: 'integer', description: 'Unix seconds.' };
/** An object of which nothing more is promised. */
export const anyObject: JsonObject = { type: 'object' };
/** Short texts by their names. */
export const metadata: JsonObject = { type: 'object', additionalProperties: { type: 'string' } };

/** Bytes of any kind. */
export const bytes: JsonObject = { type: 'string', contentMediaType: 'application/octet-stream' };

/** A schema of the document by its name. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** The same, or null. */
export function orNull(schema: JsonObject): JsonObject {
  return { anyOf: [schema, { type: 'null' }] };
}

/** A list of such members. */
export function listOf(items: JsonObject): JsonObject {
  return { type: 'array', items };
}

/** One of these words. */
export function oneOf(...words: readonly string[]): JsonObject {
  return { type: 'string', enum: words };
}

/** An object with these fields and perhaps others. The fields of `optional` may be missing. */
export function objectWith(fields: Readonly<Record<string, JsonObject>>, optional: typeof fields = {}): JsonObject {
  return { type: 'object', properties: { ...fields, ...optional }, required: Object.keys(fields) };
}

/** An object whose `object` says what it is. */
export function resource(object: string, fields: Readonly<Record<string, JsonObject>>, optional = {}): JsonObject {
  return objectWith({ object: { const: object }, ...fields }, optional);
}

/** OpenAI's list of resources with an `id`. */
export function pageOf(data: JsonObject): JsonObject {
  const id = orNull(text);
  return resource('list', { data: listOf(data), first_id: id, last_id: id, has_more: { type: 'boolean' } });
}

/** What the endpoints answer that delete something. */
export function deletion(object: string): JsonObject {
  return resource(object, { id: text, deleted: { const: true } });
}

/** The query of OpenAI's paged lists. */
export const PAGE_QUERY: Readonly<Record<string, JsonObject>> = {
  limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many to list. Default: 20.' },
  order: { ...oneOf('asc', 'desc'), description: 'By the time of creation. Default: desc.' },
  after: { ...text, description: 'The id behind which the page begins.' },
  before: { ...text, description: 'The id at which the page ends.' },
};

/** The query that names further fields of items to be shown. */
export const INCLUDE_QUERY: Readonly<Record<string, JsonObject>> = {
  include: { ...listOf(text), description: 'Fields of items to show, as OpenAI names them.' },
};
