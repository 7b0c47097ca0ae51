/** Citations in the JSON of an answer, whose places move with the text. */
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { Track } from '../tracks/text-track.ts';

/** One citation, or a list of them, where the text that they are about is now. */
export function placed(citations: unknown, track: Track | undefined): unknown {
  if (!track) return citations;
  if (Array.isArray(citations)) return citations.map((each: unknown) => placed(each, track));
  return isRecord(citations) ? moved(citations, track) : citations;
}

const PLACES = ['start_index', 'end_index'] as const;

function moved(citation: JsonObject, track: Track): JsonObject {
  const { url_citation: about } = citation;
  if (isRecord(about)) return { ...citation, url_citation: moved(about, track) };
  const named = citation.type === 'file_citation' ? ['index'] : PLACES;
  const places = named.filter((name) => typeof citation[name] === 'number');
  return { ...citation, ...Object.fromEntries(places.map((name) => [name, track.placeOf(Number(citation[name]))])) };
}
