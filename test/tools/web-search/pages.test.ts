/** Pages that the model opens: which may be opened, and what the model receives of them. */

import { existsSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { webSearch } from 'express-open-responses/web-search';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { says, shape, withTools } from '../../engine/tools/support.ts';
import { post } from '../../support/responses-client.ts';
import { describeWhere } from '../../support/skipping.ts';
import { startSite } from '../egress/site.ts';
import { engineOf, INCLUDING, opens } from './support.ts';

const ARTICLE = `<!doctype html><html><head><title> A  title </title><script>no()</script></head><body>
<nav><a href="/">Home</a></nav><article><h1>Heading</h1><p>${'The first paragraph, which is long. '.repeat(20)}</p>
<p>The needle is <b>here</b>.</p><p>${'The last paragraph, which is long. '.repeat(20)}</p></article></body></html>`;

const as = (type: string, body: string | Buffer) => (_: IncomingMessage, res: ServerResponse) =>
  void res.setHeader('content-type', type).end(body);

interface Opening {
  readonly path?: string;
  readonly find?: string;
  readonly tool?: JsonObject;
  readonly egress?: JsonObject;
}

/** The item of one page that the model opened on a site that answers so. */
async function opened(
  answer: RequestListener,
  { path = '/page', find, tool = {}, egress }: Opening = {},
): Promise<JsonObject> {
  const site = await startSite(answer);
  const policy = egress ?? { allow: [{ cidr: '127.0.0.1/32' }], ports: [site.port] };
  const tools = webSearch({ engine: engineOf().engine, egress: policy });
  try {
    return await withTools({ tools }, async ({ url, fake }) => {
      const address = path.startsWith('http') ? path : `http://127.0.0.1:${site.port}${path}`;
      fake.reply(opens(address, find), says('Read.'));
      const { text } = await post(url, { ...INCLUDING, tools: [{ type: 'web_search', ...tool }] });
      const response = JSON.parse(text);
      expect(shape(response)[1]).toBe('message completed');
      return response.output[0];
    });
  } finally {
    await tools.close?.();
    await site.close();
  }
}

const textOf = ({ results }: JsonObject): string => (results as readonly { readonly text: string }[])[0]?.text ?? '';

const WORKER = join(import.meta.dirname, '../../../dist/cjs/tools/web-search/pages/page-worker.js');
const isBuilt = existsSync(WORKER);

describeWhere(isBuilt, 'pages are read in a process, whose code `npm run build` makes')('open_page', () => {
  it('[B-41] sends the model the article of a page, a line for each block', async () => {
    const item = await opened(as('text/html; charset=utf-8', ARTICLE));
    expect(item).toMatchObject({
      status: 'completed',
      action: { type: 'open_page', url: expect.stringContaining('/page') },
      results: [{ title: 'A title', url: expect.stringContaining('/page') }],
    });
    expect(textOf(item)).toMatch(/The first paragraph[^\n]+\n+The needle is here\.\n+The last paragraph/);
    expect(textOf(item)).not.toMatch(/no\(\)|Home/);
  });

  it('[B-41] finds a text in the page, whatever its case', async () => {
    const item = await opened(as('text/html', ARTICLE), { find: 'NEEDLE is here' });
    expect(item).toMatchObject({ action: { type: 'find_in_page', pattern: 'NEEDLE is here' } });
    expect(textOf(item)).toContain('The needle is here.');
    expect(textOf(item).length).toBeLessThan(700);
  });

  it('[B-41] reports where it does not', async () => {
    expect(textOf(await opened(as('text/html', ARTICLE), { find: 'a.*b' }))).toBe('The page does not contain "a.*b".');
  });

  it.each([
    ['text/plain', 'Plain  text.\n', 'Plain  text.'],
    ['application/json', '{"a":1}', '{"a":1}'],
    ['text/html', '', '(The page has no text.)'],
    ['text/html', '<p>Short.', 'Short.'],
    ['text/html; charset=iso-8859-1', Buffer.from('<p>Köln', 'latin1'), 'Köln'],
    ['text/html', Buffer.from('<meta charset="latin1"><p>Köln', 'latin1'), 'Köln'],
    ['text/html; charset=nonsense', '<p>Köln', 'Köln'],
  ])('[B-41] reads %s: %s', async (type, body, expected) => {
    expect(textOf(await opened(as(type, body)))).toBe(expected);
  });

  it('[B-41] cuts a long page, with a mark', async () => {
    const item = await opened(as('text/plain', 'x'.repeat(100_000)), { tool: { search_context_size: 'low' } });
    expect(textOf(item)).toBe(`${'x'.repeat(8000)}…cut`);
  });

  it('[B-41] follows redirects, and names the page that it came to', async () => {
    const item = await opened((req, res) => {
      if (req.url === '/page') res.writeHead(302, { location: '/other' }).end();
      else as('text/plain', 'Other.')(req, res);
    });
    expect(item).toMatchObject({ results: [{ url: expect.stringContaining('/other'), text: 'Other.' }] });
  });

  const REFUSED = 'This page may not be opened from here.';
  const to =
    (location: string): RequestListener =>
    (_, res) =>
      void res.writeHead(302, { location }).end();
  it.each<[string, RequestListener, Opening, string]>([
    ['of this machine', as('text/plain', 'x'), { egress: {} }, REFUSED],
    ['of the cloud', as('text/plain', 'x'), { path: 'http://169.254.169.254/latest/meta-data', egress: {} }, REFUSED],
    ['that redirects to the cloud', to('http://169.254.169.254/'), {}, REFUSED],
    ['that redirects to a file', to('file:///etc/passwd'), {}, REFUSED],
    ['that redirects to nothing', to('http://['), {}, 'The address is not a URL.'],
    ['that redirects to itself', to('/page'), {}, 'The page redirects more than 5 times.'],
    ['that is none', as('image/png', 'x'), {}, 'The page is not text: its type is image/png.'],
    ['that is not there', (_, res) => void res.writeHead(404).end('x'), {}, 'The page answered with the status 404.'],
    ['that hangs up', (req) => void req.socket.destroy(), {}, 'The page could not be reached.'],
    [
      'of a domain that the request excludes',
      as('text/plain', 'x'),
      { tool: { filters: { allowed_domains: ['e.com'] } } },
      'The request does not allow pages of this domain.',
    ],
    ['without an address', as('text/plain', 'x'), { path: 'http://' }, 'The address is not a URL.'],
  ])('[B-41] does not open a page %s, and informs the model', async (_, answer, opening, message) => {
    const item = await opened(answer, opening);
    expect([item.status, textOf(item)]).toEqual(['failed', message]);
  });

  it('[B-41] refuses a page of 50 MB before it has read it', async () => {
    let sent = 0;
    const item = await opened((_, res) => {
      res.setHeader('content-type', 'text/html');
      const more = () => {
        while (sent < 50_000_000 && !res.destroyed) {
          sent += 65_536;
          if (!res.write('x'.repeat(65_536))) return;
        }
        res.end();
      };
      res.on('drain', more);
      more();
    });
    expect([item.status, textOf(item)]).toEqual(['failed', 'The page is too large.']);
    expect(sent).toBeLessThan(40_000_000);
  });
});
