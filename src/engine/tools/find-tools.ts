/** Finds tools by the words of their names and descriptions: the same answer for the same words, in linear time. */
import type { ProvidedTool } from '../../ports/tool-provider.ts';

/** Characters of a query that are read, and the number of its words. */
const MAX_QUERY_CHARACTERS = 1_000;
const MAX_QUERY_WORDS = 16;
/** Characters of a description that are searched. */
const MAX_DESCRIPTION_CHARACTERS = 512;

/** How much a word counts: in a tool's name or description, whole or as the beginning of a word. */
const SCORES = { name: 8, nameStart: 5, server: 3, description: 2, descriptionStart: 1 };

/** A tool with less than this share of the best score is left out: it has words such as `the` alone. */
const MIN_SHARE = 0.25;

/** A tool's texts as they are searched: words in lower case between single blanks, with a blank at both ends. */
interface Searchable {
  readonly name: string;
  readonly server: string;
  /** What is said of its server. */
  readonly about: string;
  readonly description: string;
}

/** By the provider's own object, which lives as long as its list. */
const searchables = new WeakMap<ProvidedTool, Searchable>();

/**
 * The best `limit` of the tools that have any of the query's words, best first; equals keep their order. A word that few
 * tools have counts more than one that many have.
 */
export function findTools<Entry extends { readonly tool: ProvidedTool }>(
  entries: readonly Entry[],
  query: string,
  limit: number,
): readonly Entry[] {
  const words = queryWords(query);
  const scores = new Float64Array(entries.length);
  for (const word of words) {
    // Writing without blanks has no beginnings of words.
    const start = /^[a-z0-9]+$/.test(word) ? ` ${word}` : word;
    const levels = entries.map(({ tool }) => toolScore(toSearchable(tool), start, ` ${word} `));
    const having = levels.filter((level) => level > 0).length;
    const weight = Math.log(1 + entries.length / Math.max(having, 1));
    for (const [index, level] of levels.entries()) scores[index] = (scores[index] ?? 0) + level * weight;
  }
  const least = scores.reduce((best, score) => Math.max(best, score), 0) * MIN_SHARE;
  const scored = entries
    .map((entry, index) => ({ entry, score: scores[index] ?? 0 }))
    .filter(({ score }) => score > 0 && score >= least);
  return scored
    .toSorted((one, other) => other.score - one.score)
    .slice(0, limit)
    .map(({ entry }) => entry);
}

function toolScore({ name, server, about, description }: Searchable, start: string, whole: string): number {
  const inName = textScore(name, { start, whole }, [SCORES.nameStart, SCORES.name]);
  const inDescription = textScore(description, { start, whole }, [SCORES.descriptionStart, SCORES.description]);
  const inAbout = textScore(about, { start, whole }, [SCORES.descriptionStart, SCORES.description]);
  return inName + inDescription + inAbout + (server.includes(whole) ? SCORES.server : 0);
}

interface Word {
  readonly start: string;
  readonly whole: string;
}

function textScore(text: string, { start, whole }: Word, [some, all]: readonly [some: number, all: number]): number {
  if (!text.includes(start)) return 0;
  return text.includes(whole) ? all : some;
}

function toSearchable(tool: ProvidedTool): Searchable {
  const cached = searchables.get(tool);
  if (cached) return cached;
  const { name, server, serverDescription = '', description = '' } = tool;
  const searchable = {
    name: separateWords(name),
    server: separateWords(server),
    about: separateWords(serverDescription.slice(0, MAX_DESCRIPTION_CHARACTERS)),
    description: separateWords(description.slice(0, MAX_DESCRIPTION_CHARACTERS)),
  };
  searchables.set(tool, searchable);
  return searchable;
}

/** `readFile` is two words, as is `read_file`. */
function separateWords(text: string): string {
  const words = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase();
  return ` ${words.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()} `;
}

/** Each word once, without the `s` of a plural; single letters, such as an `a`, do not count. */
function queryWords(query: string): readonly string[] {
  const words = separateWords(query.slice(0, MAX_QUERY_CHARACTERS))
    .split(' ')
    .filter((word) => !/^[a-z]?$/.test(word));
  const plain = words.map((word) => (word.length > 3 && word.endsWith('s') ? word.slice(0, -1) : word));
  return [...new Set(plain)].slice(0, MAX_QUERY_WORDS);
}
