/** The tools of MCP servers, for clients of every API. */
import express from 'express';
import { openResponses } from 'express-open-responses';
import { mcpTools } from 'express-open-responses/mcp';

const tools = mcpTools({
  servers: {
    everything: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything', 'stdio'] },
    issues: { url: 'https://mcp.example.com/mcp', headers: { authorization: 'Bearer ${ISSUES_TOKEN:-none}' } },
  },
});

const app = express();
app.use('/v1', openResponses({ tools }).router);
app.get('/health', (_req, res) => void res.json(tools.status()));
app.listen(3000);
