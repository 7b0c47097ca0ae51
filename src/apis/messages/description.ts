/** What the OpenAPI document says of Anthropic's Messages API. */
import {
  type ApiDescription,
  anyObject,
  integer,
  listOf,
  objectWith,
  orNull,
  ref,
  text,
} from '../endpoint/operation.ts';
import { checkSchema } from './request/faults.ts';
import { block as contentBlock, messagesSchema } from './request/schema.ts';

/** The operations of `messagesRoutes`, but for the models. */
export function describeMessages(): ApiDescription {
  const block = ref('MessageBlock');
  const event = (type: string, fields: Parameters<typeof objectWith>[0] = {}) =>
    objectWith({ type: { const: type }, ...fields });
  return {
    tag: 'Messages',
    summary: "Anthropic's Messages API in front of any model server.",
    operations: {
      'POST /messages': {
        id: 'createMessage',
        summary: 'Creates a message',
        description:
          'An event stream with `stream: true`. A model server with this API that receives the request unchanged checks its content by its own rules.',
        body: { schema: ref('CreateMessage') },
        answer: ref('Message'),
        event: ref('MessageStreamEvent'),
        errors: 'anthropic',
      },
      'POST /messages/count_tokens': {
        id: 'countMessageTokens',
        summary: 'Counts the input tokens of a message',
        body: { schema: messagesSchema(block, false) },
        answer: objectWith({ input_tokens: integer }),
        errors: 'anthropic',
      },
    },
    schemas: {
      CreateMessage: messagesSchema(block, true),
      MessageBlock: checkSchema(contentBlock),
      Message: objectWith({
        ...{ id: text, type: { const: 'message' }, role: { const: 'assistant' }, model: text },
        ...{ content: listOf(objectWith({ type: text })), stop_reason: orNull(text), stop_sequence: orNull(text) },
        usage: objectWith({ input_tokens: integer, output_tokens: integer }),
      }),
      MessageStreamEvent: {
        anyOf: [
          event('message_start', { message: ref('Message') }),
          event('content_block_start', { index: integer, content_block: objectWith({ type: text }) }),
          event('content_block_delta', { index: integer, delta: objectWith({ type: text }) }),
          event('content_block_stop', { index: integer }),
          event('message_delta', { delta: anyObject }),
          event('message_stop'),
          event('ping'),
          event('error', { error: objectWith({ type: text, message: text }) }),
        ],
      },
    },
  };
}
