/** The files of a conversation, for code to read. */

import type { ToolFile } from '../../ports/tool-provider.ts';
import { bytesOfData } from '../../protocol/file-data.ts';
import type { Item } from '../../protocol/items.ts';
import { plainFileName } from '../../protocol/printable.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** The files, oldest first. */
export function codeFiles(conversation: readonly Item[]): readonly ToolFile[] {
  const files = new Map([...namesIn(conversation)].map(([{ file_data: data }, name]) => [name, data]));
  return [...files].map(([name, data]) => ({ name, data: bytesOfData(data) }));
}

/**
 * The items of the conversation as a model with these files in its container receives them: files are named, since few
 * model servers accept any. PDFs, which some do, are still sent to it as well.
 */
export function withNamedFiles(items: readonly Item[], conversation: readonly Item[]): readonly Item[] {
  const names = namesIn(conversation);
  if (names.size === 0) return items;
  return items.map((item) => {
    const parts = partsOf(item);
    return parts.some(isFile) ? { ...item, content: parts.flatMap((part) => named(part, names)) } : item;
  });
}

function named(part: JsonObject, names: ReadonlyMap<JsonObject, string>): readonly JsonObject[] {
  if (!isFile(part)) return [part];
  const text = `[The file '${names.get(part) ?? plainName(part)}' is in the working directory of the code interpreter.]`;
  const textPart = { type: 'input_text', text };
  return isPdf(part) ? [textPart, part] : [textPart];
}

/** The name of each file: another file of the same name gets a number, since the code may still need the first. */
function namesIn(conversation: readonly Item[]): ReadonlyMap<FilePart, string> {
  const names = new Map<FilePart, string>();
  const nameFor = fileNamer();
  for (const part of conversation.flatMap(partsOf).filter(isFile)) names.set(part, nameFor(part));
  return names;
}

function fileNamer(): (part: FilePart) => string {
  const free = freeNames();
  const known = new Map<string, Map<string, string>>();
  return (part) => {
    const plain = plainName(part);
    const byData = known.get(plain) ?? new Map<string, string>();
    known.set(plain, byData);
    const name = byData.get(part.file_data) ?? free(plain);
    byData.set(part.file_data, name);
    return name;
  };
}

/** A hostile conversation may hold very many files of one name: naming each takes constant time. */
function freeNames(): (plain: string) => string {
  const taken = new Set<string>();
  const copies = new Map<string, number>();
  return (plain) => {
    let copy = copies.get(plain) ?? 1;
    let name = numbered(plain, copy);
    for (; taken.has(name); name = numbered(plain, copy)) copy += 1;
    copies.set(plain, copy);
    taken.add(name);
    return name;
  };
}

function numbered(name: string, copy: number): string {
  if (copy === 1) return name;
  const dot = name.lastIndexOf('.');
  return dot > 0 ? `${name.slice(0, dot)}-${copy}${name.slice(dot)}` : `${name}-${copy}`;
}

function partsOf({ type, content }: Item): readonly JsonObject[] {
  return type === 'message' && Array.isArray(content) ? content.filter(isRecord) : [];
}

type FilePart = JsonObject & { readonly file_data: string };

function isFile(part: JsonObject): part is FilePart {
  return part.type === 'input_file' && typeof part.file_data === 'string' && part.file_data !== '';
}

/** Without folders, and without path traversal. */
function plainName({ filename }: JsonObject): string {
  const name = typeof filename === 'string' ? (filename.split(/[\\/]/).at(-1) ?? '') : '';
  const plain = endOf(plainFileName(name));
  return /^\.*$/.test(plain) ? 'file' : plain;
}

/** File systems take names of at most 255 bytes, not characters; a number may be added. */
const NAME_BYTES = 200;

/** The end of the name, in whole characters. */
function endOf(name: string): string {
  const bytes = Buffer.from(name.slice(-NAME_BYTES));
  let from = Math.max(0, bytes.length - NAME_BYTES);
  while (isInCharacter(bytes[from])) from += 1;
  return bytes.toString('utf8', from);
}

/** Whether the byte of UTF-8 is not the first of its character. */
function isInCharacter(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

function isPdf({ filename, file_data: data }: FilePart): boolean {
  return data.startsWith('data:application/pdf') || /\.pdf$/i.test(String(filename));
}
