/** Hundreds of secrets in the URL of a request, which are searched for in the long answers of its server. */

import { startSite } from '../egress/site.ts';
import { callOf, describeRemote, named, remoteFor, startScripted } from '../mcp/remote-support.ts';
import { cpuSecondsOf, expectProportion } from '../support/cpu-time.ts';
import { closeAll, closeLater, never, openTools } from '../support/mcp-client.ts';
import { tally } from './tally.ts';

const { tried } = tally('mcp');

const MIB = 1024 * 1024;
const SHARED = 'a'.repeat(24);

/** As many secrets with the same beginning as a URL may contain. */
function manySecrets(): string {
  const pairs = Array.from({ length: 220 }, (_, index) => `k=${SHARED}${index.toString(36).padStart(3, 'a')}x`);
  return `/mcp?${pairs.join('&')}`;
}

describeRemote('a remote MCP server', () => {
  afterEach(closeAll);

  it.each([
    ['as text', (text: string) => ({ content: [{ type: 'text', text }] })],
    ['in an error', (text: string) => ({ content: [{ type: 'text', text }], isError: true })],
    ['as structured content', (text: string) => ({ content: [], structuredContent: { text } })],
  ])('[F-13] cannot make the process search long for secrets: 9 MiB %s', async (_where, result) => {
    const text = `${'a'.repeat(9 * MIB)}${SHARED}aaax`;
    const server = await startScripted((method) =>
      method === 'tools/list' ? { tools: [{ name: 'flood' }] } : result(text),
    );
    const provider = await remoteFor([server]).open(named(server, { path: manySecrets() }), 'a', never());
    const call = async () => expect(JSON.stringify(await callOf(provider, 'flood')).slice(-30)).toContain('***');
    expect(await cpuSecondsOf(call)).toBeLessThan(6);
    tried('9 MiB of an answer against 220 secrets of a URL');
  });

  it.each([
    ['comments that end in carriage returns', ':\r'],
    ['lines of no field', 'a\n'],
    ['lines of no field that end in carriage returns', 'a\r'],
  ])('[F-04] cannot keep the process busy with %s', async (_what, line) => {
    await expectProportion(4 * MIB, (times) => connectTo(line.repeat(times)));
    tried('9 MiB of lines that say nothing');
  });
});

/** Connects to a server that answers with these lines. */
async function connectTo(lines: string): Promise<void> {
  const site = await startSite((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(lines);
  });
  closeLater(site.close);
  const servers = { a: { url: `http://127.0.0.1:${site.port}/mcp`, type: 'http' as const } };
  await openTools(servers, { connectTimeoutMs: 60_000 }).list(never());
}
