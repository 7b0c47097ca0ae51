/** The example's server-run tools: a real MCP server behind the demo model. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import type { Example } from '../../examples/express/start.ts';
import { startExample } from './support.ts';

const ASK = 'Please call the echo tool.';

let example: Example;
beforeAll(async () => {
  example = await startExample({ MCP_CONFIG: '' });
}, 120_000);
afterAll(() => example.close());

function clientOf({ url }: Example): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
}

function kinds({ output }: OpenAI.Responses.Response): readonly string[] {
  return output.map((item) => ('status' in item && item.status ? `${item.type} ${item.status}` : item.type));
}

describe('the demo with the tools of a real MCP server', () => {
  it('[T-01] [T-02] [T-03] runs one on the Responses API and answers with its result', async () => {
    const response = await clientOf(example).responses.create({ model: 'demo', input: ASK });
    expect(kinds(response)).toEqual(['mcp_list_tools completed', 'mcp_call completed', 'message completed']);
    expect(response.output_text).toContain('Echo: ');
  });

  it('[T-02] runs one in a stream that openai-node puts together, and goes on from there', async () => {
    const client = clientOf(example);
    const first = await client.responses.stream({ model: 'demo', input: ASK }).finalResponse();
    const next = await client.responses.create({ model: 'demo', input: ASK, previous_response_id: first.id });
    // The tools are listed once in a chain.
    expect([kinds(first), kinds(next)]).toEqual([
      ['mcp_list_tools completed', 'mcp_call completed', 'message completed'],
      ['mcp_call completed', 'message completed'],
    ]);
  });

  it('[S-19] [T-02] runs one on the Chat Completions API, and shows the client no call', async () => {
    const messages = [{ role: 'user' as const, content: ASK }];
    const { choices } = await clientOf(example).chat.completions.create({ model: 'demo', messages });
    expect([choices[0]?.message.content, choices[0]?.message.tool_calls]).toEqual([
      expect.stringContaining('Echo: '),
      undefined,
    ]);
  });

  it('[A-14] lists no tools where none is called', async () => {
    const response = await clientOf(example).responses.create({ model: 'demo', input: 'Say hello.' });
    expect(kinds(response)).toEqual(['message completed']);
  });
});

describe('MCP_CONFIG', () => {
  it('[B-22] names a file of servers as every MCP client has it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-config-'));
    const file = join(folder, 'mcp.json');
    const args = ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio'];
    writeFileSync(file, JSON.stringify({ mcpServers: { mine: { command: process.execPath, args } } }));
    const configured = await startExample({ MCP_CONFIG: file });
    const { output } = await clientOf(configured).responses.create({ model: 'demo', input: ASK });
    await configured.close();
    rmSync(folder, { recursive: true });
    expect(output.find(({ type }) => type === 'mcp_call')).toMatchObject({ server_label: 'mine', name: 'echo' });
  });
});
