/** Relative links, as GitHub follows them: to pages of the site where they stay in docs/, else to the repository. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Where the sources are. */
export const REPOSITORY = 'https://github.com/your-org/express-open-responses';

const root = join(import.meta.dirname, '../..');

/** A plugin of markdown-it. Throws for a link to a file that is not there. */
export function relativeLinks(md) {
  md.core.ruler.push('relative-links', ({ tokens, env }) => {
    const links = tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === 'link_open');
    for (const link of links) link.attrSet('href', followed(link.attrGet('href'), env.relativePath));
  });
}

function followed(href, page) {
  if (/^([a-z]+:|#)/i.test(href)) return href;
  const [path, anchor] = href.split('#');
  const target = join('docs', dirname(page), decodeURIComponent(path));
  if (!existsSync(join(root, target))) throw new Error(`docs/${page} links to ${href}, which is not there`);
  const isFolder = statSync(join(root, target)).isDirectory();
  const file = isFolder ? join(target, 'README.md') : target;
  const suffix = anchor ? `#${anchor}` : '';
  if (file.startsWith('docs/') && file.endsWith('.md') && existsSync(join(root, file)))
    return pageLink(file, page) + suffix;
  return `${REPOSITORY}/${isFolder ? 'tree' : 'blob'}/main/${target}${suffix}`;
}

function pageLink(file, page) {
  const path = relative(dirname(page), file.replace(/^docs\//, '')).replace(/(^|\/)README\.md$/, '$1index.md');
  return path.startsWith('.') ? path : `./${path}`;
}
