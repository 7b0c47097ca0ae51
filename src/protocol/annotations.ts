/** Reads the citations of a text, as the Responses API or a Chat Completions server spells them. */

import type { ModelEvent } from './events.ts';
import { isRecord, type JsonObject, textOrNone } from './record.ts';

/** A citation, as its upstream spells it. */
type AnnotationEvent = Extract<ModelEvent, { type: 'annotation' }>;

/** The citation; undefined for any other value. One without a position is placed at the end of the text. */
export function readAnnotation(annotation: JsonObject): AnnotationEvent | undefined {
  const type =
    typeof annotation.type === 'string' && FILE_TYPES.has(annotation.type) ? annotation.type : 'url_citation';
  // Chat Completions nests the fields under the type's name; the Responses API has them flat.
  const nested = annotation[type];
  const details = isRecord(nested) ? nested : annotation;
  switch (type) {
    case 'file_citation':
      return fileCitation(details.file_id, details.filename, details.index);
    case 'container_file_citation': {
      const { container_id: container, file_id: id, filename, start_index: start, end_index: end } = details;
      if (typeof container !== 'string' || typeof id !== 'string' || id === '') return undefined;
      const file = { container_id: container, file_id: id, filename: textOrNone(filename) };
      const span = { start_index: offsetFrom(start), end_index: offsetFrom(end) };
      return annotationEvent({ type, ...file, ...span }, start ?? end);
    }
    case 'file':
      // OpenRouter's type for a file that it has read, whose hash is its only name.
      return fileCitation(details.hash, details.name, undefined);
    default: {
      const { url, title, start_index: start, end_index: end } = details;
      if (typeof url !== 'string' || url === '') return undefined;
      const span = { start_index: offsetFrom(start), end_index: offsetFrom(end) };
      return annotationEvent({ type: 'url_citation', url, title: textOrNone(title), ...span }, start ?? end);
    }
  }
}

const FILE_TYPES: ReadonlySet<string> = new Set(['file_citation', 'container_file_citation', 'file']);

/** A page without a position in the text. */
export function citationAtEnd(url: string, title: string): AnnotationEvent {
  return annotationEvent({ type: 'url_citation', url, title, start_index: 0, end_index: 0 }, undefined);
}

/** A citation, or a list of them, with every place in the text moved, however its server spells it. */
export function moveCitations<Citations>(citations: Citations, move: (place: number) => number): Citations {
  // The casts: places are replaced by places.
  if (Array.isArray(citations)) return citations.map((each: unknown) => moveCitations(each, move)) as Citations;
  if (!isRecord(citations)) return citations;
  const moved: Record<string, unknown> = { ...citations };
  for (const [name, value] of Object.entries(citations)) {
    const isPlace = name === 'start_index' || name === 'end_index' || (name === 'index' && 'file_id' in citations);
    if (isPlace && typeof value === 'number') moved[name] = move(value);
    else if (isRecord(value)) moved[name] = moveCitations(value, move);
  }
  return moved as Citations;
}

function fileCitation(id: unknown, filename: unknown, index: unknown): AnnotationEvent | undefined {
  if (typeof id !== 'string' || id === '') return undefined;
  const citation = { file_id: id, filename: textOrNone(filename), index: offsetFrom(index) };
  return annotationEvent({ type: 'file_citation', ...citation }, index);
}

function annotationEvent(annotation: AnnotationEvent['annotation'], index: unknown): AnnotationEvent {
  const event = { type: 'annotation', annotation } as const;
  return typeof index === 'number' ? event : { ...event, atEnd: true };
}

function offsetFrom(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : 0;
}
