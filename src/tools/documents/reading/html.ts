/** The text of HTML. */
import { readMarkup } from './markup.ts';
import type { TextOutput } from './text-output.ts';

const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'select']);
const PARAGRAPHS = new Set([
  'p',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'table',
  'ul',
  'ol',
  'dl',
  'pre',
  'blockquote',
  'title',
]);
const LINES = new Set(
  'div li tr br dt dd hr section article header footer main nav aside figure figcaption form address caption option body'.split(
    ' ',
  ),
);
const CELLS = new Set(['td', 'th']);
const BLANKS = /\s+/g;

/** A line for each block, without elements that a browser does not show. */
export function readHtml(html: string, output: TextOutput): void {
  let skipped = 0;
  let preformatted = 0;
  const breakFor = (name: string) => {
    if (PARAGRAPHS.has(name)) output.break('\n\n');
    else if (LINES.has(name)) output.break('\n');
    else if (CELLS.has(name)) output.break('\t');
  };
  readMarkup(html, false, {
    open(name) {
      if (SKIPPED.has(name)) skipped += 1;
      if (name === 'pre') preformatted += 1;
      breakFor(name);
    },
    text(text) {
      if (skipped > 0) return;
      if (preformatted > 0) return output.add(text);
      const plain = text.replace(BLANKS, ' ');
      const trimmed = plain.trim();
      if (plain.startsWith(' ')) output.break(' ');
      output.add(trimmed);
      if (trimmed !== '' && plain.endsWith(' ')) output.break(' ');
    },
    close(name) {
      if (SKIPPED.has(name)) skipped -= 1;
      if (name === 'pre') preformatted -= 1;
      breakFor(name);
    },
  });
}
