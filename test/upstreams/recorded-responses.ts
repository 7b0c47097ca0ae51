/** The recorded answers of servers of the Responses API, each with its file's name; none where the recordings are not there. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { listShared, readShared } from '../support/shared.ts';

const STREAMS = 'corpus/responses-stream';
const ANSWERS = 'corpus/responses-json';

/** Those that were streamed. */
export const streams = listShared(STREAMS, '.sse').map((file) => [file, readShared(`${STREAMS}/${file}`)] as const);

/** Those that came as a whole. */
export const answers = listShared(ANSWERS, '.json')
  .filter((file) => !file.endsWith('.request.json'))
  .map((file) => [file, readShared(`${ANSWERS}/${file}`)] as const);

/**
 * The items of a stream as they ended. A message whose deltas were cut where they were recorded, so that its end does not go on from
 * them, has their words.
 */
export function endedItems(events: readonly JsonObject[]): readonly JsonObject[] {
  const wordsAt = (place: unknown) =>
    events
      .filter(
        ({ type, output_index: at }) => at === place && /^response\.(output_text|refusal)\.delta$/.test(String(type)),
      )
      .map(({ delta }) => delta)
      .join('');
  return events
    .filter(({ type }) => type === 'response.output_item.done')
    .map(({ item, output_index: at }): JsonObject => {
      const whole = item as JsonObject;
      const words = wordsAt(at);
      if (whole.type !== 'message' || words === '') return whole;
      const parts = whole.content as readonly JsonObject[];
      const text = parts.map(({ text: written, refusal }) => written ?? refusal ?? '').join('');
      return text.startsWith(words) ? whole : { ...whole, content: [{ text: words }] };
    });
}
