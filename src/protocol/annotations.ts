/** Reads the citations of a text, as the Responses API or a Chat Completions server spells them. */

import type { ModelEvent } from './events.ts';
import { isRecord, type JsonObject } from './record.ts';

/** A citation, as its upstream spells it. */
type AnnotationEvent = Extract<ModelEvent, { type: 'annotation' }>;

/** The citation; undefined for any other value. One without a position is placed at the end of the text. */
export function readAnnotation(annotation: JsonObject): AnnotationEvent | undefined {
  switch (annotation.type) {
    case 'file_citation':
      return fileCitation(detailsOf(annotation, 'file_citation'));
    case 'container_file_citation':
      return containerFileCitation(detailsOf(annotation, 'container_file_citation'));
    case 'file':
      return readFile(detailsOf(annotation, 'file'));
    default:
      return urlCitation(detailsOf(annotation, 'url_citation'));
  }
}

/** A page without a position in the text. */
export function citationAtEnd(url: string, title: string): AnnotationEvent {
  return { type: 'annotation', annotation: { type: 'url_citation', url, title, ...NOWHERE }, atEnd: true };
}

/** Chat Completions nests the fields under the type's name; the Responses API has them flat. */
function detailsOf(annotation: JsonObject, type: string): JsonObject {
  const nested = annotation[type];
  return isRecord(nested) ? nested : annotation;
}

function urlCitation({ url, title, ...span }: JsonObject): AnnotationEvent | undefined {
  if (typeof url !== 'string' || url === '') return undefined;
  return {
    type: 'annotation',
    annotation: { type: 'url_citation', url, title: textOf(title), ...spanOf(span) },
    ...placed(span.start_index ?? span.end_index),
  };
}

function fileCitation({ file_id: id, filename, index }: JsonObject): AnnotationEvent | undefined {
  if (typeof id !== 'string' || id === '') return undefined;
  return {
    type: 'annotation',
    annotation: { type: 'file_citation', file_id: id, filename: textOf(filename), index: offset(index) },
    ...placed(index),
  };
}

function containerFileCitation(details: JsonObject): AnnotationEvent | undefined {
  const { container_id: container, file_id: id, filename, ...span } = details;
  if (typeof container !== 'string' || typeof id !== 'string' || id === '') return undefined;
  return {
    type: 'annotation',
    annotation: {
      type: 'container_file_citation',
      container_id: container,
      file_id: id,
      filename: textOf(filename),
      ...spanOf(span),
    },
    ...placed(span.start_index ?? span.end_index),
  };
}

/** OpenRouter's type for a file that it has read, whose hash is its only name. */
function readFile({ hash, name }: JsonObject): AnnotationEvent | undefined {
  return fileCitation({ file_id: hash, filename: name });
}

const NOWHERE = { start_index: 0, end_index: 0 };

function placed(index: unknown): { readonly atEnd?: true } {
  return typeof index === 'number' ? {} : { atEnd: true };
}

function spanOf({ start_index: start, end_index: end }: JsonObject) {
  return { start_index: offset(start), end_index: offset(end) };
}

function offset(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : 0;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
