/** The thread that reads one page: finds the article in its HTML, and writes it as text. */
import { parentPort, workerData } from 'node:worker_threads';
import { requirePackage } from '../../../ports/host/package-files.cjs';
import type { ReadPage } from './page-processes.ts';

// The casts: the packages export these.
const { parseHTML } = requirePackage('linkedom') as typeof import('linkedom');
const { Readability } = requirePackage('@mozilla/readability') as typeof import('@mozilla/readability');

const MAX_TITLE_LENGTH = 300;
const BLOCK_END =
  /<\/(?:p|div|li|h[1-6]|tr|td|th|section|article|blockquote|pre|ul|ol|dl|dt|dd|table|header|footer|main)>|<br\b/gi;

/** The parser takes the first element for the document. */
function wrapInDocument(html: string): string {
  return `<html><head></head><body>${html}</body></html>`;
}

/** The text of HTML, a line for each block. */
function blockText(html: string): string {
  const { document } = parseHTML(wrapInDocument(html.replace(BLOCK_END, '\n$&')));
  for (const element of document.querySelectorAll('script,style,noscript,template,svg')) element.remove();
  const text: string = document.body.textContent ?? '';
  const lines = text.split('\n').map((line) => line.replace(/\s+/g, ' ').trim());
  return lines
    .filter((line, at) => line !== '' || lines[at - 1] !== '')
    .join('\n')
    .trim();
}

const html = String(workerData);
const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : wrapInDocument(html));
const title = (document.title ?? '').replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_LENGTH);
// Readability changes the document, and finds nothing in a page that is no article.
const wholeText = blockText(document.body?.innerHTML ?? '');
const articleText = blockText(new Readability(document).parse()?.content ?? '');
const page: ReadPage = { title, text: articleText === '' ? wholeText : articleText };
parentPort?.postMessage(page);
