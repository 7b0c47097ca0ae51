/** Events that a server wrote without the blank line between them, which the wire's own rules make one of. */

import { jsonIn } from '../protocol/json/json-text.ts';
import { isDone } from './sse-frames.ts';

/**
 * The data of the events that this is of: each of its lines, where each is an object by itself (or says that all is
 * done) and all together are no JSON. Everything is looked at twice at most.
 */
export function eventsIn(data: string): readonly string[] {
  const lines = data.split('\n').filter((line) => line !== '');
  const isApart = lines.every((line) => line.startsWith('{') || isDone(line));
  if (lines.length < 2 || !isApart || jsonIn(data) !== undefined) return [data];
  return lines.every((line) => isDone(line) || jsonIn(line) !== undefined) ? lines : [data];
}
