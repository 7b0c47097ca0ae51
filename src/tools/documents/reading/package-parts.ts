/** The parts of an Office document, which is a ZIP archive of XML, and how they refer to each other. */
import { DocumentError } from './document-job.ts';
import { type MarkupHandler, readMarkup } from './markup.ts';
import type { Zip } from './zip.ts';

/** Reads one part; nothing if there is none. */
export function readPart(zip: Zip, name: string, handler: Partial<MarkupHandler>): void {
  const xml = zip.read(name);
  if (xml) readMarkup(xml, true, { open() {}, text() {}, close() {}, ...handler });
}

/**
 * The parts that the part `name` lists in these elements, in order: their paths, and the elements' attributes. One that is
 * listed again is left out: a small document would otherwise have one part read thousands of times.
 */
export function listedParts(zip: Zip, name: string, element: string, max: number) {
  const folder = name.slice(0, name.lastIndexOf('/') + 1);
  const targets = new Map<string, string>();
  readPart(zip, `${folder}_rels/${name.slice(folder.length)}.rels`, {
    open(tag, { Id, Target }) {
      if (tag !== 'Relationship' || !Id || !Target) return;
      targets.set(Id, Target.startsWith('/') ? Target.slice(1) : folder + Target);
    },
  });
  const paths = new Set<string>();
  let count = 0;
  const parts: { readonly path: string; readonly attributes: Readonly<Record<string, string>> }[] = [];
  readPart(zip, name, {
    open(tag, attributes) {
      if (tag !== element) return;
      count += 1;
      if (count > max) throw new DocumentError('file_too_large', `has more than ${max} pages, sheets or slides`);
      // The prefix is usually `r`, and each program may choose another.
      const idName = Object.keys(attributes).find((each) => each.endsWith(':id')) ?? '';
      const path = targets.get(attributes[idName] ?? '');
      if (path === undefined || paths.has(path)) return;
      paths.add(path);
      parts.push({ path, attributes });
    },
  });
  return parts;
}
