/** Whole numbers above 2^53 on their way to MCP servers and back, over every transport. */

import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { textStream, toolCallStream } from '../../../src/testing/index.ts';
import { type McpTools, mcpTools } from '../../../src/tools/mcp/index.ts';
import { type Listening, listening } from '../../support/listening.ts';
import { LONG, LONGER, rawAnswer } from '../../support/mcp-raw-answers.mjs';
import { startRequestApp } from '../../support/request-app.ts';

const SCRIPT = fileURLToPath(new URL('../../support/mcp-raw-answers.mjs', import.meta.url));
const ARGUMENTS = `{"id": ${LONG}, "in": {"list": [${LONGER}, 1.5, 7]}, "text": "${LONG}"}`;
const SENT = `"id":${LONG},"in":{"list":[${LONGER},1.5,7]},"text":"${LONG}"`;

let http: Listening;

beforeAll(async () => {
  http = await listening(async (req, res) => {
    if (req.method === 'GET' && req.url === '/sse') {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /sse\n\n');
      res.once('close', () => streams.delete(res));
      streams.add(res);
      return;
    }
    if (req.method !== 'POST') return void res.writeHead(405).end();
    const answer = rawAnswer(await text(req));
    if (req.url === '/sse') {
      res.writeHead(202).end();
      for (const stream of streams) if (answer) stream.write(`event: message\ndata: ${answer}\n\n`);
    } else if (answer === undefined) res.writeHead(202).end();
    else if (req.url === '/json') res.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    else {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const cut = answer.indexOf(LONG) + 8;
      res.write(`event: message\ndata: ${answer.slice(0, cut)}`);
      setImmediate(() => res.end(`${answer.slice(cut)}\n\n`));
    }
  });
});
const streams = new Set<NodeJS.WritableStream>();
afterAll(() => http.close());

describe.each([
  ['stdio', () => ({ command: process.execPath, args: [SCRIPT] })],
  ['HTTP with JSON', () => ({ url: `${http.url}/json` })],
  ['HTTP with events', () => ({ url: `${http.url}/events` })],
  ['SSE', () => ({ type: 'sse' as const, url: `${http.url}/sse` })],
])('over %s', (_, server) => {
  let tools: McpTools;
  afterEach(() => tools.close());

  it('[V-25] keep all digits, in arguments and in structured content', async () => {
    tools = mcpTools({ servers: { raw: server() } });
    const app = await startRequestApp({ tools: () => [tools] });
    app.upstream.reply(({ body }) => {
      const { messages, tools: offered } = body as { messages: readonly object[]; tools: readonly Named[] };
      const [tool] = offered;
      if (messages.length > 1) return { body: textStream('Done.') };
      return { body: toolCallStream([{ id: 'call_1', name: `${tool?.function.name}`, arguments: ARGUMENTS }]) };
    });
    await app.streamed({ input: 'Go.' });
    const result = app.requested().messages.find(({ role }) => role === 'tool');
    await app.close();
    const [request, structured] = String(result?.content).split('\n');
    expect(request).toContain(`"arguments":{${SENT}}`);
    expect(structured).toBe(`{"id":${LONG},"all":[${LONGER},1.5],"text":"${LONG}"}`);
  });
});

interface Named {
  readonly function: { readonly name: string };
}
