/** An MCP server with the one tool `echo`, over streamable HTTP, for the servers under test to call. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const ECHO = { name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } };
const sessions = new Map();

async function openSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [ECHO] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text', text: String(params.arguments?.text) }],
  }));
  await server.connect(transport);
  return transport;
}

const server = createServer(async (request, response) => {
  const transport = sessions.get(request.headers['mcp-session-id']) ?? (await openSession());
  await transport.handleRequest(request, response);
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.once('disconnect', () => process.exit());
