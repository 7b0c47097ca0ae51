/** What the OpenAPI document says of the list of models. */
import { type ApiDescription, listOf, objectWith, orNull, ref, resource, text } from './operation.ts';

const UNENCODED = 'For a name with slashes that are not encoded.';

/** The operations of `modelRoutes`. */
export function describeModels(): ApiDescription {
  const one = {
    summary: 'Describes a model',
    answer: { anyOf: [ref('Model'), ref('AnthropicModel')] },
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
        answer: { anyOf: [ref('ModelList'), ref('AnthropicModelList'), ref('CodexModels')] },
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
      Model: { ...objectWith({ id: text }), description: 'As the model server describes it.' },
      ModelList: resource('list', { data: listOf(ref('Model')), models: listOf(ref('Model')) }),
      AnthropicModel: objectWith({
        ...{ type: { const: 'model' }, id: text, display_name: text, created_at: text },
        ...{ max_input_tokens: orNull({ type: 'number' }), max_tokens: orNull({ type: 'number' }) },
      }),
      AnthropicModelList: objectWith({
        ...{ data: listOf(ref('AnthropicModel')), has_more: { type: 'boolean' } },
        ...{ first_id: orNull(text), last_id: orNull(text) },
      }),
      CodexModels: objectWith({ models: listOf(objectWith({ slug: text, display_name: text })) }),
    },
  };
}
