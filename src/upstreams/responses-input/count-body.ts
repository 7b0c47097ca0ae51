/** Writes what of a model request is input, for servers that count it as a request to the Responses API. */

import type { ModelRequest, ToolDefinition } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { toInput } from './input.ts';

/** The fields that are input, for a server that counts it. */
export function toCountBody(request: ModelRequest): JsonObject {
  const { model, instructions, textFormat } = request;
  const tools = request.tools.length > 0 ? request.tools.map(functionTool) : undefined;
  return { model, instructions, input: toInput(request, () => {}), tools, text: textFormat && { format: textFormat } };
}

/** A function as the API has it: `strict` is set, since undefined would be read as true. */
export function functionTool({ name, description, parameters, strict, outputSchema }: ToolDefinition): JsonObject {
  const schema = parameters ?? { type: 'object', properties: {} };
  return {
    type: 'function',
    name,
    description,
    parameters: schema,
    strict: strict ?? false,
    output_schema: outputSchema,
  };
}
