/** Hundreds of secrets in the URL of a request, which are searched for in the long answers of its server. */

import { expectLinearWork } from '../support/linear-work.ts';
import { closeAll, closeLater, never, openTools } from '../support/mcp-client.ts';
import { startSite } from '../tools/egress/site.ts';
import { callOf, describeRemote, named, remoteFor, startScripted } from '../tools/mcp/remote-support.ts';
import { tally } from './tally.ts';

const { tried } = tally('mcp');

const MIB = 1024 * 1024;
const SHARED = 'a'.repeat(24);

/** A path with so many secrets with the same beginning; a URL may contain 220. */
function manySecrets(length: number): string {
  const pairs = Array.from({ length }, (_, index) => `k=${SHARED}${index.toString(36).padStart(3, 'a')}x`);
  return `/mcp?${pairs.join('&')}`;
}

describeRemote('a remote MCP server', () => {
  afterEach(closeAll);

  it.each([
    ['as text', (text: string) => ({ content: [{ type: 'text', text }] })],
    ['in an error', (text: string) => ({ content: [{ type: 'text', text }], isError: true })],
    ['as structured content', (text: string) => ({ content: [], structuredContent: { text } })],
  ])('[F-13] cannot make the process search long for secrets: megabytes %s', async (_where, result) => {
    let text = '';
    const server = await startScripted((method) =>
      method === 'tools/list' ? { tools: [{ name: 'flood' }] } : result(text),
    );
    await expectLinearWork(216, async (size) => {
      text = `${'a'.repeat(size * 5000)}${SHARED}aaax`;
      const provider = await remoteFor([server]).open(named(server, { path: manySecrets(size) }), 'a', never());
      expect(JSON.stringify(await callOf(provider, 'flood')).slice(-30)).toContain('***');
    });
    tried('a MiB of an answer against 216 secrets of a URL');
  });

  it.each([
    ['comments that end in carriage returns', ':\r'],
    ['lines of no field', 'a\n'],
    ['lines of no field that end in carriage returns', 'a\r'],
  ])('[F-04] cannot keep the process busy with %s', async (_what, line) => {
    await expectLinearWork(MIB, (times) => connectTo(line.repeat(times)));
    tried('2 MiB of lines that say nothing');
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
