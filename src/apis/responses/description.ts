/** What the OpenAPI document says of the Responses API: requests by the schemas that check them, answers by the types of items and events. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { createSchema, itemSchemas, partFields, partSchemas, toolSchemas } from '../../protocol/responses/schema.ts';
import { CALL_KINDS } from '../../protocol/tool-calls/kinds.ts';
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { submitSchema } from './submit-tool-outputs.ts';

/** The operations of the routes of responses. */
export function describeResponses(): ApiDescription {
  const answer = shape.ref('Response');
  const create = toJsonSchema(createSchema());
  const input = { anyOf: [shape.text, shape.listOf(shape.ref('InputItem'))], description: 'What the model answers.' };
  // The cast: it is the schema of an object.
  const properties = create.properties as JsonObject;
  const streamed = {
    ...properties,
    input: shape.orNull(input),
    tools: shape.orNull(shape.listOf(shape.ref('Tool'))),
    stream_options: shape.orNull(shape.objectWith({}, { include_obfuscation: { type: ['boolean', 'null'] } })),
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
        body: { schema: shape.ref('CreateResponse') },
        answer,
        event: shape.ref('ResponseStreamEvent'),
      },
      'POST /responses/compact': {
        id: 'compactConversation',
        summary: 'Shortens a conversation',
        body: { schema: { ...create, properties: shortened } },
        answer: shape.resource('response.compaction', {
          ...{ id: shape.text, created_at: shape.seconds },
          ...{ output: shape.listOf(shape.ref('Item')), usage: shape.orNull(shape.ref('Usage')) },
        }),
      },
      'POST /responses/input_tokens': {
        id: 'countInputTokens',
        summary: 'Counts the input tokens of a request',
        body: { schema: counted },
        answer: shape.resource('response.input_tokens', { input_tokens: shape.integer }),
      },
      'GET /responses/:id': {
        id: 'retrieveResponse',
        summary: 'Retrieves a stored response',
        description: 'With `stream=true` the events of a response in the background, or of a durable stream.',
        query: {
          ...shape.INCLUDE_QUERY,
          stream: shape.oneOf('true', 'false'),
          starting_after: { ...shape.integer, description: 'The `sequence_number` behind which the events begin.' },
        },
        answer,
        event: shape.ref('ResponseStreamEvent'),
      },
      'DELETE /responses/:id': {
        id: 'deleteResponse',
        summary: 'Deletes a stored response',
        answer: shape.deletion('response'),
      },
      'GET /responses/:id/input_items': {
        id: 'listInputItems',
        summary: 'Lists the input of a stored response',
        query: { ...shape.PAGE_QUERY, ...shape.INCLUDE_QUERY },
        answer: shape.pageOf(shape.ref('Item')),
      },
      'POST /responses/:id/cancel': {
        id: 'cancelResponse',
        summary: 'Ends a response in the background',
        query: shape.INCLUDE_QUERY,
        answer,
      },
      'POST /responses/:id/submit_tool_outputs': {
        id: 'submitToolOutputs',
        summary: 'Goes on with a response whose tools the client has run',
        description: 'Only in a dialect that has it; otherwise 404.',
        body: { schema: toJsonSchema(submitSchema()) },
        answer,
        event: shape.ref('ResponseStreamEvent'),
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
  const other = { ...shape.objectWith({ type: shape.text }), description: others };
  return { anyOf: others === undefined ? known : [...known, other] };
}

function typed(type: string, { properties, required, ...rest }: JsonObject): JsonObject {
  // The casts: both are those of the schema of an object.
  const names = new Set(['type', ...((required as readonly string[] | undefined) ?? [])]);
  return { ...rest, properties: { ...(properties as JsonObject), type: { const: type } }, required: [...names] };
}

function inputItem(): JsonObject {
  const parts = { anyOf: [shape.text, shape.listOf(shape.ref('ContentPart'))] };
  const known = Object.entries(itemSchemas()).map(([type, schema]) => {
    const item = typed(type, toJsonSchema(schema));
    const place = partFields[type];
    if (!place) return item;
    const { properties, required } = item;
    // The casts: `typed` has made both. A message needs no type.
    const names = (required as readonly string[]).filter((name) => type !== 'message' || name !== 'type');
    const content = { [place.field]: place.required ? parts : shape.orNull(parts) };
    return {
      ...item,
      properties: { ...(properties as JsonObject), ...content },
      required: place.required ? [...names, place.field] : names,
    };
  });
  const other = {
    ...shape.objectWith({ type: shape.text }),
    description: 'Items of other types are kept as they are.',
  };
  return { anyOf: [...known, other] };
}

/** What clients receive. The types are those of `protocol/items.ts` and `protocol/events.ts`. */
function responseSchemas(): Readonly<Record<string, JsonObject>> {
  const status = shape.oneOf('in_progress', 'completed', 'incomplete');
  const id = { id: shape.text };
  const boolean = { type: 'boolean' };
  const details = (field: string) => shape.objectWith({ [field]: shape.integer });
  const nullableText = shape.orNull(shape.text);
  const calls = Object.values(CALL_KINDS).filter(({ type }) => type !== 'function_call');
  return {
    Usage: shape.objectWith({
      ...{ input_tokens: shape.integer, input_tokens_details: details('cached_tokens'), output_tokens: shape.integer },
      ...{ output_tokens_details: details('reasoning_tokens'), total_tokens: shape.integer },
    }),
    OutputPart: {
      anyOf: [
        shape.objectWith({
          type: { const: 'output_text' },
          text: shape.text,
          annotations: shape.listOf(shape.anyObject),
          logprobs: shape.listOf(shape.anyObject),
        }),
        shape.objectWith({ type: { const: 'refusal' }, refusal: shape.text }),
        shape.objectWith({ type: shape.oneOf('summary_text', 'reasoning_text'), text: shape.text }),
      ],
    },
    OutputItem: {
      anyOf: [
        shape.objectWith(
          {
            type: { const: 'message' },
            ...id,
            status,
            role: { const: 'assistant' },
            content: shape.listOf(shape.ref('OutputPart')),
          },
          { phase: shape.text },
        ),
        shape.objectWith(
          { type: { const: 'reasoning' }, ...id, summary: shape.listOf(shape.ref('OutputPart')) },
          { status, content: shape.listOf(shape.ref('OutputPart')), encrypted_content: shape.text },
        ),
        shape.objectWith(
          {
            type: { const: 'function_call' },
            ...id,
            status,
            call_id: shape.text,
            name: shape.text,
            arguments: shape.text,
          },
          { namespace: shape.text },
        ),
        {
          ...shape.objectWith({ type: shape.text, ...id }),
          description: `Calls of other tools and their results, such as ${calls.map(({ type }) => type).join(', ')}.`,
        },
      ],
    },
    Item: {
      ...shape.objectWith({ type: shape.text, ...id }),
      description: 'An item of the input or of an answer, as it is stored.',
    },
    Response: shape.resource(
      'response',
      {
        ...{ ...id, created_at: shape.seconds, completed_at: shape.orNull(shape.seconds), model: shape.text },
        status: shape.oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
        ...{ background: boolean, error: shape.orNull(shape.objectWith({ code: shape.text, message: shape.text })) },
        incomplete_details: shape.orNull(shape.objectWith({ reason: shape.text })),
        instructions: { anyOf: [shape.text, shape.listOf(shape.anyObject), { type: 'null' }] },
        ...{
          max_output_tokens: shape.orNull(shape.integer),
          max_tool_calls: shape.orNull(shape.integer),
          metadata: shape.metadata,
        },
        ...{ output: shape.listOf(shape.ref('OutputItem')), parallel_tool_calls: boolean },
        ...{ previous_response_id: nullableText, prompt_cache_key: nullableText, safety_identifier: nullableText },
        ...{ reasoning: shape.objectWith({ effort: nullableText, summary: nullableText }), service_tier: shape.text },
        ...{
          store: boolean,
          temperature: { type: 'number' },
          text: shape.objectWith({ format: shape.objectWith({ type: shape.text }) }),
        },
        ...{ tool_choice: { anyOf: [shape.text, shape.anyObject] }, tools: shape.listOf(shape.anyObject) },
        ...{ top_logprobs: shape.integer, top_p: { type: 'number' }, presence_penalty: { type: 'number' } },
        ...{ frequency_penalty: { type: 'number' }, truncation: shape.text, usage: shape.orNull(shape.ref('Usage')) },
      },
      { conversation: shape.orNull(shape.objectWith(id)), prompt: shape.anyObject, user: shape.text },
    ),
    ResponseStreamEvent: streamEvent(),
  };
}

/** The data of one event. The last one is `response.completed`, `.incomplete` or `.failed`, or `error`. */
function streamEvent(): JsonObject {
  const number = { sequence_number: shape.integer };
  const place = { item_id: shape.text, output_index: shape.integer };
  const event = (types: readonly string[], fields: Readonly<Record<string, JsonObject>>) =>
    shape.objectWith({ type: shape.oneOf(...types), ...number, ...fields });
  const named = (names: readonly string[], ends: readonly string[]) =>
    names.flatMap((name) => ends.map((end) => `response.${name}.${end}`));
  const kinds = Object.values(CALL_KINDS);
  const written = kinds.flatMap(({ argumentsEvent }) => (argumentsEvent === undefined ? [] : [argumentsEvent]));
  const states = kinds.flatMap(({ type, states: each }) =>
    Object.values(each).flatMap((state) => (state === undefined ? [] : [`response.${type}.${state}`])),
  );
  const lifecycle = ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'];
  const inPart = { ...place, content_index: shape.integer };
  return {
    anyOf: [
      event(
        lifecycle.map((name) => `response.${name}`),
        { response: shape.ref('Response') },
      ),
      event(named(['output_item'], ['added', 'done']), { output_index: shape.integer, item: shape.ref('OutputItem') }),
      event(named(['content_part'], ['added', 'done']), { ...inPart, part: shape.ref('OutputPart') }),
      event(named(['output_text', 'refusal', 'reasoning_text', 'reasoning'], ['delta']), {
        ...inPart,
        delta: shape.text,
      }),
      event(named(['output_text', 'reasoning_text', 'reasoning'], ['done']), { ...inPart, text: shape.text }),
      event(['response.refusal.done'], { ...inPart, refusal: shape.text }),
      event(['response.output_text.annotation.added'], {
        ...inPart,
        annotation_index: shape.integer,
        annotation: shape.anyObject,
      }),
      event(named(['reasoning_summary_part'], ['added', 'done']), {
        ...{ ...place, summary_index: shape.integer, part: shape.ref('OutputPart') },
      }),
      event(['response.reasoning_summary_text.delta'], { ...place, summary_index: shape.integer, delta: shape.text }),
      event(['response.reasoning_summary_text.done'], { ...place, summary_index: shape.integer, text: shape.text }),
      event(named(written, ['delta']), { ...place, delta: shape.text }),
      event(named(written, ['done']), place),
      event([...new Set([...states, ...named(['mcp_list_tools'], ['in_progress', 'completed'])])], place),
      event(['error'], { code: shape.orNull(shape.text), message: shape.text, param: shape.orNull(shape.text) }),
      {
        ...shape.objectWith({ type: shape.text }),
        description: 'Further events, such as heartbeats and those of other tools.',
      },
    ],
  };
}
