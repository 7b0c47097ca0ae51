/** Reads content blocks, each from its start to its stop. */

import type { ModelEvent } from '../../protocol/events.ts';
import { grow, wholeText } from '../../protocol/grown-text.ts';
import type { Annotation, UrlCitation } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { toPrintable } from '../../protocol/printable.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import { ArgumentPieces } from '../../protocol/tool-calls/arguments/argument-pieces.ts';
import { writtenArguments } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import { type Hold, holding, skippedOnce } from '../http/without-output.ts';
import { answersUse, searchEnd, searchStart, type WebUse, webUse } from './web-tools.ts';

/** Receives the events of blocks and adds model events to `events`. Ignores what it cannot read. */
export interface BlockReader {
  start(index: unknown, block: unknown, events: ModelEvent[]): void;
  add(index: unknown, delta: unknown, events: ModelEvent[]): void;
  stop(index: unknown, events: ModelEvent[]): void;
  /** Stops the blocks that are still open. */
  stopAll(events: ModelEvent[]): void;
}

/** A block that is open. */
interface OpenBlock {
  add(delta: JsonObject, events: ModelEvent[]): void;
  stop(events: ModelEvent[]): void;
}

/** What the blocks of one message share. */
interface Seen {
  /** Number of tool calls so far. */
  calls: number;
  /** Length of the text part that is being written, in UTF-16 units; any other block ends the part. */
  text: number;
  /** Web searches and fetches without a result yet, by the id of their use. */
  readonly uses: Map<unknown, WebUse>;
  /** Receives each type of citation that is not supported. */
  readonly leftOut: (citation: unknown) => void;
  /** Counts content that is only emitted when its block is complete. */
  readonly hold: Hold;
}

/** Types of citations already noted. */
const MAX_NOTED = 100;

/** Creates the blocks of one message. `note` receives each omitted type once. */
export function blockReader(note: (note: Note) => void): BlockReader {
  const open = new Map<unknown, OpenBlock>();
  const seen: Seen = { calls: 0, text: 0, uses: new Map(), leftOut, hold: holding() };
  const skip = skippedOnce(note, (type) => `Output blocks of type '${type}' have no item here.`);
  const noted = new Set<string>();

  function leftOut(citation: unknown): void {
    const type = isRecord(citation) ? toPrintable(String(citation.type)) : 'none';
    if (noted.has(type) || noted.size === MAX_NOTED) return;
    noted.add(type);
    const message = `Citations of type '${type}' name neither a page nor a file, and have no annotation here.`;
    note({ code: 'upstream_fields_ignored', message });
  }

  function stop(index: unknown, events: ModelEvent[]): void {
    const block = open.get(index);
    open.delete(index);
    block?.stop(events);
  }

  return {
    start(index, block, events) {
      // A block without a stop event ends where another takes its index.
      stop(index, events);
      const opened = isRecord(block) ? openBlock(block, seen, events) : undefined;
      if (opened) {
        seen.hold();
        open.set(index, opened);
      } else if (isRecord(block)) skip(block.type);
    },
    add(index, delta, events) {
      if (isRecord(delta)) open.get(index)?.add(delta, events);
    },
    stop,
    stopAll(events) {
      for (const index of [...open.keys()]) stop(index, events);
    },
  };
}

