/** What the OpenAPI document says of the Responses API: requests by the schemas that check them, answers by the types of items and events. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { createSchema, itemSchemas, partFields, partSchemas, toolSchemas } from '../../protocol/responses/schema.ts';
import { CALL_KINDS } from '../../protocol/tool-calls/kinds.ts';
import {
  type ApiDescription,
  anyObject,
  deletion,
  INCLUDE_QUERY,
  integer,
  listOf,
  metadata,
  objectWith,
  oneOf,
  orNull,
  PAGE_QUERY,
  pageOf,
  ref,
  resource,
  seconds,
  text,
} from '../endpoint/operation.ts';
import { submitSchema } from './submit-tool-outputs.ts';

/** The operations of the routes of responses. */
export function describeResponses(): ApiDescription {
  const answer = ref('Response');
  const create = toJsonSchema(createSchema());
  const input = { anyOf: [text, listOf(ref('InputItem'))], description: 'What the model answers.' };
  // The cast: it is the schema of an object.
  const properties = create.properties as JsonObject;
  const streamed = {
    ...properties,
    input: orNull(input),
    tools: orNull(listOf(ref('Tool'))),
    stream_options: orNull(objectWith({}, { include_obfuscation: { type: ['boolean', 'null'] } })),
  };
  const counted = { ...create, properties: streamed, required: [] };
  const shortened = Object.fromEntries(Object.entries(streamed).filter(([name]) => COMPACTED_FIELDS.has(name)));
  return {
    tag: 'Responses',
    summary: 'Answers of a model, with the tools that the server runs.',
    operations: {
      'POST /responses': {
        id: 'createResponse',
        summary: 'Creates a response',
        description: 'An event stream with `stream: true`; with `background: true` the response as it begins.',
        body: { schema: ref('CreateResponse') },
        answer,
        event: ref('ResponseStreamEvent'),
      },
      'POST /responses/compact': {
        id: 'compactConversation',
        summary: 'Shortens a conversation',
        body: { schema: { ...create, properties: shortened } },
        answer: resource('response.compaction', {
          ...{ id: text, created_at: seconds },
          ...{ output: listOf(ref('Item')), usage: orNull(ref('Usage')) },
        }),
      },
      'POST /responses/input_tokens': {
        id: 'countInputTokens',
        summary: 'Counts the input tokens of a request',
        body: { schema: counted },
        answer: resource('response.input_tokens', { input_tokens: integer }),
      },
      'GET /responses/:id': {
        id: 'retrieveResponse',
        summary: 'Retrieves a stored response',
        description: 'With `stream=true` the events of a response in the background, or of a durable stream.',
        query: {
          ...INCLUDE_QUERY,
          stream: oneOf('true', 'false'),
          starting_after: { ...integer, description: 'The `sequence_number` behind which the events begin.' },
        },
        answer,
        event: ref('ResponseStreamEvent'),
      },
      'DELETE /responses/:id': {
        id: 'deleteResponse',
        summary: 'Deletes a stored response',
        answer: deletion('response'),
      },
      'GET /responses/:id/input_items': {
        id: 'listInputItems',
        summary: 'Lists the input of a stored response',
        query: { ...PAGE_QUERY, ...INCLUDE_QUERY },
        answer: pageOf(ref('Item')),
      },
      'POST /responses/:id/cancel': {
        id: 'cancelResponse',
        summary: 'Ends a response in the background',
        query: INCLUDE_QUERY,
        answer,
      },
      'POST /responses/:id/submit_tool_outputs': {
        id: 'submitToolOutputs',
        summary: 'Goes on with a response whose tools the client has run',
        description: 'Only in a dialect that has it; otherwise 404.',
        body: { schema: toJsonSchema(submitSchema()) },
        answer,
        event: ref('ResponseStreamEvent'),
      },
    },
    schemas: {
      CreateResponse: { ...create, properties: streamed },
      InputItem: inputItem(),
      ContentPart: anyOfTypes(partSchemas()),
      Tool: anyOfTypes(toolSchemas(), 'Tools of other types are kept as they are.'),
      ...responseSchemas(),
    },
  };
}

