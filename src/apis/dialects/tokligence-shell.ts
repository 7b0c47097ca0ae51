/** Calls of a function `shell` as clients of tokligence-gateway run them: a program and its arguments, not a text. */

import type { WireEvent } from '../../protocol/events.ts';
import { jsonIn, objectIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

const SHELL = 'shell';
/** UTF-8 bytes; longer arguments stay as the model wrote them. */
const MOST_BYTES = 50_000;
const DELTA = 'response.function_call_arguments.delta';
const DONE = 'response.function_call_arguments.done';

/** The arguments with a `command` that is one text as a list that runs it in bash; all others unchanged. */
function shellArguments(text: string): string {
  if (Buffer.byteLength(text) > MOST_BYTES) return text;
  const fields = objectIn(text);
  if (!fields || typeof fields.command !== 'string' || fields.command.trim() === '') return text;
  return JSON.stringify({ ...fields, command: programIn(fields.command) });
}

/** Some models write the list itself as a text. */
function programIn(command: string): readonly string[] {
  const list = command.trimStart().startsWith('[') ? jsonIn(command) : undefined;
  const isProgram = Array.isArray(list) && list.length > 0 && list.every((each) => typeof each === 'string');
  return isProgram ? list : ['bash', '-c', command];
}

/** The item with such arguments. */
export function withShellArguments(item: unknown): unknown {
  if (!isShellCall(item) || typeof item.arguments !== 'string') return item;
  const text = shellArguments(item.arguments);
  return text === item.arguments ? item : { ...item, arguments: text };
}

function isShellCall(item: unknown): item is JsonObject {
  return isRecord(item) && item.type === 'function_call' && item.name === SHELL;
}

/** Holds the arguments of such calls until they are whole: a delta cannot be taken back. */
export class ShellCalls {
  private readonly held = new Map<unknown, string>();

  rewrite(event: WireEvent): readonly WireEvent[] {
    const { type, item, item_id: id } = event;
    if (type === 'response.output_item.added' && isShellCall(item)) this.held.set(item.id, '');
    if (type === 'response.output_item.done') return [{ ...event, item: withShellArguments(item) }];
    const held = this.held.get(id);
    if (held === undefined) return [event];
    if (type === DELTA) return this.hold(event, held + String(event.delta));
    return type === DONE ? this.release(event, held) : [event];
  }

  /** What is too long to be rewritten goes out as it comes. */
  private hold(event: WireEvent, text: string): readonly WireEvent[] {
    const isTooLong = text.length > MOST_BYTES;
    if (isTooLong) this.held.delete(event.item_id);
    else this.held.set(event.item_id, text);
    return isTooLong ? [{ ...event, delta: text }] : [];
  }

  private release(event: WireEvent, held: string): readonly WireEvent[] {
    this.held.delete(event.item_id);
    const text = shellArguments(String(event.arguments));
    const { item_id, output_index } = event;
    const delta: WireEvent = { type: DELTA, item_id, output_index, delta: text };
    return held === '' ? [{ ...event, arguments: text }] : [delta, { ...event, arguments: text }];
  }
}
