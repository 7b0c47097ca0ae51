/** The unfinished images of a call, as its tool gives them, for the client. */
import type { ImageDetails, PartialImage } from '../protocol/items.ts';
import { isRecord, type JsonObject } from '../protocol/record.ts';

/** OpenAI's limit. */
const MOST = 3;

/** Passes on as many as the request wants, numbered from 0, and nothing that is none; undefined if it wants none. */
export function partialImages(
  show: (image: PartialImage) => void,
  settings: JsonObject | undefined,
): ((image: unknown) => void) | undefined {
  const most = Math.min(Number(settings?.partial_images ?? 0), MOST);
  if (!(most > 0)) return undefined;
  let number = 0;
  return (given) => {
    // Providers are the host's, and not all of them are type-checked.
    if (number >= most || !isRecord(given) || typeof given.result !== 'string' || given.result === '') return;
    show({ number, result: given.result, details: detailsIn(given.details) });
    number += 1;
  };
}

const SHOWN = ['size', 'quality', 'background', 'output_format'];

function detailsIn(details: unknown): ImageDetails {
  if (!isRecord(details)) return {};
  return Object.fromEntries(
    SHOWN.map((name) => [name, details[name]]).filter(([, value]) => typeof value === 'string'),
  );
}
