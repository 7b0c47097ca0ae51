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
export function partsIn(zip: Zip, name: string, element: string, most: number) {
  const targets = relations(zip, name);
  const taken = new Set<string>();
  let listed = 0;
  const parts: { readonly path: string; readonly attributes: Readonly<Record<string, string>> }[] = [];
  readPart(zip, name, {
    open(opened, attributes) {
      if (opened !== element) return;
      listed += 1;
      if (listed > most) throw new DocumentError('file_too_large', `has more than ${most} pages, sheets or slides`);
      const path = targets.get(relationOf(attributes));
      if (path === undefined || taken.has(path)) return;
      taken.add(path);
      parts.push({ path, attributes });
    },
  });
  return parts;
}

/** The prefix is usually `r`, and each program may choose another. */
function relationOf(attributes: Readonly<Record<string, string>>): string {
  const name = Object.keys(attributes).find((each) => each.endsWith(':id'));
  return name === undefined ? '' : (attributes[name] ?? '');
}

function relations(zip: Zip, name: string): ReadonlyMap<string, string> {
  const folder = name.slice(0, name.lastIndexOf('/') + 1);
  const found = new Map<string, string>();
  readPart(zip, `${folder}_rels/${name.slice(folder.length)}.rels`, {
    open(opened, { Id, Target }) {
      if (opened !== 'Relationship' || !Id || !Target) return;
      found.set(Id, Target.startsWith('/') ? Target.slice(1) : folder + Target);
    },
  });
  return found;
}
