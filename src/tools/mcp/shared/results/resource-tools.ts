/** The resources of a server as two tools for the model: one lists them, the other reads one. */
import type { ProvidedTool } from '../../../../ports/tool-provider.ts';
import { isRecord, type JsonObject } from '../../../../protocol/record.ts';
import type { McpRequest } from '../client/mcp-client.ts';

const READ_ONLY = { readOnlyHint: true, idempotentHint: true };

/** The two tools. */
export function resourceTools(server: string): readonly ProvidedTool[] {
  return [
    {
      server,
      name: 'list_resources',
      description: 'Lists resources that `read_resource` can read, a page at a time.',
      parameters: {
        type: 'object',
        properties: { cursor: { type: 'string', description: 'The `nextCursor` of the page before.' } },
      },
      annotations: READ_ONLY,
    },
    {
      server,
      name: 'read_resource',
      description: 'Reads one resource.',
      parameters: {
        type: 'object',
        properties: { uri: { type: 'string', description: 'As `list_resources` gives it.' } },
        required: ['uri'],
      },
      annotations: READ_ONLY,
    },
  ];
}

/** The request that a call of one of them makes. */
export function resourceRequest(name: string, { cursor, uri }: JsonObject): McpRequest {
  if (name === 'read_resource') return { method: 'resources/read', params: { uri } };
  return { method: 'resources/list', params: cursor === undefined ? {} : { cursor } };
}

/** The server's answer, in the form of a tool's result. */
export function resourceResult({ resources, contents, nextCursor }: JsonObject): JsonObject {
  if (Array.isArray(contents))
    return { content: contents.filter(isRecord).map((resource) => ({ type: 'resource', resource })) };
  // Without icons and metadata, which are for people.
  const entries = (Array.isArray(resources) ? resources : [])
    .filter(isRecord)
    .map(({ uri, name, title, description, mimeType, size }) => ({ uri, name, title, description, mimeType, size }));
  return { content: [{ type: 'text', text: JSON.stringify({ resources: entries, nextCursor }) }] };
}
