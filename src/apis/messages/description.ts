/** What the OpenAPI document says of Anthropic's Messages API. */
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { checkSchema } from './request/faults.ts';
import { block as contentBlock, messagesSchema } from './request/schema.ts';

/** The operations of `messagesRoutes`, but for the models. */
export function describeMessages(): ApiDescription {
  const block = shape.ref('MessageBlock');
  const event = (type: string, fields: Parameters<typeof shape.objectWith>[0] = {}) =>
    shape.objectWith({ type: { const: type }, ...fields });
  return {
    tag: 'Messages',
    summary: "Anthropic's Messages API in front of any model server.",
    operations: {
      'POST /messages': {
        id: 'createMessage',
        summary: 'Creates a message',
        description:
          'An event stream with `stream: true`. A model server with this API that receives the request unchanged checks its content by its own rules.',
        body: { schema: shape.ref('CreateMessage') },
        answer: shape.ref('Message'),
        event: shape.ref('MessageStreamEvent'),
        errors: 'anthropic',
      },
      'POST /messages/count_tokens': {
        id: 'countMessageTokens',
        summary: 'Counts the input tokens of a message',
        body: { schema: messagesSchema(block, false) },
        answer: shape.objectWith({ input_tokens: shape.integer }),
        errors: 'anthropic',
      },
    },
    schemas: {
      CreateMessage: messagesSchema(block, true),
      MessageBlock: checkSchema(contentBlock),
      Message: shape.objectWith({
        ...{ id: shape.text, type: { const: 'message' }, role: { const: 'assistant' }, model: shape.text },
        ...{
          content: shape.listOf(shape.objectWith({ type: shape.text })),
          stop_reason: shape.orNull(shape.text),
          stop_sequence: shape.orNull(shape.text),
        },
        usage: shape.objectWith({ input_tokens: shape.integer, output_tokens: shape.integer }),
      }),
      MessageStreamEvent: {
        anyOf: [
          event('message_start', { message: shape.ref('Message') }),
          event('content_block_start', { index: shape.integer, content_block: shape.objectWith({ type: shape.text }) }),
          event('content_block_delta', { index: shape.integer, delta: shape.objectWith({ type: shape.text }) }),
          event('content_block_stop', { index: shape.integer }),
          event('message_delta', { delta: shape.anyObject }),
          event('message_stop'),
          event('ping'),
          event('error', { error: shape.objectWith({ type: shape.text, message: shape.text }) }),
        ],
      },
    },
  };
}
