/** The first page of docs/ ends with a list of all pages, for GitHub. The site has them in its sidebar. */

const FIRST_PAGES = ['README.md', 'index.md'];
const HEADING = 'All pages';

/** A plugin of markdown-it that leaves the list out. */
export function withoutPageList(md) {
  md.core.ruler.push('without-page-list', (state) => {
    if (!FIRST_PAGES.includes(state.env.relativePath)) return;
    const at = state.tokens.findIndex(
      ({ type, content }, index) =>
        content === HEADING && state.tokens[index - 1]?.type === 'heading_open' && type === 'inline',
    );
    if (at > 0) state.tokens.length = at - 1;
  });
}
