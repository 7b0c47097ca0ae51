/** The files that a conversation brings, for code to read. */
import type { Item } from '../items.ts';
import { isRecord } from '../record.ts';
import type { ToolFile } from './provider.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The files, oldest first; of several with one name the newest. */
export function codeFiles(items: readonly Item[]): readonly ToolFile[] {
  const files = new Map<string, ToolFile>();
  for (const part of items.flatMap(partsOf).filter(isFile)) {
    const name = nameOf(part);
    files.delete(name);
    files.set(name, { name, data: bytesIn(part.file_data) });
  }
  return [...files.values()];
}

/**
 * The conversation as a model is told it that has the files in its container: named, since few model servers take any.
 * PDFs, which some do, are still shown to it as well.
 */
export function withNamedFiles(items: readonly Item[]): readonly Item[] {
  return items.map((item) => {
    const parts = partsOf(item);
    return parts.some(isFile) ? { ...item, content: parts.flatMap(named) } : item;
  });
}

function named(part: Fields): readonly Fields[] {
  if (!isFile(part)) return [part];
  const text = `[The file '${nameOf(part)}' is in the working directory of the code interpreter.]`;
  const told = { type: 'input_text', text };
  return isPdf(part) ? [told, part] : [told];
}

function partsOf({ type, content }: Item): readonly Fields[] {
  return type === 'message' && Array.isArray(content) ? content.filter(isRecord) : [];
}

type FilePart = Fields & { readonly file_data: string };

function isFile(part: Fields): part is FilePart {
  return part.type === 'input_file' && typeof part.file_data === 'string' && part.file_data !== '';
}

/** Without folders, and nothing that leads out of one. */
function nameOf({ filename }: Fields): string {
  const name = typeof filename === 'string' ? (filename.split(/[\\/]/).at(-1) ?? '') : '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const plain = name.replace(/[\u0000-\u001f\u007f]/g, '').slice(-MAX_NAME);
  return /^\.*$/.test(plain) ? 'file' : plain;
}

const MAX_NAME = 200;

function isPdf({ filename, file_data: data }: FilePart): boolean {
  return data.startsWith('data:application/pdf') || /\.pdf$/i.test(String(filename));
}

/** A data URL, or base64 alone. */
function bytesIn(data: string): Uint8Array {
  const comma = data.indexOf(',');
  if (!data.startsWith('data:') || comma < 0) return Buffer.from(data, 'base64');
  const text = data.slice(comma + 1);
  if (/;base64$/i.test(data.slice(0, comma))) return Buffer.from(text, 'base64');
  return Buffer.from(percentDecoded(text));
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
