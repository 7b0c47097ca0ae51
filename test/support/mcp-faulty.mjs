/** MCP servers over stdio with one fault each: node mcp-faulty.mjs <fault>. */
import { closeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , fault] = process.argv;
const MIB = 1024 * 1024;

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const tool = (name, more = {}) => ({ name, inputSchema: { type: 'object', properties: {} }, ...more });

function listed() {
  switch (fault) {
    case 'many':
      return Array.from({ length: 10_000 }, (_, nth) => tool(`bad_${nth}`));
    case 'large-schema':
      return [tool('bad', { inputSchema: { type: 'object', description: 'x'.repeat(MIB) } }), tool('other')];
    case 'long-name':
      return [tool('n'.repeat(500)), tool('other')];
    default:
      return [tool('bad')];
  }
}

function called(id, { _meta: { progressToken } = {} }) {
  switch (fault) {
    case 'killed':
      process.kill(process.pid, 'SIGKILL');
      break;
    case 'garbage':
      process.stdout.write(
        `${'{"jsonrpc":"2.0",'.repeat(3)}\nnot JSON\n{"id":${id}}\n${JSON.stringify({ id, result: 7 })}\n`,
      );
      break;
    case 'huge':
      say({ id, result: { content: [{ type: 'text', text: 'x'.repeat(50 * MIB) }] } });
      break;
    case 'endless':
      setInterval(() => {
        for (let burst = 0; burst < 100; burst += 1)
          say({ method: 'notifications/progress', params: { progressToken, progress: burst } });
      }, 10);
      break;
    case 'no-content':
      say({ id, result: {} });
      break;
    case 'wrong-content':
      say({ id, result: { content: { type: 'text' }, structuredContent: 7, isError: 'maybe' } });
      break;
    default:
      say({ id, result: { content: [{ type: 'text', text: `from ${fault}` }] } });
  }
}

/** The process goes on, and reads no further request. */
function closeInput() {
  setInterval(() => {}, 1_000);
  process.stdin.destroy();
  closeSync(0);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (fault === 'hanging') return;
  if (fault === 'garbled') return void process.stdout.write('What is that?\n'.repeat(1_000));
  if (method === 'initialize')
    say({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'bad', version: '1' },
      },
    });
  else if (method === 'tools/list') {
    say({ id, result: { tools: listed() } });
    if (fault === 'deaf') closeInput();
  } else if (method === 'tools/call') called(id, params);
  else if (id !== undefined) say({ id, error: { code: -32601, message: 'Method not found' } });
});
