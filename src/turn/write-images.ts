/** Writes images that the model made: each arrives complete, and is shown as OpenAI streams one. */

import type { ModelEvent } from '../protocol/events.ts';
import type { ImageGenerationCallItem } from '../protocol/items.ts';
import { imageGenerationCall } from '../protocol/tool-calls/image-generation-call.ts';
import type { Draft } from './state.ts';
import { announce, closeItem, closeWriting, nextItemId } from './write-text.ts';

/** The states that its events report. */
const STATES = ['in_progress', 'generating', 'completed'] as const;

/** Emits all events of the image; the item that was being written ends before it. */
export function writeImage(draft: Draft, { result, details }: Extract<ModelEvent, { type: 'image' }>): void {
  closeWriting(draft, 'completed');
  const { type, idPrefix } = imageGenerationCall;
  const index = draft.output.size;
  const id = nextItemId(draft, idPrefix);
  const item: ImageGenerationCallItem = { id, type, status: 'in_progress', result: null, ...details };
  announce(draft, item);
  for (const state of STATES)
    draft.events.push({ type: 'call-state', sequence: draft.sequence++, index, itemId: id, kind: type, state });
  closeItem(draft, index, { ...item, status: 'completed', result });
  draft.bytes += Buffer.byteLength(result) + Buffer.byteLength(JSON.stringify(details));
}
