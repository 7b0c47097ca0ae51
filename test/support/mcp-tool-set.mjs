/** The tools of the MCP server that the tests talk to, over whatever transport. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const LARGE = 5 * 1024 * 1024;

const text = (...lines) => ({ content: lines.map((line) => ({ type: 'text', text: line })) });
const schema = { type: 'object', properties: {} };
const outputSchemas = {
  structured: { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] },
};
const listed = (name) => ({
  name,
  inputSchema: schema,
  ...(name in outputSchemas ? { outputSchema: outputSchemas[name] } : {}),
});

/**
 * A server with tools for every case. `events` emits calls (`call:<name>`), cancellations
 * (`cancelled:<name>`) and lists (`list`), which wait for `events.hold`.
 */
export function toolServer(events, exit = () => process.exit(3)) {
  const server = new Server(
    { name: 'test', version: '1' },
    { capabilities: { tools: { listChanged: true }, resources: {} } },
  );
  let started = 0;
  let cancelled = 0;

  const untilCancelled = (signal) =>
    new Promise((_resolve, reject) => {
      started += 1;
      signal.addEventListener('abort', () => {
        cancelled += 1;
        events.emit('cancelled:slow', signal.reason);
        reject(new Error('cancelled'));
      });
    });

  const tools = {
    echo: ({ text: written }) => text(String(written)),
    slow: (_args, { signal }) => untilCancelled(signal),
    progress: () => text(`${started} started, ${cancelled} cancelled`),
    steps: async ({ steps, message }, { _meta, sendNotification }) => {
      for (let progress = 1; progress <= steps; progress += 1) {
        const params = { progressToken: _meta?.progressToken, progress, total: steps, message };
        await sendNotification({ method: 'notifications/progress', params });
        // The SDKs lose progress that comes together with the answer.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return text(`${steps} steps`);
    },
    ask: async ({ url }) => {
      const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
      const params = url
        ? { mode: 'url', message: 'Log in.', url, elicitationId: 'one' }
        : { message: 'Who are you?', requestedSchema };
      const { action, content } = await server.elicitInput(params);
      return text(`${action} ${content?.name}`);
    },
    askAll: async ({ times }) => {
      const params = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
      const asked = Array.from({ length: times }, () => server.elicitInput(params).then(() => 'answered', String));
      return text(...new Set(await Promise.all(asked)));
    },
    sample: async () => {
      const messages = [{ role: 'user', content: { type: 'text', text: 'Hi' } }];
      const { content } = await server.createMessage({ messages, maxTokens: 5 });
      return text(content.text);
    },
    fail: () => ({ ...text('It went wrong.'), isError: true }),
    refuse: ({ because }) => {
      throw new McpError(-32602, `refused: ${because}`);
    },
    crash: () => {
      exit();
      return new Promise(() => {});
    },
    large: () => text('x'.repeat(LARGE)),
    huge: () => text('x'.repeat(11 * 1024 * 1024)),
    pid: () => text(String(process.pid)),
    environment: () => text(JSON.stringify(process.env)),
    headers: (_args, { requestInfo }) =>
      text(JSON.stringify({ headers: requestInfo?.headers, url: String(requestInfo?.url) })),
    add: ({ quietly }) => {
      tools.late = () => text('better than never');
      if (!quietly) void server.sendToolListChanged();
      return text('added');
    },
    image: () => ({ content: [{ type: 'image', data: PIXEL, mimeType: 'image/png' }] }),
    structured: ({ degrees = 21, none }) => ({ content: [], ...(none ? {} : { structuredContent: { degrees } }) }),
  };

  server.setRequestHandler(ListToolsRequestSchema, async ({ params }, { signal }) => {
    events.emit('list');
    signal.addEventListener('abort', () => events.emit('cancelled:list'));
    await events.hold;
    const names = Object.keys(tools);
    // Two pages, so that every list proves that pages are followed.
    if (params?.cursor === 'rest') return { tools: names.slice(5).map(listed) };
    return { tools: names.slice(0, 5).map(listed), nextCursor: 'rest' };
  });
  server.setRequestHandler(ListResourcesRequestSchema, async ({ params }) =>
    params?.cursor === 'rest'
      ? { resources: [{ uri: 'memo://pixel', name: 'pixel', mimeType: 'image/png' }] }
      : { resources: [{ uri: 'memo://readme', name: 'readme', description: 'What to read.' }], nextCursor: 'rest' },
  );
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    if (uri === 'memo://pixel') return { contents: [{ uri, mimeType: 'image/png', blob: PIXEL }] };
    if (uri !== 'memo://readme') throw new McpError(-32002, 'Resource not found');
    return { contents: [{ uri, mimeType: 'text/plain', text: 'Read me.' }] };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    events.emit(`call:${params.name}`, params.arguments);
    const run = tools[params.name];
    if (!run) throw new McpError(-32602, `Unknown tool: ${params.name}`);
    return run(params.arguments ?? {}, extra);
  });
  return server;
}
