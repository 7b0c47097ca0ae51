/** Knows an answer that is an event stream in plain text from all others, the moment its head is written. */
import type { ServerResponse } from 'node:http';
import { headerIn } from './node-body.ts';

/** What the head of an answer says of its body. */
export interface AnswerHead {
  readonly status: number;
  readonly type: string;
  /** Whether the bytes of the body are what they mean. */
  readonly plain: boolean;
}

/** Calls `told` once, when the answer's head is written, by whatever call of the handler's. */
export function onHead(res: ServerResponse, told: (head: AnswerHead) => void): void {
  const { writeHead } = res;
  // The cast: its overloads are all passed on.
  res.writeHead = function watchedWriteHead(this: ServerResponse, ...given: unknown[]) {
    res.writeHead = writeHead;
    const answer = writeHead.apply(this, given as Parameters<typeof writeHead>);
    const encoding = headerIn(this, given, 'content-encoding') ?? 'identity';
    told({
      status: this.statusCode,
      type: headerIn(this, given, 'content-type') ?? '',
      plain: encoding === 'identity',
    });
    return answer;
  } as typeof writeHead;
}

/** Whether it is one that may be read and written into. */
export function isEventStream({ type, plain }: AnswerHead): boolean {
  return plain && /^text\/event-stream\b/i.test(type);
}