function openBlock(block: JsonObject, seen: Seen, events: ModelEvent[]): OpenBlock | undefined {
  switch (block.type) {
    case 'text':
      return openText(block, seen, events);
    case 'thinking': {
      // A thought without a signature, for example one that was cut off, cannot be sent back.
      seen.text = 0;
      const thinking = { text: '', tail: '' };
      let signature = '';
      const add = (more: JsonObject, into: ModelEvent[]) => {
        if (typeof more.signature === 'string') {
          seen.hold(more.signature.length);
          signature += more.signature;
        }
        if (typeof more.thinking !== 'string' || more.thinking === '') return;
        grow(thinking, more.thinking);
        into.push({ type: 'reasoning-delta', text: more.thinking });
      };
      add(block, events);
      return {
        add,
        stop(into) {
          if (!signature) return;
          const state = { type: 'thinking', thinking: wholeText(thinking), signature };
          into.push({ type: 'reasoning-end', state });
        },
      };
    }
    case 'redacted_thinking': {
      const { data } = block;
      seen.text = 0;
      if (typeof data === 'string') seen.hold(data.length);
      return {
        add() {},
        stop(into) {
          if (typeof data !== 'string') return;
          into.push({ type: 'reasoning-end', state: { type: 'redacted_thinking', data } });
        },
      };
    }
    case 'tool_use': {
      // The input arrives in deltas, or complete in the block itself. A call without a name can be neither run nor answered.
      const { id, name, input } = block;
      if (typeof name !== 'string' || name === '') return undefined;
      const call = seen.calls++;
      seen.text = 0;
      let streamed = false;
      const pieces = new ArgumentPieces();
      const emit = (more: string, into: ModelEvent[]) => {
        if (more !== '') into.push({ type: 'tool-call-delta', call, arguments: more });
      };
      const known = typeof id === 'string' && id !== '' ? { id } : {};
      events.push({ type: 'tool-call-delta', call, ...known, name, arguments: '' });
      return {
        add({ partial_json: json }, into) {
          const text = writtenArguments(json);
          if (text === '') return;
          streamed = true;
          emit(pieces.take(text), into);
        },
        stop(into) {
          emit(pieces.settle(), into);
          const isEmpty = isRecord(input) && Object.keys(input).length === 0;
          if (!streamed && !isEmpty) emit(writtenArguments(input), into);
        },
      };
    }
    case 'server_tool_use': {
      // A tool that the API runs itself: emitted when its input is complete, because model events have no deltas for it.
      if (!webUse(block)) return undefined;
      seen.hold(JSON.stringify(block).length);
      let json = '';
      return {
        add({ partial_json: text }) {
          if (typeof text !== 'string') return;
          seen.hold(text.length);
          json += text;
        },
        stop(into) {
          const use = webUse(block, json);
          if (!use) return;
          seen.text = 0;
          seen.uses.set(use.id, use);
          for (const event of searchStart(use)) into.push(event);
        },
      };
    }
    default: {
      // The result of such a tool, which arrives in one event.
      const use = seen.uses.get(block.tool_use_id);
      if (!use || !answersUse(block, use)) return undefined;
      seen.uses.delete(use.id);
      events.push(searchEnd(use, block));
      return { add() {}, stop() {} };
    }
  }
}

/** Citations arrive before or within the text they belong to, so they are emitted when the text is complete. */
function openText({ text, citations }: JsonObject, seen: Seen, events: ModelEvent[]): OpenBlock {
  const start = seen.text;
  const cited: unknown[] = Array.isArray(citations) ? [...citations] : [];
  const add = (more: unknown, into: ModelEvent[]) => {
    if (typeof more !== 'string' || more === '') return;
    seen.text += more.length;
    into.push({ type: 'text-delta', text: more });
  };
  add(text, events);
  return {
    add(delta, into) {
      add(delta.text, into);
      if (delta.type !== 'citations_delta') return;
      seen.hold(JSON.stringify(delta.citation ?? null).length);
      cited.push(delta.citation);
    },
    stop(into) {
      const place = { start_index: start, end_index: seen.text };
      for (const citation of cited) {
        const annotation = toAnnotation(citation, place);
        if (annotation) into.push({ type: 'annotation', annotation });
        else seen.leftOut(citation);
      }
    },
  };
}

type Place = Pick<UrlCitation, 'start_index' | 'end_index'>;

/** A web page has a URL and a file has an id; documents from the request itself have neither. */
function toAnnotation(citation: unknown, place: Place): Annotation | undefined {
  if (!isRecord(citation)) return undefined;
  const { file_id: id, title, document_title: filename } = citation;
  if (typeof id === 'string' && id !== '')
    return { type: 'file_citation', file_id: id, filename: plainText(filename), index: place.end_index };
  const url = citation.url ?? citation.source;
  if (typeof url !== 'string' || !/^https?:/.test(url)) return undefined;
  return { type: 'url_citation', url, title: plainText(title), ...place };
}
