/** The tools of MCP servers, for clients of either API. */
import express from 'express';
import { chatCompletionsRouter, responsesRouter } from 'express-open-responses';
import { mcpTools } from 'express-open-responses/mcp';

const tools = mcpTools({
  servers: {
    everything: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything', 'stdio'] },
    issues: { url: 'https://mcp.example.com/mcp', headers: { authorization: 'Bearer ${ISSUES_TOKEN:-none}' } },
  },
});

const app = express();
app.use('/v1', responsesRouter({ tools }), chatCompletionsRouter({ tools }));
app.get('/health', (_req, res) => void res.json(tools.status()));
app.listen(3000);
