/** What is held for a client on Node's HTTP server that does not read its answer. */
import type { ServerResponse } from 'node:http';
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import { UnreadAnswer } from '../../server/requests/body-room.ts';
import { remember, shareOfNode } from './node-request.ts';

/** The answer to a request. A body that a parser of the host has read is as long as it was announced. */
export function unreadAnswer(res: ServerResponse): UnreadAnswer {
  const { req } = res;
  const bytes = Number(req.headers['content-length']) || 0;
  const size = remember(req).bodySize ?? { tenant: () => shareOfNode(req), bytes, most: DEFAULT_LIMITS.bodiesBytes };
  return new UnreadAnswer(size, () => res.destroy());
}
