/** What the OpenAPI document says of the Conversations API. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import { metadataSchema } from '../../protocol/responses/schema.ts';
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { MAX_ITEMS } from './schema.ts';

/** The operations of `conversationRoutes`; the items are those of the Responses API. */
export function describeConversations(): ApiDescription {
  const pairs = toJsonSchema(metadataSchema());
  const items = { type: 'array', maxItems: MAX_ITEMS, items: shape.ref('InputItem') };
  const itemPage = shape.pageOf(shape.ref('Item'));
  const body = (properties: Readonly<Record<string, unknown>>, required: readonly string[] = []) => ({
    schema: { type: 'object', properties, required },
  });
  const answer = shape.ref('Conversation');
  return {
    tag: 'Conversations',
    summary: 'Conversations that responses continue.',
    operations: {
      'POST /conversations': {
        id: 'createConversation',
        summary: 'Creates a conversation',
        body: { ...body({ metadata: shape.orNull(pairs), items: shape.orNull(items) }), isOptional: true },
        answer,
      },
      'GET /conversations/:id': { id: 'retrieveConversation', summary: 'Retrieves a conversation', answer },
      'POST /conversations/:id': {
        id: 'updateConversation',
        summary: 'Gives a conversation other metadata',
        body: body({ metadata: shape.orNull(pairs) }, ['metadata']),
        answer,
      },
      'DELETE /conversations/:id': {
        id: 'deleteConversation',
        summary: 'Deletes a conversation',
        answer: shape.deletion('conversation.deleted'),
      },
      'POST /conversations/:id/items': {
        id: 'createConversationItems',
        summary: 'Adds items to a conversation',
        query: shape.INCLUDE_QUERY,
        body: body({ items }, ['items']),
        answer: itemPage,
      },
      'GET /conversations/:id/items': {
        id: 'listConversationItems',
        summary: 'Lists the items of a conversation',
        query: { ...shape.PAGE_QUERY, ...shape.INCLUDE_QUERY },
        answer: itemPage,
      },
      'GET /conversations/:id/items/:item': {
        id: 'retrieveConversationItem',
        summary: 'Retrieves an item of a conversation',
        query: shape.INCLUDE_QUERY,
        answer: shape.ref('Item'),
      },
      'DELETE /conversations/:id/items/:item': {
        id: 'deleteConversationItem',
        summary: 'Removes an item from a conversation',
        answer,
      },
    },
    schemas: {
      Conversation: shape.resource('conversation', {
        id: shape.text,
        created_at: shape.seconds,
        metadata: shape.metadata,
      }),
    },
  };
}
