/** The files of a conversation, for code to read. */

import type { ToolFile } from '../../ports/tool-provider.ts';
import { decodeFileData } from '../../protocol/file-data.ts';
import type { Item } from '../../protocol/items.ts';
import { visibleText } from '../../protocol/printable.ts';
import { type JsonObject, recordsIn } from '../../protocol/record.ts';

/** The files, oldest first. */
export function codeFiles(conversation: readonly Item[]): readonly ToolFile[] {
  const files = new Map([...nameFiles(conversation)].map(([{ file_data: data }, name]) => [name, data]));
  return [...files].map(([name, data]) => ({ name, data: decodeFileData(data) }));
}

/**
 * The items of the conversation as a model with these files in its container receives them: files are named, since few
 * model servers accept any. PDFs, which some do, are still sent to it as well. `place` is what they are said to be in the directory of.
 */
export function withNamedFiles(
  items: readonly Item[],
  conversation: readonly Item[],
  place = 'the code interpreter',
): readonly Item[] {
  const names = nameFiles(conversation);
  if (names.size === 0) return items;
  return items.map((item) => {
    const parts = partsInMessage(item);
    if (!parts.some(isFilePart)) return item;
    const content = parts.flatMap((part) => {
      if (!isFilePart(part)) return [part];
      const name = names.get(part) ?? containerFileName(part.filename);
      const text = `[The file '${name}' is in the working directory of ${place}.]`;
      const isPdf = part.file_data.startsWith('data:application/pdf') || /\.pdf$/i.test(String(part.filename));
      return [{ type: 'input_text', text }, ...(isPdf ? [part] : [])];
    });
    return { ...item, content };
  });
}

/** The name of each file: another file of the same name gets a number, since the code may still need the first. */
function nameFiles(conversation: readonly Item[]): ReadonlyMap<FilePart, string> {
  const names = new Map<FilePart, string>();
  const namesByData = new Map<string, Map<string, string>>();
  const unusedName = nameNumberer();
  for (const part of conversation.flatMap(partsInMessage).filter(isFilePart)) {
    const plain = containerFileName(part.filename);
    const byData = namesByData.get(plain) ?? new Map<string, string>();
    namesByData.set(plain, byData);
    const name = byData.get(part.file_data) ?? unusedName(plain);
    byData.set(part.file_data, name);
    names.set(part, name);
  }
  return names;
}

/** Gives each name once, with a number where it is taken. A hostile client may send very many files of one name: naming each takes constant time. */
export function nameNumberer(): (plain: string) => string {
  const taken = new Set<string>();
  const copies = new Map<string, number>();
  return (plain) => {
    let copy = copies.get(plain) ?? 1;
    let name = withNumber(plain, copy);
    for (; taken.has(name); name = withNumber(plain, copy)) copy += 1;
    copies.set(plain, copy);
    taken.add(name);
    return name;
  };
}

function withNumber(name: string, copy: number): string {
  if (copy === 1) return name;
  const dot = name.lastIndexOf('.');
  return dot > 0 ? `${name.slice(0, dot)}-${copy}${name.slice(dot)}` : `${name}-${copy}`;
}

function partsInMessage({ type, content }: Item): readonly JsonObject[] {
  return type === 'message' ? recordsIn(content) : [];
}

type FilePart = JsonObject & { readonly file_data: string };

function isFilePart(part: JsonObject): part is FilePart {
  return part.type === 'input_file' && typeof part.file_data === 'string' && part.file_data !== '';
}

/** The name of a client's file in a container: without folders, and without path traversal. */
export function containerFileName(filename: unknown): string {
  const name = typeof filename === 'string' ? (filename.split(/[\\/]/).at(-1) ?? '') : '';
  const plain = lastBytes(visibleText(name));
  return /^\.*$/.test(plain) ? 'file' : plain;
}

/** File systems take names of at most 255 bytes, not characters; a number may be added. */
const MAX_NAME_BYTES = 200;

/** The end of the name, in whole characters. */
function lastBytes(name: string): string {
  const bytes = Buffer.from(name.slice(-MAX_NAME_BYTES));
  let from = Math.max(0, bytes.length - MAX_NAME_BYTES);
  // A byte of UTF-8 that is not the first of its character.
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  return bytes.toString('utf8', from);
}
