/** The thread that reads one page: finds the article in its HTML, and writes it as text. */
import { parentPort, workerData } from 'node:worker_threads';
import { requirePackage } from '../../ports/host/package-files.cjs';
import type { ReadPage } from './page-threads.ts';

// The casts: the packages export these.
const { parseHTML } = requirePackage('linkedom') as typeof import('linkedom');
const { Readability } = requirePackage('@mozilla/readability') as typeof import('@mozilla/readability');

const LONGEST_TITLE = 300;

parentPort?.postMessage(readPage(String(workerData)));

function readPage(html: string): ReadPage {
  const { document } = parseHTML(html);
  const title = (document.title ?? '').replace(/\s+/g, ' ').trim().slice(0, LONGEST_TITLE);
  // Without scripts, if it is no article: Readability changes the document.
  const whole = documentText(document.body?.innerHTML ?? '');
  const article = new Readability(document).parse();
  const text = article?.content ? documentText(article.content) : '';
  return { title: title || (article?.title ?? ''), text: text === '' ? whole : text };
}

const BLOCK_END = /<\/(?:p|div|li|h[1-6]|tr|td|th|section|article|blockquote|pre|ul|ol|dl|dt|dd|table|header|footer|main)>|<br\b/gi;

/** The text of HTML, a line for each block. */
function documentText(html: string): string {
  const { document } = parseHTML(`<html><body>${html.replace(BLOCK_END, '\n$&')}</body></html>`);
  for (const silent of document.querySelectorAll('script,style,noscript,template,svg')) silent.remove();
  const written: string = document.body.textContent ?? '';
  const lines = written.split('\n').map((line) => line.replace(/\s+/g, ' ').trim());
  return lines.filter((line, at) => line !== '' || (at > 0 && lines[at - 1] !== '')).join('\n').trim();
}
