/** What the OpenAPI document says of the Chat Completions API. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { JsonObject } from '../../protocol/record.ts';
import {
  type ApiDescription,
  anyObject,
  deletion,
  integer,
  listOf,
  objectWith,
  orNull,
  PAGE_QUERY,
  pageOf,
  ref,
  resource,
  seconds,
  text,
} from '../endpoint/operation.ts';
import { chatSchema } from './request/schema.ts';
import { updateSchema } from './stored/stored-endpoints.ts';

/** The operations of `chatRoutes`, but for the models. */
export function describeChat(): ApiDescription {
  const request = toJsonSchema(chatSchema());
  const answer = ref('ChatCompletion');
  const { before: _, ...page } = PAGE_QUERY;
  const choice = objectWith({ index: integer }, { finish_reason: orNull(text), logprobs: orNull(anyObject) });
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
        body: { schema: ref('CreateChatCompletion') },
        answer,
        event: ref('ChatCompletionChunk'),
      },
      'GET /chat/completions': {
        id: 'listChatCompletions',
        summary: 'Lists stored chat completions',
        query: {
          ...page,
          model: text,
          metadata: { ...anyObject, description: 'As `metadata[name]=value`, for each name.' },
        },
        answer: pageOf(answer),
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
        answer: deletion('chat.completion.deleted'),
      },
      'GET /chat/completions/:id/messages': {
        id: 'listChatCompletionMessages',
        summary: 'Lists the messages that a stored chat completion answers',
        query: page,
        answer: pageOf(objectWith({ id: text, role: text })),
      },
    },
    schemas: {
      CreateChatCompletion: { ...request, description: 'All other fields reach the model server as they are.' },
      ChatCompletion: resource(
        'chat.completion',
        { id: text, choices: listOf(withField('message', ref('ChatMessage'))) },
        { created: seconds, model: text, usage: orNull(anyObject) },
      ),
      ChatMessage: objectWith({ role: text }, { content: orNull(text), tool_calls: orNull(listOf(anyObject)) }),
      ChatCompletionChunk: objectWith(
        { choices: listOf(withField('delta', anyObject)) },
        {
          id: text,
          object: { const: 'chat.completion.chunk' },
          created: seconds,
          model: text,
          usage: orNull(anyObject),
        },
      ),
    },
  };
}
