/** The documentation site in a real browser: `npm run docs:site` builds it, here if nobody has yet. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { extname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { type Listening, listening } from '../support/listening.ts';
import { describeWith } from '../support/services.ts';
import { CHROMIUM, openPage, startBrowser, type WatchedPage } from './browser.ts';

const BUILDS_WITHIN_MS = 900_000;
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

const root = join(import.meta.dirname, '../..');
const site = join(root, 'build/site');

/** The files of the site, as any host of static files serves them. */
function serveSite(): Server {
  return createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const path = join(site, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    const body = await readFile(path).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' });
    response.end(body);
  });
}

describeWith(CHROMIUM, 'chromium')('the documentation site', () => {
  let app: Listening;
  let origin: string;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    if (!existsSync(join(site, 'quick-start.html')))
      execFileSync('npm', ['run', '--silent', 'docs:site'], { cwd: root, stdio: 'inherit' });
    app = await listening(serveSite());
    origin = app.url;
    browser = await startBrowser();
  }, BUILDS_WITHIN_MS);

  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  beforeEach(async () => {
    watched = await openPage(browser, origin);
    ({ page } = watched);
  });

  afterEach(async () => {
    await page.close();
    expect(watched.faults).toEqual([]);
  });

  it('leads from its first page to the quick start, and has every page of docs/', async () => {
    await page.goto(`${origin}/`);
    await page.locator('.VPSidebar').getByRole('link', { name: 'Quick start' }).click();
    await page.getByRole('heading', { level: 1, name: 'Quick start' }).waitFor();
    const links = await page
      .locator('.VPSidebar a')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
    const names = readdirSync(join(root, 'docs'), { recursive: true }).map(String);
    const pages = names.filter((name) => name.endsWith('.md')).map((name) => `/${name.replace(/(README)?\.md$/, '')}`);
    const listed = links.map((link) => link.replace(/\.html$/, ''));
    expect(pages.filter((each) => !listed.includes(each)).toSorted()).toEqual([]);
  });

  it('finds a page by words of its text', async () => {
    await page.goto(`${origin}/`);
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.locator('.VPLocalSearchBox input').fill('previous_response_not_found');
    await page.locator('.VPLocalSearchBox .result').filter({ hasText: 'Errors' }).first().click();
    await page.waitForURL(/\/errors\.html/);
  });

  it.each(['concepts', 'architecture', 'model-servers'])(
    'draws the diagrams of %s, by day and by night',
    async (name) => {
      await page.goto(`${origin}/${name}.html`);
      const drawings = page.locator('.mermaid-diagram svg');
      await drawings.first().waitFor();
      const byDay = await drawings.first().innerHTML();
      await page.locator('button.VPSwitchAppearance').first().click();
      await page.waitForFunction(
        (before) => document.querySelector('.mermaid-diagram svg')?.innerHTML !== before,
        byDay,
      );
      expect([
        await page.locator('html.dark').count(),
        await page.locator('.mermaid-diagram .error-icon').count(),
      ]).toEqual([1, 0]);
    },
  );
});
