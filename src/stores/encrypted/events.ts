/** Event logs whose texts are encrypted, each bound to its place in its log. */
import type { EventLog } from '../../ports/background/event-log.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { StoreError } from '../../ports/store-error.ts';
import { type Seal, sealedBytes } from './seal.ts';

/** Encrypts request, state and events; epochs, sequence numbers and times stay readable. */
export function encryptedEvents(log: EventLog, seal: Seal): EventLog {
  const texts = logTextSeal(seal);
  return {
    isShared: log.isShared,
    begin: (key, made) => log.begin(key, { ...made, request: texts.close(made.request, key, 'request') }),
    append(key, { events, state, ...position }) {
      const sealed = events.map((text, index) => texts.close(text, key, position.from + index));
      return log.append(key, { ...position, events: sealed, state: texts.close(state, key, 'state') });
    },
    async claim(key, epoch) {
      const found = await log.claim(key, epoch);
      if (!found) return undefined;
      const request = texts.open(found.request, key, 'request');
      // Before the first append nobody has written a state.
      const isFirst = found.state === '' && found.next === 0;
      return { ...found, request, state: isFirst ? '' : texts.open(found.state, key, 'state') };
    },
    end: (key, epoch, until) => log.end(key, epoch, until),
    async read(key, after, maxBytes) {
      const page = await log.read(key, after, sealedBytes(maxBytes));
      return page && { ...page, events: page.events.map((text, index) => texts.open(text, key, page.from + index)) };
    },
    heads: (keys) => log.heads(keys),
    delete: (key) => log.delete(key),
  };
}

/** Which text of a log it is: an event's sequence number, or a name. */
type Part = number | 'request' | 'state';

/** Sealed texts as JSON strings: a log may rely on its texts being JSON. */
function logTextSeal(seal: Seal) {
  return {
    close: (text: string, key: ResponseKey, part: Part) => JSON.stringify(seal.close(text, logTextPlace(key, part))),
    open(sealed: string, key: ResponseKey, part: Part): string {
      try {
        // Not parsed as JSON: for a text that somebody changed, the seal's error is more precise than a parser's.
        const text = sealed.startsWith('"') && sealed.endsWith('"') ? sealed.slice(1, -1) : sealed;
        // The cast: only `close` writes these texts, which the seal proves.
        return seal.open(text, logTextPlace(key, part)) as string;
      } catch (error) {
        throw new StoreError('unreadable_log', error instanceof Error ? error.message : String(error), {
          cause: error,
        });
      }
    },
  };
}

function logTextPlace({ scope, id }: ResponseKey, part: Part) {
  return [`${typeof part === 'number' ? 'event' : part} of event log`, scope, id, String(part)] as const;
}
