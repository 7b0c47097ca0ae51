/** Models in the shape of Anthropic's list. */

import { modelFacts } from '../model-facts.ts';
import { type JsonObject, plainText } from '../record.ts';

/** The whole list as one page. */
export function anthropicModels(models: readonly JsonObject[]): JsonObject {
  const data = models.map(anthropicModel);
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

/** One model of OpenAI's list; what no model server says of it is null. */
export function anthropicModel(model: JsonObject): JsonObject & { readonly id: string } {
  const { id, created, display_name: name } = model;
  const { contextLength, maxOutputTokens } = modelFacts(model);
  const seconds = typeof created === 'number' && created >= 0 && created < LAST_SECOND ? created : 0;
  return {
    type: 'model',
    id: plainText(id),
    display_name: typeof name === 'string' ? name : plainText(id),
    created_at: new Date(seconds * 1000).toISOString(),
    max_input_tokens: contextLength ?? null,
    max_tokens: maxOutputTokens ?? null,
    ...UNKNOWN,
  };
}

const UNKNOWN = {
  capabilities: null,
  lifecycle: 'active',
  deprecated_at: null,
  retires_at: null,
  line: null,
};

/** The end of the year 9999. */
const LAST_SECOND = 253_402_300_800;
