/** The APIs of a host as they answer the lines of batches. */

import type { RestoredRequest } from '../apis/background/stored-request.ts';
import type { LineApis, LineReply, LineRequest } from '../apis/batches/settings.ts';
import type { Limits } from '../ports/limits.ts';
import type { Upstream, UpstreamCall } from '../ports/upstream.ts';
import { ApiError } from '../protocol/errors.ts';
import { isRecord } from '../protocol/record.ts';
import type { Reply } from '../protocol/reply.ts';
import type { ServedApi } from './served-routes.ts';

/** What a model server answers, beside the APIs of this package. */
const PASSED = '/embeddings';

/** What lines are sent to. */
interface LineTargets {
  readonly apis: readonly ServedApi[];
  /** Answers embeddings; undefined for a host that serves none. */
  readonly upstream: Upstream | undefined;
  readonly limits: Limits;
}

/** The first API that has the path answers; embeddings are passed on to the upstream. */
export function lineApis({ apis, upstream, limits }: LineTargets): LineApis {
  return {
    serves: (path) =>
      (path === PASSED && upstream?.pass !== undefined) ||
      // An API of the host's own that cannot tell is asked with the line.
      apis.some((api) => api.serves?.('POST', path) ?? path !== PASSED),
    async answer(request, maxBytes) {
      const { path, body, headers, scope, signal } = request;
      // As after a restart: the framework's own request is gone.
      const restored: Omit<RestoredRequest, 'url'> & { readonly url: string } = {
        isRestored: true,
        method: 'POST',
        url: path,
        headers: Object.fromEntries(headers),
        body,
      };
      for (const api of apis) {
        const reply = api.handle({ method: 'POST', path, headers, body, scope, signal, request: restored });
        if (reply) return wholeReply(await reply, maxBytes);
      }
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
