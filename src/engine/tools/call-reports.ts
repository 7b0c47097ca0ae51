/** What a running tool reports: its progress for the host's hook, and unfinished images for the client. */

import type { ToolProgress } from '../../ports/tool-provider.ts';
import type { ImageDetails, PartialImage } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** A tool may report its progress thousands of times a second. */
const PAUSE_MS = 100;
const MAX_MESSAGE_CHARACTERS = 1_024;

/** Reports progress at most ten times a second, and leaves out what is not progress. */
export function progressReporter(report: (progress: ToolProgress) => void): (progress: unknown) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (value) => {
    const now = performance.now();
    const progress = now - reportedAt < PAUSE_MS ? undefined : toToolProgress(value);
    if (!progress) return;
    reportedAt = now;
    report(progress);
  };
}

/** Providers are the host's, and not all of them are type-checked; what they report comes from their servers. */
function toToolProgress(value: unknown): ToolProgress | undefined {
  if (!isRecord(value) || !Number.isFinite(value.progress)) return undefined;
  const { progress, total, message } = value;
  return {
    // The casts: just checked.
    progress: progress as number,
    ...(Number.isFinite(total) ? { total: total as number } : {}),
    ...(typeof message === 'string' ? { message: message.slice(0, MAX_MESSAGE_CHARACTERS) } : {}),
  };
}

/** OpenAI's limit. */
const MAX_PARTIAL_IMAGES = 3;
const DETAILS = ['size', 'quality', 'background', 'output_format'];

/** Passes on as many as the request wants, numbered from 0, and nothing that is none; undefined if it wants none. */
export function partialImages(
  show: (image: PartialImage) => void,
  settings: JsonObject | undefined,
): ((image: unknown) => void) | undefined {
  const count = Math.min(Number(settings?.partial_images ?? 0), MAX_PARTIAL_IMAGES);
  if (!(count > 0)) return undefined;
  let number = 0;
  return (image) => {
    // Providers are the host's, and not all of them are type-checked.
    if (number >= count || !isRecord(image) || typeof image.result !== 'string' || image.result === '') return;
    const facts = isRecord(image.details) ? image.details : {};
    const details: ImageDetails = Object.fromEntries(
      DETAILS.map((name) => [name, facts[name]]).filter(([, value]) => typeof value === 'string'),
    );
    show({ number, result: image.result, details });
    number += 1;
  };
}
