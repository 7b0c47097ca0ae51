/** Splits events that a server wrote without the blank line between them, which the format's own rules join into one. */

import { jsonIn } from '../protocol/json/json-text.ts';
import { isDone } from './sse-frames.ts';

/**
 * The data of each event that this one consists of: its lines, if each is an object by itself (or the end marker) and
 * all together are not JSON. Every character is read twice at most.
 */
export function eventsIn(data: string): readonly string[] {
  const lines = data.split('\n').filter((line) => line !== '');
  const isApart = lines.every((line) => line.startsWith('{') || isDone(line));
  if (lines.length < 2 || !isApart || jsonIn(data) !== undefined) return [data];
  return lines.every((line) => isDone(line) || jsonIn(line) !== undefined) ? lines : [data];
}
