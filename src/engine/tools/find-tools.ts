/** Finds tools by the words of their names and descriptions: the same answer for the same words, in linear time. */
import type { ProvidedTool } from '../../ports/tool-provider.ts';

/** Characters of a query that are read, and the number of its words. */
const QUERY_CHARACTERS = 1_000;
const QUERY_WORDS = 16;
/** Characters of a description that are searched. */
const DESCRIPTION_CHARACTERS = 512;

/** How much a word counts: in a tool's name or description, whole or as the beginning of a word. */
const SCORES = { name: 8, nameStart: 5, server: 3, description: 2, descriptionStart: 1 };

/** A tool with less than this share of the best score is left out: it has words such as `the` alone. */
const LEAST_SHARE = 0.25;

/** A tool's texts as they are searched: words in lower case between single blanks, with a blank at both ends. */
interface Searchable {
  readonly name: string;
  readonly server: string;
  /** What is said of its server. */
  readonly about: string;
  readonly description: string;
}

/** By the provider's own object, which lives as long as its list. */
const known = new WeakMap<ProvidedTool, Searchable>();

/**
 * The best `most` of the tools that have any of the query's words, best first; equals keep their order. A word that few
 * tools have counts more than one that many have.
 */
export function findTools<Entry extends { readonly tool: ProvidedTool }>(
  entries: readonly Entry[],
  query: string,
  most: number,
): readonly Entry[] {
  const words = wordsOf(query);
  const scores = new Float64Array(entries.length);
  for (const word of words) {
    // Writing without blanks has no beginnings of words.
    const start = /^[a-z0-9]+$/.test(word) ? ` ${word}` : word;
    const levels = entries.map(({ tool }) => levelOf(searchable(tool), start, ` ${word} `));
    const having = levels.filter((level) => level > 0).length;
    const weight = Math.log(1 + entries.length / Math.max(having, 1));
    for (const [index, level] of levels.entries()) scores[index] = (scores[index] ?? 0) + level * weight;
  }
  const least = scores.reduce((best, score) => Math.max(best, score), 0) * LEAST_SHARE;
  const scored = entries
    .map((entry, index) => ({ entry, score: scores[index] ?? 0 }))
    .filter(({ score }) => score > 0 && score >= least);
  return scored
    .toSorted((one, other) => other.score - one.score)
    .slice(0, most)
    .map(({ entry }) => entry);
}

function levelOf({ name, server, about, description }: Searchable, start: string, whole: string): number {
  const inName = level(name, { start, whole }, [SCORES.nameStart, SCORES.name]);
  const inDescription = level(description, { start, whole }, [SCORES.descriptionStart, SCORES.description]);
  const inAbout = level(about, { start, whole }, [SCORES.descriptionStart, SCORES.description]);
  return inName + inDescription + inAbout + (server.includes(whole) ? SCORES.server : 0);
}

interface Word {
  readonly start: string;
  readonly whole: string;
}

function level(text: string, { start, whole }: Word, [some, all]: readonly [some: number, all: number]): number {
  if (!text.includes(start)) return 0;
  return text.includes(whole) ? all : some;
}

function searchable(tool: ProvidedTool): Searchable {
  const found = known.get(tool);
  if (found) return found;
  const { name, server, serverDescription = '', description = '' } = tool;
  const made = {
    name: spaced(name),
    server: spaced(server),
    about: spaced(serverDescription.slice(0, DESCRIPTION_CHARACTERS)),
    description: spaced(description.slice(0, DESCRIPTION_CHARACTERS)),
  };
  known.set(tool, made);
  return made;
}

/** `readFile` is two words, as is `read_file`. */
function spaced(text: string): string {
  const words = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase();
  return ` ${words.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()} `;
}

/** Each word once, without the `s` of a plural; single letters, such as an `a`, do not count. */
function wordsOf(query: string): readonly string[] {
  const words = spaced(query.slice(0, QUERY_CHARACTERS))
    .split(' ')
    .filter((word) => !/^[a-z]?$/.test(word));
  const plain = words.map((word) => (word.length > 3 && word.endsWith('s') ? word.slice(0, -1) : word));
  return [...new Set(plain)].slice(0, QUERY_WORDS);
}
