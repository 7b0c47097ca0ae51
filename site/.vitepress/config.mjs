/** The documentation as a site: the pages of docs/ as they are, which read well on GitHub too. `npm run docs:site` builds it into build/site. */
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { anchorOf, checkSite } from './check-site.mjs';
import { REPOSITORY, relativeLinks } from './links.mjs';
import { mermaidFences } from './mermaid-fences.mjs';
import { withoutPageList } from './page-list.mjs';
import { sidebar } from './sidebar.mjs';

const ICON =
  'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M2 3h12v8H8l-4 3v-3H2z" fill="%233451b2"/></svg>';

const root = join(import.meta.dirname, '../..');

export default defineConfig({
  title: 'express-open-responses',
  description: 'The OpenAI Responses API in your Express app, on top of any Chat Completions model server.',
  // Browsers ask for /favicon.ico otherwise.
  head: [['link', { rel: 'icon', href: ICON }]],
  // Where the site stands on its host, such as `/express-open-responses/`.
  base: process.env.SITE_BASE ?? '/',
  srcDir: join(root, 'docs'),
  outDir: join(root, 'build/site'),
  cacheDir: join(root, 'build/site-cache'),
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  markdown: {
    anchor: { slugify: anchorOf },
    config(md) {
      md.use(withoutPageList);
      md.use(relativeLinks);
      md.use(mermaidFences);
    },
  },
  // Mermaid's parts are large, and only pages with a diagram load them.
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Guides', link: '/guides' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: sidebar(join(root, 'docs')),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/edit/main/docs/:path`, text: 'Edit this page' },
  },
  buildEnd: ({ outDir, site }) => checkSite(outDir, site.base),
});