const COMPACTED_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'input', 'previous_response_id', 'instructions', 'service_tier'],
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
]);

/** Objects of these types, and with `others` those of any further type. */
function anyOfTypes(
  schemas: Readonly<Record<string, Parameters<typeof toJsonSchema>[0]>>,
  others?: string,
): JsonObject {
  const known = Object.entries(schemas).map(([type, schema]) => typed(type, toJsonSchema(schema)));
  const other = { ...objectWith({ type: text }), description: others };
  return { anyOf: others === undefined ? known : [...known, other] };
}

function typed(type: string, { properties, required, ...rest }: JsonObject): JsonObject {
  // The casts: both are those of the schema of an object.
  const names = new Set(['type', ...((required as readonly string[] | undefined) ?? [])]);
  return { ...rest, properties: { ...(properties as JsonObject), type: { const: type } }, required: [...names] };
}

function inputItem(): JsonObject {
  const parts = { anyOf: [text, listOf(ref('ContentPart'))] };
  const known = Object.entries(itemSchemas()).map(([type, schema]) => {
    const item = typed(type, toJsonSchema(schema));
    const place = partFields[type];
    if (!place) return item;
    const { properties, required } = item;
    // The casts: `typed` has made both. A message needs no type.
    const names = (required as readonly string[]).filter((name) => type !== 'message' || name !== 'type');
    const content = { [place.field]: place.required ? parts : orNull(parts) };
    return {
      ...item,
      properties: { ...(properties as JsonObject), ...content },
      required: place.required ? [...names, place.field] : names,
    };
  });
  const other = { ...objectWith({ type: text }), description: 'Items of other types are kept as they are.' };
  return { anyOf: [...known, other] };
}

/** What clients receive. The types are those of `protocol/items.ts` and `protocol/events.ts`. */
function responseSchemas(): Readonly<Record<string, JsonObject>> {
  const status = oneOf('in_progress', 'completed', 'incomplete');
  const id = { id: text };
  const boolean = { type: 'boolean' };
  const details = (field: string) => objectWith({ [field]: integer });
  const nullableText = orNull(text);
  const calls = Object.values(CALL_KINDS).filter(({ type }) => type !== 'function_call');
  return {
    Usage: objectWith({
      ...{ input_tokens: integer, input_tokens_details: details('cached_tokens'), output_tokens: integer },
      ...{ output_tokens_details: details('reasoning_tokens'), total_tokens: integer },
    }),
    OutputPart: {
      anyOf: [
        objectWith({
          type: { const: 'output_text' },
          text,
          annotations: listOf(anyObject),
          logprobs: listOf(anyObject),
        }),
        objectWith({ type: { const: 'refusal' }, refusal: text }),
        objectWith({ type: oneOf('summary_text', 'reasoning_text'), text }),
      ],
    },
    OutputItem: {
      anyOf: [
        objectWith(
          {
            type: { const: 'message' },
            ...id,
            status,
            role: { const: 'assistant' },
            content: listOf(ref('OutputPart')),
          },
          { phase: text },
        ),
        objectWith(
          { type: { const: 'reasoning' }, ...id, summary: listOf(ref('OutputPart')) },
          { status, content: listOf(ref('OutputPart')), encrypted_content: text },
        ),
        objectWith(
          { type: { const: 'function_call' }, ...id, status, call_id: text, name: text, arguments: text },
          { namespace: text },
        ),
        {
          ...objectWith({ type: text, ...id }),
          description: `Calls of other tools and their results, such as ${calls.map(({ type }) => type).join(', ')}.`,
        },
      ],
    },
    Item: {
      ...objectWith({ type: text, ...id }),
      description: 'An item of the input or of an answer, as it is stored.',
    },
    Response: resource(
      'response',
      {
        ...{ ...id, created_at: seconds, completed_at: orNull(seconds), model: text },
        status: oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
        ...{ background: boolean, error: orNull(objectWith({ code: text, message: text })) },
        incomplete_details: orNull(objectWith({ reason: text })),
        instructions: { anyOf: [text, listOf(anyObject), { type: 'null' }] },
        ...{ max_output_tokens: orNull(integer), max_tool_calls: orNull(integer), metadata },
        ...{ output: listOf(ref('OutputItem')), parallel_tool_calls: boolean },
        ...{ previous_response_id: nullableText, prompt_cache_key: nullableText, safety_identifier: nullableText },
        ...{ reasoning: objectWith({ effort: nullableText, summary: nullableText }), service_tier: text },
        ...{
          store: boolean,
          temperature: { type: 'number' },
          text: objectWith({ format: objectWith({ type: text }) }),
        },
        ...{ tool_choice: { anyOf: [text, anyObject] }, tools: listOf(anyObject) },
        ...{ top_logprobs: integer, top_p: { type: 'number' }, presence_penalty: { type: 'number' } },
        ...{ frequency_penalty: { type: 'number' }, truncation: text, usage: orNull(ref('Usage')) },
      },
      { conversation: orNull(objectWith(id)), prompt: anyObject, user: text },
    ),
    ResponseStreamEvent: streamEvent(),
  };
}

