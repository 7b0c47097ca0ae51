/** The sections of the pages of docs/, and the questions about them: each names the sections that answer it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '../../docs');
/** Lists of names, of which no question asks. */
const LEFT_OUT = new Set(['README.md', 'compatibility.md', 'conformance.md', 'requirements.md']);

/** Each with its name, such as `errors.md#invalid_json`, and its text with the titles above it. */
export const sections = readdirSync(DOCS)
  .filter((name) => name.endsWith('.md') && !LEFT_OUT.has(name))
  .flatMap(sectionsOf);

/** Each with its kind: `meaning` in other words than the page's, `name` a word of code, `mixed` both. */
export const questions = readFileSync(join(import.meta.dirname, 'questions.tsv'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split('\t'))
  .map(([kind, question, answers]) => ({ kind, question, answers: answers.split('|') }));

function sectionsOf(page) {
  const [start, ...parts] = readFileSync(join(DOCS, page), 'utf8').split(/\n(?=#{2,3} )/);
  const [title] = start.split('\n');
  const headings = parts.map((part) => part.split('\n', 1)[0].replace(/^#+ /, ''));
  return parts.map((part, at) => {
    // A heading may stand on a page more than once.
    const earlier = headings.slice(0, at).filter((heading) => heading === headings[at]).length;
    return { name: `${page}#${headings[at]}${earlier === 0 ? '' : ` (${earlier + 1})`}`, text: `${title}\n\n${part}` };
  });
}
