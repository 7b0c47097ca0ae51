/** What a running tool reports: its progress for the host's hook, and unfinished images for the client. */

import type { ToolProgress } from '../../ports/tool-provider.ts';
import type { ImageDetails, PartialImage } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** A tool may report its progress thousands of times a second. */
const PAUSE_MS = 100;
const MESSAGE_CHARACTERS = 1_024;

/** Reports progress at most ten times a second, and leaves out what is not progress. */
export function progressReporter(report: (progress: ToolProgress) => void): (progress: unknown) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (given) => {
    const now = performance.now();
    const progress = now - reportedAt < PAUSE_MS ? undefined : checked(given);
    if (!progress) return;
    reportedAt = now;
    report(progress);
  };
}

/** Providers are the host's, and not all of them are type-checked; what they report comes from their servers. */
function checked(given: unknown): ToolProgress | undefined {
  if (!isRecord(given) || !Number.isFinite(given.progress)) return undefined;
  const { progress, total, message } = given;
  return {
    // The casts: just checked.
    progress: progress as number,
    ...(Number.isFinite(total) ? { total: total as number } : {}),
    ...(typeof message === 'string' ? { message: message.slice(0, MESSAGE_CHARACTERS) } : {}),
  };
}

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
