/** What the OpenAPI document says of the list of models. */
import type { ApiDescription } from './operation.ts';
import * as shape from './shape.ts';

const UNENCODED = 'For a name with slashes that are not encoded.';

/** The operations of `modelRoutes`. */
export function describeModels(): ApiDescription {
  const one = {
    summary: 'Describes a model',
    answer: { anyOf: [shape.ref('Model'), shape.ref('AnthropicModel')] },
    errors: 'either',
  } as const;
  return {
    tag: 'Models',
    summary: "The model server's models, in the shape of the client's own API.",
    operations: {
      'GET /models': {
        id: 'listModels',
        summary: 'Lists the models',
        description:
          "Clients that send `anthropic-version` receive Anthropic's list, and Codex its catalogue, in `models` alone.",
        answer: { anyOf: [shape.ref('ModelList'), shape.ref('AnthropicModelList'), shape.ref('CodexModels')] },
        errors: 'either',
      },
      'GET /models/:id': { ...one, id: 'retrieveModel' },
      'GET /models/:owner/:id': {
        ...one,
        id: 'retrieveModelOfOwner',
        description: UNENCODED,
      },
      'GET /models/:account/:owner/:id': { ...one, id: 'retrieveModelOfAccount', description: UNENCODED },
      'GET /models/:accounts/:account/:owner/:id': { ...one, id: 'retrieveModelOfAccounts', description: UNENCODED },
    },
    schemas: {
      Model: { ...shape.objectWith({ id: shape.text }), description: 'As the model server describes it.' },
      ModelList: shape.resource('list', {
        data: shape.listOf(shape.ref('Model')),
        models: shape.listOf(shape.ref('Model')),
      }),
      AnthropicModel: shape.objectWith({
        ...{ type: { const: 'model' }, id: shape.text, display_name: shape.text, created_at: shape.text },
        ...{ max_input_tokens: shape.orNull({ type: 'number' }), max_tokens: shape.orNull({ type: 'number' }) },
      }),
      AnthropicModelList: shape.objectWith({
        ...{ data: shape.listOf(shape.ref('AnthropicModel')), has_more: { type: 'boolean' } },
        ...{ first_id: shape.orNull(shape.text), last_id: shape.orNull(shape.text) },
      }),
      CodexModels: shape.objectWith({
        models: shape.listOf(shape.objectWith({ slug: shape.text, display_name: shape.text })),
      }),
    },
  };
}
