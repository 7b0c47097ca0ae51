/** The APIs of a host as they answer the lines of batches. */

import type { Limits } from '../../../ports/limits.ts';
import type { Upstream, UpstreamCall } from '../../../ports/upstream.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { Reply } from '../../../protocol/reply.ts';
import type { EndpointFinder } from '../../endpoint/api.ts';
import type { LineApis, LineReply, LineRequest } from '../settings.ts';

/** What a model server answers, beside the APIs of this package. */
const PASSED = '/embeddings';

/** What lines are sent to. */
interface LineTargets {
  readonly endpointAt: EndpointFinder;
  /** Answers embeddings; undefined for a host that serves none. */
  readonly upstream: Upstream | undefined;
  readonly limits: Limits;
}

/** The API that has the path answers; embeddings are passed on to the upstream. */
export function lineApis({ endpointAt, upstream, limits }: LineTargets): LineApis {
  return {
    serves: (path) => endpointAt(path) !== undefined || (path === PASSED && upstream?.pass !== undefined),
    async answer(request, maxBytes) {
      const { path } = request;
      const endpoint = endpointAt(path);
      if (endpoint) return wholeReply(await endpoint(request), maxBytes);
      if (path === PASSED && upstream?.pass) return passOn(request, upstream, limits, maxBytes);
      throw new ApiError('not_found', `Invalid URL (POST ${path})`);
    },
  };
}

async function passOn(
  { path, body, headers, signal }: LineRequest,
  upstream: Upstream,
  limits: Limits,
  maxBytes: number,
): Promise<LineReply> {
  const fields = isRecord(body) ? body : {};
  const bytes = (model: unknown) => Buffer.from(JSON.stringify({ ...fields, model }));
  const own = { 'content-type': 'application/json', accept: 'application/json' };
  const model = typeof fields.model === 'string' ? fields.model : '';
  const call: UpstreamCall = { signal, headers, limits, note: () => {} };
  const request = {
    method: 'POST',
    path,
    headers: own,
    body: Buffer.from(JSON.stringify(fields)),
    model,
    renamed: bytes,
  };
  // The cast: checked by the caller.
  const answer = await (upstream as Upstream & Required<Pick<Upstream, 'pass'>>).pass(request, call);
  return wholeReply({ status: answer.status, headers: {}, body: '', bytes: answer.body }, maxBytes);
}

/** Throws `output_too_large` past so many bytes. */
async function wholeReply({ status, headers, body, bytes }: Reply, maxBytes: number): Promise<LineReply> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of bytes ?? (typeof body === 'string' ? [body] : body)) {
    const buffer = Buffer.from(piece);
    length += buffer.length;
    if (length > maxBytes) throw new ApiError('output_too_large', `The answer has more than ${maxBytes} bytes.`);
    pieces.push(buffer);
  }
  return { status, headers, body: Buffer.concat(pieces).toString('utf8') };
}
