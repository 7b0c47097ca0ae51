/** MCP servers that requests name, as far as the host allows them. */
import express from 'express';
import { responsesRouter } from 'express-open-responses';
import { remoteMcp } from 'express-open-responses/mcp';

const remote = remoteMcp({ egress: { allow: [{ suffix: '.tools.example.com' }, { host: 'mcp.example.com' }] } });
const responses = responsesRouter({ remoteMcp: remote });

const server = express().use('/v1', responses).listen(3000);
process.once('SIGTERM', async () => {
  await responses.drain({ server });
  await remote.close();
  server.close();
});
