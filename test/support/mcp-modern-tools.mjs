/** The tools of an MCP server of the 2026-07-28 protocol, made with the SDK's own server package. */
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const text = (line) => ({ content: [{ type: 'text', text: line }] });

/** `events` emits calls (`call:<name>`), cancellations (`cancelled:<name>`) and lists (`list`). */
export function modernServer(events, extra = new Map()) {
  const server = new McpServer(
    { name: 'modern', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true }, resources: {} } },
  );
  const tool = (name, inputSchema, run) =>
    server.registerTool(name, { inputSchema: z.object(inputSchema) }, async (args, context) => {
      events.emit(`call:${name}`, args, context);
      return run(args, context);
    });

  tool('echo', { text: z.string() }, ({ text: written }) => text(written));
  tool('pid', {}, () => text(String(process.pid)));
  tool('environment', {}, () => text(JSON.stringify(process.env)));
  tool('headers', {}, (_args, { http }) => text(JSON.stringify(Object.fromEntries(http?.req?.headers ?? []))));
  tool(
    'slow',
    {},
    (_args, { mcpReq }) =>
      new Promise((_resolve, reject) => {
        mcpReq.signal.addEventListener('abort', () => {
          events.emit('cancelled:slow');
          reject(new Error('cancelled'));
        });
      }),
  );
  tool('steps', { steps: z.number(), message: z.string() }, async ({ steps, message }, { mcpReq }) => {
    for (let progress = 1; progress <= steps; progress += 1) {
      const params = { progressToken: mcpReq._meta?.progressToken, progress, total: steps, message };
      await mcpReq.notify({ method: 'notifications/progress', params });
      // The SDKs lose progress that comes together with the answer.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return text(`${steps} steps`);
  });
  tool('fail', {}, () => ({ ...text('It went wrong.'), isError: true }));
  tool('crash', {}, () => {
    events.emit('crash');
    return new Promise(() => {});
  });
  const answered = z.object({ name: z.string() });
  tool('ask', {}, (_args, { mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, 'who', answered);
    if (answer) return text(`hello ${answer.name}`);
    if (mcpReq.inputResponses) return text('nobody');
    return inputRequired({
      inputRequests: { who: inputRequired.elicit({ message: 'Who are you?', requestedSchema: answered }) },
    });
  });
  for (const [name, run] of extra) tool(name, {}, () => text(run));
  server.registerResource('readme', 'memo://readme', { mimeType: 'text/plain' }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Read me.' }],
  }));
  return server;
}
