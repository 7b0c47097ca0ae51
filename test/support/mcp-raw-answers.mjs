/** Answers of an MCP server as text, with numbers that JavaScript cannot hold: over stdio if this is the main module. */
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const LONG = '9007199254740993';
export const LONGER = '-123456789012345678901234567890';

/** The text of the answer to the message; undefined if it needs none. The result quotes the request as it came. */
export function rawAnswer(line) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return undefined;
  const answer = (result) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
  if (method === 'initialize') {
    const { protocolVersion } = params;
    const info = { capabilities: { tools: {} }, serverInfo: { name: 'raw', version: '1' } };
    return answer(JSON.stringify({ protocolVersion, ...info }));
  }
  if (method === 'tools/list') {
    const schema = `{"type":"object","properties":{"id":{"type":"integer","maximum":${LONG}00}}}`;
    const tool = `{"name":"look","inputSchema":${schema},"outputSchema":${schema}}`;
    return answer(`{"tools":[${tool}]}`);
  }
  if (method !== 'tools/call')
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"No."}}`;
  const text = JSON.stringify(line.slice(line.indexOf('"arguments"')));
  return answer(
    `{"content":[{"type":"text","text":${text}}],"structuredContent":{"id":${LONG},"all":[${LONGER},1.5],"text":"${LONG}"}}`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const answer = rawAnswer(line);
    // In two pieces, the first of which ends within a number.
    if (answer === undefined) return;
    const cut = answer.indexOf(LONG) + 8;
    process.stdout.write(answer.slice(0, cut));
    setImmediate(() => process.stdout.write(`${answer.slice(cut)}\n`));
  });
}
