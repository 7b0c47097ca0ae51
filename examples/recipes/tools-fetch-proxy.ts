/** The tools of MCP servers for a proxy of your own, whose chats continue by the id of the last answer. */
import express from 'express';
import { loadHistory, memoryStore, recordTurn, runTools } from 'express-open-responses';
import { mcpTools } from 'express-open-responses/mcp';
import { proxy } from './fetch-proxy.ts';

const tools = mcpTools({ configFile: process.env.MCP_CONFIG ?? 'mcp.json' });
const options = { tools, store: memoryStore() };

const app = express();
app.post('/v1/chat/completions', recordTurn(options), loadHistory(options), runTools({ ...options, handler: proxy }));

export const server = app.listen(process.env.PORT ?? 3000);
server.once('close', () => tools.close());
