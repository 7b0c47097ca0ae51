/** A request that is passed on to the first of several servers that answers it. */
import type { PassedAnswer, PassedRequest, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { untilRead } from '../../streams/bytes.ts';
import type { Attempt, Attempts, FailoverRule } from './attempts.ts';

/** Throws `ApiError` as the servers do, and `invalid_value` for a stream whose model has another name at its server. */
export async function routedPass(
  request: PassedRequest,
  attempts: Attempts,
  failsOver: FailoverRule,
  { signal }: UpstreamCall,
): Promise<PassedAnswer> {
  const isHeld = request.body === undefined || request.body instanceof Uint8Array;
  for (let failure: unknown; ; ) {
    signal.throwIfAborted();
    const attempt = await attempts.next(failure);
    if (!attempt) throw failure ?? attempts.unavailable();
    const { lease } = attempt;
    try {
      const answer = await passToServer(request, attempt);
      lease.answered();
      const body = untilRead(answer.body, (end, error) =>
        lease.end(end === 'failed' && !failsOver(error) ? 'left' : end, error),
      );
      return { ...answer, body };
    } catch (error) {
      const isFault = failsOver(error);
      lease.end(signal.aborted ? 'left' : isFault ? 'failed' : 'done', error);
      // A stream has been read by the first server.
      if (!isFault || !isHeld || signal.aborted) throw error;
      failure = error;
    }
  }
}

async function passToServer(request: PassedRequest, { lease, call, model }: Attempt): Promise<PassedAnswer> {
  const { upstream } = lease.server;
  // Servers without it are not asked.
  if (!upstream.pass) throw new ApiError('not_found', 'The model server does not serve this path.');
  const asked = request.readModel();
  if (model === asked || asked === '') return upstream.pass(request, call);
  if (!request.renamed) {
    const message = 'The model has another name at its server, which cannot be written into this body.';
    throw new ApiError('invalid_value', message, { param: 'model' });
  }
  const { 'content-length': _, ...headers } = request.headers;
  return upstream.pass({ ...request, headers, body: request.renamed(model), readModel: () => model }, call);
}
