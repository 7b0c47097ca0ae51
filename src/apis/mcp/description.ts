/** What the OpenAPI document says of the MCP server. */
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';

/** The operations of `McpEndpoints`: what the messages hold is MCP's own. */
export function describeMcp(): ApiDescription {
  const message = shape.ref('McpMessage');
  const id = { type: ['string', 'integer'] };
  const [jsonrpc, method] = [{ const: '2.0' }, shape.text];
  return {
    tag: 'MCP',
    summary: "The host's tools as an MCP server, over streamable HTTP.",
    operations: {
      'POST /mcp': {
        id: 'sendMcpMessage',
        summary: 'Sends one message of MCP',
        description:
          'A client sends `Accept: application/json, text/event-stream` and, within a session, `Mcp-Session-Id`, which the answer to `initialize` has. A notification, and an answer to a question of the server, is answered with 202 and nothing.',
        body: { schema: message },
        answer: message,
        event: message,
        errors: 'json-rpc',
      },
      'GET /mcp': {
        id: 'listenToMcp',
        summary: 'Is refused with 405: there is no stream to listen to',
        answer: {},
        errors: 'json-rpc',
      },
      'DELETE /mcp': {
        id: 'endMcpSession',
        summary: 'Ends the session of `Mcp-Session-Id`',
        answer: shape.anyObject,
        errors: 'json-rpc',
      },
    },
    schemas: {
      McpMessage: {
        anyOf: [
          shape.objectWith({ jsonrpc, method }, { id, params: shape.anyObject }),
          shape.objectWith({ jsonrpc, id, result: shape.anyObject }),
          shape.ref('RpcError'),
        ],
        description: 'A request, a notification, a result or an error of JSON-RPC.',
      },
    },
  };
}
