/** Runs the request of a page of the documentation, and knows what the page shows of the answer. */
import { codeBlocks, run } from './support.ts';

/** What the page's curl command prints when it is sent to the app at this address. */
export function printedBy(page: string, url: string): Promise<string> {
  // By its first word: the other commands of a page install and test the project.
  const curl = codeBlocks(page, 'bash').find((block) => block.startsWith('curl '));
  if (!curl) throw new Error(`${page} has no request.`);
  const here = curl.replace('http://localhost:3000', url).replace('curl', 'curl --silent --show-error');
  return run('sh', ['-c', here]);
}

/** What the page shows. It breaks the line for the eye and leaves out what stands at the dots. */
export function shownIn(page: string): RegExp {
  const [block = ''] = codeBlocks(page, 'text');
  const shown = block.trimEnd().replace(/\n */g, '').split('…');
  return new RegExp(`^${shown.map(literal).join('.*')}$`);
}

/** A pattern for exactly this text. */
function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
