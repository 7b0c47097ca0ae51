/** What the OpenAPI document says of an API, and how its JSON Schemas are written. Nothing of it is made before somebody asks for the document. */
import type { JsonObject } from '../../protocol/record.ts';

/** What a client may send to an API's routes, and what it receives. */
export interface ApiDescription {
  /** The name under which the document lists its operations, such as `Files`. */
  readonly tag: string;
  /** What the API is, in one sentence. */
  readonly summary: string;
  /** The operations of its routes, each by its method and path, such as `GET /files/:id`. */
  readonly operations: Readonly<Record<string, Operation>>;
  /** The JSON Schemas that its operations refer to, by their names. */
  readonly schemas: Readonly<Record<string, JsonObject>>;
}

/** One operation; all shapes are JSON Schemas of draft 2020-12. */
export interface Operation {
  /** The name by which generated clients call it, such as `createResponse`. */
  readonly id: string;
  /** What it does, in a few words. */
  readonly summary: string;
  /** What else a client must know. */
  readonly description?: string;
  /** The parameters of the query, all of which may be omitted. */
  readonly query?: Readonly<Record<string, JsonObject>>;
  /** The body of the request. Default: none. */
  readonly body?: RequestShape;
  /** The body of the answer with status 200. */
  readonly answer: JsonObject;
  /** The media type of the answer. Default: JSON. */
  readonly answerType?: string;
  /** The data of one event, where the answer may be an event stream. */
  readonly event?: JsonObject;
  /** Whose error envelope the answer to a failure has; `either` depends on the client. Default: OpenAI's. */
  readonly errors?: 'openai' | 'anthropic' | 'either';
}

/** The body of a request. */
interface RequestShape {
  readonly schema: JsonObject;
  /** The media type. Default: JSON. */
  readonly type?: 'multipart/form-data';
  /** Whether it may be missing. Default: false. */
  readonly isOptional?: true;
}

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
