/** The order of the pages. A page of docs/ that has no place yet stands under More. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SECTIONS = {
  Start: ['README', 'quick-start', 'npx', 'concepts', 'guides', 'troubleshooting'],
  'Connect it': ['providers', 'clients', 'frameworks', 'mounting', 'migrating'],
  'Run it': [
    'options',
    'security',
    'production',
    'sizing',
    'logging',
    'telemetry',
    'traces',
    'inspector',
    'errors',
    'stores',
    'background',
    'budgets',
    'model-servers',
    'upstreams',
  ],
  Tools: [
    'tools',
    'mcp',
    'remote-mcp',
    'web-search',
    'code-interpreter',
    'shell',
    'containers',
    'programs',
    'image-generation',
    'multi-agent',
  ],
  'The APIs': [
    'endpoints',
    'messages',
    'files',
    'vector-stores',
    'skills',
    'batches',
    'webhooks',
    'websocket',
    'compaction',
    'dialects',
    'middlewares',
    'guards',
    'openapi',
  ],
  Reference: ['support', 'compatibility', 'conformance', 'requirements', 'architecture'],
};
/** Folders whose pages are listed by themselves. */
const FOLDERS = { Recipes: 'recipes', API: 'api', Decisions: 'decisions' };

/** VitePress's sidebar for the folder of pages. */
export function sidebar(docs) {
  const listed = Object.values(SECTIONS).flat();
  const rest = pagesIn(docs).filter((page) => !listed.includes(page));
  const sections = Object.entries({ ...SECTIONS, ...(rest.length > 0 ? { More: rest } : {}) }).map(([text, pages]) => {
    const items = pages.filter((page) => existsSync(join(docs, `${page}.md`))).map((page) => itemOf(docs, page));
    return { text, items, collapsed: false };
  });
  const folders = Object.entries(FOLDERS).map(([text, folder]) => ({
    text,
    items: allPagesIn(docs, folder).map((page) => itemOf(docs, page)),
    collapsed: true,
  }));
  return [...sections, ...folders];
}

function pagesIn(folder) {
  return readdirSync(folder).flatMap((name) => (name.endsWith('.md') ? [name.slice(0, -3)] : []));
}

/** The index first. */
function allPagesIn(docs, folder) {
  const names = readdirSync(join(docs, folder), { recursive: true }).filter((name) => name.endsWith('.md'));
  const rest = names.filter((name) => name !== 'README.md').toSorted();
  return ['README.md', ...rest].map((name) => `${folder}/${name.slice(0, -3)}`);
}

function itemOf(docs, page) {
  const heading = /^# (.+)$/m.exec(readFileSync(join(docs, `${page}.md`), 'utf8'))?.[1] ?? page;
  return { text: heading.replace(/[`\\]/g, ''), link: `/${page.replace(/(^|\/)README$/, '$1')}` };
}
