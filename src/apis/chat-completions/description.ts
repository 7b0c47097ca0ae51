/** What the OpenAPI document says of the Chat Completions API. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { JsonObject } from '../../protocol/record.ts';
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { chatSchema } from './request/schema.ts';
import { updateSchema } from './stored/stored-endpoints.ts';

/** The operations of `chatRoutes`, but for the models. */
export function describeChat(): ApiDescription {
  const request = toJsonSchema(chatSchema());
  const answer = shape.ref('ChatCompletion');
  const { before: _, ...page } = shape.PAGE_QUERY;
  const choice = shape.objectWith(
    { index: shape.integer },
    { finish_reason: shape.orNull(shape.text), logprobs: shape.orNull(shape.anyObject) },
  );
  const withField = (field: string, schema: JsonObject) => ({
    ...choice,
    // The cast: `objectWith` has made it.
    properties: { ...(choice.properties as JsonObject), [field]: schema },
  });
  return {
    tag: 'Chat Completions',
    summary:
      "Chat completions of the model server, with the tools that the server runs; the model server's fields pass unchanged.",
    operations: {
      'POST /chat/completions': {
        id: 'createChatCompletion',
        summary: 'Creates a chat completion',
        description: 'An event stream with `stream: true`; its last event is `[DONE]`, which is no JSON.',
        body: { schema: shape.ref('CreateChatCompletion') },
        answer,
        event: shape.ref('ChatCompletionChunk'),
      },
      'GET /chat/completions': {
        id: 'listChatCompletions',
        summary: 'Lists stored chat completions',
        query: {
          ...page,
          model: shape.text,
          metadata: { ...shape.anyObject, description: 'As `metadata[name]=value`, for each name.' },
        },
        answer: shape.pageOf(answer),
      },
      'GET /chat/completions/:id': {
        id: 'retrieveChatCompletion',
        summary: 'Retrieves a stored chat completion',
        answer,
      },
      'POST /chat/completions/:id': {
        id: 'updateChatCompletion',
        summary: 'Gives a stored chat completion other metadata',
        body: { schema: toJsonSchema(updateSchema()) },
        answer,
      },
      'DELETE /chat/completions/:id': {
        id: 'deleteChatCompletion',
        summary: 'Deletes a stored chat completion',
        answer: shape.deletion('chat.completion.deleted'),
      },
      'GET /chat/completions/:id/messages': {
        id: 'listChatCompletionMessages',
        summary: 'Lists the messages that a stored chat completion answers',
        query: page,
        answer: shape.pageOf(shape.objectWith({ id: shape.text, role: shape.text })),
      },
    },
    schemas: {
      CreateChatCompletion: { ...request, description: 'All other fields reach the model server as they are.' },
      ChatCompletion: shape.resource(
        'chat.completion',
        { id: shape.text, choices: shape.listOf(withField('message', shape.ref('ChatMessage'))) },
        { created: shape.seconds, model: shape.text, usage: shape.orNull(shape.anyObject) },
      ),
      ChatMessage: shape.objectWith(
        { role: shape.text },
        { content: shape.orNull(shape.text), tool_calls: shape.orNull(shape.listOf(shape.anyObject)) },
      ),
      ChatCompletionChunk: shape.objectWith(
        { choices: shape.listOf(withField('delta', shape.anyObject)) },
        {
          id: shape.text,
          object: { const: 'chat.completion.chunk' },
          created: shape.seconds,
          model: shape.text,
          usage: shape.orNull(shape.anyObject),
        },
      ),
    },
  };
}
