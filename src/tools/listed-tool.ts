/** A tool as clients are shown it. */
import type { ProvidedTool } from '../ports/tool-provider.ts';
import type { ListedTool } from '../protocol/items.ts';

/** Its name, description and schema; absent fields are omitted. */
export function listedTool({ name, description, parameters, annotations }: ProvidedTool): ListedTool {
  return {
    name,
    ...(description ? { description } : {}),
    input_schema: parameters ?? { type: 'object', properties: {} },
    ...(annotations ? { annotations } : {}),
  };
}
