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

const MOST_FILES = 4096;
/** The longest mark, with the blank before it. */
const LONGEST_MARK = 120;
const MARK = / ?【([\dA-Za-z]{1,6})†[^【】\n]{0,100}】/g;
/** What may become a mark. */
const BEGUN = /^【(?:[\dA-Za-z]{0,6}|[\dA-Za-z]{1,6}†[^【】\n]{0,100})$/;

/** The files with those of these results; a mark belongs to the first file that has it. */
export function withFiles(files: CitedFiles, results: readonly FilePassage[]): CitedFiles {
  let known = files;
  for (const file of filesIn(results)) {
    const key = citationKey(file.id);
    if (key !== '' && known.size < MOST_FILES && !known.get(key)) known = known.with(key, file);
  }
  return known;
}

/** The files that a conversation has passages of; undefined for none. */
export function filesShown(conversation: readonly Item[]): CitedFiles | undefined {
  const searches = conversation.filter(({ type, results }) => type === fileSearchCall.type && Array.isArray(results));
  if (searches.length === 0) return undefined;
  // The cast: clients may send any results, of which only ids and names that are texts are read.
  const passages = searches.flatMap(({ results }) => (results as readonly unknown[]).filter(isPassage));
  return withFiles(new SharedMap(), passages);
}

function isPassage(value: unknown): value is FilePassage {
  return isRecord(value) && typeof value.file_id === 'string' && typeof value.filename === 'string';
}

/** A text in pieces: text to show, and files that are cited there; `held` may be the begin of a mark. */
interface MarkedText {
  readonly pieces: readonly (string | CitedFile)[];
  readonly held: string;
}

/** Reads the marks of the text so far. Marks of unknown files stay. It takes time in proportion to the text. */
export function readMarks(text: string, files: CitedFiles): MarkedText {
  const end = text.length - heldLength(text);
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

/** A mark may have begun, and the blank before one goes with it. */
function heldLength(text: string): number {
  const at = text.lastIndexOf('【');
  const length = text.length - at;
  const isBegun = at >= 0 && length <= LONGEST_MARK && BEGUN.test(text.slice(at));
  const start = isBegun ? at : text.length;
  return text.length - (text[start - 1] === ' ' ? start - 1 : start);
}
