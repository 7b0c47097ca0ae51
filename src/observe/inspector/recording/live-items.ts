/** The items of a response as its events build them: when each began, how its text grew, and the whole item at its end. */
import type { TurnEvent } from '../../../protocol/events.ts';
import { grow as append } from '../../../protocol/grown-text.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import { NO_TEXT } from './bounded-text.ts';
import type { Recording } from './recording.ts';

/** How much of an item is kept, and in which form. */
export interface ItemSettings {
  /** Characters. */
  readonly limit: number;
  /** The item as it may be kept. */
  readonly redacted: (item: JsonObject) => unknown;
  /** Whether text is kept before its item is whole. */
  readonly keepsGrowing: boolean;
}

/** The most items whose times and types are kept; texts have a limit of their own. */
const MAX_ITEMS = 10_000;
const ITEM_BYTES = 256;

/** Takes a batch of events; most events are deltas, of which only the number and the text are kept. */
export function takeEvents(recording: Recording, events: readonly TurnEvent[], settings: ItemSettings): void {
  if (recording.isEvicted) return;
  recording.events += events.length;
  for (const event of events) takeEvent(recording, event, settings);
  // Once for the batch, since most events are deltas; pages that watch it ask again.
  recording.countGrowth();
}

function takeEvent(recording: Recording, event: TurnEvent, settings: ItemSettings): void {
  switch (event.type) {
    case 'part-delta':
    case 'arguments-delta':
      return growItem(recording, event.index, event.text, settings);
    case 'item-start':
      return startItem(recording, event.index, event.item);
    case 'arguments-end': {
      const item = recording.items[event.index];
      if (item) item.argumentsAt = recording.elapsed();
      return;
    }
    case 'item-end': {
      const item = recording.items[event.index];
      if (!item) return;
      item.end = recording.elapsed();
      recording.growth -= item.characters;
      item.growing = { text: '', tail: '' };
      item.characters = 0;
      item.json = recording.keepJson(settings.redacted(event.item), settings.limit);
      if (item.type === 'compaction') recording.mark('compaction');
      return;
    }
    case 'heartbeat':
    case 'keepalive':
      return recording.mark('heartbeat');
    case 'turn-end': {
      const { status, usage, error, upstream } = event;
      recording.usage = usage;
      recording.cost = upstream?.cost;
      recording.upstreamModel = upstream?.model;
      if (error)
        recording.fail({ code: error.code ?? 'server_error', message: error.message, status: error.status ?? 500 });
      return recording.end(status);
    }
    default:
  }
}

function startItem(
  recording: Recording,
  index: number,
  { type, id }: { readonly type: string; readonly id: string },
): void {
  if (index >= MAX_ITEMS) {
    recording.dropped += 1;
    return;
  }
  const start = recording.elapsed();
  recording.firstOutput ??= start;
  recording.items[index] = {
    index,
    type,
    id,
    start,
    argumentsAt: undefined,
    end: undefined,
    deltas: 0,
    growing: { text: '', tail: '' },
    characters: 0,
    json: NO_TEXT,
  };
  recording.changed(ITEM_BYTES);
}

function growItem(recording: Recording, index: number, text: string, { limit, keepsGrowing }: ItemSettings): void {
  const item = recording.items[index];
  if (!item) return;
  item.deltas += 1;
  if (!keepsGrowing || item.characters >= limit || item.characters >= recording.room) return;
  append(item.growing, text);
  item.characters += text.length;
  recording.growth += text.length;
}
