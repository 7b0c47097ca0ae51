/** What a build must be: every link leads to a page and a heading that are there, and nothing is loaded from another host. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Throws with all faults of the site in the folder, which stands at `base` on its host. */
export function checkSite(folder, base) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.html'));
  const pages = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  const ids = new Map([...pages].map(([name, html]) => [name, new Set(matches(html, /\bid="([^"]*)"/g))]));
  const faults = [...pages].flatMap(([name, html]) => [...deadLinks(name, html, { ids, base }), ...loads(name, html)]);
  if (faults.length > 0) throw new Error(`The site has faults:\n${faults.join('\n')}`);
}

function deadLinks(name, html, { ids, base }) {
  const hrefs = matches(html, /<a [^>]*?href="([^"]*)"/g).filter((href) => !/^[a-z]+:/i.test(href));
  const isDead = (href) => {
    const [path, anchor] = href.split('#');
    const known = ids.get(path === '' ? name : pageAt(path, { name, base }));
    return !known || (anchor !== undefined && anchor !== '' && !known.has(decodeURIComponent(anchor)));
  };
  return hrefs.filter(isDead).map((href) => `${name}: a link to ${href}`);
}

function pageAt(path, { name, base }) {
  const file = path.startsWith(base) ? path.slice(base.length) : join(dirname(name), path);
  const page = normalize(file === '' || file.endsWith('/') ? `${file}index.html` : file);
  return page.endsWith('.html') ? page : `${page}.html`;
}

function loads(name, html) {
  const sources = matches(html, /<(?:script|img|iframe)\b[^>]*?\bsrc="([^"]*)"|<link\b[^>]*?\bhref="([^"]*)"/g);
  return sources.filter((source) => /^(https?:)?\/\//.test(source)).map((source) => `${name}: loads ${source}`);
}

function matches(text, pattern) {
  return [...text.matchAll(pattern)].map(([, first, second]) => first ?? second);
}