/** The data of one event. The last one is `response.completed`, `.incomplete` or `.failed`, or `error`. */
function streamEvent(): JsonObject {
  const number = { sequence_number: integer };
  const place = { item_id: text, output_index: integer };
  const event = (types: readonly string[], fields: Readonly<Record<string, JsonObject>>) =>
    objectWith({ type: oneOf(...types), ...number, ...fields });
  const named = (names: readonly string[], ends: readonly string[]) =>
    names.flatMap((name) => ends.map((end) => `response.${name}.${end}`));
  const kinds = Object.values(CALL_KINDS);
  const written = kinds.flatMap(({ argumentsEvent }) => (argumentsEvent === undefined ? [] : [argumentsEvent]));
  const states = kinds.flatMap(({ type, states: each }) =>
    Object.values(each).flatMap((state) => (state === undefined ? [] : [`response.${type}.${state}`])),
  );
  const lifecycle = ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'];
  const inPart = { ...place, content_index: integer };
  return {
    anyOf: [
      event(
        lifecycle.map((name) => `response.${name}`),
        { response: ref('Response') },
      ),
      event(named(['output_item'], ['added', 'done']), { output_index: integer, item: ref('OutputItem') }),
      event(named(['content_part'], ['added', 'done']), { ...inPart, part: ref('OutputPart') }),
      event(named(['output_text', 'refusal', 'reasoning_text', 'reasoning'], ['delta']), { ...inPart, delta: text }),
      event(named(['output_text', 'reasoning_text', 'reasoning'], ['done']), { ...inPart, text }),
      event(['response.refusal.done'], { ...inPart, refusal: text }),
      event(['response.output_text.annotation.added'], { ...inPart, annotation_index: integer, annotation: anyObject }),
      event(named(['reasoning_summary_part'], ['added', 'done']), {
        ...{ ...place, summary_index: integer, part: ref('OutputPart') },
      }),
      event(['response.reasoning_summary_text.delta'], { ...place, summary_index: integer, delta: text }),
      event(['response.reasoning_summary_text.done'], { ...place, summary_index: integer, text }),
      event(named(written, ['delta']), { ...place, delta: text }),
      event(named(written, ['done']), place),
      event([...new Set([...states, ...named(['mcp_list_tools'], ['in_progress', 'completed'])])], place),
      event(['error'], { code: orNull(text), message: text, param: orNull(text) }),
      { ...objectWith({ type: text }), description: 'Further events, such as heartbeats and those of other tools.' },
    ],
  };
}
