/** What the OpenAPI document says of an API. Nothing of it is made before somebody asks for the document. */
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
  /**
   * Whose error envelope the answer to a failure has; `either` depends on the client, and `passed` is as the model server writes it. Default: OpenAI's.
   */
  readonly errors?: 'openai' | 'anthropic' | 'either' | 'json-rpc' | 'passed';
}

/** The body of a request. */
interface RequestShape {
  readonly schema: JsonObject;
  /** The media type. Default: JSON. */
  readonly type?: 'multipart/form-data';
  /** The JSON that may be sent in the place of a form. Default: none. */
  readonly json?: JsonObject;
  /** Whether it may be missing. Default: false. */
  readonly isOptional?: true;
}
