/** Schemas whose patterns take for ever with what a model or a server writes: the call fails, and the process goes on. */
import { json } from 'node:stream/consumers';
import { functionTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { textStream, toolCallStream } from '../../../src/testing/index.ts';
import { mcpTools } from '../../../src/tools/mcp/index.ts';
import { listening } from '../../support/listening.ts';
import { startRequestApp } from '../../support/request-app.ts';

const SLOW = { type: 'object', properties: { email: { type: 'string', pattern: '^([a-zA-Z0-9]+\\.?)+@x$' } } };
const ANY = { type: 'object', properties: {} };
const EVIL = { email: 'a'.repeat(60) };
const KIND = { email: 'ada@x' };
const REFUSED = 'input_validation_error: the value could not be checked in time';

/** The tools of a server with one tool, whose answer is `answer` if it has an output schema. */
async function serverTools(tool: JsonObject, answer: JsonObject) {
  const results: Readonly<Record<string, JsonObject>> = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
    'tools/list': { tools: [{ name: 'look', ...tool }] },
    'tools/call': {
      content: [{ type: 'text', text: 'Ran.' }],
      ...('outputSchema' in tool ? { structuredContent: answer } : {}),
    },
  };
  const server = await listening(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    // The cast: a client's message.
    const { id, method } = (await json(request)) as { readonly id?: number; readonly method: string };
    if (id === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
  });
  const tools = mcpTools({ servers: { s: { url: `${server.url}/mcp` } }, logger: false });
  return { tools, close: () => Promise.all([tools.close(), server.close()]) };
}

/** What the model receives of a call with these arguments, and of another one after it. */
async function outputsOf(tools: ReturnType<typeof functionTools>, all: readonly JsonObject[], stream: boolean) {
  const app = await startRequestApp({ tools: () => [tools] });
  const outputs = [];
  for (const args of all) {
    app.upstream.reply(({ body }) => {
      // The cast: a chat request that offers the tool.
      const { messages, tools: offered } = body as {
        readonly messages: readonly JsonObject[];
        readonly tools: readonly { readonly function: { readonly name: string } }[];
      };
      if (messages.length > 1) return { body: textStream('Done.') };
      const call = { id: 'call_1', name: `${offered[0]?.function.name}`, arguments: JSON.stringify(args) };
      return { body: toolCallStream([call]) };
    });
    await (stream ? app.streamed({ input: 'Go.' }) : app.create({ input: 'Go.' }));
    outputs.push(app.requested().messages.find(({ role }) => role === 'tool')?.content);
  }
  await app.close();
  return outputs;
}

describe.each([
  ['JSON', false],
  ['a stream', true],
])('with %s', (_, stream) => {
  it('[F-04] [T-06] does not call a function with arguments that its pattern cannot be done with', async () => {
    const calls: unknown[] = [];
    const execute = (args: unknown) => {
      calls.push(args);
      return 'Ran.';
    };
    const tools = functionTools({ look: { parameters: SLOW, execute } });
    expect([await outputsOf(tools, [EVIL, KIND], stream), calls]).toEqual([[REFUSED, 'Ran.'], [KIND]]);
  });

  it('[F-04] [T-06] does not call a tool of a server with such arguments', async () => {
    const { tools, close } = await serverTools({ inputSchema: SLOW }, {});
    const outputs = await outputsOf(tools, [EVIL, KIND], stream);
    await close();
    expect(outputs).toEqual([REFUSED, 'Ran.']);
  });

  it.each([
    [
      EVIL,
      `The result does not match the tool's output schema: the value could not be checked in time. It answered:\nRan.\n${JSON.stringify(EVIL)}`,
    ],
    [KIND, `Ran.\n${JSON.stringify(KIND)}`],
  ])('[F-04] [T-08] reports a result that is such a value, and no other: %j', async (answer, expected) => {
    const { tools, close } = await serverTools({ inputSchema: ANY, outputSchema: SLOW }, answer);
    const outputs = await outputsOf(tools, [{}], stream);
    await close();
    expect(outputs).toEqual([expected]);
  });
});
