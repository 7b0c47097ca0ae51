/** The OpenAPI document of the routes that are served together. */
import type { ApiDescription, Operation } from '../../apis/endpoint/operation.ts';
import { objectWith, orNull, text } from '../../apis/endpoint/shape.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { VERSION } from '../../protocol/version.ts';
import type { DescribedApi } from './described-routers.ts';

/** The routes of an API, and what it says of them. */
export interface DescribedRoutes {
  readonly routes: DescribedApi['routes'];
  readonly descriptions: readonly ApiDescription[];
}

/** The document, in OpenAPI 3.1: each route once, whichever of the APIs has it. A route that no API describes is told by its path alone. */
export function openApiDocument(apis: readonly DescribedRoutes[]): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  const schemas: Record<string, JsonObject> = {};
  const tags = new Map<string, JsonObject>();
  for (const { routes, descriptions } of apis) {
    for (const description of descriptions) {
      Object.assign(schemas, description.schemas);
      tags.set(description.tag, { name: description.tag, description: description.summary });
    }
    for (const route of routes) {
      const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
      const method = route.method.toLowerCase();
      paths[path] = { [method]: operationObject(route, descriptions), ...paths[path] };
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'express-open-responses',
      version: VERSION,
      description:
        'The APIs that are mounted here, for clients of the default dialect. Who may call them is decided by the app that they are mounted in.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to where the document is served.
    servers: [{ url: '.' }],
    security: [{}, { bearer: [] }, { key: [] }],
    tags: [...tags.values()],
    paths,
    components: {
      schemas: { ...schemas, ...ERRORS },
      responses: {
        Error: errorResponse('#/components/schemas/Error'),
        AnthropicError: errorResponse('#/components/schemas/AnthropicError'),
        AnyError: errorResponse('#/components/schemas/Error', '#/components/schemas/AnthropicError'),
        RpcError: errorResponse('#/components/schemas/RpcError'),
        PassedError: { description: "The model server's error, or this server's.", content: { '*/*': { schema: {} } } },
      },
      headers: { RequestId: { description: 'The id of the request.', schema: text } },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  };
}

const ERRORS: Readonly<Record<string, JsonObject>> = {
  Error: objectWith({ error: objectWith({ message: text, type: text, param: orNull(text), code: orNull(text) }) }),
  AnthropicError: objectWith({
    ...{ type: { const: 'error' }, error: objectWith({ type: text, message: text }), request_id: text },
  }),
  RpcError: objectWith({
    ...{ jsonrpc: { const: '2.0' }, id: { type: ['string', 'integer', 'null'] } },
    error: objectWith({ code: { type: 'integer' }, message: text }, { data: {} }),
  }),
};

const HEADERS = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };

function errorResponse(...refs: readonly string[]): JsonObject {
  const [first = '', ...others] = refs;
  const schema = others.length === 0 ? { $ref: first } : { anyOf: refs.map(($ref) => ({ $ref })) };
  return { description: 'The error.', headers: HEADERS, content: { 'application/json': { schema } } };
}

type DescribedRoute = DescribedApi['routes'][number];

const ERROR_RESPONSES = {
  openai: 'Error',
  anthropic: 'AnthropicError',
  either: 'AnyError',
  'json-rpc': 'RpcError',
  passed: 'PassedError',
} as const;

function operationObject(route: DescribedRoute, descriptions: readonly ApiDescription[]): JsonObject {
  const name = `${route.method} ${route.path}`;
  const described = descriptions.find(({ operations }) => Object.hasOwn(operations, name));
  const operation = described?.operations[name] ?? undescribed(route);
  const { id, summary, description, query = {}, body, answer, answerType = 'application/json', event } = operation;
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, parameter]) => ({
    ...{ name: parameter, in: 'path', required: true, schema: text },
  }));
  const inQuery = Object.entries(query).map(([parameter, { description: meaning, ...schema }]) => ({
    ...{ name: parameter, in: 'query', ...(meaning === undefined ? {} : { description: meaning }), schema },
    ...(schema.type === 'array' ? { explode: true } : {}),
    ...(schema.type === 'object' ? { style: 'deepObject' } : {}),
  }));
  const failure = { $ref: `#/components/responses/${ERROR_RESPONSES[operation.errors ?? 'openai']}` };
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(described ? { tags: [described.tag] } : {}),
    ...(inPath.length + inQuery.length > 0 ? { parameters: [...inPath, ...inQuery] } : {}),
    ...(body
      ? {
          requestBody: {
            required: body.isOptional !== true,
            content: {
              [body.type ?? 'application/json']: { schema: body.schema },
              ...(body.json ? { 'application/json': { schema: body.json } } : {}),
            },
          },
        }
      : {}),
    responses: {
      200: {
        description: 'The answer.',
        headers: HEADERS,
        content: {
          [answerType]: { schema: answer },
          ...(event ? { 'text/event-stream': { schema: event } } : {}),
        },
      },
      '4XX': failure,
      '5XX': failure,
    },
  };
}

/** What a route itself tells: `GET /things/:id` is `getThingsId`. */
function undescribed({ method, path, readsBytes }: DescribedRoute): Operation {
  const words = path.split(/\W+/).filter((word) => word !== '');
  const names = words.map((word) => word.replaceAll(/(?:^|_)(\w)/g, (_, first: string) => first.toUpperCase()));
  const other = readsBytes ? undefined : { schema: {}, isOptional: true as const };
  return {
    id: `${method.toLowerCase()}${names.join('')}`,
    summary: `${method} ${path}`,
    ...(method === 'POST' && other ? { body: other } : {}),
    answer: {},
  };
}
