/** Counts the input of a request that a client asks about. */

import type { TokenCounting } from '../../ports/token-counter.ts';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';

/** The tokens as the host's own counter counts them, else as the model server does, else estimated. Rejects with the signal's reason. */
export async function countInput(
  request: ModelRequest,
  call: UpstreamCall,
  { upstream, tokenCounting }: { readonly upstream: Upstream; readonly tokenCounting: TokenCounting },
): Promise<number> {
  const { count, isHosts } = tokenCounting;
  return (isHosts ? undefined : await countedUpstream(request, call, upstream)) ?? count(request, call.signal);
}

/** A server that cannot count this request may still answer it, so its failure is none. */
async function countedUpstream(
  request: ModelRequest,
  call: UpstreamCall,
  upstream: Upstream,
): Promise<number | undefined> {
  try {
    return await upstream.countTokens?.(request, call);
  } catch (error) {
    call.signal.throwIfAborted();
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
