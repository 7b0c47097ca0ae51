/** Finds the marks by which a model cites files, while it writes: they become citations, and are no part of the text. */
import type { FilePassage, Item } from '../../../protocol/items.ts';
import { isRecord } from '../../../protocol/record.ts';
import { citationKey, fileSearchCall, filesIn } from '../../../protocol/tool-calls/file-search-call.ts';
import { SharedMap } from '../data/shared-list.ts';

/** A file that an answer may cite. */
export interface CitedFile {
  readonly id: string;
  readonly filename: string;
}

/** The files of one turn, by what their marks hold. */
export type CitedFiles = SharedMap<string, CitedFile>;

const MAX_FILES = 4096;
/** The longest mark, with the blank before it. */
const MAX_MARK = 120;
const MARK = / ?【([\dA-Za-z]{1,6})†[^【】\n]{0,100}】/g;
/** What may become a mark. */
const BEGUN = /^【(?:[\dA-Za-z]{0,6}|[\dA-Za-z]{1,6}†[^【】\n]{0,100})$/;

/** The files with those of these results; a mark belongs to the first file that has it. */
export function withFiles(files: CitedFiles, results: readonly FilePassage[]): CitedFiles {
  let known = files;
  for (const file of filesIn(results)) {
    const key = citationKey(file.id);
    if (key !== '' && known.size < MAX_FILES && !known.get(key)) known = known.with(key, file);
  }
  return known;
}

/** The files that a conversation has passages of; undefined for none. */
export function citableFiles(conversation: readonly Item[]): CitedFiles | undefined {
  const searches = conversation.filter(({ type, results }) => type === fileSearchCall.type && Array.isArray(results));
  if (searches.length === 0) return undefined;
  // The casts: clients may send any results, of which only ids and names that are texts are read.
  const passages = searches
    .flatMap(({ results }) => results as readonly unknown[])
    .filter((each) => isRecord(each) && typeof each.file_id === 'string' && typeof each.filename === 'string');
  return withFiles(new SharedMap(), passages as readonly FilePassage[]);
}

/** A text in pieces: text to show, and files that are cited there; `held` may be the beginning of a mark. */
interface MarkedText {
  readonly pieces: readonly (string | CitedFile)[];
  readonly held: string;
}

/** Reads the marks of the text so far. Marks of unknown files stay. It takes time in proportion to the text. */
export function readMarks(text: string, files: CitedFiles): MarkedText {
  const open = text.lastIndexOf('【');
  const isBegun = open >= 0 && text.length - open <= MAX_MARK && BEGUN.test(text.slice(open));
  const start = isBegun ? open : text.length;
  // The blank before a mark goes with it.
  const end = text[start - 1] === ' ' ? start - 1 : start;
  const pieces: (string | CitedFile)[] = [];
  let from = 0;
  for (const mark of text.slice(0, end).matchAll(MARK)) {
    const file = files.get(mark[1] ?? '');
    if (!file) continue;
    if (mark.index > from) pieces.push(text.slice(from, mark.index));
    pieces.push(file);
    from = mark.index + mark[0].length;
  }
  if (end > from) pieces.push(text.slice(from, end));
  return { pieces, held: text.slice(end) };
}
