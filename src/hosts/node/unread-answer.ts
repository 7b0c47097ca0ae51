/** What is held for a client on Node's HTTP server that does not read its answer. */
import type { ServerResponse } from 'node:http';
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import { type BodySize, UnreadAnswer } from '../../server/requests/body-room.ts';
import { type NodeRequest, shareOfNode } from './node-request.ts';

const sizes = new WeakMap<object, BodySize>();

/** The body of this request has been read here. */
export function recordBodySize(req: NodeRequest, size: BodySize): void {
  sizes.set(req, size);
}

/** The answer to a request. A body that a parser of the host has read is as long as it was announced. */
export function unreadAnswer(res: ServerResponse): UnreadAnswer {
  const { req } = res;
  const bytes = Number(req.headers['content-length']) || 0;
  const size = sizes.get(req) ?? { tenant: () => shareOfNode(req), bytes, most: DEFAULT_LIMITS.bodiesBytes };
  return new UnreadAnswer(size, () => res.destroy());
}
